//! GPUs that share memory with their CPU, or reach it over a link that is not PCIe: Grace Hopper and Grace
//! Blackwell, and AMD's APU MI300A.
//!
//! The PCIe link that the kernel shows of such a GPU bounds no copy. Grace's GPU memory is NUMA nodes (NUMA
//! mode) or no node at all (CDMM, "coherent driver-based memory management"); which one, the nodes say, and
//! in a file of lstopo's, where hwloc hides such nodes, nobody.

use crate::gpu_class::{AMD, NVIDIA};
use crate::model::{Gpu, NodeKind, Rung, Topology, TopologySource};

/// PCI device ids of NVIDIA superchips (GH200 in three memory sizes, GB200): their memory is NUMA nodes on
/// Linux.
pub(crate) const SUPERCHIPS: [u16; 4] = [0x2342, 0x2345, 0x2348, 0x2941];
/// PCI device id of the MI300A.
const APU: u16 = 0x74a0;

/// How a GPU and its CPU share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coherence {
    /// NVLink-C2C between them.
    C2c,
    /// One memory, the HBM of the package, for both.
    Hbm,
}

impl Coherence {
    /// What the GPU's name says; `None` for other GPUs.
    pub fn by_name(name: &str) -> Option<Self> {
        let is_one_of = |names: &[&str]| names.iter().any(|known| name.contains(known));
        match () {
            () if is_one_of(&["GH200", "GB200", "GB300"]) => Some(Self::C2c),
            () if is_one_of(&["MI300A"]) => Some(Self::Hbm),
            () => None,
        }
    }

    /// What connects the GPU to its CPU, where other GPUs have a PCIe link.
    pub fn link(self) -> &'static str {
        match self {
            Self::C2c => "NVLink-C2C",
            Self::Hbm => "in one package",
        }
    }

    /// What this link carries in one direction by its maker's word, bytes/s; `None` where no copy goes over a
    /// link.
    pub fn published_bytes_per_s(self) -> Option<u64> {
        match self {
            // NVIDIA Grace Hopper Superchip Architecture: 900 GB/s in both directions together; GB200 and
            // GB300 have the same.
            Self::C2c => Some(450_000_000_000),
            // The HBM's 5.3 TB/s is no bound of a copy, which reads and writes the same memory.
            Self::Hbm => None,
        }
    }

    /// Why the PCIe link bounds no copy.
    pub fn no_pcie_bound(self) -> &'static str {
        match self {
            Self::C2c => "copies go over NVLink-C2C, not over the PCIe link",
            Self::Hbm => {
                "CPU and GPU share one memory: H2D and D2H copy from HBM to HBM, not over the PCIe link"
            }
        }
    }
}

impl Gpu {
    /// How it shares memory with its CPU; `None` for a GPU behind a PCIe link.
    pub fn coherence(&self) -> Option<Coherence> {
        match self.vendor_id {
            NVIDIA if SUPERCHIPS.contains(&self.device_id) => Some(Coherence::C2c),
            AMD if self.device_id == APU => Some(Coherence::Hbm),
            NVIDIA | AMD => Coherence::by_name(self.name.value.as_deref()?),
            _ => None,
        }
    }
}

impl Topology {
    /// In which mode a GPU's memory is shown, in words; `None` for a GPU behind a PCIe link.
    pub fn memory_mode(&self, gpu: &Gpu) -> Option<String> {
        Some(match (gpu.coherence()?, self.nodes.iter().find(|node| self.is_memory_of(node.os_index, gpu))) {
            (Coherence::Hbm, _) => {
                "CPU and GPU share the HBM of the package (APU): H2D and D2H copy from HBM to HBM".to_owned()
            }
            (Coherence::C2c, Some(node)) => format!("its memory is NUMA node {} (NUMA mode)", node.os_index),
            (Coherence::C2c, None) if matches!(self.source, TopologySource::ThisSystem) => {
                "its memory is not a NUMA node (CDMM mode)".to_owned()
            }
            (Coherence::C2c, None) => {
                "this file shows no NUMA node of its memory: the machine is in CDMM mode, or the file leaves \
                 such nodes out"
                    .to_owned()
            }
        })
    }

    /// The NUMA node that a GPU's own memory is, where the host sees it as one: in NUMA mode its own, of an
    /// APU that of the package.
    pub fn memory_node(&self, gpu: &Gpu) -> Option<u32> {
        match gpu.coherence()? {
            Coherence::C2c => {
                self.nodes.iter().map(|node| node.os_index).find(|node| self.is_memory_of(*node, gpu))
            }
            Coherence::Hbm => self.host_nodes(gpu).first().filter(|_| gpu.locality.rung != Rung::Unknown),
        }
    }

    fn is_memory_of(&self, node: u32, gpu: &Gpu) -> bool {
        self.node(node).is_some_and(|node| node.kind == NodeKind::GpuMemory)
            && gpu.locality.nodes.contains(node)
    }
}
