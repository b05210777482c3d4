//! What a document holds of a GPU that copies much slower than those of its node that are like it. They are
//! found in `slower_twins`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A GPU that copies much slower than its twins, and the case in which it does so the most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowerTwin {
    /// The device's `id`.
    pub device: String,
    /// Its rank.
    pub rank: u32,
    /// The `id` of the case in which it is the slowest against its twins.
    pub case: String,
    /// Its rate in that case, the median over blocks.
    pub bytes_per_s: f64,
    /// The median of its twins' rates in that case.
    pub twins_bytes_per_s: f64,
    /// How many twins it was compared with.
    pub twins: u32,
    /// In how many cases it is that much slower.
    pub slower_cases: u32,
    /// In how many cases it was compared with its twins.
    pub judged_cases: u32,
    /// What speaks for a cause, or how to find it, in words.
    pub cause: String,
}
