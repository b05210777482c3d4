//! How far the devices of a machine are from each other: what `nvidia-smi topo -m` and `rocm-smi --showtopo`
//! show, in one model.
//!
//! Each fact comes from who knows it best: what lies between two NVIDIA GPUs from NVML where it was asked,
//! else from the PCI bridges (`pci_path`); NVLinks from NVML, else from hwloc's matrix in a file; xGMI from
//! the kernel driver's nodes, else from hwloc's matrix. What nobody says is null with the reason, never a
//! guess. Left out: distances of NUMA nodes, which the topology has.

mod adapters;
mod bridges;
mod groups;
mod matrices;
mod nvlink;
mod xgmi;

pub use bridges::PciBridge;
pub use groups::SharedBy;
use hwlocality::Topology as Hwloc;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{IdSet, PciAddress};

use crate::devices::device_at;
use crate::fs_root::FsRoot;
use crate::gpu_class::{AMD, NVIDIA};
use crate::kfd::KfdGpu;
use crate::locality::Surroundings;
use crate::model::{Gpu, Locality, NodeKind, Rung, Topology};
use crate::nvml::Nvml;
use crate::partition::on_bus;
use crate::pci_path::{PciLevel, PciPath, between};

/// The devices of a machine and what lies between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interconnect {
    /// GPUs in PCI order, then network adapters.
    pub devices: Vec<Endpoint>,
    /// Every two devices, in that order: the first with all after it, the second with all after it, and so
    /// on.
    pub pairs: Vec<Pair>,
    /// Who says where NVLinks are; null without an NVIDIA GPU.
    pub nvlink: Option<InterconnectSource>,
    /// Who says where xGMI links are; null without an AMD GPU.
    pub xgmi: Option<InterconnectSource>,
}

/// A row and a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// `GPU0`, `NIC0`: GPUs count along the topology's, adapters along this list.
    pub label: String,
    /// Its identity.
    pub pci: PciAddress,
    /// An adapter's name (`mlx5_0`, `hsn0`).
    pub name: Option<String>,
    /// What a GPU is near to; null for an adapter, whose locality is among the `nics`.
    pub affinity: Option<Affinity>,
    /// A GPU's NVLinks, where somebody says them.
    pub nvlinks: Option<NvLinks>,
    /// The PCIe bridges above it, from the host bridge down; absent where none is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("since" = "1.3"))]
    pub bridges: Vec<PciBridge>,
}

/// The affinity columns of the matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Affinity {
    /// Near PUs; null where nobody says.
    pub pus: Option<IdSet>,
    /// Near NUMA nodes; null where nobody says.
    pub nodes: Option<IdSet>,
    /// The NUMA node that is the GPU's own memory; null where there is none.
    pub memory_node: Option<u32>,
    /// Who says so: `NVML`, or the source of the GPU's locality.
    pub source: String,
}

/// The NVLinks of a GPU that are up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NvLinks {
    /// How many.
    pub links: u32,
    /// Their version (`4.0`).
    pub version: Option<String>,
    /// The line rate of one in one direction, bytes/s; what its protocol takes is in it.
    pub bytes_per_s_each: Option<u64>,
}

/// Two devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The label of the one.
    pub from: String,
    /// The label of the other.
    pub to: String,
    /// What is between them on PCIe and the CPUs' interconnect; null where it is not known.
    pub pci: Option<PciLevel>,
    /// Who says so: `NVML`, or `PCI bridges`.
    pub pci_source: String,
    /// Why it is not known; null where it is.
    pub reason: Option<String>,
    /// The faster link between them, where there is one.
    pub fabric: Option<Fabric>,
}

/// The sign of a link that nobody knows.
pub const UNKNOWN_LINK: &str = "?";

impl Pair {
    /// What lies between, as the matrix shows it: NVLink and xGMI before the way over PCIe, as NVIDIA's tool
    /// does it.
    pub fn sign(&self) -> String {
        match self.fabric {
            Some(Fabric::Nvlink { links: Some(links), .. }) => format!("NV{links}"),
            Some(Fabric::Nvlink { links: None, .. }) => format!("NV{UNKNOWN_LINK}"),
            Some(Fabric::Xgmi { .. }) => "XGMI".to_owned(),
            None => self.pci.map_or(UNKNOWN_LINK, PciLevel::word).to_owned(),
        }
    }
}

/// A link between GPUs that is not PCIe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fabric {
    /// NVLinks, direct or through switches.
    Nvlink {
        /// How many are bonded; null where only their bandwidth is known.
        links: Option<u32>,
        /// The line rate of all together in one direction, bytes/s; hwloc's matrices have it without what the
        /// protocol takes.
        bytes_per_s: Option<u64>,
    },
    /// xGMI (Infinity Fabric).
    Xgmi {
        /// How many links one behind the other.
        hops: Option<u32>,
        /// The least bandwidth that the driver states, bytes/s.
        least_bytes_per_s: Option<u64>,
        /// The most, bytes/s.
        most_bytes_per_s: Option<u64>,
    },
}

/// Who says something, or why nobody does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Told")]
pub struct InterconnectSource {
    /// Who says it; null where nobody does.
    pub source: Option<String>,
    /// Why nobody does; null where somebody does.
    pub reason: Option<String>,
}

impl InterconnectSource {
    fn by(source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), reason: None }
    }

    fn not(reason: impl Into<String>) -> Self {
        Self { source: None, reason: Some(reason.into()) }
    }
}

impl Interconnect {
    /// The adapters nearest to a GPU, with what lies between: those at the best level that is within one NUMA
    /// node; none where that is not known.
    pub fn near_adapters(&self, gpu: PciAddress) -> Vec<(&Endpoint, PciLevel, &str)> {
        let Some(own) = self.devices.iter().position(|device| device.pci == gpu && device.affinity.is_some())
        else {
            return Vec::new();
        };
        let adapters = (0..self.devices.len()).filter(|at| self.devices[*at].affinity.is_none());
        let with_level = |at: usize| {
            let pair = self.between(own, at)?;
            Some((
                &self.devices[at],
                pair.pci.filter(|level| *level < PciLevel::Sys)?,
                pair.pci_source.as_str(),
            ))
        };

        let all: Vec<(&Endpoint, PciLevel, &str)> = adapters.filter_map(with_level).collect();
        let best = all.iter().map(|(_, level, _)| *level).min();
        all.into_iter().filter(|(_, level, _)| Some(*level) == best).collect()
    }

    /// The sign of what is between the devices at these addresses; that of an unknown link where the list
    /// lacks one of them.
    pub fn sign_between(&self, one: PciAddress, other: PciAddress) -> String {
        let at = |pci: PciAddress| self.devices.iter().position(|device| device.pci == pci);
        let pair = at(one).zip(at(other)).and_then(|(one, other)| self.between(one, other));
        pair.map_or_else(|| UNKNOWN_LINK.to_owned(), Pair::sign)
    }

    /// What is between the devices at these places of the list; `None` for a device and itself.
    pub fn between(&self, one: usize, other: usize) -> Option<&Pair> {
        let (low, high) = (one.min(other), one.max(other));
        // Row `low` begins behind the rows above it, each one shorter than the one before.
        let before = low * self.devices.len() - low * (low + 1) / 2;
        (low != high).then(|| self.pairs.get(before + high - low - 1))?
    }
}

/// What the drivers were asked.
pub(crate) struct Drivers<'d> {
    pub(crate) nvml: &'d Nvml,
    pub(crate) kfd: &'d [KfdGpu],
}

/// Links between GPUs, by their addresses.
#[derive(Default)]
struct Fabrics(Vec<(PciAddress, PciAddress, Fabric)>);

impl Fabrics {
    /// What `between` says of every two of these GPUs.
    fn of<'g>(gpus: impl Iterator<Item = &'g Gpu>, between: impl Fn(&Gpu, &Gpu) -> Option<Fabric>) -> Self {
        let gpus: Vec<&Gpu> = gpus.collect();
        let mut fabrics = Self::default();
        for (at, one) in gpus.iter().enumerate() {
            for other in &gpus[at + 1..] {
                fabrics.0.extend(between(one, other).map(|fabric| (one.pci, other.pci, fabric)));
            }
        }
        fabrics
    }

    fn between(&self, (one, other): (PciAddress, PciAddress)) -> Option<Fabric> {
        let same = |a: PciAddress, b: PciAddress| (a, b) == (one, other) || (b, a) == (one, other);
        self.0.iter().find(|(a, b, _)| same(*a, *b)).map(|(_, _, fabric)| *fabric)
    }
}

/// A device on its way to the model.
struct Placed {
    endpoint: Endpoint,
    /// `None` for a device that hwloc has not got.
    path: Option<PciPath>,
    locality: Locality,
}

/// What is between the GPUs of the topology and the machine's adapters.
pub(crate) fn interconnect(
    hwloc: &Hwloc,
    topology: &Topology,
    around: &Surroundings,
    drivers: &Drivers<'_>,
    root: Option<&FsRoot>,
) -> Interconnect {
    let nvlinks = nvlink::nvlinks(hwloc, topology, drivers.nvml);
    let (xgmi, xgmi_told) = xgmi::xgmi(hwloc, topology, drivers.kfd);
    let placed_gpu = |gpu: &Gpu| placed_gpu(hwloc, topology, gpu, drivers, root);
    let mut placed: Vec<Placed> = topology.gpus.iter().map(placed_gpu).collect();
    for (at, placed) in placed.iter_mut().enumerate() {
        placed.endpoint.nvlinks = nvlinks.of_gpu.get(at).cloned().flatten();
    }
    placed.extend(adapters::adapters(hwloc, around, root));

    let mut pairs = Vec::new();
    for (at, one) in placed.iter().enumerate() {
        for other in &placed[at + 1..] {
            let addresses = (one.endpoint.pci, other.endpoint.pci);
            let fabric = nvlinks.fabrics.between(addresses).or_else(|| xgmi.between(addresses));
            pairs.push(pair(topology, one, other, drivers.nvml, fabric));
        }
    }
    let has = |vendor| topology.gpus.iter().any(|gpu| gpu.vendor_id == vendor);
    Interconnect {
        devices: placed.into_iter().map(|placed| placed.endpoint).collect(),
        pairs,
        nvlink: has(NVIDIA).then_some(nvlinks.told),
        xgmi: has(AMD).then_some(xgmi_told),
    }
}

fn pair(topology: &Topology, one: &Placed, other: &Placed, nvml: &Nvml, fabric: Option<Fabric>) -> Pair {
    let by_nvml = nvml.facts().and_then(|facts| facts.path(one.endpoint.pci, other.endpoint.pci));
    let by_bridges = || match (&one.path, &other.path) {
        (Some(from), Some(to)) => between(from, to, same_node(topology, &one.locality, &other.locality)),
        _ => Err("hwloc does not have both of them"),
    };
    let level = by_nvml.map_or_else(by_bridges, Ok);
    Pair {
        from: one.endpoint.label.clone(),
        to: other.endpoint.label.clone(),
        pci: level.ok(),
        pci_source: if by_nvml.is_some() { "NVML" } else { "PCI bridges" }.to_owned(),
        reason: level.err().map(str::to_owned),
        fabric,
    }
}

/// Whether two devices are near the same NUMA node; `None` where nobody says.
fn same_node(topology: &Topology, one: &Locality, other: &Locality) -> Option<bool> {
    // One node is all there is, unless a job's file shows one of several.
    let hidden = topology.allowed.missing_nodes.iter().any(|node| topology.node(node).is_none());
    if topology.places().count() == 1 && !hidden {
        return Some(true);
    }
    if one.rung == Rung::Unknown || other.rung == Rung::Unknown {
        return None;
    }
    Some(!one.all_nodes().and(&other.all_nodes()).is_empty())
}

fn placed_gpu(
    hwloc: &Hwloc,
    topology: &Topology,
    gpu: &Gpu,
    drivers: &Drivers<'_>,
    root: Option<&FsRoot>,
) -> Placed {
    let device = device_at(hwloc, on_bus(gpu.pci, gpu.partition));
    let endpoint = Endpoint {
        label: format!("GPU{}", gpu.index),
        pci: gpu.pci,
        name: None,
        affinity: Some(affinity(topology, gpu, drivers.nvml)),
        nvlinks: None,
        bridges: device.map_or_else(Vec::new, |device| bridges::bridges(device, root)),
    };
    Placed { endpoint, path: device.map(PciPath::of), locality: gpu.locality.clone() }
}

/// NVML's word where it was asked, so that the columns are nvidia-smi's; else the GPU's locality.
fn affinity(topology: &Topology, gpu: &Gpu, nvml: &Nvml) -> Affinity {
    if let Some(said) = nvml.facts().and_then(|facts| facts.gpu(gpu.pci)) {
        let (pus, nodes) = (said.pus.clone(), said.nodes.clone());
        return Affinity { pus, nodes, memory_node: said.memory_node, source: "NVML".to_owned() };
    }
    affinity_by_locality(topology, gpu)
}

/// What a GPU's locality says of its affinity.
pub(crate) fn affinity_by_locality(topology: &Topology, gpu: &Gpu) -> Affinity {
    let of_gpu = |id: &u32| topology.node(*id).is_some_and(|node| node.kind == NodeKind::GpuMemory);
    let own: Vec<u32> = gpu.locality.nodes.iter().filter(of_gpu).collect();
    let host: IdSet = gpu.locality.nodes.iter().filter(|id| !of_gpu(id)).collect();
    let known = gpu.locality.rung != Rung::Unknown;
    Affinity {
        pus: known.then(|| gpu.locality.pus.clone()),
        nodes: known.then_some(host),
        // Several are those of all GPUs of the package.
        memory_node: if let [only] = own[..] { Some(only) } else { None },
        source: gpu.locality.reason.clone(),
    }
}
