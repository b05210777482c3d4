//! What lies between devices: redirection by access control services, translation of addresses, and whether
//! GPUs reach each other.

use report::doctor::{Check, Part};
use stats::units::counted;

use super::gpus::of_nvidia;
use super::probe::{Probe, listed};
use super::{HOST, NVML, ROOT};
use crate::facts::config_space::{ConfigField, REDIRECTS};
use crate::facts::pci::{PciDevice, PciDeviceKind, Port};
use crate::facts::{Architecture, MachineKind, SystemFacts};

const ACS: Probe = Probe {
    name: "pcie.acs",
    part: Part::Pcie,
    why: "a switch that redirects sends copies between its GPUs and adapters up to the CPU and back: much \
        slower, or they hang",
    source: "NCCL user guide, GPU troubleshooting (PCI Access Control Services)",
};

const IOMMU: Probe = Probe {
    name: "pcie.iommu",
    part: Part::Pcie,
    why: "translation sends copies between devices to the CPU, and costs small copies a look-up each",
    source: "NCCL user guide, GPU troubleshooting (PCI Access Control Services); kernel, \
        ABI/testing/sysfs-kernel-iommu_groups, kernel-parameters (iommu.passthrough, iommu)",
};

const PEER_ACCESS: Probe = Probe {
    name: "pcie.peer-access",
    part: Part::Pcie,
    why: "GPUs that do not reach each other copy through host memory",
    source: "CUDA programming guide, Peer-to-Peer Memory Access; NVML, nvmlDeviceGetP2PStatus",
};

/// Devices that copies can go between.
pub(super) fn have_peers(facts: &SystemFacts<'_>) -> bool {
    let gpus = facts.devices.iter().filter(|device| device.kind == PciDeviceKind::Gpu).count();
    gpus > 1 || gpus == 1 && facts.devices.len() > 1
}

pub(super) fn acs(facts: &SystemFacts<'_>) -> Option<Check> {
    if !have_peers(facts) {
        return None;
    }
    let bridges: Vec<(&PciDevice, &Port)> = facts
        .devices
        .iter()
        .flat_map(|device| device.path.iter().skip(1).map(move |port| (device, port)))
        .collect();
    if bridges.is_empty() {
        return ACS.open("no bridge above the GPUs and adapters is visible here", HOST);
    }

    // A root port sends all to the CPU anyway: only a switch has a shorter way.
    let switch_port =
        |port: &Port| matches!(port.config.express, ConfigField::Is(express) if express.is_switch_port);
    let redirects =
        |port: &Port| matches!(port.config.acs, ConfigField::Is(control) if control & REDIRECTS != 0);
    let mut wrong: Vec<&str> = bridges
        .iter()
        .filter(|(_, port)| switch_port(port) && redirects(port))
        .map(|(_, port)| port.address.as_str())
        .collect();
    wrong.sort_unstable();
    wrong.dedup();

    if !wrong.is_empty() {
        let seen = format!(
            "redirection is on at {} above GPUs or adapters: {}",
            counted(wrong.len(), "switch port"),
            listed(&wrong)
        );
        // A virtual machine needs it, says NCCL's guide, and has address translation services in its place.
        let change = if facts.is_virtual() {
            "leave it on in a virtual machine; have address translation services (ATS) enabled in the \
             adapters by its host"
        } else {
            "as root: setpci -s ADDRESS ECAP_ACS+0x6.w=0000 for each (after every boot), or switch ACS off \
             in the firmware"
        };
        return ACS.costs(seen, change);
    }

    let may_switch = |port: &Port| switch_port(port) || port.config.express == ConfigField::Hidden;
    if bridges.iter().any(|(_, port)| may_switch(port) && port.config.acs == ConfigField::Hidden) {
        return ACS.open("the kernel shows an ordinary user no access control services", ROOT);
    }
    let switches = bridges.iter().filter(|(_, port)| switch_port(port)).count();

    ACS.ok(if switches == 0 {
        "no PCIe switch above GPUs or adapters".to_owned()
    } else {
        format!("no redirection at {}", counted(switches, "switch port"))
    })
}

pub(super) fn iommu(facts: &SystemFacts<'_>) -> Option<Check> {
    if facts.devices.is_empty() {
        return None;
    }
    let translated = |device: &&PciDevice| {
        let kind = device.group.as_ref().and_then(|(_, kind)| kind.as_deref());
        kind.is_some_and(|kind| kind.starts_with("DMA"))
    };
    let options = match &facts.iommu.options[..] {
        [] => String::new(),
        options => format!(" (booted with {})", options.join(" ")),
    };
    let translated: Vec<&str> =
        facts.devices.iter().filter(translated).map(|device| device.name.as_str()).collect();

    if !translated.is_empty() {
        let seen = format!("addresses of {} are translated{options}", listed(&translated));
        let change = match facts.architecture {
            Architecture::X86 => {
                "boot with iommu=pt (on Intel intel_iommu=on iommu=pt), or switch the IOMMU off where no \
                 guest needs it"
            }
            // The SMMU itself stays on: coherent GPUs (Grace) have their addresses translated by it.
            Architecture::Arm => "boot with iommu.passthrough=1",
            Architecture::Other => "let the kernel pass addresses through (kernel-parameters, iommu)",
        };
        // Translation matters to what goes from device to device; alone it costs a device next to nothing.
        return if have_peers(facts) { IOMMU.costs(seen, change) } else { IOMMU.remark(seen, change) };
    }

    if !facts.iommu.is_active {
        return match facts.platform() {
            MachineKind::Virtual => {
                IOMMU.open("none in this virtual machine; its host's cannot be seen", HOST)
            }
            _ if !facts.iommu.is_shown => {
                IOMMU.open("whether one is on is not shown here (/sys/class)", ROOT)
            }
            MachineKind::Unknown => IOMMU.open(
                format!("none shown, and whether this is a virtual machine is not known{options}"),
                HOST,
            ),
            MachineKind::Physical => IOMMU.ok(format!("off{options}")),
        };
    }

    let mut kinds = facts.devices.iter().filter_map(|device| device.group.as_ref().map(|(_, kind)| kind));
    let is_known = kinds.next().is_some_and(Option::is_some) && kinds.all(Option::is_some);

    if is_known {
        return IOMMU.ok(format!(
            "on, and passes addresses through; {} groups of devices{options}",
            facts.iommu.groups
        ));
    }
    IOMMU.open(format!("on, and how it translates is not shown{options}"), ROOT)
}

pub(super) fn peer_access(facts: &SystemFacts<'_>) -> Option<Check> {
    if facts.devices.iter().filter(|device| device.kind == PciDeviceKind::Gpu).count() < 2 {
        return None;
    }

    of_nvidia(facts, &PEER_ACCESS, true, |health| {
        let refused = health.peers.iter().filter_map(|pair| Some((pair, pair.refused.as_ref()?)));
        let pairs: Vec<String> = refused
            .map(|(pair, why)| {
                format!("{} and {} ({why})", facts.gpu_name(pair.one), facts.gpu_name(pair.other))
            })
            .collect();

        match (health.peers.len(), pairs.len()) {
            (0, _) => PEER_ACCESS.open("the driver says nothing of it", NVML),
            (all, 0) => PEER_ACCESS.ok(format!("all {all} pairs of GPUs reach each other")),
            (all, none) => PEER_ACCESS.costs(
                format!("{none} of {all} pairs of GPUs do not reach each other: {}", listed(&pairs)),
                "see pcie.acs, pcie.iommu and gpu.fabric; some boards and GPUs have no peer access at all",
            ),
        }
    })
}
