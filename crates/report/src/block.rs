//! Less than the whole of a block, for those who read large documents: what a comparison or an export does
//! not look at is passed over as text.
//!
//! A million blocks have twelve million numbers, and turning them into floats to the last bit is most of the
//! time that reading takes.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::result::BlockSample;

/// How long a block took, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct BlockTime {
    /// The time its counted rounds took by the case's clock, ns.
    pub elapsed_ns: f64,
    /// Rounds counted.
    pub rounds: u64,
    /// Copies in a round.
    pub copies_per_round: u32,
    /// Bytes moved in the counted rounds.
    pub bytes: u64,
}

/// Nothing of a block but that it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBlock;

impl<'de> Deserialize<'de> for NoBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl From<&BlockTime> for BlockTime {
    fn from(block: &BlockTime) -> Self {
        *block
    }
}

impl From<&BlockSample> for BlockTime {
    fn from(block: &BlockSample) -> Self {
        let BlockSample { elapsed_ns, rounds, copies_per_round, bytes, .. } = *block;
        Self { elapsed_ns, rounds, copies_per_round, bytes }
    }
}
