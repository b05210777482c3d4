//! The document of `numabench mpi`: messages between two ranks by each path, and what MPI does with device
//! memory.
//!
//! A document of its own beside the result document: its unit is a pair of ranks, and it says of a library
//! what works in it. The rules of the result document hold here too.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::interval::Interval;
use stats::stop::StopReason;
use stats::{IdSet, PciAddress};

use crate::awareness::{DeviceOperation, MpiDeviceMemory, MpiOperation};
use crate::document::{Status, Tool};
use crate::message::{GpuThreadAt, MessagePattern, MpiPath, MpiPlaceKind, MpiThreadLevel};
use crate::pair_sample::PairSample;
use crate::rank::Locality;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpiDocument {
    /// Always `numabench.mpi`.
    pub schema: String,
    /// `major.minor` of the schema this document follows.
    pub schema_version: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The command line as it was given, the program's name first.
    pub argv: Vec<String>,
    /// When the run began, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// How long it has taken so far, in seconds.
    pub elapsed_s: f64,
    /// How it stands.
    pub status: Status,
    /// Why it is not complete; null where it is, or runs.
    pub status_reason: Option<String>,
    /// The exit code; null while it runs.
    pub exit_code: Option<u8>,
    /// What the driver says of itself where its devices are not real; null where they are, or there are none.
    pub simulated: Option<String>,
    /// The answer, the first line first.
    pub verdict: Vec<String>,
    /// The library.
    pub mpi: MpiLibrary,
    /// How it was measured.
    pub settings: MpiSettings,
    /// The ranks, by number.
    pub ranks: Vec<MpiRank>,
    /// The pairs of ranks, in the order measured.
    pub pairs: Vec<MpiPair>,
    /// The pairs in the place of all; null where all or given ones were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.4"))]
    pub pair_sample: Option<PairSample>,
    /// How the figures stand by where the ranks run; null where that was not asked.
    #[schemars(extend("since" = "1.1"))]
    pub matrix: Option<MpiMatrix>,
    /// The figures as a flat table: a row a pair and case.
    pub rows: Vec<MpiRow>,
    /// What the user should know beside.
    pub notes: Vec<String>,
}

/// The MPI library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiLibrary {
    /// As it names itself; never null, because a document is written only once MPI has started.
    pub library: Option<String>,
    /// What started the processes.
    pub launcher: String,
    /// What it says of its support of GPUs, a line each. No proof.
    pub says: Vec<String>,
    /// The thread level that it gave; never null either.
    pub thread_level: Option<MpiThreadLevel>,
    /// Variables that decide how it sends, as they were set.
    pub variables: BTreeMap<String, String>,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiSettings {
    /// Bytes of messages.
    pub sizes_bytes: Vec<u64>,
    /// How messages follow each other.
    pub patterns: Vec<MessagePattern>,
    /// The operations that were asked for; empty with none.
    pub operations: Vec<DeviceOperation>,
    /// A process that says nothing for so long is ended, in seconds.
    pub operation_timeout_s: u64,
    /// The seed of the order of blocks.
    pub seed: u64,
    /// Whether messages were also measured while the launch's other ranks sent in pairs (an odd one rested,
    /// and so did rank 0 where it led without being measured).
    #[serde(default)]
    #[schemars(extend("since" = "1.4"))]
    pub others_send: bool,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiRank {
    /// Its number in the launch.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// The PU that it is bound to.
    pub pu: u32,
    /// The NUMA node of its host memory.
    pub memory_node: u32,
    /// Its GPU; null without one.
    pub gpu: Option<PciAddress>,
    /// The GPU's name; null without one.
    pub gpu_name: Option<String>,
    /// How close PU and GPU are; null without a GPU.
    pub locality: Option<Locality>,
    /// Its threads that copy to and from the GPU beside messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.1"))]
    pub gpu_threads: Vec<MpiGpuThread>,
    /// The network adapters of its host; empty where all ranks have one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.2"))]
    pub adapters: Vec<MpiAdapter>,
}

/// A network adapter of a rank's host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiAdapter {
    /// What the kernel calls it: its RDMA device (`mlx5_0`), Slingshot's (`cxi0`), else its interface
    /// (`eth0`).
    pub name: String,
    /// Its interfaces.
    pub interfaces: Vec<String>,
    /// Its PCI address; null for a virtual interface.
    pub pci: Option<PciAddress>,
    /// Its NUMA nodes; empty where it is not known.
    pub nodes: IdSet,
    /// Whether it is on the NUMA node of the rank's GPU, or of its PU without one; null where that is not
    /// known.
    pub is_near: Option<bool>,
    /// Whether it has a link; null where the kernel does not say.
    pub has_link: Option<bool>,
    /// What its link carries one way, bytes/s, by the kernel; null where it does not say.
    #[serde(default)]
    #[schemars(extend("since" = "1.3"))]
    pub link_bytes_per_s: Option<u64>,
    /// Why its counters cannot be read; null where they can.
    pub not_counted: Option<String>,
    /// Variables by which MPI libraries are told to take it, as `NAME=value`.
    pub chosen_by: Vec<String>,
}

/// A thread of a rank that copies to and from its GPU beside messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiGpuThread {
    /// Where it runs.
    pub at: GpuThreadAt,
    /// The PU that it is bound to.
    pub pu: u32,
    /// The NUMA node of its host memory.
    pub memory_node: u32,
}

/// Two ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpiPair {
    /// Their numbers, the lower one first.
    pub ranks: [u32; 2],
    /// What MPI does with their device memory; null where none took part.
    pub device_memory: Option<MpiDeviceMemory>,
    /// Each operation that was tried on device memory.
    pub operations: Vec<MpiOperation>,
    /// The figures.
    pub cases: Vec<MpiCase>,
    /// Where both were seen before and after; null where they were not looked at.
    pub placed: [[Option<MpiPlaced>; 2]; 2],
    /// What network adapters counted while messages went; empty within a host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.2"))]
    pub carried: Vec<MpiCarried>,
}

/// What a network adapter of a rank's host counted while messages of a case went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpiCarried {
    /// The path of the case: `host` or `gpu-aware`.
    pub path: MpiPath,
    /// The pattern of the case.
    pub pattern: MessagePattern,
    /// Bytes of a message.
    pub bytes: u64,
    /// The rank.
    pub rank: u32,
    /// The adapter's name.
    pub adapter: String,
    /// Bytes that it sent for each byte that the rank sent; null where the rank sent none, or its counters
    /// cannot be read.
    pub sent: Option<MpiPerByte>,
    /// The same received.
    pub received: Option<MpiPerByte>,
}

/// Bytes that an adapter counted for each byte of messages, packets' heads with them, less what it counted at
/// rest in as long a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpiPerByte {
    /// The median of several windows.
    pub median: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpiCase {
    /// The path.
    pub path: MpiPath,
    /// How messages follow each other.
    pub pattern: MessagePattern,
    /// Bytes of a message; 0 of one that has none.
    pub bytes: u64,
    /// Messages under way at once.
    pub window: u32,
    /// Rounds of a block.
    pub rounds: u32,
    /// The time of a message, nanoseconds, by block: half a ping-pong, a window's part.
    pub block_ns: Vec<f64>,
    /// Their median; null without a block.
    pub message_ns: Option<f64>,
    /// Its 95 % interval; null with fewer than 6 blocks.
    pub message_interval_ns: Option<Interval>,
    /// Bytes a second at the median, both ways' together where both go at once; null without a block, and of
    /// messages without bytes.
    pub bytes_per_s: Option<f64>,
    /// What those threads copied beside the messages, there and back together: bytes a second of one rank,
    /// the mean of the two, the median of the blocks; null where none copied.
    #[schemars(extend("since" = "1.1"))]
    pub gpu_bytes_per_s: Option<f64>,
    /// The same by block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.1"))]
    pub gpu_block_bytes_per_s: Vec<f64>,
    /// Bytes that were compared with what was sent.
    pub verified_bytes: u64,
    /// Why no further block was measured; null while it is, or without a figure.
    pub stop: Option<StopReason>,
    /// Why there is no figure that counts; null where there is one.
    pub reason: Option<String>,
}

/// Where a rank was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiPlaced {
    /// The PU that it ran on.
    pub pu: u32,
    /// The PUs that it could have run on.
    pub affinity: IdSet,
    /// Base pages of its host memory by NUMA node.
    pub pages: BTreeMap<u32, u64>,
    /// What is not as asked; null where nothing is.
    pub mismatch: Option<String>,
    /// The same of its threads that copy to the GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu_threads: Vec<MpiPlaced>,
}

/// How figures stand in rows and columns, by where the ranks run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiMatrix {
    /// What a place is.
    pub places: MpiPlaceKind,
    /// The ranks of the rows.
    pub rows: Vec<MpiPlace>,
    /// The ranks of the columns: those of the rows where every pair of a host's ranks was measured.
    pub columns: Vec<MpiPlace>,
    /// The places that no rank could have.
    pub missing: Vec<MpiMissingPlace>,
}

/// A place with the rank that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiPlace {
    /// The rank.
    pub rank: u32,
    /// What the place is called: `node 0`, with its host before it where there are several.
    pub name: String,
    /// The network adapters that the topology declares to be near, by the kernel's names.
    pub nics: Vec<String>,
}

/// A place that no rank could have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MpiMissingPlace {
    /// Its host.
    pub host: String,
    /// What it is called.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A figure in a flat row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpiRow {
    /// The lower rank.
    pub from: u32,
    /// The other one.
    pub to: u32,
    /// The path.
    pub path: MpiPath,
    /// How messages follow each other.
    pub pattern: MessagePattern,
    /// Bytes of a message.
    pub bytes: u64,
    /// The time of a message, nanoseconds; null without a figure that counts.
    pub message_ns: Option<f64>,
    /// Bytes a second; null likewise.
    pub bytes_per_s: Option<f64>,
}

impl MpiCase {
    /// Whether this version knows its path and its pattern: cases that it does not know cannot be told apart.
    pub fn is_known(&self) -> bool {
        self.path != MpiPath::Newer && self.pattern != MessagePattern::Newer
    }

    /// The time of a message, where it counts.
    pub fn counted_ns(&self) -> Option<f64> {
        self.message_ns.filter(|_| self.reason.is_none())
    }

    /// The rate, where it counts.
    pub fn counted_bytes_per_s(&self) -> Option<f64> {
        self.bytes_per_s.filter(|_| self.reason.is_none())
    }
}

/// The rows of these pairs.
pub fn rows(pairs: &[MpiPair]) -> Vec<MpiRow> {
    let row = |pair: &MpiPair, case: &MpiCase| MpiRow {
        from: pair.ranks[0],
        to: pair.ranks[1],
        path: case.path,
        pattern: case.pattern,
        bytes: case.bytes,
        message_ns: case.counted_ns(),
        bytes_per_s: case.counted_bytes_per_s(),
    };
    pairs.iter().flat_map(|pair| pair.cases.iter().map(move |case| row(pair, case))).collect()
}
