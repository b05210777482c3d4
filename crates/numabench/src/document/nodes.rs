//! The node the ranks were on, and what it would be compared with others by.

use report::Known;
use report::device::{Link, ReadWhen};
use report::environment::Environment;
use report::node::{Node, NodeFacts, NodeGpu};
use topo::model::NodeKind;

use super::Facts;

pub(super) fn nodes(facts: &Facts, environment: &Environment) -> Vec<Node> {
    let topology = facts.topology;
    let gpu = |gpu: &topo::model::Gpu| NodeGpu {
        name: gpu.name.value.clone(),
        link: gpu.link.as_ref().map(|link| Link {
            generation: link.generation,
            width: link.width,
            max_generation: link.max_generation,
            max_width: link.max_width,
            read_when: ReadWhen::Idle,
        }),
    };
    let host_nodes = topology.nodes.iter().filter(|node| node.kind != NodeKind::GpuMemory);
    vec![Node {
        index: 0,
        host: environment.hostname.clone(),
        ranks: facts.plan.ranks.iter().map(|plan| plan.rank as u32).collect(),
        facts: NodeFacts {
            probes: environment.probes.clone(),
            api_version: facts.found.platform.facts().api_version.clone(),
            timer: environment.timer.clone(),
            cpu_models: topology.packages.iter().map(|package| package.cpu_model.clone()).collect(),
            numa_nodes: topology.nodes.len() as u32,
            memory_bytes: host_nodes.map(|node| node.total_bytes).sum(),
            gpus: topology.gpus.iter().map(gpu).collect(),
            topology_digest: Known::unknown("none", "there is one node, and nothing to compare it with"),
        },
        differs: Vec::new(),
    }]
}
