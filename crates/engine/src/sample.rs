//! What one rank brings back from one block: the block in figures and how it was measured, or why there is
//! none.

use std::fmt;

use serde::{Deserialize, Serialize};
use stats::figures::BlockFigures;
use stats::flag::Flag;
use stats::summary::Summary;
use stats::wrong_byte::WrongByte;

use crate::failure::Failure;
use crate::observed_placement::ObservedPlacement;
use crate::timing::Timing;

/// A measured block with everything needed to judge it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The rounds that count, in figures.
    pub block: BlockFigures,
    /// The clock.
    pub timing: Timing,
    /// The share of the block's time in which all ranks of the node were at work; `None` for a rank alone.
    pub overlap: Option<f64>,
    /// How far apart the ranks of the node started, nanoseconds; `None` for a rank alone.
    pub start_skew_ns: Option<f64>,
    /// Bytes compared after the block; `None` when that was not asked for.
    pub verified_bytes: Option<u64>,
    /// What the work tells of the block beside its time.
    pub told: Option<BlockDetail>,
}

/// What a work tells of a block beside its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum BlockDetail {
    /// The host's own time, nanoseconds: of the round before a block that a device times, by the host's
    /// clock; or of the block's last round, as long as the host was busy with calls and with what it does
    /// beside them.
    HostNs(f64),
    /// The part of the touched pages that lies with the device, 0..1: of memory that moves.
    Away(f64),
}

impl Sample {
    /// The host's own time, nanoseconds, where that is told.
    pub fn host_ns(&self) -> Option<f64> {
        match self.told {
            Some(BlockDetail::HostNs(ns)) => Some(ns),
            _ => None,
        }
    }

    /// The part of the pages with the device, where that is told.
    pub fn away(&self) -> Option<f64> {
        match self.told {
            Some(BlockDetail::Away(part)) => Some(part),
            _ => None,
        }
    }
}

/// Why there is no block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// It cannot be done here.
    Skipped(String),
    /// A step failed.
    Failed(Failure),
    /// Thread or pages were not where they were asked to be.
    Misplaced(String),
    /// It was measured, but not as asked.
    Invalid(String),
    /// Ranks that were to be at work at once were not, in this block: a busy machine kept one from its PU. It
    /// is had again, a few times.
    NotAtOnce(String),
    /// Nothing was wrong here: another rank's trouble left this one without those that it was to be at work
    /// with.
    AnotherFailed,
    /// Bytes arrived that were not sent.
    Corrupt(WrongByte),
    /// What was computed is not what it should be.
    Wrong(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped(reason)
            | Self::Misplaced(reason)
            | Self::Invalid(reason)
            | Self::NotAtOnce(reason)
            | Self::Wrong(reason) => f.write_str(reason),
            Self::AnotherFailed => f.write_str("another rank failed, so not all ranks were at work at once"),
            Self::Failed(failure) => failure.fmt(f),
            Self::Corrupt(m) => {
                write!(f, "byte {} should be {:#04x} and is {:#04x}", m.offset, m.expected, m.got)
            }
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What one pass gave on one case: the rank's news of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The case's index.
    pub case: usize,
    /// A block, or why there is none.
    pub sample: Result<Sample, Trouble>,
    /// The placement seen before the blocks of this pass, and after them.
    pub seen: [Option<ObservedPlacement>; 2],
    /// What all blocks of the case so far say.
    pub so_far: Option<SoFar>,
}

/// What all blocks of one case on one rank say so far. The rank works it out, because only the rank has every
/// round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoFar {
    /// The numbers.
    pub summary: Summary,
    /// What is odd about them.
    pub flags: Vec<Flag>,
}
