//! How close a PU is to a target: L3-local, NUMA-local, same package, remote or unknown, with the reason in words.
//!
//! A verdict says what the platform states, not what is faster: locality is a hypothesis, the measurement decides.

use topo::model::{Gpu, Rung, Topology};

use crate::TargetId;

/// The closeness of a PU and a target, closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// They share an L3 that the platform names as the target's.
    L3Local,
    /// They share a NUMA node.
    NumaLocal,
    /// They share a package, not a node.
    SamePackage,
    /// They are on different packages or nodes.
    Remote,
    /// The platform does not say where the target is.
    Unknown,
}

impl Closeness {
    /// As documents and tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::L3Local => "l3-local",
            Self::NumaLocal => "numa-local",
            Self::SamePackage => "same-package",
            Self::Remote => "remote",
            Self::Unknown => "unknown",
        }
    }
}

/// A closeness and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How close.
    pub closeness: Closeness,
    /// Why, and from which source it is known.
    pub reason: String,
}

/// How close `pu` is to `target`.
pub fn verdict(topology: &Topology, pu: u32, target: TargetId) -> Verdict {
    match target {
        TargetId::Node(node) => node_verdict(topology, pu, node),
        TargetId::Gpu(pci) => match topology.gpus.iter().find(|gpu| gpu.pci == pci) {
            Some(gpu) => gpu_verdict(topology, pu, gpu),
            None => Verdict {
                closeness: Closeness::Unknown,
                reason: format!("hwloc shows no PCI device {pci} (PCI discovery may be blocked in a container)"),
            },
        },
    }
}

fn gpu_verdict(topology: &Topology, pu: u32, gpu: &Gpu) -> Verdict {
    let source = &gpu.locality.reason;
    let (closeness, reason) = if gpu.locality.rung == Rung::Unknown {
        (Closeness::Unknown, source.clone())
    } else if gpu.locality.l3_pus.as_ref().is_some_and(|l3| l3.contains(pu)) && several_l3s(topology, gpu) {
        (Closeness::L3Local, format!("PU {pu} shares the GPU's L3 ({source})"))
    } else if gpu.locality.pus.contains(pu) || shares_node(topology, pu, gpu) {
        (Closeness::NumaLocal, format!("PU {pu} is among the CPUs local to the GPU, {} ({source})", gpu.locality.pus))
    } else if same_package(topology, pu, gpu) {
        (
            Closeness::SamePackage,
            format!("PU {pu} is on the GPU's package but not local to it, {} are", gpu.locality.pus),
        )
    } else {
        (Closeness::Remote, format!("PU {pu} is not on the GPU's package: {} are local ({source})", gpu.locality.pus))
    };
    Verdict { closeness, reason }
}

/// An L3 tells more than the node only where the node has several.
fn several_l3s(topology: &Topology, gpu: &Gpu) -> bool {
    let nodes = topology.nodes.iter().filter(|n| gpu.locality.nodes.contains(n.os_index));
    let pus = nodes.fold(stats::IdSet::default(), |all, node| all.or(&node.pus));
    topology.l3s.iter().filter(|l3| !l3.pus.and(&pus).is_empty()).count() > 1
}

fn shares_node(topology: &Topology, pu: u32, gpu: &Gpu) -> bool {
    topology.nodes.iter().any(|node| gpu.locality.nodes.contains(node.os_index) && node.pus.contains(pu))
}

fn same_package(topology: &Topology, pu: u32, gpu: &Gpu) -> bool {
    topology.packages.iter().any(|p| p.pus.contains(pu) && !p.pus.and(&gpu.locality.pus).is_empty())
}

fn node_verdict(topology: &Topology, pu: u32, node: u32) -> Verdict {
    let local = topology.nodes.iter().find(|n| n.os_index == node).map(|n| n.pus.clone()).unwrap_or_default();
    let package = topology.packages.iter().find(|p| p.pus.contains(pu));
    let (closeness, reason) = if local.contains(pu) {
        (Closeness::NumaLocal, format!("PU {pu} is local to NUMA node {node}"))
    } else if package.is_some_and(|p| p.nodes.contains(node)) {
        (Closeness::SamePackage, format!("PU {pu} and NUMA node {node} are on one package"))
    } else {
        (Closeness::Remote, format!("PU {pu} and NUMA node {node} are on different packages"))
    };
    Verdict { closeness, reason }
}
