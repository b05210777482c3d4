//! A device that took part: who it is, how it hangs on the machine, how its copies are timed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Known;

/// A device that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its identity, which ranks point to: a PCI address (`0000:c1:00.0`), or `node N` for a NUMA node's memory.
    pub id: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Its position in PCI order (node order on the host platform): the index users give.
    pub index: u32,
    /// The index the runtime uses in this process; null where it has none. It may differ from `index`.
    pub runtime_index: Option<u32>,
    /// The marketing name, as the driver gives it.
    pub name: String,
    /// The UUID in the vendor's spelling (`GPU-…`); null where there is none.
    pub uuid: Option<String>,
    /// Memory in all, bytes.
    pub total_bytes: u64,
    /// The NUMA node it is local to.
    pub numa_node: Known<u32>,
    /// How it is attached to the host.
    pub link: Known<Link>,
    /// The most that one direction of the link can carry, bytes/s, before packet overhead.
    pub bound_bytes_per_s: Known<f64>,
    /// What holds queued copies back for device timing; null with a reason where only host timing is possible.
    pub latch: Known<Latch>,
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A GPU.
    Gpu,
    /// The memory of a NUMA node, standing in where no GPU takes part.
    HostMemory,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// A PCIe link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// PCIe generation when read.
    pub generation: Option<u8>,
    /// Lanes when read.
    pub width: Option<u8>,
    /// Generation at most.
    pub max_generation: Option<u8>,
    /// Lanes at most.
    pub max_width: Option<u8>,
    /// When it was read: links of idle GPUs train down.
    pub read_when: ReadWhen,
}

/// When a link was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadWhen {
    /// Before any copy: it may be trained down.
    Idle,
    /// While copies were running, or right after.
    UnderLoad,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// What holds queued copies back until the whole queue is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Latch {
    /// The driver's stream-memory wait on a pinned flag.
    StreamWait,
    /// A kernel that spins on the flag, with a timeout.
    SpinKernel,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}
