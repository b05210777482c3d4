//! The columns of a matrix, which are GPUs or the memory of NUMA nodes: what each is called, and which host
//! memory the platform says is near it.

use placement::{Target, TargetId};
use report::Known;
use stats::IdSet;
use topo::Topology;
use topo::model::Rung;

use crate::backends::FoundPlatform;

/// What a column is called.
pub fn name_of(target: &Target) -> String {
    match target.id {
        TargetId::Gpu(_) => format!("GPU {}", target.index),
        TargetId::Node(node) => format!("node {node}"),
    }
}

/// The NUMA nodes of host memory that the platform says are local to a target.
pub fn declared_nodes(topology: &Topology, found: &FoundPlatform, target: TargetId) -> Known<IdSet> {
    let pci = match target {
        TargetId::Node(node) => return Known::value(IdSet::from_iter([node]), "the node itself"),
        TargetId::Gpu(pci) => pci,
    };
    let driver = found.platform.devices().iter().find(|device| device.id == device::DeviceId::Pci(pci));
    let driver = driver.and_then(|device| device.host_node);

    match topology.gpu_at(pci) {
        Some(gpu) if gpu.locality.rung != Rung::Unknown && !topology.host_nodes(gpu).is_empty() => {
            Known::value(topology.host_nodes(gpu), gpu.locality.reason.clone())
        }
        Some(gpu) => match driver {
            Some(node) => Known::value(IdSet::from_iter([node]), "the driver"),
            None => Known::unknown("hwloc, the kernel's PCI files, the driver", gpu.locality.reason.clone()),
        },
        None => match driver {
            Some(node) => Known::value(IdSet::from_iter([node]), "the driver"),
            None => Known::unknown("hwloc", "not on the PCI bus that this process sees"),
        },
    }
}
