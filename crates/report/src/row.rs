//! A row of the flat table that a document has beside its cases: what one case gave on one rank, with the
//! rank's place. `rows` makes the table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::flag::Flag;

use crate::case::{Case, CaseStatus, Order, Timing};
use crate::quantity::{FigureUnit, Quantity};
use crate::rank::Locality;
use crate::result::{Outcome, RankResult};
use crate::settings::{Direction, MemoryKind};

/// What one case gave on one rank, with the rank's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The case's `id`.
    pub case: String,
    /// Whether the ranks ran at once.
    pub order: Order,
    /// Which way the bytes moved.
    pub direction: Direction,
    /// The size of one copy, bytes.
    pub bytes: u64,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The clock that timed it.
    pub timing: Timing,
    /// The rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// The PU asked (OS index).
    pub pu: u32,
    /// The NUMA node of the host memory asked (OS index); null when it was left to the kernel.
    pub memory_node: Option<u32>,
    /// How the host memory is spread over NUMA nodes, `interleave:0-1`; null where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.6"))]
    pub memory_spread: Option<String>,
    /// The device's `id`.
    pub device: String,
    /// The device's marketing name; null where the device is not in the document.
    pub device_name: Option<String>,
    /// How the PU lies to the device.
    pub locality: Locality,
    /// How it went. A rank's blocks in a case that is invalid as a whole (ranks that were not at once) are no
    /// figures either.
    pub status: RowStatus,
    /// Why there are no figures, in words; null where there are.
    pub reason: Option<String>,
    /// The median over blocks of a block's mean round, ns; null where it was not measured.
    pub median_ns: Option<f64>,
    /// The lower end of that median's 95 % interval, ns; null with fewer than 6 blocks.
    pub median_low_ns: Option<f64>,
    /// The upper end of that median's 95 % interval, ns; null with fewer than 6 blocks.
    pub median_high_ns: Option<f64>,
    /// The rate of the median block, bytes/s; null where it was not measured.
    pub median_bytes_per_s: Option<f64>,
    /// Total bytes over total time; null where it was not measured.
    pub bytes_per_s: Option<f64>,
    /// `median_bytes_per_s` as percent of the device's bound (twice that for `bidir`); null where it is
    /// unknown.
    pub percent_of_bound: Option<f64>,
    /// How many blocks were measured; null where it was not measured.
    pub blocks: Option<u64>,
    /// The measurement that it is of, by the name of its command: of a `suite` the part (`matrix`, `peer`,
    /// `contend`, `latency`), else the document's `command`.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub experiment: String,
    /// The case's `group`: its row of the matrix, or the GPUs that were at it at once; null where it has
    /// none.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub group: Option<String>,
    /// The GPU's `index`, in PCI order on its node; null for a node's memory.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub gpu: Option<u32>,
    /// The GPU's UUID; null where it has none.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub uuid: Option<String>,
    /// The GPU at the other end of a copy between GPUs (its `id` without a host), the same GPU for copies
    /// within its memory; null for all else.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub other_device: Option<String>,
    /// What `value` measures.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub quantity: Quantity,
    /// The figure of the median block, in `unit`: a rate, or of a `latency` the time; null where it was not
    /// measured.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub value: Option<f64>,
    /// The lower end of its 95 % interval; null with fewer than 6 blocks.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub value_low: Option<f64>,
    /// The upper end of its 95 % interval; null with fewer than 6 blocks.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub value_high: Option<f64>,
    /// The unit of `value`.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub unit: FigureUnit,
    /// What is odd about the figures; empty where nothing is, and where it was not measured.
    #[serde(default)]
    #[schemars(extend("since" = "1.6"))]
    pub flags: Vec<Flag>,
}

/// How a case went on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowStatus {
    /// There are figures.
    Measured,
    /// It was not tried.
    Skipped,
    /// A step failed.
    Failed,
    /// It ran, but not as asked.
    Invalid,
    /// Bytes arrived that were not sent.
    Corrupt,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl RowStatus {
    /// How a case went on a rank, and the reason where there are no figures.
    pub fn with_reason<B>(case: &Case<B>, result: &RankResult<B>) -> (Self, Option<String>) {
        let (status, reason) = match &result.outcome {
            Outcome::Measured { .. } if case.status == CaseStatus::Invalid => (Self::Invalid, &case.reason),
            Outcome::Measured { .. } => return (Self::Measured, None),
            Outcome::Skipped { reason } => return (Self::Skipped, Some(reason.clone())),
            Outcome::Failed { message, .. } => return (Self::Failed, Some(message.clone())),
            Outcome::Invalid { reason } => return (Self::Invalid, Some(reason.clone())),
            Outcome::Corrupt { reason } => return (Self::Corrupt, Some(reason.clone())),
            Outcome::Newer => (Self::Newer, &None),
        };
        let no_reason = || "the document does not say why".to_owned();
        (status, Some(reason.clone().unwrap_or_else(no_reason)))
    }
}
