//! What one case gave on one rank: the placement seen, the raw blocks, and either numbers or the reason there
//! are none.
//!
//! Numbers live inside [`Outcome::Measured`] only: a result that failed, was skipped or is invalid has no
//! place for them. Its blocks stay, as evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::flag::Flag;
use stats::stage::Stage;
use stats::stop::StopReason;
use stats::summary::Summary;

use crate::Known;

/// Why a case was skipped that had no time: the reason of such an outcome.
pub const NO_BLOCK: &str = "the run ended before its first block";

/// What one case gave on one rank.
// `B` is what is kept of a block (`block`). No doc comment: those are the schema's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RankResult")]
pub struct RankResult<B = BlockSample> {
    /// The rank.
    pub rank: u32,
    /// Numbers, or the reason there are none.
    pub outcome: Outcome,
    /// The placement seen before the first block; null when the case did not get that far.
    pub seen_before: Option<PlacementSeen>,
    /// The placement seen after the last block; null when the case did not get that far.
    pub seen_after: Option<PlacementSeen>,
    /// Whether the bytes that arrived were those that were sent.
    pub verification: Verification,
    /// The blocks, in the order they were measured.
    pub blocks: Vec<B>,
    /// The time by the host's clock of the round before each block, started with nothing queued and waited
    /// for, ns: of kernels whose blocks a GPU times. Of small pieces that part of a block's last round in
    /// which the host was busy: in calls, or packing. Else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.5"))]
    pub host_round_ns: Vec<f64>,
    /// The part of the pages that lies with the GPU after each block, 0..1: of managed and system memory.
    /// Else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.5"))]
    pub away: Vec<f64>,
}

impl<B> RankResult<B> {
    /// The numbers, where there are some.
    pub fn summary(&self) -> Option<&Summary> {
        match &self.outcome {
            Outcome::Measured { summary, .. } => Some(summary),
            _ => None,
        }
    }
}

/// Numbers, or the reason there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Outcome {
    /// It was measured, with the placement asked.
    Measured {
        /// The numbers.
        summary: Box<Summary>,
        /// `summary.median_bytes_per_s` as percent of the device's `bound_bytes_per_s` (twice that for
        /// `bidir`); null where it is unknown.
        percent_of_bound: Option<f64>,
        /// Why no more blocks were measured.
        stop_reason: StopReason,
        /// What is odd about the numbers.
        flags: Vec<Flag>,
    },
    /// It was not tried.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It was tried and a step failed.
    Failed {
        /// The step.
        stage: Stage,
        /// The call that failed, as its manual spells it; null when it was no call.
        call: Option<String>,
        /// The call's raw result code.
        code: Option<i64>,
        /// What happened and what to do, in words.
        message: String,
    },
    /// It ran, but not as asked (placement, overlap): what it gave is not a number.
    Invalid {
        /// What was asked and what was seen.
        reason: String,
    },
    /// Bytes arrived that were not sent; `verification.mismatch` has the first.
    Corrupt {
        /// What was seen, in words.
        reason: String,
    },
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// The placement of a rank at one moment, as the kernel tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementSeen {
    /// The PU the thread ran on (OS index).
    pub pu: Known<u32>,
    /// The PUs the thread may run on.
    pub affinity: Known<IdSet>,
    /// Where the pages of the host buffers lie.
    pub host_pages: Known<Vec<NodePages>>,
    /// Where the pages of the device's buffers lie: on the host platform, and where the kernel knows it of a
    /// GPU that shares memory with its CPU (some of the pages are looked up then); unknown for other GPUs.
    pub device_pages: Known<Vec<NodePages>>,
}

/// How many pages lie on one NUMA node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodePages {
    /// The node (OS index).
    pub node: u32,
    /// Pages of the kernel's base size.
    pub pages: u64,
}

/// Whether the bytes that arrived were those that were sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// Whether bytes were compared.
    pub checked: bool,
    /// Why not, when they were not.
    pub reason: Option<String>,
    /// Blocks after which they were compared.
    pub blocks_checked: u64,
    /// Bytes compared in all.
    pub bytes_checked: u64,
    /// The first byte that differed; null when none did.
    pub mismatch: Option<Mismatch>,
}

/// The first byte that differed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// The block after which it was found.
    pub block: u32,
    /// Its offset in the copy, bytes.
    pub offset_bytes: u64,
    /// The byte sent.
    pub expected: u8,
    /// The byte that arrived.
    pub got: u8,
}

/// One block of rounds: the unit of inference, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSample {
    /// Its number among this rank's blocks of the case, 0 first.
    pub index: u32,
    /// The number of the allocation it used: blocks with another number had fresh memory.
    pub allocation: u32,
    /// When its first counted round began, on the node's monotonic clock, ns.
    pub start_ns: u64,
    /// When its last counted round ended, on the same clock, ns.
    pub end_ns: u64,
    /// The time its counted rounds took by the case's clock, ns.
    pub elapsed_ns: f64,
    /// Rounds counted.
    pub rounds: u64,
    /// Copies in a round: small copies are timed several at once under device timing. This block's round
    /// times are of all of them, the summary's of one.
    pub copies_per_round: u32,
    /// Bytes moved in the counted rounds.
    pub bytes: u64,
    /// The fastest round, ns.
    pub min_round_ns: f64,
    /// The median round, ns.
    pub median_round_ns: f64,
    /// The 95th percentile of the rounds (R's type 7), ns.
    pub p95_round_ns: f64,
    /// The slowest round, ns.
    pub max_round_ns: f64,
}
