//! A small machine written by hand, for the tests of these modules.
//!
//! ```text
//! package 0: cores 0-3 (PUs 0-3, siblings 8-11), node 0, GPUs 2 and 3
//! package 1: cores 4-7 (PUs 4-7, siblings 12-15), node 1, GPUs 0 and 1
//! ```
//!
//! ROCr counts its GPUs backwards, so that no index fits by accident.

use std::collections::BTreeMap;

use stats::{IdSet, PciAddress};
use topo::model::{
    Allowed, Core, Gpu, GpuName, L3, Locality, NodeKind, NumaNode, Package, Pu, PuStatus, Rung,
    TopologySource,
};
use topo::visibility::{Runtime, Visibility, Visible};
use topo::{Start, Topology};

/// PCI vendor ids.
pub const NVIDIA: u16 = 0x10de;
pub const AMD: u16 = 0x1002;

/// A set of ids as users write it.
pub fn set(text: &str) -> IdSet {
    text.parse().expect("a list of ids")
}

/// The address of GPU `index`.
pub fn address(index: u8) -> PciAddress {
    PciAddress { domain: 0, bus: index + 1, device: 0, function: 0 }
}

/// The machine, with everything allowed and NVIDIA's GPUs.
pub fn machine() -> Topology {
    let halves = [(0, "0-3,8-11"), (1, "4-7,12-15")];
    let node = |(os_index, pus): (u32, &str)| NumaNode {
        os_index,
        kind: NodeKind::Normal,
        total_bytes: 1 << 30,
        free_bytes: None,
        pus: set(pus),
        allowed: true,
        subtype: None,
        cpus_not_shown: false,
    };

    let package = |(index, pus): (u32, &str)| Package {
        os_index: Some(index),
        cpu_model: None,
        pus: set(pus),
        nodes: [index].into_iter().collect(),
    };
    let core = |core: u32| Core { os_index: None, pus: [core, core + 8].into_iter().collect() };
    let pu = |os_index: u32| Pu { os_index, status: PuStatus::Allowed, nodes: vec![os_index % 8 / 4] };

    Topology {
        source: TopologySource::ThisSystem,
        hostname: Some("n0".to_owned()),
        hwloc_version: "none: written by hand".to_owned(),
        packages: halves.map(package).to_vec(),
        nodes: halves.map(node).to_vec(),
        distances: None,
        l3s: halves.map(|(_, pus)| L3 { os_index: None, size_bytes: None, pus: set(pus) }).to_vec(),
        cores: (0..8).map(core).collect(),
        pus: (0..16).map(pu).collect(),
        allowed: Allowed { pus: set("0-15"), nodes: set("0-1"), ..Allowed::default() },
        gpus: (0..4).map(|index| gpu(index, NVIDIA)).collect(),
        slow: None,
    }
}

fn gpu(index: u8, vendor_id: u16) -> Gpu {
    let (node, pus) = if index < 2 { ("1", "4-7,12-15") } else { ("0", "0-3,8-11") };

    Gpu {
        index: u32::from(index),
        pci: address(index),
        vendor_id,
        device_id: 1,
        class_id: 0x0302,
        name: GpuName { value: None, source: "none".to_owned() },
        uuid: (vendor_id == NVIDIA).then(|| format!("GPU-{index}")),
        os_devices: Vec::new(),
        locality: Locality {
            rung: Rung::PciLocalCpus,
            reason: "written by hand".to_owned(),
            attached_to: String::new(),
            pus: set(pus),
            nodes: set(node),
            outside_pus: IdSet::default(),
            outside_nodes: IdSet::default(),
            l3_pus: None,
        },
        link: None,
        partition: None,
    }
}

/// What a program that is started here has, where this vendor's runtime lists these GPUs because of these
/// variables.
pub fn start(vendor: u16, visible: &[u8], variables: &[(&str, &str)]) -> Start {
    let mut topology = machine();
    topology.gpus = (0..4).map(|index| gpu(index, vendor)).collect();
    let whole = |index: &u8| Visible { pci: Some(address(*index)), part: None };
    let runtime = if vendor == AMD { Runtime::Hip } else { Runtime::Cuda };
    let visibility = Visibility {
        runtime,
        variables: set_to(variables),
        devices: Some(visible.iter().map(whole).collect()),
        reason: None,
        notes: Vec::new(),
    };
    let rocr = if vendor == AMD { (0..4).rev().map(address).collect() } else { Vec::new() };
    Start { topology, visibility: vec![visibility], hidden: IdSet::default(), rocr, step: None }
}

/// Variables by name.
pub fn set_to(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
