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
            place: PlaceAsked::default(),
            max_time: Duration::from_secs(10),
            timeout: Duration::from_secs(120),
            seed: 1,
        }
    }
}
