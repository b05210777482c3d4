//! Less than the whole of a block, for those who read large documents: what a comparison or an export does
//! not look at is passed over as text.
//!
//! A million blocks have twelve million numbers, and turning them into floats to the last bit is most of the
//! time that reading takes. There is no third reader that keeps nothing of a block: each is the whole
//! schema's reader compiled once more.

use serde::Deserialize;

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
