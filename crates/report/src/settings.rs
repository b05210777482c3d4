//! What was asked for, with the defaults filled in: two runs with equal settings on one machine are the same
//! experiment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::stop::Patience;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The PUs as typed (`--cpus`); null when they were chosen automatically.
    pub cpus_asked: Option<String>,
    /// The devices as typed (`--gpus`); null when they were chosen automatically.
    pub gpus_asked: Option<String>,
    /// The platform as asked for (`--backend`): `auto`, `cuda`, `hip`, `host`.
    pub backend_asked: String,
    /// The sizes of one copy, bytes, ascending.
    pub sizes_bytes: Vec<u64>,
    /// The number of 4-byte floats when the size was given that way (`--floats`); null otherwise.
    pub floats: Option<u64>,
    /// The directions, in the order asked.
    pub directions: Vec<Direction>,
    /// The kinds of host memory, in the order asked.
    pub memory: Vec<MemoryKind>,
    /// Where host memory was asked to lie.
    pub membind: Membind,
    /// Whether huge pages were asked for (madvise); where this is off they were refused, not left to chance.
    pub huge_pages: bool,
    /// The clock asked for; what was used is in each case.
    pub timing: TimingAsked,
    /// What moves the bytes of copies to and from a GPU. Where both do, it is the copy engines, and cases by
    /// a kernel have a `group` that is, or ends with, `sm`.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub engine: CopyEngine,
    /// How ranks share the machine.
    pub order: OrderAsked,
    /// How often a case is repeated.
    pub repetition: Repetition,
    /// The seed of the payload, the order of blocks and every resampling.
    pub seed: u64,
    /// Whether the bytes that arrived were compared with the bytes sent.
    pub verify: bool,
}

/// Which way bytes move in one round: between host memory and a device, or by the CPU itself (`read`,
/// `write`, `copy`, `load`, `core-to-core`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Direction {
    /// Host to device.
    #[serde(rename = "h2d")]
    H2d,
    /// Device to host.
    #[serde(rename = "d2h")]
    D2h,
    /// H2D, then D2H of the same bytes: moves twice the size.
    #[serde(rename = "roundtrip")]
    RoundTrip,
    /// Both at once: moves twice the size.
    #[serde(rename = "bidir")]
    Bidirectional,
    /// The CPU reads a range of memory.
    #[serde(rename = "read")]
    Read,
    /// The CPU writes a range.
    #[serde(rename = "write")]
    Write,
    /// The CPU copies a range; bytes read and bytes written count, as STREAM counts them.
    #[serde(rename = "copy")]
    Copy,
    /// The CPU, or a device, loads lines in random order, each address from the line before: a time is that
    /// of one load.
    #[serde(rename = "load")]
    Load,
    /// Two cores hand a flag to each other: a time is that of one handover, half of a round trip.
    #[serde(rename = "core-to-core")]
    CoreToCore,
    /// A core writes a flag, a device sees it and writes another one, and the core sees that: a time is that
    /// of one round trip.
    #[serde(rename = "core-to-gpu")]
    CoreToGpu,
    /// From one device's memory to another's.
    #[serde(rename = "d2d")]
    Peer,
    /// A kernel computes: on a device, between the copies of its input and its result or on data that stays
    /// there (`group` says which), or on CPUs. The bytes are those of input and result. Since 1.5.
    #[serde(rename = "kernel")]
    Kernel,
    /// A value that a newer numabench wrote.
    #[serde(rename = "newer", other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// The kind of host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// Placed by numabench, then registered with the driver.
    Pinned,
    /// Allocated pinned by the driver: what most applications do.
    PinnedDriver,
    /// Ordinary memory; the driver stages it.
    Pageable,
    /// Allocated by the driver, which moves its pages to whoever touches them.
    Managed,
    /// Ordinary memory that a device reads and writes by itself.
    System,
    /// None: both ends are devices.
    Device,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl MemoryKind {
    /// Whether the pages of such memory go to whoever touches them.
    pub fn moves(self) -> bool {
        matches!(self, Self::Managed | Self::System)
    }
}

/// Where host memory was asked to lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Membind {
    /// On the NUMA node of each rank's PU.
    #[default]
    Local,
    /// On one NUMA node, for all ranks.
    Node {
        /// Its OS index.
        node: u32,
    },
    /// Page by page over several NUMA nodes. Since 1.6.
    Interleave {
        /// The nodes asked for; null for all that have host memory.
        nodes: Option<IdSet>,
    },
    /// The same, as many pages in a row of each as the kernel's weight of it. Since 1.6.
    Weighted {
        /// As for `interleave`.
        nodes: Option<IdSet>,
    },
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// The clock asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimingAsked {
    /// Device timing where it is possible and fits the size, host timing otherwise.
    Auto,
    /// The node's monotonic clock around blocking copies.
    Host,
    /// The device's own clock, copies queued behind a latch.
    Device,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// What moves the bytes of copies to and from a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyEngine {
    /// The GPU's copy engines.
    #[default]
    Ce,
    /// A kernel of loads and stores on its multiprocessors.
    Sm,
    /// The tensor memory accelerator (TMA) of its multiprocessors, which a kernel has copy in bulk.
    Tma,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How ranks share the machine, as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderAsked {
    /// All ranks at once.
    Simultaneous,
    /// One rank after the other.
    Alone,
    /// Both, and what the difference is.
    Both,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// How often a case is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "rule", rename_all = "kebab-case")]
pub enum Repetition {
    /// A fixed number of rounds.
    Fixed {
        /// Rounds that count.
        reps: u64,
        /// Rounds before them that do not.
        warmup: u64,
    },
    /// Blocks until the interval of the median is narrow, or time is up.
    Adaptive {
        /// The half-width asked of the 95 % interval, as a fraction of the median.
        target_half_width: f64,
        /// Blocks at least.
        min_blocks: u32,
        /// Blocks at most.
        max_blocks: u32,
        /// How long the run goes on for intervals that are not narrow after the least blocks; `long` where it
        /// is not said.
        #[serde(default, skip_serializing_if = "Patience::is_long")]
        patience: Patience,
        /// The time limit in seconds (`--max-time`); null for none.
        max_time_s: Option<f64>,
    },
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}
