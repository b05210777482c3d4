//! How every view writes a link, a name and what is near, from the model.

use stats::IdSet;
use stats::units::rate;
use topo::model::{Gpu, Link, Locality, NodeKind, Rung, Topology};
use topo::{Nic, NicKind};

use crate::page::listed;

/// What copies to the GPUs of a machine go over, where that is not PCIe.
const LINKS: [(&str, &str); 7] = [
    ("lumi-g", "Infinity Fabric"),
    ("lumi-g-low-noise", "Infinity Fabric"),
    ("power9", "NVLink 2"),
    ("gh200-quad", "NVLink-C2C"),
    ("superchips", "NVLink-C2C"),
    ("mi300a", "in one package"),
    ("mi300a-cpx", "in one package"),
];

/// The link to its CPU that a machine's GPUs have instead of PCIe.
pub fn other_link(machine: &str) -> Option<&'static str> {
    LINKS.iter().find(|(name, _)| *name == machine).map(|(_, link)| *link)
}

/// `gen5 x16`, what it can be where that is more, or a rate.
pub fn link_words(link: &Link) -> String {
    let part = |letters: &str, number: Option<u8>| {
        number.map_or(format!("{letters}?"), |number| format!("{letters}{number}"))
    };
    let (now, most) = (
        format!("{} {}", part("gen", link.generation), part("x", link.width)),
        format!("{} {}", part("gen", link.max_generation), part("x", link.max_width)),
    );
    match link.bytes_per_s {
        Some(bytes) => rate(bytes as f64),
        None if now == most => now,
        None => format!("{now} of {most}"),
    }
}

/// Its name, else its ids.
pub fn gpu_name(gpu: &Gpu) -> String {
    gpu.name.value.clone().unwrap_or_else(|| format!("PCI {:04x}:{:04x}", gpu.vendor_id, gpu.device_id))
}

/// Its name, else its kind and its ids.
pub fn nic_name(nic: &Nic) -> String {
    let kind = match nic.kind {
        NicKind::Ethernet => "Ethernet",
        NicKind::Infiniband => "InfiniBand",
        NicKind::Fabric => "fabric",
        NicKind::Other => "network",
    };
    nic.name.clone().unwrap_or_else(|| format!("{kind} {:04x}:{:04x}", nic.vendor_id, nic.device_id))
}

/// The near nodes but those of GPUs' memory.
pub fn near_nodes(topology: &Topology, locality: &Locality) -> String {
    let host = |id: &u32| topology.node(*id).is_none_or(|node| node.kind != NodeKind::GpuMemory);
    let host: IdSet = locality.nodes.iter().filter(host).collect();
    match (locality.rung, host.is_empty()) {
        (Rung::Unknown, _) => "?".to_owned(),
        (_, true) => "-".to_owned(),
        _ => listed(&host),
    }
}

/// How a locality is known, in a word.
pub fn known_from(rung: Rung) -> &'static str {
    match rung {
        Rung::L3 => "L3",
        Rung::PciLocalCpus => "PCI",
        Rung::Driver => "driver",
        Rung::Unknown => "unknown",
    }
}
