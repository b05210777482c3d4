//! The GPUs: from lstopo's tree with where they hang, else from what `nvidia-smi` and `rocm-smi` print.
//!
//! A row of a management tool belongs to a device of the tree only where an address says so, or hwloc's own
//! number (`nvml2`, `rsmi2`); equal counts are no proof.

use std::collections::BTreeMap;

use stats::{IdSet, PciAddress};

use super::said::Printed;
use super::tree::{Kind, Object, OsDevice, PciDevice, Tree};
use crate::devices::{is_drm, listed};
use crate::found::Found;
use crate::gpu_class::{AMD, INTEL, NVIDIA, is_gpu};
use crate::locality::Surroundings;
use crate::model::{Gpu, GpuName, Locality, Rung, Topology};
use crate::partitions::divided;

/// Stands for the proof of a virtual machine where no text says whether it is one.
pub(super) const NOT_SAID: &str = "no text says that it is none";

/// The GPUs, and which of them the management tools' numbers stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Gpus {
    pub(super) gpus: Vec<Gpu>,
    pub(super) nvidia: BTreeMap<u32, PciAddress>,
    pub(super) rocm: BTreeMap<u32, PciAddress>,
}

/// The GPUs of the texts, on a machine whose CPUs are known as far as they are said.
///
/// # Errors
/// A management tool names a GPU where lstopo, which shows others, has no device; in words.
pub(super) fn gpus(printed: &Printed, around: &Surroundings) -> Result<Gpus, String> {
    let tree = printed.tree.as_ref().map(|tree| of_tree(tree, around)).unwrap_or_default();
    let mut found = Gpus { gpus: tree, ..Gpus::default() };
    let has_tree = !found.gpus.is_empty();
    let in_tree = |pci: PciAddress, tool: &str| match &printed.tree {
        Some(tree) if has_tree && !shows_device(tree, pci) => Err(format!(
            "{tool} names a GPU at {pci}, where lstopo shows no device: the texts are of different machines"
        )),
        _ => Ok(pci),
    };
    found.nvidia = numbered(&found.gpus, "nvml");
    found.rocm = numbered(&found.gpus, "rsmi");
    let mut next = 0u8..;
    let mut no_address = || PciAddress::unknown(next.next().unwrap_or(u8::MAX));

    for index in printed.nvidia_numbers().iter() {
        let said = printed.nvidia.get(&index).and_then(|gpu| gpu.pci);
        match said {
            Some(pci) => drop(found.nvidia.insert(index, in_tree(pci, "nvidia-smi")?)),
            None if !has_tree => drop(found.nvidia.insert(index, no_address())),
            None => {}
        }
    }

    for (index, gpu) in printed.rocm.iter().flat_map(|rocm| &rocm.gpus) {
        match gpu.pci {
            Some(pci) => drop(found.rocm.insert(*index, in_tree(pci, "rocm-smi")?)),
            None if !has_tree => drop(found.rocm.insert(*index, no_address())),
            None => {}
        }
    }

    for (index, pci) in &found.nvidia {
        let name = printed.nvidia.get(index).and_then(|gpu| gpu.name.clone());
        let gpu = at(&mut found.gpus, *pci, NVIDIA);
        describe(gpu, name, "nvidia-smi");
        if let Some(said) = printed.nvidia.get(index) {
            gpu.uuid = said.uuid.clone().or(gpu.uuid.take());
            gpu.link = said.link.clone().or(gpu.link.take());
        }
        if let Some(row) = printed.matrix_row(*index).filter(|_| gpu.locality.rung == Rung::Unknown) {
            let (pus, nodes) = (row.pus.as_ref(), row.nodes.as_ref());
            let said = Near {
                pus,
                nodes,
                memory_node: row.memory_node,
                tool: "nvidia-smi topo -m",
                is_kernels: false,
            };
            gpu.locality = if printed.says_cpus() || !printed.rows_are_alike() {
                near(&said, around)
            } else {
                unknown(format!(
                    "{}: the same for all GPUs, and no text says whether there is more (lscpu does)",
                    said.words()
                ))
            };
        }
    }

    for (index, pci) in &found.rocm {
        let said = printed.rocm.as_ref().and_then(|rocm| rocm.gpus.get(index));
        let gpu = at(&mut found.gpus, *pci, AMD);
        describe(gpu, said.and_then(|said| said.name.clone()), "rocm-smi");
        if let Some(node) = said.and_then(|said| said.node).filter(|_| gpu.locality.rung == Rung::Unknown) {
            gpu.locality = match u32::try_from(node) {
                // -1 is a number without sign in the library.
                Ok(node) if node != u32::MAX => {
                    let nodes = [node].into_iter().collect();
                    near(
                        &Near { nodes: Some(&nodes), is_kernels: true, tool: "rocm-smi", ..Near::default() },
                        around,
                    )
                }
                _ => unknown(format!("rocm-smi says NUMA node {node}: the kernel does not know it")),
            };
        }
    }

    found.gpus.sort_by_key(|gpu| gpu.pci);
    for (index, gpu) in (0..).zip(&mut found.gpus) {
        gpu.index = index;
    }
    Ok(found)
}

/// Whether the tree may have a device at this address: hwloc has none in wide domains, and a tree without
/// addresses tells of none.
fn shows_device(tree: &Tree, pci: PciAddress) -> bool {
    let devices = tree.objects.iter().filter_map(|object| match object.kind {
        Kind::Pci(device) => Some(device.address),
        _ => None,
    });
    let on_bus = PciAddress { function: 0, ..pci };
    pci.domain > 0xffff
        || devices.into_iter().any(|address| address.is_none_or(|known| [pci, on_bus].contains(&known)))
}

/// The number behind hwloc's name of a management library's device.
fn numbered(gpus: &[Gpu], prefix: &str) -> BTreeMap<u32, PciAddress> {
    let number = |gpu: &Gpu| gpu.os_devices.iter().find_map(|name| name.strip_prefix(prefix)?.parse().ok());
    gpus.iter().filter_map(|gpu| Some((number(gpu)?, gpu.pci))).collect()
}

/// The GPU at this address, added where there is none yet.
fn at(gpus: &mut Vec<Gpu>, pci: PciAddress, vendor_id: u16) -> &mut Gpu {
    let place = gpus.iter().position(|gpu| gpu.pci == pci).unwrap_or_else(|| {
        gpus.push(Gpu {
            index: 0,
            pci,
            vendor_id,
            device_id: 0,
            class_id: 0,
            name: GpuName { value: None, source: "none".to_owned() },
            uuid: None,
            os_devices: Vec::new(),
            locality: not_said(),
            link: None,
            partition: None,
        });
        gpus.len() - 1
    });
    gpus[place].vendor_id = vendor_id;

    &mut gpus[place]
}

fn describe(gpu: &mut Gpu, name: Option<String>, tool: &str) {
    if let Some(name) = name {
        gpu.name = GpuName { value: Some(name), source: tool.to_owned() };
    }
}

/// The locality of a device of which no text says any.
pub(super) fn not_said() -> Locality {
    unknown("no text says what it is near to".to_owned())
}

fn unknown(reason: String) -> Locality {
    Locality {
        rung: Rung::Unknown,
        reason,
        attached_to: "not said".to_owned(),
        pus: IdSet::default(),
        nodes: IdSet::default(),
        outside_pus: IdSet::default(),
        outside_nodes: IdSet::default(),
        l3_pus: None,
    }
}

/// What a management tool says that a GPU is near to.
#[derive(Clone, Copy, Debug, Default)]
struct Near<'p> {
    pus: Option<&'p IdSet>,
    nodes: Option<&'p IdSet>,
    memory_node: Option<u32>,
    tool: &'p str,
    /// Whether the node is the kernel's `numa_node`, which says -1 where it is not known.
    is_kernels: bool,
}

impl Near<'_> {
    fn words(&self) -> String {
        let sets = [("CPUs", self.pus), ("NUMA node", self.nodes)];
        let sets: Vec<String> =
            sets.into_iter().filter_map(|(what, set)| Some(format!("{what} {}", set?))).collect();
        if sets.is_empty() {
            return format!("{} does not say what it is near to", self.tool);
        }
        format!("{} says {}", self.tool, sets.join(", "))
    }
}

/// The locality that a management tool's word gives. All of a machine with several places is no answer, and
/// one place in a virtual machine is none either unless the kernel names it, as in `locality`.
fn near(told: &Near<'_>, around: &Surroundings) -> Locality {
    let (machine, said) = (around.topology, told.words());
    let Near { pus, nodes, memory_node, .. } = *told;
    if pus.is_none() && nodes.is_none() {
        return unknown(said);
    }
    let of_nodes = |nodes: &IdSet| -> IdSet {
        nodes.iter().filter_map(|node| machine.node(node)).flat_map(|node| node.own_pus().0).collect()
    };
    let near_pus = pus.cloned().unwrap_or_else(|| nodes.map(of_nodes).unwrap_or_default());
    let with_cpus = |set: &IdSet| {
        let own = machine.places().filter(|node| !node.pus.and(set).is_empty());
        own.map(|node| node.os_index).collect::<IdSet>()
    };
    let mut near_nodes = nodes.cloned().unwrap_or_else(|| with_cpus(&near_pus));
    let places: IdSet = machine.places().map(|node| node.os_index).collect();
    let all: IdSet = machine.pus.iter().map(|pu| pu.os_index).collect();
    if let (true, Some(nodes)) = (places.is_empty(), nodes) {
        // No text says which CPUs the nodes have.
        return Locality { rung: Rung::Driver, pus: near_pus, nodes: nodes.clone(), ..unknown(said) };
    }
    let is_whole = match nodes {
        Some(nodes) => places.is_subset(nodes),
        None => all.is_subset(&near_pus),
    };
    if is_whole && places.len() > 1 {
        return unknown(format!("{said}: all of this machine, which has {} NUMA nodes", places.len()));
    }

    if let Some(proof) = around.virtual_machine.as_ref().filter(|_| is_whole && !told.is_kernels) {
        return unknown(if proof == NOT_SAID {
            format!("{said}: all of this machine, and no text says whether it is a virtual one (lscpu does)")
        } else {
            format!("{said}: all of a virtual machine ({proof})")
        });
    }

    if near_pus.is_empty() {
        return unknown(format!("{said}, and no text says the PUs there"));
    }
    near_nodes.extend(memory_node);
    let l3_pus = machine.only_l3(&near_pus).map(|l3| l3.pus.clone());

    Locality {
        rung: Rung::Driver,
        pus: near_pus.and(&machine.allowed.pus),
        nodes: near_nodes,
        l3_pus,
        ..unknown(said)
    }
}

/// The GPUs of lstopo's tree, in PCI order.
fn of_tree(tree: &Tree, around: &Surroundings) -> Vec<Gpu> {
    let mut next = 0u8..;
    let mut found: Vec<Found> = Vec::new();
    for (at, object) in tree.objects.iter().enumerate() {
        let Kind::Pci(device) = object.kind else { continue };
        if !shows_gpu(&device, tree.children(at)) {
            continue;
        }
        let names = tree.children(at).filter_map(|child| child.name.clone());
        found.push(Found {
            pci: device.address.unwrap_or_else(|| PciAddress::unknown(next.next().unwrap_or(u8::MAX))),
            vendor_id: device.ids.map_or_else(|| vendor(tree.children(at)), |(vendor, _)| vendor),
            device_id: device.ids.map_or(0, |(_, device)| device),
            class_id: device.class.map_or(0, class_id),
            gpu_model: None,
            pci_name: None,
            uuid: None,
            os_devices: names.filter(|name| !is_drm(name)).collect(),
            attachment: tree.attachment(at),
            partition: None,
            link: None,
        });
    }

    let rocm = |pci: PciAddress| {
        let own = found.iter().filter(move |gpu| gpu.pci == pci).flat_map(|gpu| gpu.os_devices.clone());
        own.filter(|name| name.starts_with("rsmi")).map(|name| (name, None)).collect()
    };
    let mut gpus = divided(found.clone(), rocm, &[]);
    gpus.sort_by_key(|gpu| gpu.pci);
    let mut gpus = listed(gpus, around, None);
    let is_one_place = |topology: &Topology| topology.places().count() == 1 && topology.packages.len() <= 1;

    if around.virtual_machine.as_deref() == Some(NOT_SAID) && is_one_place(around.topology) {
        for gpu in gpus.iter_mut().filter(|gpu| gpu.locality.rung == Rung::Unknown) {
            gpu.locality.reason =
                "the machine has one NUMA node, and no text says whether it is a virtual machine (lscpu does)"
                    .to_owned();
        }
    }
    gpus
}

/// Whether a PCI device of the tree is a GPU as far as the text says. A display controller without a
/// library's device may be a management controller's or a hypervisor's, and a processing accelerator without
/// one anything.
fn shows_gpu<'t>(device: &PciDevice, mut children: impl Iterator<Item = &'t Object>) -> bool {
    let has_library = children.any(|child| match child.kind {
        Kind::OsDevice(OsDevice::Gpu) => child.name.as_ref().is_some_and(|name| !is_drm(name)),
        Kind::OsDevice(OsDevice::CoProcessor) => true,
        _ => false,
    });
    let by_ids =
        device.ids.zip(device.class).map(|((vendor, id), class)| is_gpu(class_id(class), vendor, id));
    let may_be_one = match device.class {
        Some(class) => matches!(class, "VGA" | "3D" | "Display" | "ProcessingAccelerator"),
        // hwloc 1 prints ids in place of the class.
        None => device.ids.is_some(),
    };
    by_ids.unwrap_or(may_be_one && (has_library || device.class == Some("3D")))
}

/// Whether the tree has a device that may be a GPU or not. On a machine with GPUs a VGA is a management
/// controller's.
pub(super) fn may_hide_gpus(tree: &Tree, has_gpus: bool) -> bool {
    tree.objects.iter().enumerate().any(|(at, object)| {
        let Kind::Pci(device) = object.kind else { return false };
        let is_candidate = match device.class {
            Some("Display" | "ProcessingAccelerator") => true,
            Some("VGA") => !has_gpus,
            _ => false,
        };
        is_candidate && device.ids.is_none() && !shows_gpu(&device, tree.children(at))
    })
}

/// The PCI class that lstopo's word stands for; 0 for another one.
pub(super) fn class_id(word: &str) -> u16 {
    match word {
        "VGA" => 0x0300,
        "3D" => 0x0302,
        "Display" => 0x0380,
        "ProcessingAccelerator" => 0x1200,
        "Ethernet" => 0x0200,
        "InfiniBand" => 0x0207,
        "Fabric" => 0x0208,
        "Network" => 0x0280,
        _ => 0,
    }
}

/// The vendor whose library found the device; 0 where none did.
fn vendor<'t>(children: impl Iterator<Item = &'t Object>) -> u16 {
    let of = |child: &Object| match (child.subtype.as_deref(), child.name.as_deref().unwrap_or_default()) {
        (Some("NVML" | "CUDA"), _) => Some(NVIDIA),
        (Some("RSMI"), _) => Some(AMD),
        (Some("LevelZero"), _) => Some(INTEL),
        (_, name) if name.starts_with("nvml") || name.starts_with("cuda") => Some(NVIDIA),
        (_, name) if name.starts_with("rsmi") => Some(AMD),
        _ => None,
    };
    children.filter_map(of).next().unwrap_or(0)
}
