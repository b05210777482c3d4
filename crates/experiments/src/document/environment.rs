//! The machine and its state, as a document has them.

use report::environment::{Distances, Environment, NodeKind, NumaNode, Package, Probe, Timer, Topology};
use stats::flag::TimerFacts;
use topo::environment::ProbeValue;

use crate::document::rank_part::Local;

pub(super) fn environment(local: &Local) -> Environment {
    let topology = local.topology;
    let package = |package: &topo::model::Package| Package {
        os_index: package.os_index,
        cpu_model: package.cpu_model.clone(),
        pus: package.pus.clone(),
        nodes: package.nodes.clone(),
    };
    let node = |node: &topo::model::NumaNode| NumaNode {
        os_index: node.os_index,
        kind: match node.kind {
            topo::model::NodeKind::Normal => NodeKind::Normal,
            topo::model::NodeKind::MemoryOnly => NodeKind::MemoryOnly,
            topo::model::NodeKind::CpuOnly => NodeKind::CpuOnly,
            topo::model::NodeKind::GpuMemory => NodeKind::GpuMemory,
            topo::model::NodeKind::Empty => NodeKind::Empty,
        },
        total_bytes: node.total_bytes,
        pus: node.pus.clone(),
    };

    let distances = topology.distances.as_ref();

    Environment {
        hostname: topology.host(),
        probes: probes(local.machine),
        variables: local.machine.variables.clone(),
        timer: timer(local.timer),
        topology: Topology {
            packages: topology.packages.iter().map(package).collect(),
            nodes: topology.nodes.iter().map(node).collect(),
            distances: distances.map(|d| Distances { nodes: d.nodes.clone(), rows: d.rows.clone() }),
            allowed_pus: topology.allowed.pus.clone(),
            allowed_nodes: topology.allowed.nodes.clone(),
        },
    }
}

pub(super) fn probes(machine: &topo::environment::Environment) -> Vec<Probe> {
    let probe = |probe: &topo::environment::Probe| Probe {
        name: probe.name.clone(),
        value: probe.value.as_ref().map(|value| match value {
            ProbeValue::Number(number) => (*number).into(),
            ProbeValue::Text(text) => text.clone().into(),
        }),
        source: probe.source.clone(),
        reason: probe.reason.clone(),
    };
    machine.probes.iter().map(probe).collect()
}

pub(super) fn timer(timer: TimerFacts) -> Timer {
    Timer {
        clock: pingpong::clock::NAME.to_owned(),
        resolution_ns: timer.resolution_ns,
        cost_ns: timer.cost_ns,
    }
}
