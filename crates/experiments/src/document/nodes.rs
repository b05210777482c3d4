//! The nodes the ranks were on, and what each is compared with the others by.

use std::hash::{DefaultHasher, Hash, Hasher};

use analysis::difference::differences;
use report::Known;
use report::device::{Link, ReadWhen};
use report::node::{Node, NodeFacts, NodeGpu};
use topo::Topology;
use topo::model::NodeKind;

use super::environment;
use crate::document::rank_part::{Local, RankPart};

/// What this node is compared by.
pub(super) fn facts(local: &Local) -> NodeFacts {
    let topology = local.topology;
    let gpu = |gpu: &topo::model::Gpu| NodeGpu {
        name: gpu.name.value.clone(),
        link: gpu.link.as_ref().map(|link| Link {
            generation: link.generation,
            width: link.width,
            max_generation: link.max_generation,
            max_width: link.max_width,
            slot_generation: link.slot_generation,
            read_when: ReadWhen::Idle,
        }),
    };

    let host_nodes = topology.nodes.iter().filter(|node| node.kind != NodeKind::GpuMemory);

    NodeFacts {
        probes: environment::probes(local.machine),
        api_version: local.found.platform.facts().api_version.clone(),
        timer: environment::timer(local.timer),
        cpu_models: topology.packages.iter().map(|package| package.cpu_model.clone()).collect(),
        numa_nodes: topology.nodes.len() as u32,
        memory_bytes: host_nodes.map(|node| node.total_bytes).sum(),
        gpus: topology.gpus.iter().map(gpu).collect(),
        topology_digest: Known::value(
            digest(topology),
            "packages, nodes, distances, L3s, cores and GPUs as read",
        ),
    }
}

/// The same text for machines of which the same things lie in the same places. Whatever a job may use of them
/// does not count. Processes of one run compare it, so it need not be the same in another version of the
/// program.
fn digest(topology: &Topology) -> String {
    let mut hasher = DefaultHasher::new();
    for package in &topology.packages {
        format!("{:?}", (package.os_index, &package.pus, &package.nodes)).hash(&mut hasher);
    }
    for node in &topology.nodes {
        format!("{:?}", (node.os_index, node.kind, &node.pus)).hash(&mut hasher);
    }
    format!("{:?}", topology.distances).hash(&mut hasher);
    topology.l3s.iter().for_each(|l3| format!("{:?}", (l3.size_bytes, &l3.pus)).hash(&mut hasher));
    topology.cores.iter().for_each(|core| format!("{:?}", core.pus).hash(&mut hasher));
    for gpu in &topology.gpus {
        format!("{:?}", (gpu.pci, gpu.vendor_id, gpu.device_id, &gpu.locality.nodes)).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

/// The nodes, with what each has otherwise than most.
pub fn nodes(parts: &[RankPart]) -> Vec<Node> {
    let firsts: Vec<(&RankPart, &NodeFacts)> =
        parts.iter().filter_map(|part| Some((part, part.node.as_ref()?))).collect();
    let all: Vec<NodeFacts> = firsts.iter().map(|(_, facts)| (*facts).clone()).collect();
    let differs = differences(&all);
    let node = |((part, _), (facts, differs)): ((&RankPart, _), (NodeFacts, _))| Node {
        index: part.rank.node,
        host: part.rank.host.clone(),
        ranks: parts
            .iter()
            .filter(|other| other.rank.node == part.rank.node)
            .map(|other| other.rank.rank)
            .collect(),
        facts,
        differs,
    };

    firsts.into_iter().zip(all.into_iter().zip(differs)).map(node).collect()
}
