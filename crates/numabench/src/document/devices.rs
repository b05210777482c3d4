//! The devices that took part, each once, in the order ranks use them.

use device::{DeviceFacts, DeviceId};
use pingpong::RunState;
use placement::TargetId;
use report::Known;
use report::device::{Device, DeviceKind, Latch, Link, ReadWhen};
use topo::model::Rung;

use super::Facts;

pub(super) fn devices(facts: &Facts, state: &RunState) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    for rank in &facts.plan.ranks {
        let id = rank.target.id.to_string();
        let known = facts.found.platform.devices().iter().find(|device| is(device, rank.target.id));
        let Some(known) = known.filter(|_| devices.iter().all(|device| device.id != id)) else { continue };
        let after = state.ranks.get(rank.rank);
        let link = link(facts, rank.target.id, after.and_then(|rank| rank.link.as_ref()));
        let bound = bound(&link);
        devices.push(Device {
            id,
            node: 0,
            pci_address: match known.id {
                DeviceId::Pci(pci) => Some(pci),
                DeviceId::Node(_) => None,
            },
            kind: if matches!(known.id, DeviceId::Pci(_)) { DeviceKind::Gpu } else { DeviceKind::HostMemory },
            index: rank.target.index,
            runtime_index: known.runtime_index,
            name: known.name.clone(),
            uuid: known.uuid.clone(),
            total_bytes: known.total_bytes,
            numa_node: numa_node(facts, rank.target.id, known),
            link,
            bound_bytes_per_s: bound,
            latch: latch(after.and_then(|rank| rank.latch.as_ref())),
        });
    }
    devices
}

fn is(device: &DeviceFacts, target: TargetId) -> bool {
    match (device.id, target) {
        (DeviceId::Pci(a), TargetId::Gpu(b)) => a == b,
        (DeviceId::Node(a), TargetId::Node(b)) => a == b,
        _ => false,
    }
}

/// The ladder of sources: what hwloc and the kernel say first, then the driver, else unknown.
fn numa_node(facts: &Facts, target: TargetId, known: &DeviceFacts) -> Known<u32> {
    let TargetId::Gpu(pci) = target else {
        return Known::from_result(known.host_node.ok_or("the host platform gave no node"), "the node itself");
    };
    let Some(gpu) = facts.topology.gpu_at(pci) else {
        return Known::unknown("hwloc", "the PCI bus as this process sees it does not show the device");
    };
    let node = facts.topology.host_nodes(gpu).first().filter(|_| gpu.locality.rung != Rung::Unknown);
    match (node, known.host_node) {
        (Some(node), _) => Known::value(node, gpu.locality.reason.clone()),
        (None, Some(node)) => Known::value(node, "the driver (CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID)"),
        (None, None) => Known::unknown("hwloc, the kernel's PCI files, the driver", gpu.locality.reason.clone()),
    }
}

fn link(facts: &Facts, target: TargetId, under_load: Option<&topo::model::Link>) -> Known<Link> {
    let TargetId::Gpu(pci) = target else {
        return Known::unknown("none", "host memory has no link");
    };
    let idle = facts.topology.gpu_at(pci).and_then(|gpu| gpu.link.as_ref());
    let read_when = if under_load.is_some() { ReadWhen::UnderLoad } else { ReadWhen::Idle };
    match under_load.or(idle) {
        Some(link) => {
            let (max_generation, max_width) = (link.max_generation, link.max_width);
            let (generation, width) = (link.generation, link.width);
            Known::value(Link { generation, width, max_generation, max_width, read_when }, link.source.clone())
        }
        None => {
            Known::unknown("sysfs current_link_speed, current_link_width", "the kernel shows no link of this device")
        }
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
            let source = format!("PCIe {generation} x{width} line rate less line coding, before packet overhead");
            Known::value(lane * f64::from(width), source)
        }
        None => {
            Known::unknown("the link's generation and width", format!("PCIe generation {generation} is not known here"))
        }
    }
}

/// One lane's payload rate by generation: transfer rate times line coding (PCI Express Base Specification: 8b/10b to generation
/// 2, 128b/130b to 5, 242 of 256 bytes of a flit in 6).
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

fn latch(latch: Option<&device::Latch>) -> Known<Latch> {
    match latch {
        Some(device::Latch::StreamWait) => Known::value(Latch::StreamWait, "tried when the device was opened"),
        Some(device::Latch::SpinKernel) => Known::value(Latch::SpinKernel, "tried when the device was opened"),
        Some(device::Latch::None { reason }) => Known::unknown("tried when the device was opened", reason.clone()),
        None => Known::unknown("opening the device", "the device is not open"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pcie_5_x16_link_carries_63_gigabytes_a_second() {
        assert_eq!(lane_bytes_per_s(5).map(|lane| (lane * 16.0 / 1e8).round()), Some(630.0));
        assert_eq!(lane_bytes_per_s(4).map(|lane| (lane * 16.0 / 1e8).round()), Some(315.0));
    }
}
