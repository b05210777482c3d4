//! The devices that took part, each once, in the order ranks use them.

use std::collections::BTreeSet;

use device::{DeviceFacts, DeviceId, MemoryHome};
use pingpong::{RankState, RunState};
use placement::{RankPlan, TargetId};
use report::Known;
use report::conditions::{ClockRange, Conditions, HeldBack, LowestLink};
use report::device::{Coherence, Device, DeviceKind, Latch, Link, ReadWhen};
use stats::IdSet;
use topo::gpu_condition::GpuConditions;
use topo::host_link::HostLink;
use topo::model::{Gpu, Rung, Topology};

use super::DocumentFacts;
use super::place_workers::PlaceWorkers;
use super::rank_part::{Local, RankPart};

/// The device of one rank, as it is known before the run; `None` if the platform has no such device.
pub(super) fn device(local: &Local, plan: &RankPlan) -> Option<Device> {
    let target = plan.target.id;
    let listed = local.found.platform.devices().iter().find(|device| is(device, target)).cloned();
    let known = &listed.or_else(|| memory_of_a_node(local, target))?;
    let idle = match target {
        TargetId::Gpu(pci) => local.topology.gpu_at(pci).and_then(|gpu| gpu.link.as_ref()),
        TargetId::Node(_) => None,
    };
    let link = link(target, idle, ReadWhen::Idle);
    let coherence = match target {
        TargetId::Gpu(pci) => local.topology.gpu_at(pci).and_then(|gpu| gpu.coherence()),
        TargetId::Node(_) => None,
    };
    let coherence = coherence.or_else(|| topo::coherence::Coherence::by_name(&known.name));
    let host_link = match target {
        TargetId::Gpu(pci) => {
            let seen = local.topology.gpu_at(pci).and_then(|gpu| local.topology.host_link(gpu));
            seen.or_else(|| local.topology.host_link_of_name(&known.name))
        }
        TargetId::Node(_) => None,
    };

    Some(Device {
        id: local.device_id(plan),
        node: local.node as u32,
        pci_address: match target {
            TargetId::Gpu(pci) => Some(pci),
            TargetId::Node(_) => None,
        },
        kind: if matches!(known.id, DeviceId::Pci(_)) { DeviceKind::Gpu } else { DeviceKind::HostMemory },
        index: plan.target.index,
        runtime_index: known.runtime_index,
        name: known.name.clone(),
        uuid: known.uuid.clone(),
        total_bytes: known.total_bytes,
        numa_node: numa_node(local, target, known),
        bound_bytes_per_s: match (&host_link, known.memory_home) {
            (Some(other), _) => bound_of_other(other),
            (None, MemoryHome::Shared) => Known::unknown("the driver", "CPU and GPU share one memory"),
            (None, _) => bound(&link),
        },
        host_link: host_link.map(|other| Known::value(other.name.to_owned(), other.source)),
        coherence: shares(coherence, known.memory_home),
        memory_node: memory_node(local, target, known, coherence),
        link,
        latch: latch(None),
        conditions: None,
    })
}

/// The devices that took part, each once, in the order of ranks, with what the run has shown of them.
pub(super) fn devices(facts: &DocumentFacts, workers: &PlaceWorkers, state: &RunState) -> Vec<Device> {
    let mut known = BTreeSet::new();
    let first_places = facts.parts.iter().filter(|part| known.insert(&part.device.id));
    let device = |part: &RankPart| {
        let sharing = facts.parts.iter().filter(|other| other.device.id == part.device.id).count();
        let own = if facts.launch.is_some() { sharing } else { 1 };
        // A thread that copies to several devices says the latch of its first.
        let only = workers.only_at(part.rank.rank as usize);
        let rank = only.and_then(|rank| state.ranks.get(rank));
        let latch = latch(rank.and_then(|rank| rank.latch.as_ref()));
        let mut device = Device { latch, ..part.device.clone() };
        if only.is_none() {
            device = with_latch_of_another(device, &state.ranks);
        }
        let of_node = state.ranks.iter().zip(&state.nodes).filter(|(_, node)| **node == device.node as usize);
        with_conditions(device.clone(), of_node.map(|(rank, _)| rank), own)
    };
    first_places.map(device).collect()
}

/// A device with what these ranks saw of it while it was measured; `own`: how many processes of the launch
/// use it.
fn with_conditions<'s>(mut device: Device, ranks: impl Iterator<Item = &'s RankState>, own: usize) -> Device {
    let of_it = |rank: &'s RankState| rank.devices.iter().find(|seen| Some(seen.pci) == device.pci_address);
    // Who saw it longest saw most.
    let longest = |seen: &&GpuConditions| seen.counted.as_ref().map_or(0, |counted| counted.elapsed_ns);
    let all: Vec<&GpuConditions> = ranks.filter_map(of_it).collect();
    device.conditions = all.iter().copied().max_by_key(longest).map(|seen| conditions(seen, own));
    let loaded = all.into_iter().filter(|seen| seen.link.is_some()).max_by_key(longest);
    if let (Some(pci), Some(under_load)) = (device.pci_address, loaded.and_then(|seen| seen.link.as_ref())) {
        device.link = link(TargetId::Gpu(pci), Some(under_load), ReadWhen::UnderLoad);
        // The PCIe link of a GPU that does not copy over it bounds nothing under load either.
        if device.other_link().is_none() {
            device.bound_bytes_per_s = bound(&device.link);
        }
    }
    device
}

fn conditions(seen: &GpuConditions, own: usize) -> Known<Conditions> {
    let known = seen.counted.as_ref().map_err(Clone::clone).map(|counted| Conditions {
        elapsed_ns: counted.elapsed_ns,
        readings: counted.readings,
        held_back: counted.held_ns.iter().map(|(limit, ns)| HeldBack { limit: *limit, ns: *ns }).collect(),
        sm_clock_mhz: counted.sm_mhz.map(|(low, high)| ClockRange { low, high }),
        memory_clock_mhz: counted.memory_mhz.map(|(low, high)| ClockRange { low, high }),
        replays: counted.replays,
        other_processes: counted.processes.map(|all| all.saturating_sub(own as u32)),
        lowest_link: seen
            .lowest_link
            .as_ref()
            .map(|link| LowestLink { generation: link.generation, width: link.width }),
    });
    let source = seen.counted.as_ref().map_or("the GPU's driver", |counted| counted.source.as_str());
    Known::from_result(known, format!("{source}, sysfs"))
}

/// A GPU whose latch its own rank does not tell, because that rank drives others too, has the one that was
/// tried on another of the run's.
fn with_latch_of_another(mut device: Device, ranks: &[RankState]) -> Device {
    let told = || ranks.iter().find_map(|rank| rank.latch.as_ref());
    if device.kind == DeviceKind::Gpu
        && device.latch.value.is_none()
        && let Some(other) = told()
    {
        device.latch = Known {
            source: "tried when another device of this driver was opened".to_owned(),
            ..latch(Some(other))
        };
    }
    device
}

/// The memory of a node beside GPUs: what the CPU's own accesses go to.
fn memory_of_a_node(local: &Local, target: TargetId) -> Option<DeviceFacts> {
    let TargetId::Node(node) = target else { return None };
    let total_bytes = local.topology.node(node)?.total_bytes;
    let name = format!("host memory of NUMA node {node}");
    Some(DeviceFacts {
        id: DeviceId::Node(node),
        name,
        uuid: None,
        runtime_index: None,
        total_bytes,
        host_node: Some(node),
        memory_home: MemoryHome::Node(node),
    })
}

fn is(device: &DeviceFacts, target: TargetId) -> bool {
    match (device.id, target) {
        (DeviceId::Pci(a), TargetId::Gpu(b)) => a == b,
        (DeviceId::Node(a), TargetId::Node(b)) => a == b,
        _ => false,
    }
}

/// The ladder of sources: what hwloc and the kernel say first, then the driver, else unknown. Of several
/// local nodes with cores (those of a package) none is the one unless the driver says so.
fn numa_node(local: &Local, target: TargetId, known: &DeviceFacts) -> Known<u32> {
    let TargetId::Gpu(pci) = target else {
        return Known::from_result(
            known.host_node.ok_or("the host platform gave no node"),
            "the node itself",
        );
    };
    let Some(gpu) = local.topology.gpu_at(pci) else {
        return Known::unknown("hwloc", "not on the PCI bus that this process sees");
    };
    near_node(local.topology, gpu, known.host_node)
}

/// The node that a GPU is near to; `told` is what the driver says.
fn near_node(topology: &Topology, gpu: &Gpu, told: Option<u32>) -> Known<u32> {
    let has_cores = |node: &u32| topology.node(*node).is_some_and(|node| !node.pus.is_empty());
    let all = topology.host_nodes(gpu);
    let with_cores: IdSet = all.iter().filter(has_cores).collect();
    let nodes = if with_cores.is_empty() { all } else { with_cores };

    let is_told = gpu.locality.rung != Rung::Unknown;
    match (nodes.first().filter(|_| is_told && nodes.len() == 1), told) {
        (Some(node), _) => Known::value(node, gpu.locality.reason.clone()),
        (None, Some(node)) => Known::value(node, "the driver (CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID)"),
        (None, None) if is_told && !nodes.is_empty() => Known::unknown(
            "hwloc, the kernel's PCI files, the driver",
            format!("nodes {nodes} are all local to it ({})", gpu.locality.reason),
        ),
        (None, None) => {
            Known::unknown("hwloc, the kernel's PCI files, the driver", gpu.locality.reason.clone())
        }
    }
}

/// How a GPU shares memory with its CPU: what is known of its kind, else what the driver says.
fn shares(known: Option<topo::coherence::Coherence>, home: MemoryHome) -> Option<Coherence> {
    match (known, home) {
        (Some(topo::coherence::Coherence::C2c), _) => Some(Coherence::NvlinkC2c),
        (Some(topo::coherence::Coherence::Hbm), _) => Some(Coherence::SharedHbm),
        (None, MemoryHome::Shared) => Some(Coherence::SharedMemory),
        (None, MemoryHome::Device | MemoryHome::Node(_)) => None,
    }
}

/// The node that a GPU's own memory is: the driver says it, else the topology; `None` for a GPU behind PCIe.
fn memory_node(
    local: &Local,
    target: TargetId,
    known: &DeviceFacts,
    coherence: Option<topo::coherence::Coherence>,
) -> Option<Known<u32>> {
    let TargetId::Gpu(pci) = target else { return None };
    if let MemoryHome::Node(node) = known.memory_home {
        return Some(Known::value(node, "the driver (CU_DEVICE_ATTRIBUTE_NUMA_ID)"));
    }

    let nearest = local.topology.gpu_at(pci).and_then(|gpu| local.topology.memory_node(gpu));
    match (coherence, known.memory_home, nearest) {
        (None, MemoryHome::Device, _) => None,
        (.., Some(node)) => Some(Known::value(node, "hwloc and the kernel's PCI files")),
        (Some(topo::coherence::Coherence::C2c), ..) => {
            let why = "no NUMA node of its memory is shown (CDMM mode, or a machine that hides it)";
            Some(Known::unknown("the driver, the kernel's NUMA nodes", why))
        }
        _ => Some(Known::unknown("hwloc, the kernel's PCI files", "which node is near the GPU is not known")),
    }
}

/// What copies are bound by that do not go over PCIe.
fn bound_of_other(link: &HostLink) -> Known<f64> {
    match link.bytes_per_s {
        Some(rate) => Known::value(rate as f64, format!("{} by {}", link.name, link.source)),
        None => Known::unknown("the kind of GPU", link.source.clone()),
    }
}

fn link(target: TargetId, link: Option<&topo::model::Link>, read_when: ReadWhen) -> Known<Link> {
    if let TargetId::Node(_) = target {
        return Known::unknown("none", "host memory has no link");
    }
    match link {
        Some(link) => {
            let (max_generation, max_width) = (link.max_generation, link.max_width);
            let (generation, width) = (link.generation, link.width);
            let slot_generation = link.slot_generation;
            Known::value(
                Link { generation, width, max_generation, max_width, slot_generation, read_when },
                link.source.clone(),
            )
        }
        None => Known::unknown("sysfs current_link_speed, current_link_width", "not in sysfs"),
    }
}

/// What the link carries at most in one direction, before packet overhead.
fn bound(link: &Known<Link>) -> Known<f64> {
    let found = link.value.as_ref().and_then(|link| Some((link.generation?, link.width?)));
    let Some((generation, width)) = found else {
        return Known::unknown("the link's generation and width", "the link is not known");
    };
    match lane_bytes_per_s(generation) {
        Some(lane) => {
            let source =
                format!("PCIe {generation} x{width} line rate less line coding, before packet overhead");
            Known::value(lane * f64::from(width), source)
        }
        None => Known::unknown(
            "the link's generation and width",
            format!("PCIe generation {generation} is not known here"),
        ),
    }
}

/// One lane's payload rate by generation: transfer rate times line coding (PCI Express Base Specification:
/// 8b/10b to generation 2, 128b/130b to 5, 242 of 256 bytes of a flit in 6).
fn lane_bytes_per_s(generation: u8) -> Option<f64> {
    let (transfers_per_s, coding) = match generation {
        1 => (2.5e9, 8.0 / 10.0),
        2 => (5e9, 8.0 / 10.0),
        3 => (8e9, 128.0 / 130.0),
        4 => (16e9, 128.0 / 130.0),
        5 => (32e9, 128.0 / 130.0),
        6 => (64e9, 242.0 / 256.0),
        _ => return None,
    };
    Some(transfers_per_s * coding / 8.0)
}

fn latch(latch: Option<&pingpong::Latch>) -> Known<Latch> {
    const TRIED: &str = "tried when the device was opened";
    match latch {
        Some(pingpong::Latch::StreamWait) => Known::value(Latch::StreamWait, TRIED),
        Some(pingpong::Latch::SpinKernel) => Known::value(Latch::SpinKernel, TRIED),
        Some(pingpong::Latch::None { reason }) => Known::unknown(TRIED, reason.clone()),
        None => Known::unknown("opening the device", "no rank of this run says by what it can be timed"),
    }
}

#[cfg(test)]
mod tests {
    use report::Document;
    use report::read::SavedDocument;

    use super::*;

    #[test]
    fn of_several_nodes_with_cores_none_is_the_gpus_unless_the_driver_names_it()
    -> Result<(), Box<dyn std::error::Error>> {
        let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../topo/tests/fixtures");
        let mut topology = topo::from_xml(&fixtures.join("leonardo.xml"))?;
        let mut gpu = topology.gpus[0].clone();
        let own = near_node(&topology, &gpu, None).value;
        assert_eq!(own, gpu.locality.nodes.first());

        gpu.locality.nodes = "0-1".parse()?;
        let open = near_node(&topology, &gpu, None);
        assert!(
            open.value.is_none() && open.reason.is_some_and(|why| why.contains("nodes 0-1 are all local"))
        );
        assert_eq!(near_node(&topology, &gpu, Some(1)).value, Some(1), "the driver's word");

        // Memory without cores beside the node is no second place for ranks.
        topology.nodes[1].pus = IdSet::default();
        assert_eq!(near_node(&topology, &gpu, None).value, Some(0));
        Ok(())
    }

    #[test]
    fn gpus_that_one_thread_copies_to_have_their_links_under_load() -> Result<(), Box<dyn std::error::Error>>
    {
        const NOWHERE: stats::PciAddress = stats::PciAddress { domain: 0, bus: 0, device: 0, function: 0 };
        let known = Document::from_json(include_bytes!("../../../../docs/gallery/pingpong.json"))?.devices;
        let seen = |device: &Device, generation| GpuConditions {
            pci: device.pci_address.unwrap_or(NOWHERE),
            link: Some(topo::model::Link {
                generation: Some(generation),
                width: Some(16),
                max_generation: Some(5),
                ..topo::model::Link::default()
            }),
            lowest_link: None,
            counted: Err("nobody counts".to_owned()),
        };
        let rank =
            RankState { devices: vec![seen(&known[0], 5), seen(&known[1], 3)], ..RankState::default() };

        let links = known.into_iter().take(2).map(|mut device| {
            device.link = Known::unknown("sysfs", "not read yet");
            let device = with_conditions(device, [&rank].into_iter(), 1);
            let link = device.link.value.map(|link| (link.generation, link.read_when));
            (link, device.bound_bytes_per_s.value.map(|rate| (rate / 1e9).round()))
        });
        let loaded = |generation| Some((Some(generation), ReadWhen::UnderLoad));
        assert_eq!(
            links.collect::<Vec<_>>(),
            [(loaded(5), Some(63.0)), (loaded(3), Some(16.0))],
            "the idle link bounds nothing"
        );
        Ok(())
    }

    #[test]
    fn a_pcie_5_x16_link_carries_63_gigabytes_a_second() {
        assert_eq!(lane_bytes_per_s(5).map(|lane| (lane * 16.0 / 1e8).round()), Some(630.0));
        assert_eq!(lane_bytes_per_s(4).map(|lane| (lane * 16.0 / 1e8).round()), Some(315.0));
    }
}
