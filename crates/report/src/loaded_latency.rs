//! What a document holds of latency against the traffic beside it: the curve of each place, where it climbs
//! and where it is twice the idle latency. They are worked out in `latency_curves`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::interval::Interval;

use crate::settings::Direction;

/// The latency of loads against the traffic of other threads on the same memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedLatency {
    /// The title of its matrix: `node 0`.
    pub place: String,
    /// The PU that loads, OS index.
    pub pu: u32,
    /// The NUMA node that is loaded from and that the traffic is on, OS index.
    pub memory_node: u32,
    /// What the traffic is: `read`, `write` or `copy` (bytes read and bytes written).
    pub traffic: Direction,
    /// The PUs that make it, OS indices, a thread each.
    pub traffic_pus: IdSet,
    /// The points, from idle to all traffic; those that have no figure are left out.
    pub points: Vec<LoadedPoint>,
    /// Whether the latency comes to twice the idle one.
    pub twice_idle: TwiceIdle,
    /// The traffic from which the latency climbs, bytes/s: its point lies farthest below the straight line
    /// from idle to all traffic. Null where there is no such point for certain.
    pub knee_bytes_per_s: Option<f64>,
}

/// A point of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedPoint {
    /// The row of the matrix: `idle`, `10 % read traffic`, `full read traffic`.
    pub name: String,
    /// The traffic that was measured, all threads together, bytes/s; 0 where none is made.
    pub bytes_per_s: f64,
    /// The 95 % interval of its median, bytes/s; null with fewer than 6 blocks, and without traffic.
    pub interval_bytes_per_s: Option<Interval>,
    /// The latency of a load, ns.
    pub latency_ns: f64,
    /// The 95 % interval of its median, ns; null with fewer than 6 blocks.
    pub interval_ns: Option<Interval>,
}

/// Whether the latency comes to twice the idle one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum TwiceIdle {
    /// It does, for certain.
    Reached {
        /// The traffic, bytes/s, on the straight line between the two points around it.
        bytes_per_s: f64,
        /// The traffic of the point before, bytes/s.
        above_bytes_per_s: f64,
        /// The traffic of the point after, bytes/s.
        below_bytes_per_s: f64,
    },
    /// It surely does not at any point that was measured.
    NotReached,
    /// The intervals do not tell, or too few points were measured.
    Undecided,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}
