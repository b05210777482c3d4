//! What one rank brings back from one block: the block and how it was measured, or why there is none.

use std::fmt;

use stats::sample::Block;

use crate::case::Timing;
use crate::failure::Failure;
use crate::payload::Mismatch;
use crate::seen::Seen;

/// A measured block with everything needed to judge it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The rounds that count.
    pub block: Block,
    /// The clock.
    pub timing: Timing,
    /// The number of the allocation; blocks with another number had fresh memory.
    pub allocation: u32,
    /// The share of the block's time in which all ranks were at work; `None` for a rank alone.
    pub overlap: Option<f64>,
    /// How far apart the ranks started, nanoseconds; `None` for a rank alone.
    pub start_skew_ns: Option<f64>,
    /// Bytes compared after the block; `None` when that was not asked for.
    pub verified_bytes: Option<u64>,
    /// The placement seen before the blocks of this pass.
    pub before: Option<Seen>,
    /// The placement seen after them.
    pub after: Option<Seen>,
}

/// Why there is no block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It cannot be done here.
    Skipped(String),
    /// A step failed.
    Failed(Failure),
    /// Thread or pages were not where they were asked to be.
    Misplaced(String),
    /// It was measured, but not as asked.
    Invalid(String),
    /// Bytes arrived that were not sent.
    Corrupt(Mismatch),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped(reason) | Self::Misplaced(reason) | Self::Invalid(reason) => f.write_str(reason),
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

/// One block of the case with this index, or why there is none.
pub(crate) type CaseBlock = (usize, Result<Sample, Trouble>);
