//! What a machine is, as numabench sees it: plain values, made once by reading hwloc and never changed after.
//!
//! Everything is named by the ids users and kernels use: OS indices of PUs and NUMA nodes, PCI addresses of
//! devices. An hwloc logical index never appears. What is not known is `None` or a variant that says why;
//! nothing is guessed.
//!
//! The JSON of `numabench topo --json` is this model, so a renamed field here is a changed output. Some 400
//! lines because it is one model, nearly all of it fields and what they mean.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{IdSet, PciAddress};

pub use crate::partition::Partition;
use crate::unsaid::sentence;
pub use crate::unsaid::{Unsaid, UnsaidError};

/// A machine, or a saved description of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Where this was read from.
    pub source: TopologySource,
    /// The host's name, where it is known.
    pub hostname: Option<String>,
    /// The version of the hwloc library that read it.
    pub hwloc_version: String,
    /// Packages (sockets), by OS index.
    pub packages: Vec<Package>,
    /// NUMA nodes, by OS index; memory-only, CPU-only and GPU-memory nodes too.
    pub nodes: Vec<NumaNode>,
    /// Node distances, where the firmware gives them.
    pub distances: Option<Distances>,
    /// L3 caches, by smallest PU.
    pub l3s: Vec<L3>,
    /// Cores, by smallest PU.
    pub cores: Vec<Core>,
    /// Hardware threads, by OS index; those that are offline or not allowed too.
    pub pus: Vec<Pu>,
    /// What this process may use, and what is missing from it.
    pub allowed: Allowed,
    /// GPUs, in PCI order: a user's GPU index counts along this list.
    pub gpus: Vec<Gpu>,
    /// The small cores of a hybrid CPU; absent where all cores are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowCores>,
}

/// Cores that are slower than the others by design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowCores {
    /// Their PUs.
    pub pus: IdSet,
    /// How that is known.
    pub reason: String,
}

/// Where a topology was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "Source")]
pub enum TopologySource {
    /// This machine, now.
    ThisSystem,
    /// A saved hwloc XML file.
    XmlFile {
        /// The path as given.
        path: String,
    },
    /// Texts that other tools printed.
    Texts {
        /// The paths as given.
        paths: Vec<String>,
        /// The tools whose output was found there.
        tools: Vec<String>,
        /// What none of them says; a list of the model that could not be said is empty.
        unsaid: Vec<Unsaid>,
    },
}

impl TopologySource {
    /// The files that it was read from, with commas between; `None` for this machine.
    pub fn files(&self) -> Option<String> {
        match self {
            Self::ThisSystem => None,
            Self::XmlFile { path } => Some(path.clone()),
            Self::Texts { paths, .. } => Some(paths.join(", ")),
        }
    }

    /// That the cores are known, which no place on the machine and no launch line can do without.
    ///
    /// # Errors
    /// [`UnsaidError`]: the texts say no CPUs, or not which of them share a core.
    pub fn require_cores(&self) -> Result<(), UnsaidError> {
        let needed = [Unsaid::Cpus, Unsaid::Cores].into_iter().find(|part| self.unsaid().contains(part));
        needed.map_or(Ok(()), |part| Err(UnsaidError(part)))
    }

    /// What a view says first of a machine that was read from texts: what they leave open; `None` where
    /// nothing is.
    pub fn unsaid_words(&self) -> Option<String> {
        sentence(self.unsaid())
    }

    /// What the texts leave open that a machine was read from; nothing for another source.
    pub fn unsaid(&self) -> &[Unsaid] {
        if let Self::Texts { unsaid, .. } = self { unsaid } else { &[] }
    }
}

/// A package (socket).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Package {
    /// OS index, where the firmware numbers packages.
    pub os_index: Option<u32>,
    /// The CPU's model name, where it is known.
    pub cpu_model: Option<String>,
    /// Its PUs (online ones).
    pub pus: IdSet,
    /// Its NUMA nodes.
    pub nodes: IdSet,
}

/// What a NUMA node is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Memory and CPUs.
    Normal,
    /// Memory without CPUs (CXL, HBM or persistent memory exposed as a node).
    MemoryOnly,
    /// CPUs without memory.
    CpuOnly,
    /// The memory of a GPU, exposed as a node: host memory must never be bound here by default.
    GpuMemory,
    /// Neither memory nor CPUs, such as the spare nodes of a GPU's MIG instances.
    Empty,
}

impl NodeKind {
    /// Whether such a node has CPUs of its own; the PUs of another are those around it.
    pub fn has_cpus(self) -> bool {
        matches!(self, Self::Normal | Self::CpuOnly)
    }

    /// Whether memory can be on such a node: a GPU's too.
    pub fn has_memory(self) -> bool {
        !matches!(self, Self::CpuOnly | Self::Empty)
    }

    /// Whether such a node has memory that is not a GPU's.
    pub fn has_host_memory(self) -> bool {
        matches!(self, Self::Normal | Self::MemoryOnly)
    }
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
    /// Free memory when this machine was read, bytes; `None` in a file that does not say.
    pub free_bytes: Option<u64>,
    /// PUs that are local to it (online ones).
    pub pus: IdSet,
    /// Whether this process may allocate here.
    pub allowed: bool,
    /// hwloc's subtype where it has one (`DRAM`, `HBM`, `GPUMemory`, …).
    pub subtype: Option<String>,
    /// Whether a file shows no CPUs in it nor around it, so that it may have some which the file leaves out
    /// (a job's file); its kind is then `memory-only` as far as the file shows. Absent where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("since" = "1.3"))]
    pub cpus_not_shown: bool,
}

/// Relative latencies between NUMA nodes (ACPI SLIT: 10 is local).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Distances {
    /// The nodes of the rows and columns, OS indices.
    pub nodes: Vec<u32>,
    /// `rows[i][j]`: from node `nodes[i]` to node `nodes[j]`.
    pub rows: Vec<Vec<u64>>,
}

/// A last-level (L3) cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct L3 {
    /// OS index, where the machine numbers its caches.
    pub os_index: Option<u32>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// PUs that share it.
    pub pus: IdSet,
}

/// A core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Core {
    /// OS index, where there is one; unique only within a package.
    pub os_index: Option<u32>,
    /// Its PUs (hardware threads).
    pub pus: IdSet,
}

/// A hardware thread: the OS CPU id that users write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pu {
    /// OS index.
    pub os_index: u32,
    /// Whether this process may use it, or why not.
    pub status: PuStatus,
    /// Nodes that are local to it, most specific first; empty when it is offline.
    pub nodes: Vec<u32>,
}

/// Whether a PU can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PuStatus {
    /// This process may use it.
    Allowed,
    /// Online, but outside the cgroup cpuset this process is in (a job step's share, a reserved core).
    NotInCgroup,
    /// Online and in the cpuset, but outside this process's affinity (taskset, a launcher's binding).
    NotInAffinity,
    /// Not online.
    Offline,
}

/// What this process may use: affinity ∩ cgroup cpuset ∩ online.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allowed {
    /// PUs.
    pub pus: IdSet,
    /// NUMA nodes.
    pub nodes: IdSet,
    /// PUs of the machine that are missing from `pus`: offline.
    pub offline_pus: IdSet,
    /// PUs missing because the cgroup's cpuset has not got them.
    pub not_in_cgroup_pus: IdSet,
    /// PUs missing because the process's affinity has not got them.
    pub not_in_affinity_pus: IdSet,
    /// NUMA nodes missing.
    pub missing_nodes: IdSet,
    /// Limits on its memory, of its cgroup and of its resource limits; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.2"))]
    pub memory_limits: Vec<MemoryLimit>,
}

/// A limit on the memory of this process, on all NUMA nodes together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLimit {
    /// The limit, bytes.
    pub bytes: u64,
    /// What of it was in use and cannot be taken back, bytes; null where the kernel does not say.
    pub used_bytes: Option<u64>,
    /// The file that says so, by its whole path, or the resource limit in words.
    pub source: String,
}

impl MemoryLimit {
    /// Whether each process has as much for itself (`ulimit -v`); a group's is for all that are in it.
    pub fn is_of_each_process(&self) -> bool {
        !self.source.starts_with('/')
    }

    /// What is left of it, bytes.
    pub fn left_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.used_bytes.unwrap_or(0))
    }
}

impl fmt::Display for MemoryLimit {
    /// As a place that has what is left of it.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = stats::units::rounded_size;
        let used = self.used_bytes.map_or("an unknown part of it".to_owned(), size);
        let (all, source) = (size(self.bytes), &self.source);
        write!(to, "the memory limit of this process ({all}, {source}; {used} in use)")
    }
}

impl Allowed {
    /// The smallest limit on memory: what this process may have at most, whatever is in use now.
    pub fn memory_limit(&self) -> Option<&MemoryLimit> {
        self.memory_limits.iter().min_by_key(|limit| limit.bytes)
    }

    /// The limit of which the least is left.
    pub fn memory_left(&self) -> Option<&MemoryLimit> {
        self.memory_limits.iter().min_by_key(|limit| limit.left_bytes())
    }

    /// The PUs that are online in the cgroup's cpuset, whatever this process is bound to.
    pub fn cpuset(&self) -> IdSet {
        self.pus.or(&self.not_in_affinity_pus)
    }
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// Its position in PCI order: the index users give.
    pub index: u32,
    /// Its identity.
    pub pci: PciAddress,
    /// PCI vendor id, e.g. 0x10de NVIDIA, 0x1002 AMD.
    pub vendor_id: u16,
    /// PCI device id.
    pub device_id: u16,
    /// PCI class, e.g. 0x0302 (3D controller).
    pub class_id: u16,
    /// Its name.
    pub name: GpuName,
    /// UUID, where a driver's files say it.
    pub uuid: Option<String>,
    /// What GPU runtimes call it (`cuda0`, `nvml0`, `rsmi0`, `opencl0d1`, …), where a file says; reading a
    /// machine starts no runtime and finds none.
    pub os_devices: Vec<String>,
    /// Which PUs and nodes are local to it, and how that is known.
    pub locality: Locality,
    /// Its PCIe link, where the kernel tells.
    pub link: Option<Link>,
    /// Which part of a divided AMD GPU it is; absent for a whole one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
}

/// A GPU's name, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuName {
    /// The name; `None` where nobody knows it.
    pub value: Option<String>,
    /// Who says so: `driver`, `hwloc`, `pci-ids`, `none`.
    pub source: String,
}

/// Which PUs and nodes are local to a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Locality {
    /// How it is known: the rung of the locality ladder.
    pub rung: Rung,
    /// Why, in words: what hwloc attached it to, or what says that it is unknown.
    pub reason: String,
    /// The type of the hwloc object the device hangs from (`L3Cache`, `NUMANode`, `Group`, `Package`,
    /// `Machine`).
    pub attached_to: String,
    /// Local PUs within the cpuset (what hwloc shows by default), whatever the affinity; empty when unknown.
    pub pus: IdSet,
    /// Local NUMA nodes within the cpuset, a GPU's own memory among them; empty when unknown.
    pub nodes: IdSet,
    /// Local PUs that the cgroup's cpuset has not got: no rank can go there.
    pub outside_pus: IdSet,
    /// Local NUMA nodes that the cpuset has not got.
    pub outside_nodes: IdSet,
    /// The local L3's PUs, when exactly one L3 is local.
    pub l3_pus: Option<IdSet>,
}

/// How a locality is known, best first (PLACEMENT's ladder).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// hwloc's knowledge of the board, or an L3 the platform itself names.
    L3,
    /// The kernel's PCI local CPUs.
    PciLocalCpus,
    /// A driver says so.
    Driver,
    /// Nobody knows: never a node by default.
    Unknown,
}

/// A PCIe link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Generation now; links of idle GPUs train down.
    pub generation: Option<u8>,
    /// Lanes now.
    pub width: Option<u8>,
    /// Generation at most.
    pub max_generation: Option<u8>,
    /// Lanes at most.
    pub max_width: Option<u8>,
    /// Generation at most of the port above it; absent where none is shown, and where a virtual machine makes
    /// it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("since" = "1.3"))]
    pub slot_generation: Option<u8>,
    /// Bytes/s that it carries in one direction now, line rate less line coding; only where that is all that
    /// is known (a file of lstopo's).
    pub bytes_per_s: Option<u64>,
    /// Who says so, e.g. `sysfs`.
    pub source: String,
}
