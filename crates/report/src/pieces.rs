//! What a document holds of small pieces sent in several ways: what was sent, and which way is worth it for
//! which size of piece. It is worked out in `analysis::pieces`.
//!
//! The figures are the cases': `bytes` is a piece, its time is the median of a piece's, and `group` is the
//! way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::Direction;

/// Small pieces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pieces {
    /// Bytes of all pieces that are sent together.
    pub total_bytes: u64,
    /// Where they lie scattered.
    pub scattered: Scattered,
    /// Which way is worth it, by rank, direction and size, ascending; empty while the run goes on.
    pub worth: Vec<WorthWay>,
}

/// On which sides pieces lie scattered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scattered {
    /// In host memory and on the device.
    Both,
    /// In host memory.
    Host,
    /// On the device.
    Device,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How pieces are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// An asynchronous copy of each.
    Loop,
    /// One call of the driver that queues all copies.
    Batch,
    /// One kernel that moves all of them.
    Kernel,
    /// One copy of all, packed on the host by the rank's core and on the device by a kernel.
    Packed,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl Way {
    /// All that this version writes, the plainest first.
    pub const ALL: [Self; 4] = [Self::Loop, Self::Batch, Self::Kernel, Self::Packed];

    /// As the `group` of its cases has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Batch => "batch",
            Self::Kernel => "kernel",
            Self::Packed => "packed",
            Self::Newer => "newer",
        }
    }
}

/// The plainest of the ways that are as fast as the fastest, for a range of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthWay {
    /// The rank.
    pub rank: u32,
    /// The direction.
    pub direction: Direction,
    /// The smallest piece of the range, bytes.
    pub from_bytes: u64,
    /// The largest piece of the range, bytes.
    pub to_bytes: u64,
    /// The way.
    pub way: Way,
    /// Its rate over that of a copy of each, at the smallest and the largest piece; null where that was not
    /// measured.
    pub over_loop: Option<(f64, f64)>,
}
