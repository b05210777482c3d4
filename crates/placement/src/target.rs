//! What a rank copies to and from.

use std::fmt;

use serde::{Deserialize, Serialize};
use stats::PciAddress;
use topo::model::{Gpu, Topology};

/// The identity of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TargetId {
    /// A GPU.
    Gpu(PciAddress),
    /// The memory of a NUMA node, by OS index: the host backend's device.
    Node(u32),
}

impl TargetId {
    /// The GPU's address; `None` of a node.
    pub fn gpu(self) -> Option<PciAddress> {
        match self {
            Self::Gpu(pci) => Some(pci),
            Self::Node(_) => None,
        }
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(pci) => write!(f, "{pci}"),
            Self::Node(node) => write!(f, "node {node}"),
        }
    }
}

/// A target that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The index a user writes: the position in PCI order for a GPU, the OS index for a node.
    pub index: u32,
    /// Its identity.
    pub id: TargetId,
    /// The UUID, for a GPU whose driver gives one.
    pub uuid: Option<String>,
}

impl Target {
    /// Whether both mean one device: parts of a GPU (MIG) share its address and differ in their UUID.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let uuids = self.uuid.as_ref().zip(other.uuid.as_ref());
        self.id == other.id && uuids.is_none_or(|(one, another)| one == another)
    }

    /// The memory of every node that has some and that this process may use: the targets where no GPU takes
    /// part.
    pub fn nodes_of(topology: &Topology) -> Vec<Self> {
        let usable = topology.nodes.iter().filter(|node| node.allowed && node.kind.has_memory());
        usable
            .map(|node| Self { index: node.os_index, id: TargetId::Node(node.os_index), uuid: None })
            .collect()
    }

    /// A GPU of a topology.
    pub fn of_gpu(gpu: &Gpu) -> Self {
        Self { index: gpu.index, id: TargetId::Gpu(gpu.pci), uuid: gpu.uuid.clone() }
    }

    /// Every GPU of the topology: the targets of a plan that touches no driver.
    pub fn gpus_of(topology: &Topology) -> Vec<Self> {
        topology.gpus.iter().map(Self::of_gpu).collect()
    }
}

impl fmt::Display for Target {
    /// As a user can name it: index, address and UUID.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.id, &self.uuid) {
            (TargetId::Node(_), _) => write!(f, "{}", self.id),
            (id, Some(uuid)) => write!(f, "{} = {id} = {uuid}", self.index),
            (id, None) => write!(f, "{} = {id}", self.index),
        }
    }
}

/// Targets, with commas between.
pub(crate) fn listed(targets: &[Target]) -> String {
    targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
