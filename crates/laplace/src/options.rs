//! What is to be measured of Jacobi's iteration, as values: nothing here knows how they were typed.

use std::time::Duration;

use experiments::supervised::PlaceAsked;
use kernels::jacobi::Precision;
use stats::stop::{Patience, StopRule};

use crate::grid::LaplaceGrid;
use crate::way::HaloWay;

/// Blocks of a way, and the interval to reach.
pub(crate) const RULE: StopRule =
    StopRule { min_blocks: 10, max_blocks: 40, target_half_width: 0.01, patience: Patience::Long };

/// Jacobi's iteration over the ranks of a launch.
#[derive(Clone, Debug)]
pub struct LaplaceOptions {
    /// The plane, whose rows are shared among the ranks.
    pub grid: LaplaceGrid,
    /// The precision of a cell.
    pub precision: Precision,
    /// Who computes and how halos go; all that the launch can have where none is named.
    pub ways: Vec<HaloWay>,
    /// Whether halos go while the inner rows are computed; both where that is not said.
    pub overlap: Option<bool>,
    /// By the first so many ranks of the launch each, the fewest first; by all where none is named.
    pub ranks: Vec<usize>,
    /// The rows of the grid are each rank's, so that the plane grows with the ranks.
    pub rows_are_each_ranks: bool,
    /// Where ranks go.
    pub place: PlaceAsked,
    /// No further pass over the ways of a phase begins after this time, once each has 10 blocks.
    pub max_time: Duration,
    /// Ranks that do not start, and a block that does not come back, are given up after this time.
    pub timeout: Duration,
    /// The seed of the order of blocks.
    pub seed: u64,
}

impl Default for LaplaceOptions {
    fn default() -> Self {
        Self {
            grid: LaplaceGrid { rows: 8192, columns: 8192 },
            precision: Precision::Double,
            ways: Vec::new(),
            overlap: None,
            ranks: Vec::new(),
            rows_are_each_ranks: false,
            place: PlaceAsked::default(),
            max_time: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            seed: 1,
        }
    }
}

impl LaplaceOptions {
    /// The plane of so many ranks.
    pub fn grid_of(&self, ranks: usize) -> LaplaceGrid {
        let times = if self.rows_are_each_ranks { ranks } else { 1 };
        LaplaceGrid { rows: self.grid.rows * times, ..self.grid }
    }

    /// The numbers of ranks, of a launch of `all`: what is asked for, or all.
    pub fn planes(&self, all: usize) -> Vec<Option<usize>> {
        if self.ranks.is_empty() {
            vec![None]
        } else {
            self.ranks.iter().map(|ranks| Some((*ranks).min(all))).collect()
        }
    }
}
