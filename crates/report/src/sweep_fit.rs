//! What a document holds of time against size: for a rank, kind of memory and direction the fit t = α + n/β, and the sizes that are dips. They are
//! worked out in `sweep_fits`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::interval::Interval;

use crate::case::Order;
use crate::settings::{Direction, MemoryKind};

/// Time against size: t = α + n/β.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepFit {
    /// The rank.
    pub rank: u32,
    /// Whether the ranks ran at once.
    pub order: Order,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The direction.
    pub direction: Direction,
    /// How many sizes it goes through.
    pub sizes: u32,
    /// α: what a round costs whatever its size, ns.
    pub latency_ns: f64,
    /// Its 95 % interval, ns.
    pub latency_interval_ns: Interval,
    /// β: the rate that large copies come to, bytes/s.
    pub bytes_per_s: f64,
    /// Its 95 % interval, bytes/s.
    pub interval_bytes_per_s: Interval,
    /// n½: the size at which half of that rate is reached, bytes.
    pub half_rate_bytes: f64,
    /// Sizes that are more than 5 % slower than their neighbours let expect, ascending.
    pub dips: Vec<SweepDip>,
}

/// A size that is slower than those around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepDip {
    /// The size, bytes.
    pub bytes: u64,
    /// Its rate over the one expected between its neighbours', a fraction.
    pub ratio: f64,
}
