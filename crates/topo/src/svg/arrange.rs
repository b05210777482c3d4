//! How many columns the grids of a picture have, so that the whole is as wide as a page or a screen and wastes little of it.
//!
//! Grids of one kind have the same number of columns all over the picture: what is alike looks alike. The numbers of two
//! kinds are tried at a time, with the best of the others so far, until nothing gets better: some hundreds of measurings of a
//! tree of boxes, about a millisecond. No optimum is claimed.

use super::block::{Block, Size};

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

const LEVELS: usize = 7;

/// The most columns of each kind of grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns([usize; LEVELS]);

/// A set of kinds of grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels(u8);

/// What the grids of a kind are like: how many there are, how many have a gap in their last row, the most blocks in one.
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
/// Where the search begins.
const FIRST: Columns = Columns([4, 2, 2, 1, 2, 16, 1]);

/// The width that a picture may have at no cost: what a screen shows without scrolling sideways, px.
const WIDE_ENOUGH: f64 = 1400.0;
/// The shape of a picture that suits a screen and a page: width by height.
const SHAPE: f64 = 1.4;
/// The height of the title, the legend and the notes, about, px.
const WORDS: f64 = 180.0;
/// What a kind whose grids all have a gap costs, as a share of the picture.
const GAP_COST: f64 = 0.15;

impl Default for Columns {
    fn default() -> Self {
        FIRST
    }
}

impl Columns {
    /// Whether the kinds in `levels` have as many columns in both.
    pub(super) fn same_for(&self, other: &Self, levels: Levels) -> bool {
        (0..LEVELS).all(|level| levels.0 & 1 << level == 0 || self.0[level] == other.0[level])
    }

    pub(super) fn of(&self, level: Level) -> usize {
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
    fn gaps(&self) -> f64 {
        self.0.iter().filter(|grids| grids.all > 0).map(|grids| grids.with_gap as f64 / grids.all as f64).sum()
    }

    /// The numbers of columns that make a difference for a kind.
    fn tried(&self, level: usize) -> impl Iterator<Item = usize> + use<> {
        let most = self.0[level].most_blocks;
        TRIED.into_iter().take_while(move |number| *number <= most.max(1))
    }
}

/// The columns that suit a block best.
pub(super) fn arranged(block: &mut Block) -> Columns {
    let mut cost_of = |columns: &Columns| {
        let size = block.measure(columns);
        let mut count = Count::default();
        block.count(&mut count);
        (cost(size, &count), count)
    };
    let mut best = FIRST;
    let (mut least, count) = cost_of(&best);
    loop {
        let before = best;
        for (one, other) in pairs() {
            for number in count.tried(one) {
                for other_number in count.tried(other) {
                    let mut columns = best;
                    (columns.0[one], columns.0[other]) = (number, other_number);
                    let (cost, _) = cost_of(&columns);
                    if cost < least {
                        (best, least) = (columns, cost);
                    }
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Each two kinds: columns of one alone often only pay together with another's.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..LEVELS).flat_map(|one| (one + 1..LEVELS).map(move |other| (one, other)))
}

/// Area, and more for what is wider than a screen, far from a page's shape, or has gaps.
fn cost(size: Size, count: &Count) -> f64 {
    let (width, height) = (f64::from(size.width.max(1)), f64::from(size.height.max(1)) + WORDS);
    let too_wide = 4.0 * (width / WIDE_ENOUGH - 1.0).max(0.0);
    let off_shape = (width / height / SHAPE).ln().powi(2);
    width * height * (1.0 + too_wide) * (1.0 + off_shape) * (1.0 + GAP_COST * count.gaps())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_pictures_and_gaps_cost_more_than_a_page_of_the_same_area() {
        let none = Count::default();
        let cost_of = |width, height| cost(Size { width, height }, &none);
        assert!(cost_of(1200, 800) < cost_of(2400, 400));
        assert!(cost_of(1200, 800) < cost_of(400, 2400));
        assert!(cost_of(1400, 1000) < cost_of(1700, 824));
        let mut gaps = Count::default();
        gaps.add(Level::Cores, 8, 3);
        assert!(cost_of(1200, 800) < cost(Size { width: 1200, height: 800 }, &gaps));
    }
}
