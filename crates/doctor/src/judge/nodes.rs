//! What the NUMA nodes are: how many a package is divided into, what of them is near to which GPU, and which
//! have no cores.

use report::doctor::{Check, Part};
use stats::IdSet;
use stats::units::counted;
use topo::coherence::Coherence;
use topo::model::{NodeKind, Rung, Topology, TopologySource};

use super::probe::{Probe, listed};
use super::{HOST, UNREADABLE};
use crate::facts::{MachineKind, SystemFacts};

const PER_PACKAGE: Probe = Probe {
    name: "memory.nodes-per-package",
    part: Part::Memory,
    why: "memory can be placed near a core or a GPU only as finely as the firmware divides a package into \
        nodes",
    source: "AMD, HPC tuning guides for EPYC (NPS); Intel, Xeon Scalable (Sub-NUMA Clustering)",
};

const LOCALITY: Probe = Probe {
    name: "memory.gpu-locality",
    part: Part::Memory,
    why: "cores and memory are chosen by it: a GPU of unknown place gets the far ones as often as the near \
        ones",
    source: "kernel, ABI/testing/sysfs-bus-pci (numa_node, local_cpulist)",
};

const GRACE: Probe = Probe {
    name: "memory.gpu-memory-mode",
    part: Part::Memory,
    why: "where a GPU's memory is a NUMA node, host memory that fits nowhere else lands on the GPU",
    source: "NVIDIA, driver release notes 580.65.06 (Coherent Driver-Based Memory Management, CDMM)",
};

const CPULESS: Probe = Probe {
    name: "memory.nodes-without-cpus",
    part: Part::Memory,
    why: "memory that is unbound goes to such a node (CXL, HBM) when the near ones are full: slower or \
        faster, and never asked for",
    source: "kernel, admin-guide/mm/numa_memory_policy",
};

const MEMORYLESS: Probe = Probe {
    name: "memory.nodes-without-memory",
    part: Part::Memory,
    why: "whatever a core of such a node reads and writes lies on another node",
    source: "kernel, admin-guide/mm/numa_memory_policy",
};

/// Nodes that have cores and memory, of a package.
fn nodes_of(topology: &Topology, pus: &IdSet) -> usize {
    let has_cores =
        |node: &&topo::model::NumaNode| node.kind == NodeKind::Normal && !node.pus.and(pus).is_empty();
    topology.nodes.iter().filter(has_cores).count()
}

/// How many nodes a package of this model can be divided into, and what the setting is called.
fn divisible(model: &str) -> Option<(&'static str, usize)> {
    match () {
        () if model.contains("EPYC") => Some(("NPS", 4)),
        () if model.contains("Xeon")
            && ["Platinum", "Gold", "Max"].iter().any(|name| model.contains(name)) =>
        {
            Some(("SNC", 2))
        }
        () => None,
    }
}

pub(super) fn nodes_per_package(facts: &SystemFacts<'_>) -> Option<Check> {
    let topology = &facts.survey.topology;
    let counts: Vec<usize> =
        topology.packages.iter().map(|package| nodes_of(topology, &package.pus)).collect();
    let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
    if !facts.cpu.is_shown {
        return PER_PACKAGE.open("NUMA nodes are not shown here (/sys)", UNREADABLE);
    }
    let shown = counted(most, "NUMA node");

    match facts.platform() {
        MachineKind::Physical => {}
        MachineKind::Virtual => {
            let seen = format!(
                "{shown} a package in this virtual machine; what they are on its host cannot be seen"
            );
            return PER_PACKAGE.open(seen, HOST);
        }
        MachineKind::Unknown => {
            let seen = format!("{shown} a package; whether this is a virtual machine is not shown");
            return PER_PACKAGE.open(seen, HOST);
        }
    }

    if least != most {
        let seen = format!("packages have between {least} and {most} NUMA nodes with memory");
        return PER_PACKAGE.costs(
            seen,
            "look for missing memory modules: `numabench topo --numa` shows each node's memory",
        );
    }

    let model =
        topology.packages.first().and_then(|package| package.cpu_model.as_deref()).unwrap_or_default();

    match divisible(model) {
        Some((setting, can)) if most == 1 => PER_PACKAGE.remark(
            format!("1 NUMA node a package ({setting}1); this CPU can have {can}"),
            format!(
                "{setting}{can} in the firmware gives near memory to programs that bind; {setting}1 suits \
                 those that do not"
            ),
        ),
        Some((setting, _)) => {
            PER_PACKAGE.ok(format!("{} a package ({setting}{most})", counted(most, "NUMA node")))
        }
        None => PER_PACKAGE.ok(format!("{} a package", counted(most, "NUMA node"))),
    }
}

pub(super) fn gpu_locality(facts: &SystemFacts<'_>) -> Option<Check> {
    let topology = &facts.survey.topology;
    let unknown = |gpu: &&topo::model::Gpu| gpu.locality.rung == Rung::Unknown;
    let unknown: Vec<String> =
        topology.gpus.iter().filter(unknown).map(|gpu| format!("GPU {}", gpu.index)).collect();

    match (&unknown[..], topology.gpus.len()) {
        (_, 0) => None,
        ([], gpus) => LOCALITY.ok(format!("the platform reports the locality of {}", counted(gpus, "GPU"))),
        (unknown, _) => {
            let who = if facts.is_virtual() { HOST } else { "the firmware's maker" };
            LOCALITY.open(
                format!(
                    "locality of {} not reported: `numabench topo --measure` measures it",
                    listed(unknown)
                ),
                who,
            )
        }
    }
}

pub(super) fn grace_mode(facts: &SystemFacts<'_>) -> Option<Check> {
    let topology = &facts.survey.topology;
    let gpu = topology.gpus.iter().find(|gpu| gpu.coherence() == Some(Coherence::C2c))?;
    let nodes: IdSet = topology
        .nodes
        .iter()
        .filter(|node| node.kind == NodeKind::GpuMemory && node.allowed)
        .map(|node| node.os_index)
        .collect();
    let mode = topology.memory_mode(gpu)?;

    if nodes.is_empty() {
        return match topology.source {
            TopologySource::ThisSystem => GRACE.ok(mode),
            TopologySource::XmlFile { .. } | TopologySource::Texts { .. } => {
                GRACE.unknown(mode, "`numabench topo` on that machine")
            }
        };
    }

    GRACE.remark(
        format!("{mode}; this process may allocate on GPU memory nodes {nodes}"),
        "bind host memory (`numactl --membind`, `numabench exec`), or load the driver with \
         NVreg_CoherentGPUMemoryMode=driver for CDMM",
    )
}

pub(super) fn without_memory(facts: &SystemFacts<'_>) -> Option<Check> {
    if !facts.cpu.is_shown {
        return MEMORYLESS.open("NUMA nodes are not shown here (/sys)", UNREADABLE);
    }
    let nodes = facts.survey.topology.nodes.iter();
    let bare: IdSet = nodes.filter(|node| node.kind == NodeKind::CpuOnly).map(|node| node.os_index).collect();
    if bare.is_empty() {
        return MEMORYLESS.ok("each NUMA node with cores has memory");
    }
    let seen = format!("NUMA nodes {bare} have cores and no memory: every access from there is remote");
    MEMORYLESS.costs(seen, "look for missing memory modules on these nodes, and keep ranks off their cores")
}

pub(super) fn without_cpus(facts: &SystemFacts<'_>) -> Option<Check> {
    let topology = &facts.survey.topology;
    if !facts.cpu.is_shown {
        return CPULESS.open("NUMA nodes are not shown here (/sys)", UNREADABLE);
    }
    let with = |kind: NodeKind, allowed: bool| -> IdSet {
        let wanted = topology.nodes.iter().filter(|node| node.kind == kind && (node.allowed || !allowed));
        wanted.map(|node| node.os_index).collect()
    };
    let (all, open) = (with(NodeKind::MemoryOnly, false), with(NodeKind::MemoryOnly, true));
    if let Some(left_out) = topology.left_out_pus().filter(|_| !open.is_empty()) {
        let seen = format!("the file shows no cores of NUMA nodes {open}, and leaves out {left_out}");
        return CPULESS.unknown(seen, "`numabench doctor` on that machine");
    }

    match (all.is_empty(), open.is_empty()) {
        (true, _) => None,
        (false, true) => {
            CPULESS.ok(format!("NUMA nodes {all} have memory alone, and this process may not allocate there"))
        }
        (false, false) => CPULESS.costs(
            format!("NUMA nodes {open} have memory and no cores, and unbound memory may go there"),
            "bind memory (`numactl --membind`, `numabench exec`), or take these nodes out of the job's \
             cpuset.mems",
        ),
    }
}
