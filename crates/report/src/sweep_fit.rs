//! What a document holds of time against size: for a rank, kind of memory and direction the fit t = α + n/β
//! (two of them where one does not do), and the sizes that are dips. They are worked out in
//! `analysis::sweep_fits`.

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
    /// α: what a round costs whatever its size, ns; of two lines the small sizes'.
    pub latency_ns: f64,
    /// Its 95 % interval, ns.
    pub latency_interval_ns: Interval,
    /// β: the rate that large copies come to, bytes/s; of two lines the large sizes'.
    pub bytes_per_s: f64,
    /// Its 95 % interval, bytes/s.
    pub interval_bytes_per_s: Interval,
    /// n½: the size at which half of that rate is reached, bytes.
    pub half_rate_bytes: f64,
    /// Sizes that are more than 5 % slower than their neighbours let expect, for certain, ascending.
    pub dips: Vec<SweepDip>,
    /// The lines where one does not do, by size: two. Empty where one does.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub lines: Vec<SweepLine>,
    /// The part by which the size that is furthest off the lines is off; null in a document of an older
    /// version.
    #[serde(default)]
    #[schemars(extend("since" = "1.5"))]
    pub misfit: Option<f64>,
}

/// A line through the sizes of one way of copying.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepLine {
    /// The smallest size of it, bytes.
    pub from_bytes: u64,
    /// α, ns.
    pub latency_ns: f64,
    /// Its 95 % interval, ns.
    pub latency_interval_ns: Interval,
    /// β, bytes/s.
    pub bytes_per_s: f64,
    /// Its 95 % interval, bytes/s.
    pub interval_bytes_per_s: Interval,
}

/// A size that is slower than those around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepDip {
    /// The size, bytes.
    pub bytes: u64,
    /// Its rate over the one expected between its neighbours', a fraction.
    pub ratio: f64,
}
