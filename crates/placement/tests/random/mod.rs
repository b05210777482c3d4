//! Random machines, more irregular than any that is sold.

use proptest::prelude::*;
use stats::{IdSet, PciAddress};
use topo::model::{
    Allowed, Core, Distances, Gpu, GpuName, L3, Locality, NodeKind, NumaNode, Package, Pu, PuStatus, Rung,
    Topology, TopologySource,
};

const KINDS: [NodeKind; 5] =
    [NodeKind::Normal, NodeKind::MemoryOnly, NodeKind::CpuOnly, NodeKind::GpuMemory, NodeKind::Empty];

/// What a random machine is made from: everything else follows, so that its parts fit together.
#[derive(Clone, Debug)]
pub struct Seed {
    nodes: Vec<(u32, usize, bool)>,
    /// For each core: its node (by position) and how many PUs it has.
    cores: Vec<(usize, u32)>,
    cores_per_l3: usize,
    statuses: Vec<u8>,
    /// For each GPU: the rung, and the first and number of the cores local to it.
    gpus: Vec<(u8, usize, usize)>,
    distances: Option<Vec<u64>>,
    names_cores: bool,
}

/// A machine to build.
pub fn seed() -> impl Strategy<Value = Seed> {
    let nodes = prop::collection::vec((1..4_u32, 0..KINDS.len(), prop::bool::weighted(0.8)), 1..6);
    let cores = prop::collection::vec((0..6_usize, 1..4_u32), 1..9);
    let gpus = prop::collection::vec((0..4_u8, 0..9_usize, 0..5_usize), 0..5);
    let distances = prop::option::of(prop::collection::vec(10..50_u64, 36));
    let statuses = prop::collection::vec(0..6_u8, 32);
    (nodes, cores, 1..4_usize, statuses, gpus, distances, prop::bool::weighted(0.9)).prop_map(
        |(nodes, cores, cores_per_l3, statuses, gpus, distances, names_cores)| Seed {
            nodes,
            cores,
            cores_per_l3,
            statuses,
            gpus,
            distances,
            names_cores,
        },
    )
}

fn union<'a>(sets: impl IntoIterator<Item = &'a IdSet>) -> IdSet {
    sets.into_iter().fold(IdSet::default(), |all, set| all.or(set))
}

fn status(number: u8) -> PuStatus {
    match number {
        0 => PuStatus::Offline,
        1 => PuStatus::NotInCgroup,
        2 => PuStatus::NotInAffinity,
        _ => PuStatus::Allowed,
    }
}

/// The machine of a seed.
pub fn build(seed: &Seed) -> Topology {
    // PUs are numbered as Linux does: first one of each core, then the second of each that has one.
    let mut cores: Vec<IdSet> = vec![IdSet::default(); seed.cores.len()];
    let mut next = 0;
    for sibling in 0..4 {
        for (core, (_, threads)) in cores.iter_mut().zip(&seed.cores) {
            if sibling < *threads {
                core.0.insert(next);
                next += 1;
            }
        }
    }
    let ids: Vec<u32> =
        seed.nodes.iter().scan(0, |id, (step, ..)| Some(std::mem::replace(id, *id + step))).collect();
    let on_node = |node: usize| {
        let own = cores.iter().zip(&seed.cores).filter(|(_, (at, _))| at % seed.nodes.len() == node);
        union(own.map(|(core, _)| core))
    };
    let every = union(&cores);
    let nodes: Vec<NumaNode> = seed
        .nodes
        .iter()
        .enumerate()
        .map(|(at, (_, kind, allowed))| {
            let kind = KINDS[*kind];
            let pus = match kind {
                NodeKind::Normal | NodeKind::CpuOnly => on_node(at),
                NodeKind::MemoryOnly | NodeKind::GpuMemory => every.clone(),
                NodeKind::Empty => IdSet::default(),
            };
            NumaNode {
                os_index: ids[at],
                kind,
                total_bytes: 1,
                free_bytes: None,
                pus,
                allowed: *allowed,
                subtype: None,
                cpus_not_shown: false,
            }
        })
        .collect();
    let statuses = |pu: u32| status(seed.statuses[pu as usize % seed.statuses.len()]);
    let of = |wanted: PuStatus| -> IdSet { every.iter().filter(|pu| statuses(*pu) == wanted).collect() };
    let local_nodes = |pu: u32| {
        let has = |node: &&NumaNode| node.pus.contains(pu);
        let mut local: Vec<&NumaNode> = nodes.iter().filter(has).collect();
        local.sort_by_key(|node| (!matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly), node.os_index));
        local.iter().map(|node| node.os_index).collect()
    };
    let pus =
        every.iter().map(|pu| Pu { os_index: pu, status: statuses(pu), nodes: local_nodes(pu) }).collect();
    let outside = of(PuStatus::NotInCgroup);
    let gpus = (0..).zip(&seed.gpus).map(|(index, (rung, first, number))| {
        let rung = [Rung::L3, Rung::PciLocalCpus, Rung::Driver, Rung::Unknown][usize::from(*rung)];
        let known = rung != Rung::Unknown;
        let around = union(cores.iter().skip(*first).take(if known { *number } else { 0 }));
        let near: IdSet =
            nodes.iter().filter(|n| !n.pus.and(&around).is_empty()).map(|n| n.os_index).collect();
        Gpu {
            index,
            pci: PciAddress { domain: 0, bus: index as u8, device: 0, function: 0 },
            vendor_id: 0,
            device_id: 0,
            class_id: 0,
            name: GpuName { value: None, source: "none".to_owned() },
            uuid: None,
            os_devices: Vec::new(),
            locality: Locality {
                rung,
                reason: "drawn".to_owned(),
                attached_to: String::new(),
                pus: around.minus(&outside),
                nodes: near,
                outside_pus: around.and(&outside),
                outside_nodes: IdSet::default(),
                l3_pus: (rung == Rung::L3).then_some(around),
            },
            link: None,
            partition: None,
        }
    });
    let distances = seed.distances.as_ref().map(|values| Distances {
        nodes: ids.clone(),
        rows: ids.iter().enumerate().map(|(i, _)| values[i * 6..i * 6 + ids.len()].to_vec()).collect(),
    });
    Topology {
        source: TopologySource::ThisSystem,
        hostname: None,
        hwloc_version: "none: drawn at random".to_owned(),
        packages: vec![Package {
            os_index: Some(0),
            cpu_model: None,
            pus: every.clone(),
            nodes: ids.iter().copied().collect(),
        }],
        distances,
        slow: None,
        l3s: cores
            .chunks(seed.cores_per_l3)
            .map(|cores| L3 { os_index: None, size_bytes: None, pus: union(cores) })
            .collect(),
        allowed: Allowed {
            pus: of(PuStatus::Allowed),
            nodes: nodes.iter().filter(|node| node.allowed).map(|node| node.os_index).collect(),
            offline_pus: of(PuStatus::Offline),
            not_in_cgroup_pus: outside.clone(),
            not_in_affinity_pus: of(PuStatus::NotInAffinity),
            missing_nodes: IdSet::default(),
            memory_limits: Vec::new(),
        },
        gpus: gpus.collect(),
        pus,
        nodes,
        cores: cores
            .iter()
            .filter(|_| seed.names_cores)
            .map(|pus| Core { os_index: None, pus: pus.clone() })
            .collect(),
    }
}
