//! What a document holds of Jacobi's iteration over the ranks of a launch: the plane, and of each way of
//! halos its figures. They are worked out in `analysis`.
//!
//! The times are the cases' (direction `kernel`, `group` the way): here they are those of all ranks together,
//! of which the slowest counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::compare::TwoSampleComparison;
use stats::interval::Interval;

/// The plane and its ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Laplace {
    /// Rows inside the border.
    pub rows: u64,
    /// Columns inside the border.
    pub columns: u64,
    /// Whether `rows` are each rank's, so that the plane grows with the ranks (weak scaling).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("since" = "1.6"))]
    pub rows_are_each_ranks: bool,
    /// Bytes of a cell: 4 or 8.
    pub cell_bytes: u32,
    /// The ways, in the order in which they are shown.
    pub ways: Vec<LaplaceWay>,
}

/// A way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaplaceWay {
    /// What it is called, which is its cases' `group`: `cpu`, `gpu` (a rank alone), `staged`, `gpu-aware`,
    /// each also with `, overlapped`.
    pub name: String,
    /// The way.
    pub way: String,
    /// The first so many ranks of the launch computed it; null where all did and nothing else was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.6"))]
    pub ranks: Option<u32>,
    /// Whether halos go while the inner rows are computed.
    pub overlap: bool,
    /// The largest change of a cell in the last of the first iterations, over all ranks; null where it did
    /// not get that far.
    pub residual: Option<f64>,
    /// After how many iterations that is.
    pub residual_after_iterations: Option<u64>,
    /// The time of an iteration by block, that of the slowest rank, ns.
    pub block_ns: Vec<f64>,
    /// Their median; null without a figure that counts.
    pub iteration_ns: Option<f64>,
    /// Its 95 % interval; null with fewer than 6 blocks.
    pub interval_ns: Option<Interval>,
    /// Cells of the whole plane a second.
    pub cells_per_s: Option<f64>,
    /// Bytes a second that all ranks together read and write: each cell once.
    pub bytes_per_s: Option<f64>,
    /// The part of an iteration's time that goes to halos, 0..1: with overlap, what is left of it beside
    /// computing; null where it was not measured, or a rank is alone.
    pub halo_share: Option<f64>,
    /// How its time compares with that of other ways.
    pub speed_ups: Vec<LaplaceSpeedUp>,
    /// What it gains over the fewest ranks; null where several numbers of ranks were not asked for, of the
    /// fewest, and without a figure of either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.6"))]
    pub scaling: Option<LaplaceScaling>,
    /// Why there is no figure that counts; null where there is one.
    pub reason: Option<String>,
}

/// A way by more ranks beside the same by the fewest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaplaceScaling {
    /// The way of the fewest ranks.
    pub over: String,
    /// Its ranks.
    pub ranks: u32,
    /// The cells a second over its cells a second.
    pub speed_up: f64,
    /// The speed-up over the ratio of ranks: 1 where each rank computes as fast as before.
    pub efficiency: f64,
    /// The 95 % interval of the efficiency, by the blocks of the same passes; null with too few.
    pub interval: Option<Interval>,
}

/// A way beside another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaplaceSpeedUp {
    /// The other way.
    pub over: String,
    /// The other's time over this one's.
    pub factor: f64,
    /// This one's time against the other's; null with too few blocks.
    pub comparison: Option<TwoSampleComparison>,
}
