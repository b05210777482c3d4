//! A node that took part, and what of it the other nodes should have alike.
//!
//! `environment` describes the first node in full; this is what every node is compared by. Which facts differ
//! is worked out by [`differences`](crate::difference::differences).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;

use crate::Known;
use crate::device::{Link, ReadWhen};
use crate::environment::{Probe, Timer};

/// A node that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its number, 0 first, in the order of the nodes' lowest ranks.
    pub index: u32,
    /// Its host name.
    pub host: String,
    /// Its ranks.
    pub ranks: IdSet,
    /// What nodes are compared by.
    pub facts: NodeFacts,
    /// The facts that it has otherwise than most nodes; empty when it is the only one.
    pub differs: Vec<Difference>,
}

/// What nodes are compared by. A result that depends on one of these is not the same experiment on a node
/// that has it otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFacts {
    /// The kernel, the drivers, the governor, the clock source, …: by the names of `environment.probes`.
    pub probes: Vec<Probe>,
    /// The version of the device driver's API; null where there is no such thing.
    pub api_version: Option<String>,
    /// The node's clock of host timing.
    pub timer: Timer,
    /// The CPU model of each package, in OS order; null where it is not told.
    pub cpu_models: Vec<Option<String>>,
    /// How many NUMA nodes it has, those of GPUs too.
    pub numa_nodes: u32,
    /// The memory of its NUMA nodes, those of GPUs aside, bytes.
    pub memory_bytes: u64,
    /// All its GPUs, whether or not they took part, in PCI order.
    pub gpus: Vec<NodeGpu>,
    /// A digest of its topology: the same text on nodes with the same packages, cores, caches, NUMA nodes and
    /// PCI devices in the same places.
    pub topology_digest: Known<String>,
}

/// A GPU of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeGpu {
    /// Its name; null where nobody tells it.
    pub name: Option<String>,
    /// Its link; null where the kernel shows none.
    pub link: Option<Link>,
}

impl NodeGpu {
    /// `PCIe 5 x16`: the link as nodes are compared by it. The generation of a link that was read while idle
    /// says nothing (it trains down), so that link's most is meant; its width stays.
    pub fn link_text(&self) -> Option<String> {
        let link = self.link.as_ref()?;
        let loaded = link.generation.filter(|_| link.read_when == ReadWhen::UnderLoad);
        let part = |value: Option<u8>| value.map_or("?".to_owned(), |value| value.to_string());
        let (generation, width) = (loaded.or(link.max_generation), link.width.or(link.max_width));
        Some(format!("PCIe {} x{}", part(generation), part(width)))
    }
}

/// A fact that a node has otherwise than most nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The fact: the name of a probe, or of a field of `facts`.
    pub fact: String,
    /// What this node has, in words; the value itself is in `facts`.
    pub this: String,
    /// What more than half of the nodes have; null when no value is that of so many, and the nodes differ
    /// from each other.
    pub most: Option<String>,
}
