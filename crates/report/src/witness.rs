//! The document of `numabench witness`: which copies between host memory and GPUs one run of a program made,
//! on which NUMA nodes that memory lay, and what the near placement would gain.
//!
//! Counts are exact; what was sampled (pages, times) stands with how much was looked at. The rules of the
//! result document hold here too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{PlatformKind, Tool};

/// What `numabench witness` saw of one run of a program: of one rank of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessDocument {
    /// Always `numabench.witness`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The command line as it was given, the program's name first.
    pub argv: Vec<String>,
    /// When the program was started, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// How long the program ran, in seconds.
    pub elapsed_s: f64,
    /// The host's name, where it is known.
    pub host: Option<String>,
    /// The rank in its launch; null outside of one.
    pub rank: Option<u32>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The program's exit code; null where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended the program; null where it exited.
    pub signal: Option<i32>,
    /// Whether the driver said that its devices are simulated.
    pub simulated: bool,
    /// The answer, in sentences.
    pub verdict: Vec<String>,
    /// What was not seen or not counted, in sentences.
    pub not_seen: Vec<String>,
    /// All copies between host memory and GPUs.
    pub total: WitnessBytes,
    /// The time that the program's threads waited in copies that block, in seconds; null without such copies.
    pub waited_s: Option<f64>,
    /// The rates that events timed, by direction, kind of memory and distance.
    pub rates: Vec<WitnessRate>,
    /// What the near placement would gain; null where it cannot be predicted, or nothing is far.
    pub gain: Option<WitnessGain>,
    /// The line that starts the program near its GPU; null where nothing is far.
    pub remedy: Option<String>,
    /// The buffers, most far bytes first.
    pub buffers: Vec<WitnessBuffer>,
    /// The processes that copied.
    pub processes: Vec<WitnessProcess>,
    /// How many processes loaded the library that counts.
    pub loaded: u64,
    /// How many processes copied and were not counted, because their record could not be written or read.
    pub not_counted: u32,
    /// The processes that still ran when the program had ended, whose later copies are not counted; null in
    /// documents before 1.1.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub still_running: Option<Vec<u32>>,
    /// Why near and far are not known, where no byte's distance is; null otherwise.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub distance_unknown: Option<String>,
}

/// Bytes by distance and by kind of memory. The distances add up to the bytes, and so do the kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessBytes {
    /// Copies.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of memory on a NUMA node local to the GPU.
    pub near_bytes: u64,
    /// Bytes of memory on another node.
    pub far_bytes: u64,
    /// Bytes whose node or whose GPU's locality is not known.
    pub unknown_bytes: u64,
    /// Bytes on pages that were looked at.
    pub looked_at_bytes: u64,
    /// Bytes of memory that the driver did not know.
    pub pageable_bytes: u64,
    /// Bytes of pinned memory.
    pub pinned_bytes: u64,
    /// Bytes of managed memory.
    pub managed_bytes: u64,
}

/// Which way bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum WitnessDirection {
    /// From host memory to a GPU.
    #[serde(rename = "h2d")]
    ToDevice,
    /// From a GPU to host memory.
    #[serde(rename = "d2h")]
    ToHost,
    /// A value that a newer numabench wrote.
    #[serde(rename = "newer", other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// The kind of host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessMemory {
    /// Known to the driver as host memory.
    Pinned,
    /// Ordinary memory; the driver stages it.
    Pageable,
    /// The driver moves its pages.
    Managed,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How far memory is from a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// On a node local to the GPU.
    Near,
    /// On another node.
    Far,
    /// On nodes of both kinds.
    Mixed,
    /// The node, or which nodes are local, is not known.
    Unknown,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// A rate that copies reached, from the driver's own events.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessRate {
    /// Which way.
    pub direction: WitnessDirection,
    /// The kind of memory.
    pub memory: WitnessMemory,
    /// How far the memory is.
    pub distance: Distance,
    /// Copies that were timed.
    pub timed: u64,
    /// Their bytes.
    pub timed_bytes: u64,
    /// Their time, in seconds.
    pub timed_s: f64,
    /// Bytes per second of these copies together.
    pub bytes_per_s: f64,
}

/// What the near placement would gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessGain {
    /// The file of the matrix whose rates this follows from.
    pub matrix: String,
    /// The far bytes that it has rates for.
    pub far_bytes: u64,
    /// The far bytes that it has no rates for.
    pub without_rates_bytes: u64,
    /// The copies' own time that would be saved, the lower end, in seconds.
    pub copies_low_s: f64,
    /// The upper end.
    pub copies_high_s: f64,
    /// The program's time that would be saved, the lower end, in seconds: only of copies that block.
    pub program_low_s: f64,
    /// The upper end: all copies' time, as if nothing hid it.
    pub program_high_s: f64,
}

/// Host memory that copies had in common: one allocation, or addresses next to each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessBuffer {
    /// The process.
    pub pid: u32,
    /// The first address, hexadecimal; null for copies from more addresses than were kept apart.
    pub address: Option<String>,
    /// From the first address to the end of the last copy.
    pub extent_bytes: u64,
    /// The kind of memory.
    pub memory: WitnessMemory,
    /// Which way.
    pub direction: WitnessDirection,
    /// The GPU's PCI address.
    pub gpu: String,
    /// Whose driver copied.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub platform: Option<PlatformKind>,
    /// The GPU's index in PCI order; null where the topology does not show it.
    pub gpu_index: Option<u32>,
    /// Copies.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes by node; estimated from the pages that were looked at.
    pub nodes: Vec<NodeBytes>,
    /// Bytes on pages that were looked at.
    pub looked_at_bytes: u64,
    /// Bytes whose page had no node: freed before it was looked at, or never written.
    pub nowhere_bytes: u64,
    /// How far it is.
    pub distance: Distance,
    /// Bytes on nodes that are not local to the GPU.
    pub far_bytes: u64,
    /// Bytes of copies that block.
    pub blocking_bytes: u64,
    /// The time in copies that block, in seconds; null where there are none.
    pub waited_s: Option<f64>,
    /// Copies that events timed.
    pub timed: u64,
    /// Their bytes.
    pub timed_bytes: u64,
    /// Their time, in seconds.
    pub timed_s: f64,
}

/// Bytes on a NUMA node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeBytes {
    /// The node's OS index.
    pub node: u32,
    /// The bytes.
    pub bytes: u64,
    /// How far the node is from the buffer's GPU.
    #[serde(default)]
    #[schemars(extend("since" = "1.1"))]
    pub distance: Option<Distance>,
}

/// A process that copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessProcess {
    /// Its id.
    pub pid: u32,
    /// Its name, as the kernel has it.
    pub name: String,
    /// Whether it had ended by itself; otherwise what was queued at its end is missing.
    pub ended: bool,
    /// Copies between GPUs or within one.
    pub device_copies: u64,
    /// Their bytes.
    pub device_bytes: u64,
    /// Copies within host memory.
    pub host_copies: u64,
    /// Their bytes.
    pub host_bytes: u64,
    /// Prefetches of managed memory.
    pub prefetches: u64,
    /// Their bytes.
    pub prefetch_bytes: u64,
    /// Launches of graphs whose copies are counted.
    pub graphs: u64,
    /// Launches of graphs whose copies are not.
    pub graphs_not_seen: u64,
    /// Copies that the driver refused.
    pub refused: u64,
    /// Copies that are in no buffer here, for lack of room.
    pub lost: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Copies whose pages were to be looked at.
    pub looks: u64,
    /// Those of them that were.
    pub looks_done: u64,
    /// Copies that were to be timed.
    pub timings: u64,
    /// Those of them whose time was read.
    pub timings_read: u64,
}
