//! The machine and its state while the run was under way, each fact with its source.
//!
//! The topology is a summary: what a reader needs to judge a placement. `numabench topo --json` has the whole
//! of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

/// The machine and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The host's name.
    pub hostname: String,
    /// Facts that change results (kernel, governor, THP, numa_balancing, memlock, …), by name.
    pub probes: Vec<Probe>,
    /// Launcher, job and driver variables that were set: an allow-list, never the whole environment.
    pub variables: BTreeMap<String, String>,
    /// The clock of host timing.
    pub timer: Timer,
    /// The machine's CPUs and memory.
    pub topology: Topology,
}

/// One fact that changes results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Its name, e.g. `kernel.numa_balancing`; stable over versions.
    pub name: String,
    /// What was read, with numbers as numbers; null when it could not be.
    pub value: Option<serde_json::Value>,
    /// The file, call or tool that was read.
    pub source: String,
    /// Why there is no value; null when there is one.
    pub reason: Option<String>,
}

/// The clock of host timing, measured at start-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timer {
    /// Which clock, e.g. `CLOCK_MONOTONIC_RAW`.
    pub clock: String,
    /// The smallest step seen between two readings, ns.
    pub resolution_ns: f64,
    /// What one reading costs, ns. It is inside every sample and is never subtracted.
    pub cost_ns: f64,
}

/// The machine's CPUs and memory, and what of them this process may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Packages (sockets), by OS index.
    pub packages: Vec<Package>,
    /// NUMA nodes, by OS index.
    pub nodes: Vec<NumaNode>,
    /// Relative distances; null where the firmware gives none.
    pub distances: Option<Distances>,
    /// PUs this process may use: affinity ∩ cgroup cpuset ∩ online.
    pub allowed_pus: IdSet,
    /// NUMA nodes this process may use.
    pub allowed_nodes: IdSet,
}

/// A package (socket).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Package {
    /// OS index; null where the firmware does not number packages.
    pub os_index: Option<u32>,
    /// The CPU's model name; null where it is not told.
    pub cpu_model: Option<String>,
    /// Its PUs.
    pub pus: IdSet,
    /// Its NUMA nodes.
    pub nodes: IdSet,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// OS index.
    pub os_index: u32,
    /// What it is made of.
    pub kind: NodeKind,
    /// Memory in all, bytes.
    pub total_bytes: u64,
    /// PUs that are local to it.
    pub pus: IdSet,
}

/// What a NUMA node is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Memory and CPUs.
    Normal,
    /// Memory without CPUs.
    MemoryOnly,
    /// CPUs without memory.
    CpuOnly,
    /// The memory of a GPU, exposed as a node.
    GpuMemory,
    /// Neither memory nor CPUs.
    Empty,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// Relative latencies between NUMA nodes (ACPI SLIT: 10 is local).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Distances {
    /// The nodes of the rows and columns, OS indices.
    pub nodes: Vec<u32>,
    /// `rows[i][j]`: from node `nodes[i]` to node `nodes[j]`.
    pub rows: Vec<Vec<u64>>,
}
