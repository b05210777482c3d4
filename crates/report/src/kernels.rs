//! What a document holds of kernels that compute: what one run of each is, its figures in each place, and
//! what a far place costs. They are worked out in `analysis`.
//!
//! The times are the cases' (direction `kernel`); here they stand beside the amount of work, the share of
//! transfers, and what that share predicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::compare::TwoSampleComparison;
use stats::interval::Interval;

/// What the `group` of a case ends with whose data stays on the device.
pub const RESIDENT: &str = "/resident";
/// The `group` of the copies that losses are predicted by.
pub const COPIES: &str = "copies";

/// A kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFigures {
    /// Its name: `sgemm`. The `group` of its cases begins with it.
    pub name: String,
    /// What its work is counted in.
    pub unit: WorkUnit,
    /// How much work one run is: of one thread, where CPUs compute.
    pub amount: f64,
    /// Bytes of its input.
    pub input_bytes: u64,
    /// Bytes of its result.
    pub output_bytes: u64,
    /// Runs between the copy of the input and that of the result; 1 where CPUs compute.
    pub iterations: u32,
    /// The GPU vendor's library that computes it, with its version; null where it is numabench's own kernel.
    #[serde(default)]
    pub by: Option<String>,
    /// Its figures, row by row; empty while the run goes on.
    pub places: Vec<KernelPlace>,
    /// What places farther away cost.
    pub losses: Vec<KernelLoss>,
}

/// What work is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkUnit {
    /// Floating-point operations.
    Flop,
    /// Bytes.
    Byte,
    /// Keys.
    Key,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl WorkUnit {
    /// A billion of them a second, as users read it.
    pub fn giga(self) -> &'static str {
        match self {
            Self::Flop => "GFLOP/s",
            Self::Byte => "GB/s",
            Self::Key => "Gkey/s",
            Self::Newer => "1e9/s",
        }
    }
}

/// A kernel's figures in one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPlace {
    /// The row of the matrix: where host memory and the thread are, or whose cores compute.
    pub row: String,
    /// The column: the GPU, or the node of the memory.
    pub column: String,
    /// Its ranks.
    pub ranks: IdSet,
    /// The time of a round with its transfers, ns; where CPUs compute, that in which all threads together do
    /// one run each.
    pub median_ns: f64,
    /// The 95 % interval of that median; null with fewer than 6 blocks.
    pub interval_ns: Option<Interval>,
    /// The time of such a round by the host's clock, started with nothing queued and waited for, the median,
    /// ns; null where that clock times the blocks, and `median_ns` is it.
    #[serde(default)]
    pub host_ns: Option<f64>,
    /// Work a second with transfers, all iterations and all threads.
    pub per_s: f64,
    /// The time of a run on data that stays on the device, ns; null where CPUs compute, or where it was not
    /// measured.
    pub resident_ns: Option<f64>,
    /// The time of such a run by the host's clock, as `host_ns`.
    #[serde(default)]
    pub host_resident_ns: Option<f64>,
    /// The 95 % interval of `resident_ns`.
    pub resident_interval_ns: Option<Interval>,
    /// Work a second on data that stays on the device.
    pub resident_per_s: Option<f64>,
    /// The part of the round's time that is not the runs', 0..1.
    pub transfer_share: Option<f64>,
}

/// A run on the GPU that takes less is not told from its launch.
const LEAST_RUN_NS: f64 = 10_000.0;

impl KernelPlace {
    /// Whether a run on data that stays on the GPU is so short that its rate is that of a launch.
    pub fn is_too_short(&self) -> bool {
        self.resident_ns.is_some_and(|ns| ns < LEAST_RUN_NS)
    }
}

/// What a place farther away costs a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelLoss {
    /// The place that it is compared with: the row of a GPU, or the column of a row of cores.
    pub near: String,
    /// The place farther away.
    pub far: String,
    /// What both are of: the GPU, or the row of cores.
    pub of: String,
    /// The time from the far place over that from the near one, and how sure that is; null with too few
    /// blocks.
    pub comparison: Option<TwoSampleComparison>,
    /// The time from the far place over that from the near one, less 1.
    pub loss: f64,
    /// The same as the bandwidths measured in this run predict it; null where CPUs compute, or where they
    /// were not measured.
    pub predicted_loss: Option<f64>,
    /// From so many iterations on data that stays on the device the loss is below 1 %; null where there is no
    /// loss for certain.
    pub below_one_percent_from_iterations: Option<u64>,
}
