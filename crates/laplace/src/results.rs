//! What came of each way so far, and the step that is under way.

use std::fmt;

use engine::ObservedPlacement;
use serde::{Deserialize, Serialize};
use stats::stop::StopReason;

use crate::way::{HaloWay, WayVariant};

/// The first iterations of a way, from the known field on: every cell was what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WayProof {
    /// How many iterations.
    pub iterations: u64,
    /// The largest change of a cell in the last of them, over all ranks.
    pub residual: f64,
}

/// A block of iterations on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFound {
    /// When it began, by the node's clock.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// How many iterations.
    pub iterations: u32,
    /// How much of that time went to halos, where they do not overlap.
    pub halo_ns: u64,
}

impl BlockFound {
    /// The time of an iteration, nanoseconds.
    pub fn iteration_ns(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / f64::from(self.iterations.max(1))
    }
}

/// What a way gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WayFound {
    /// The way.
    pub variant: WayVariant,
    /// Its first iterations.
    pub proof: Option<WayProof>,
    /// `blocks[rank]` of the ranks that compute it, of which each has equally many.
    pub blocks: Vec<Vec<BlockFound>>,
    /// Why there is no figure, or none that counts.
    pub trouble: Option<WayTrouble>,
    /// Why no further block was measured.
    pub stop: Option<StopReason>,
    /// Whether its last iterations were not followed by a check of its field.
    pub is_unchecked: bool,
}

impl WayFound {
    pub(crate) fn begun(variant: WayVariant, ranks: usize) -> Self {
        let ranks = variant.ranks.unwrap_or(ranks);
        Self {
            variant,
            proof: None,
            blocks: vec![Vec::new(); ranks],
            trouble: None,
            stop: None,
            is_unchecked: false,
        }
    }
}

/// Why a way has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WayTrouble {
    /// A cell is not what it should be.
    Wrong(String),
    /// A call failed, or the process that made it was lost.
    Failed(String),
}

/// What is known of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFound {
    /// Where it was seen before and after.
    pub seen: [Option<ObservedPlacement>; 2],
    /// What of that is not as asked.
    pub mismatch: Option<String>,
    /// Bytes of cells that were held against what they should be.
    pub checked_bytes: u64,
}

/// What is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaplaceResults {
    /// Of each way.
    pub ways: Vec<WayFound>,
    /// Of each rank.
    pub ranks: Vec<RankFound>,
    /// A signal came.
    pub interrupted: bool,
}

/// What is being done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaplaceStep {
    /// Iterations of a way.
    Iterations(WayVariant),
    /// Filling its field.
    Fill(WayVariant),
    /// Holding its field against what it should be.
    Check(WayVariant),
    /// Something else.
    #[default]
    Else,
}

impl LaplaceStep {
    /// Whether MPI may not survive it.
    pub fn is_risky(self) -> bool {
        matches!(self, Self::Iterations(variant) if variant.way == HaloWay::GpuAware)
    }
}

impl fmt::Display for LaplaceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iterations(variant) if self.is_risky() => {
                write!(f, "iterations of {variant}, in which MPI is given device memory")
            }
            Self::Iterations(variant) => write!(f, "iterations of {variant}"),
            Self::Fill(variant) => write!(f, "the first values of {variant}"),
            Self::Check(variant) => write!(f, "the check of what {variant} computed"),
            Self::Else => f.write_str("what lies between the iterations"),
        }
    }
}
