//! What copies from far memory lose at one size of a sweep from several rows (`sweep --rows`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::compare::TwoSampleComparison;

use crate::settings::{Direction, MemoryKind};

/// The rates of one size from the near and from a far row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeLoss {
    /// The device's `id`.
    pub device: String,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The direction.
    pub direction: Direction,
    /// The near row's name: the one that the platform declares near the device, or the first.
    pub near: String,
    /// The far row's name.
    pub far: String,
    /// The size of one copy, bytes.
    pub bytes: u64,
    /// The rate from the near row, bytes/s: the median of its blocks.
    pub near_bytes_per_s: f64,
    /// The same from the far row.
    pub far_bytes_per_s: f64,
    /// The far row's rates over the near one's, by the blocks of the same pass; its verdict holds beside
    /// those of all sizes, directions and devices. Null with too few passes.
    pub comparison: Option<TwoSampleComparison>,
}
