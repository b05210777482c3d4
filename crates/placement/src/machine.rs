//! A small machine written by hand, for this crate's tests: every kind of node, PU and locality that a rule
//! treats apart.
//!
//! ```text
//! package 0: cores 0-3 (PUs 0-3, siblings 8-11)    L3 0: cores 0 1   L3 1: cores 2 3    node 0
//! package 1: cores 4-7 (PUs 4-7, siblings 12-15)   L3 2: cores 4 5   L3 3: cores 6 7    node 1
//! package 2: cores 8-9 (PUs 16-17)                 no L3              node 4, without memory
//! node 2: memory only, around every PU             node 3: a GPU's memory, around package 0
//! node 5: neither memory nor CPUs
//! GPU 0 at L3 0, GPU 1 at L3 3, GPU 2 at package 1, GPU 3 at an unknown place,
//! GPU 4 on node 2 (no CPU is local)
//! ```
//!
//! Distances are 10 within a node and 32 between 0 and 1; from node 4 they are 40 to node 0, 20 to node 1, 30
//! to node 2.

use stats::{IdSet, PciAddress};
use topo::model::{
    Allowed, Core, Distances, Gpu, GpuName, L3, Locality, NodeKind, NumaNode, Package, Pu, PuStatus, Rung,
    Topology, TopologySource,
};

use crate::TargetId;

/// A set of ids as users write it.
pub(crate) fn set(text: &str) -> IdSet {
    text.parse().expect("a list of ids")
}

/// The identity of GPU `index`.
pub(crate) fn gpu(index: u8) -> TargetId {
    TargetId::Gpu(address(index))
}

fn address(index: u8) -> PciAddress {
    PciAddress { domain: 0, bus: index + 1, device: 0, function: 0 }
}

/// The machine, with everything allowed.
pub(crate) fn machine() -> Topology {
    use NodeKind::{CpuOnly, Empty, GpuMemory, MemoryOnly, Normal};
    let nodes = [
        node(0, Normal, "0-3,8-11"),
        node(1, Normal, "4-7,12-15"),
        node(2, MemoryOnly, "0-17"),
        node(3, GpuMemory, "0-3,8-11"),
        node(4, CpuOnly, "16-17"),
        node(5, Empty, ""),
    ];

    let cores: Vec<IdSet> =
        (0..8).map(|core| set(&format!("{core},{}", core + 8))).chain([set("16"), set("17")]).collect();
    let own = |pu: u32| match pu {
        0..4 | 8..12 => vec![0, 3, 2],
        4..8 | 12..16 => vec![1, 2],
        _ => vec![4, 2],
    };
    let package = |index, pus: &str, nodes: &str| Package {
        os_index: Some(index),
        cpu_model: None,
        pus: set(pus),
        nodes: set(nodes),
    };
    let l3 = |pus| L3 { os_index: None, size_bytes: None, pus: set(pus) };

    Topology {
        source: TopologySource::ThisSystem,
        hostname: None,
        hwloc_version: "none: written by hand".to_owned(),
        packages: vec![package(0, "0-3,8-11", "0,3"), package(1, "4-7,12-15", "1"), package(2, "16-17", "4")],
        nodes: nodes.to_vec(),
        distances: Some(Distances {
            nodes: vec![0, 1, 2, 4],
            rows: vec![
                vec![10, 32, 30, 40],
                vec![32, 10, 30, 20],
                vec![30, 30, 10, 30],
                vec![40, 20, 30, 10],
            ],
        }),
        l3s: ["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"].map(l3).to_vec(),
        cores: cores.into_iter().map(|pus| Core { os_index: None, pus }).collect(),
        pus: (0..18)
            .map(|os_index| Pu { os_index, status: PuStatus::Allowed, nodes: own(os_index) })
            .collect(),
        allowed: Allowed {
            pus: set("0-17"),
            nodes: set("0-5"),
            offline_pus: IdSet::default(),
            not_in_cgroup_pus: IdSet::default(),
            not_in_affinity_pus: IdSet::default(),
            missing_nodes: IdSet::default(),
            memory_limits: Vec::new(),
        },
        gpus: vec![
            at(0, Rung::L3, "0-1,8-9", "0", Some("0-1,8-9")),
            at(1, Rung::L3, "6-7,14-15", "1", Some("6-7,14-15")),
            at(2, Rung::PciLocalCpus, "4-7,12-15", "1", None),
            at(3, Rung::Unknown, "", "", None),
            at(4, Rung::PciLocalCpus, "", "2", None),
        ],
        slow: None,
    }
}

/// The machine as it is where PUs are missing for this reason.
pub(crate) fn without(mut topology: Topology, pus: &str, status: PuStatus) -> Topology {
    let lost = set(pus);
    topology.allowed.pus = topology.allowed.pus.minus(&lost);
    topology.pus.iter_mut().filter(|pu| lost.contains(pu.os_index)).for_each(|pu| pu.status = status);
    let why = match status {
        PuStatus::Allowed => return topology,
        PuStatus::Offline => &mut topology.allowed.offline_pus,
        PuStatus::NotInCgroup => &mut topology.allowed.not_in_cgroup_pus,
        PuStatus::NotInAffinity => &mut topology.allowed.not_in_affinity_pus,
    };
    *why = why.or(&lost);

    if status == PuStatus::NotInCgroup {
        for gpu in &mut topology.gpus {
            gpu.locality.outside_pus = gpu.locality.pus.and(&lost);
            gpu.locality.pus = gpu.locality.pus.minus(&lost);
        }
    }
    topology
}

/// The machine where memory of these nodes may not be used.
pub(crate) fn without_nodes(mut topology: Topology, nodes: &str) -> Topology {
    let lost = set(nodes);
    topology.allowed.nodes = topology.allowed.nodes.minus(&lost);
    topology
        .nodes
        .iter_mut()
        .filter(|node| lost.contains(node.os_index))
        .for_each(|node| node.allowed = false);
    topology
}

fn node(os_index: u32, kind: NodeKind, pus: &str) -> NumaNode {
    let total_bytes = if kind.has_memory() { 64 << 30 } else { 0 };
    NumaNode {
        os_index,
        kind,
        total_bytes,
        free_bytes: None,
        pus: set(pus),
        allowed: true,
        subtype: None,
        cpus_not_shown: false,
    }
}

fn at(index: u8, rung: Rung, pus: &str, nodes: &str, l3: Option<&str>) -> Gpu {
    Gpu {
        index: u32::from(index),
        pci: address(index),
        vendor_id: 0x10de,
        device_id: 0,
        class_id: 0x0302,
        name: GpuName { value: None, source: "none".to_owned() },
        uuid: None,
        os_devices: Vec::new(),
        locality: Locality {
            rung,
            reason: "written by hand".to_owned(),
            attached_to: String::new(),
            pus: set(pus),
            nodes: set(nodes),
            outside_pus: IdSet::default(),
            outside_nodes: IdSet::default(),
            l3_pus: l3.map(set),
        },
        link: None,
        partition: None,
    }
}
