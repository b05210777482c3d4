//! Each device's own way to the host: lanes, generation, packet sizes, and the window onto its memory.

use std::collections::BTreeSet;

use report::doctor::{Check, Part};
use stats::units::{counted, rounded_size};
use topo::gpu_class::AMD;

use super::probe::{Probe, listed, of_known};
use super::{NVML, ROOT};
use crate::facts::config_space::{ConfigField, Express};
use crate::facts::pci::{PciDevice, PciDeviceKind};
use crate::facts::{MachineKind, SystemFacts};

const LINK: Probe = Probe {
    name: "pcie.link",
    part: Part::Pcie,
    why: "half the lanes, or a generation less, halve what a device can copy",
    source: "PCI Express Base Specification; kernel, ABI/testing/sysfs-bus-pci",
};

const PAYLOAD: Probe = Probe {
    name: "pcie.payload",
    part: Part::Pcie,
    why: "each packet has about 24 bytes of headers: payloads of 128 bytes leave 84 % of a link, of 256 \
        bytes 91 %",
    source: "PCI Express Base Specification, 7.5.3; kernel, kernel-parameters (pci=pcie_bus_perf)",
};

const WINDOW: Probe = Probe {
    name: "pcie.bar",
    part: Part::Pcie,
    why: "an adapter or another GPU reaches only the part of a GPU's memory that the bus shows",
    source: "NVIDIA, GPUDirect RDMA (BAR1); kernel, ABI/testing/sysfs-bus-pci (resourceN_resize)",
};

/// Reads of less than this at once leave a link idle between them, bytes.
const LEAST_READ: u32 = 256;

/// Whose end of a link it is that a guest's hypervisor makes up.
const FORGED: &str = "the port above it is the hypervisor's";

pub(super) fn link(facts: &SystemFacts<'_>) -> Option<Check> {
    let linked: Vec<&PciDevice> = facts.devices.iter().filter(|device| device.link.is_some()).collect();
    if linked.is_empty() {
        let hidden =
            facts.devices.iter().filter(|device| device.kind == PciDeviceKind::Gpu || !facts.is_virtual());
        let names: Vec<&str> = hidden.map(|device| device.name.as_str()).collect();
        let over_pcie =
            facts.survey.topology.gpus.iter().any(|gpu| facts.survey.topology.host_link(gpu).is_none());
        return match names[..] {
            [] => None,
            _ if !over_pcie => None,
            _ => LINK.open(format!("PCIe link of {} unknown: not in sysfs", listed(&names)), super::HOST),
        };
    }

    let of = |kind: fn(&LinkState) -> bool| -> Vec<String> {
        let states = linked.iter().map(|device| link_state(facts, device));
        states.filter(kind).filter_map(LinkState::into_words).collect()
    };
    let slow = of(|state| matches!(state, LinkState::Slow(_)));
    if !slow.is_empty() {
        let change = "reseat the device or its riser, or move it to a slot of its width and generation; then \
            `numabench matrix` shows what it carries";
        return LINK.costs(slow.join("; "), change);
    }
    let unknown = of(|state| matches!(state, LinkState::Unknown(_)));
    if !unknown.is_empty() {
        let who = if facts.is_virtual() { super::HOST } else { ROOT };
        return LINK.open(listed(&unknown), who);
    }
    let limited = of(|state| matches!(state, LinkState::LimitedByMachine(_)));
    if !limited.is_empty() {
        let change = "nothing here, unless the firmware holds the slots to a lower generation; `numabench \
            matrix` shows what they carry";
        return LINK.remark(limited.join("; "), change);
    }

    let generations =
        linked.iter().filter_map(|device| device.link.as_ref()?.max_generation).collect::<BTreeSet<_>>();
    let generations: Vec<String> = generations.iter().map(u8::to_string).collect();
    LINK.ok(format!(
        "{} of generation {} at both ends, at the width that both can",
        counted(linked.len(), "link"),
        generations.join(" and ")
    ))
}

/// How a device's link is, against what both of its ends can.
enum LinkState {
    /// As it should be.
    Full,
    /// Less than both ends can, or in a slot that is less than others of the machine.
    Slow(String),
    /// Less than the device can, in a machine that has no better slot.
    LimitedByMachine(String),
    /// One end is not known.
    Unknown(String),
}

impl LinkState {
    fn into_words(self) -> Option<String> {
        match self {
            Self::Full => None,
            Self::Slow(words) | Self::LimitedByMachine(words) | Self::Unknown(words) => Some(words),
        }
    }
}

/// The state of a device's link. A GPU without work trains its link down, so that the generation of now says
/// nothing of a GPU: what counts is what both ends can. In a guest the device's own end alone is real.
fn link_state(facts: &SystemFacts<'_>, device: &PciDevice) -> LinkState {
    let Some(link) = &device.link else { return LinkState::Full };
    let (above_generation, above_width) =
        if facts.platform() == MachineKind::Physical { device.above } else { (None, None) };
    let least = |own: Option<u8>, above: Option<u8>| own.into_iter().chain(above).min();
    let (width, generation) =
        (least(link.max_width, above_width), least(link.max_generation, above_generation));
    let name = &device.name;

    if let (Some(now), Some(most)) = (link.width, width)
        && now < most
    {
        return LinkState::Slow(format!("{name}: x{now}, and both ends can x{most}"));
    }
    if let (Some(now), Some(most), PciDeviceKind::Adapter) = (link.generation, generation, device.kind)
        && now < most
    {
        return LinkState::Slow(format!("{name}: generation {now}, and both ends can {most}"));
    }
    if let (Some(own), Some(above)) = (link.max_width, above_width)
        && above < own
    {
        return LinkState::Slow(format!("{name}: can x{own}, in a slot of x{above}"));
    }
    match (link.max_generation, above_generation) {
        (Some(own), Some(above)) if above < own => {
            let words = format!("{name}: can generation {own}, in a slot of generation {above}");
            let has_better = facts.best_port_generation.is_some_and(|best| best > above);
            if has_better { LinkState::Slow(words) } else { LinkState::LimitedByMachine(words) }
        }
        (Some(_), Some(_)) => LinkState::Full,
        (own, _) if facts.is_virtual() => {
            let own = own.map_or_else(|| "unknown".to_owned(), |own| own.to_string());
            LinkState::Unknown(format!("{name}: generation {own} at its own end, and {FORGED}"))
        }
        _ => LinkState::Unknown(format!("{name}: what the slot can is not shown")),
    }
}

pub(super) fn payload(facts: &SystemFacts<'_>) -> Option<Check> {
    let express = |device: &PciDevice| -> Vec<ConfigField<Express>> {
        device.path.iter().map(|port| port.config.express).collect()
    };
    let with_path: Vec<(&PciDevice, Vec<ConfigField<Express>>)> = facts
        .devices
        .iter()
        .map(|device| (device, express(device)))
        .filter(|(_, path)| !path.is_empty())
        .collect();

    if with_path.is_empty() {
        return (!facts.devices.is_empty() && !facts.cpu.is_shown)
            .then(|| PAYLOAD.open("packet sizes are not shown here (/sys)", ROOT))
            .flatten();
    }

    // What a guest reads there is its own hypervisor's and not the device's (the kernel's
    // drivers/vfio/pci/vfio_pci_config.c).
    match facts.platform() {
        MachineKind::Physical => {}
        MachineKind::Virtual => {
            return PAYLOAD
                .open("a virtual machine is shown packet sizes that are not the device's", super::HOST);
        }
        MachineKind::Unknown => {
            let seen =
                "whether this is a virtual machine, which is shown packet sizes of its own, is not known";
            return PAYLOAD.open(seen, super::HOST);
        }
    }

    if with_path.iter().all(|(_, path)| path[0] == ConfigField::Hidden) {
        return PAYLOAD.open("the kernel shows an ordinary user no packet sizes", ROOT);
    }
    let mut small = Vec::new();
    let mut sizes = Vec::new();

    for (device, path) in &with_path {
        let ports: Vec<Express> = path
            .iter()
            .filter_map(|seen| if let ConfigField::Is(port) = seen { Some(*port) } else { None })
            .collect();
        let Some(own) = ports.first() else { continue };
        let most = ports.iter().map(|port| port.payload_most).min().unwrap_or(own.payload_most);
        if own.payload < most {
            small.push(format!(
                "{}: payload of {} bytes, and its path takes {most}",
                device.name, own.payload
            ));
        } else if own.read_request < LEAST_READ {
            small.push(format!("{}: reads at most {} bytes at once", device.name, own.read_request));
        }
        sizes.push(own.payload);
    }

    match (&small[..], sizes.iter().min()) {
        ([], None) => None,
        ([], Some(least)) => {
            PAYLOAD.ok(format!("payloads of {least} bytes and more, as large as each path takes"))
        }
        _ => PAYLOAD.costs(
            listed(&small),
            "boot with pci=pcie_bus_perf, or set the payload size in the firmware; a hypervisor's host sets \
             it for its guests",
        ),
    }
}

pub(super) fn window(facts: &SystemFacts<'_>) -> Option<Check> {
    let gpus: Vec<&PciDevice> =
        facts.devices.iter().filter(|device| device.kind == PciDeviceKind::Gpu).collect();
    let shown = |device: &&PciDevice| {
        let memory = memory_bytes(facts, device);
        Some((device.name.clone(), device.window_bytes?, memory))
    };
    let windows: Vec<(String, u64, Option<u64>)> = gpus.iter().filter_map(shown).collect();
    let Some((_, first, _)) = windows.first() else {
        let is_hidden = !gpus.is_empty() && !facts.cpu.is_shown;
        return is_hidden.then(|| WINDOW.open("windows of GPUs are not shown here (/sys)", ROOT)).flatten();
    };

    // NVML leaves out of a GPU's memory what its driver keeps: a window of the memory's size is never smaller
    // than what it says.
    let small =
        |(_, window, memory): &&(String, u64, Option<u64>)| memory.is_some_and(|memory| *window < memory);
    let small: Vec<String> = windows
        .iter()
        .filter(small)
        .map(|(name, window, _)| format!("{name}: {}", rounded_size(*window)))
        .collect();

    if windows.iter().all(|(_, _, memory)| memory.is_none()) {
        let who = if facts.nvidia.is_some() { NVML } else { ROOT };
        return WINDOW.open(
            format!("windows of {}; the size of the memory behind is not known", rounded_size(*first)),
            who,
        );
    }

    if small.is_empty() {
        let known = windows.iter().filter(|(_, _, memory)| memory.is_some()).count();
        return WINDOW.ok(of_known(
            &format!("the bus shows the whole memory of {}", counted(known, "GPU")),
            known,
            gpus.len(),
            "GPU",
        ));
    }
    let seen = format!("the bus shows a part of the memory: {}", listed(&small));
    let change = "switch on Resizable BAR and Above 4G Decoding in the firmware";

    // Only adapters and copies between GPUs over PCIe go through the window.
    if facts.adapters.names().is_empty() && gpus.len() < 2 {
        WINDOW.remark(seen, change)
    } else {
        WINDOW.costs(seen, change)
    }
}

/// A GPU's memory, by its driver.
fn memory_bytes(facts: &SystemFacts<'_>, device: &PciDevice) -> Option<u64> {
    let is_amd = facts.survey.topology.gpu_at(device.pci).is_some_and(|gpu| gpu.vendor_id == AMD);
    if is_amd {
        return facts.amd.iter().find(|gpu| gpu.name == device.name)?.memory_bytes;
    }
    let health = facts.nvidia.as_ref()?.as_ref().ok()?;
    health.gpus.iter().find(|gpu| gpu.pci == device.pci)?.memory_bytes
}
