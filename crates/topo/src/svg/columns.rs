//! How many columns the grids of each kind have, and what the grids of a picture are like by kind.

/// A kind of grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Cores of one place.
    Cores,
    /// L3s of one place.
    L3s,
    /// NUMA nodes of one place.
    Nodes,
    /// GPUs or NICs of one place.
    Devices,
    /// Packages, or nodes that are in none.
    Packages,
    /// PUs that are in no core.
    Missing,
    /// The machine, and what is at its edge.
    Whole,
}

/// How many kinds there are.
pub(super) const LEVELS: usize = 7;

/// The most columns of each kind of grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns(pub(super) [usize; LEVELS]);

/// A set of kinds of grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels(u8);

/// What the grids of a kind are like: how many there are, how many have a gap in their last row, the most
/// blocks in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Grids {
    all: usize,
    with_gap: usize,
    most_blocks: usize,
}

/// The grids of a picture by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count([Grids; LEVELS]);

/// The numbers that are tried: those that people count along, and what divides the core counts there are.
const TRIED: [usize; 11] = [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16];

/// Where a search begins.
impl Default for Columns {
    fn default() -> Self {
        Self([4, 2, 2, 1, 2, 16, 1])
    }
}

impl Columns {
    /// Whether the kinds in `levels` have as many columns in both.
    pub(super) fn same_for(&self, other: &Self, levels: Levels) -> bool {
        (0..LEVELS).all(|level| levels.0 & 1 << level == 0 || self.0[level] == other.0[level])
    }

    pub(super) fn count(&self, level: Level) -> usize {
        self.0[level as usize]
    }
}

impl Levels {
    pub(super) fn of(level: Level) -> Self {
        Self(1 << level as u8)
    }
}

impl FromIterator<Self> for Levels {
    fn from_iter<I: IntoIterator<Item = Self>>(parts: I) -> Self {
        Self(parts.into_iter().fold(0, |all, part| all | part.0))
    }
}

impl Count {
    /// Counts one grid.
    pub(super) fn add(&mut self, level: Level, blocks: usize, columns: usize) {
        let grids = &mut self.0[level as usize];
        grids.all += 1;
        grids.with_gap += usize::from(!blocks.is_multiple_of(columns.max(1)));
        grids.most_blocks = grids.most_blocks.max(blocks);
    }

    /// The share of grids with a gap, summed over the kinds.
    pub(super) fn gaps(&self) -> f64 {
        self.0
            .iter()
            .filter(|grids| grids.all > 0)
            .map(|grids| grids.with_gap as f64 / grids.all as f64)
            .sum()
    }

    /// The numbers of columns that make a difference for a kind.
    pub(super) fn tried(&self, level: usize) -> impl Iterator<Item = usize> + use<> {
        let most = self.0[level].most_blocks;
        TRIED.into_iter().take_while(move |number| *number <= most.max(1))
    }
}
