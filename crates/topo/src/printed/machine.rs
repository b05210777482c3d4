//! One machine from all texts.

use std::collections::BTreeMap;

use stats::{IdSet, PciAddress};

use super::cpus::Cpus;
use super::gpus::{self, Gpus};
use super::links;
use super::nvidia_smi::NvidiaGpu;
use super::said::Printed;
use super::tree::{Kind, Object};
use crate::coherence::Coherence;
use crate::convert::pu_list;
use crate::gpu_class::NVIDIA;
use crate::identity::Identity;
use crate::locality::{Surroundings, locality};
use crate::model::{Allowed, Gpu, Topology, TopologySource};
use crate::nics::{Nic, NicKind};
use crate::nodes::{self, Evidence};
use crate::survey::Survey;
use crate::visibility::Runtime;

/// The machine that the texts describe, whose CPUs are `cpus`.
///
/// # Errors
/// Which texts contradict each other about GPUs, in words.
pub(super) fn survey(printed: &Printed, cpus: &Cpus) -> Result<Survey, String> {
    let mut topology = without_devices(printed, cpus.clone());
    let hypervisor = printed.lscpu.as_ref().and_then(|summary| summary.hypervisor.as_ref());
    let virtual_machine = hypervisor.map(|vendor| format!("lscpu names the hypervisor {vendor}"));
    let may_be_virtual = printed.lscpu.is_none().then(|| gpus::NOT_SAID.to_owned());
    let around = Surroundings {
        topology: &topology,
        board: None,
        hidden_nodes: false,
        virtual_machine: virtual_machine.clone().or(may_be_virtual),
    };

    let found = gpus::gpus(printed, &around)?;
    let nics = nics(printed, &around);
    topology.gpus.clone_from(&found.gpus);

    let interconnect = links::interconnect(printed, &topology, &nics, &found);
    let identities = topology.gpus.iter().map(|gpu| identity(gpu, &found, &printed.nvidia)).collect();
    Ok(Survey {
        topology,
        virtual_machine,
        huge_pages: Vec::new(),
        nics,
        process: None,
        step: None,
        interconnect,
        identities,
        visibility: Vec::new(),
        settings: Vec::new(),
    })
}

/// The machine without its devices.
fn without_devices(printed: &Printed, cpus: Cpus) -> Topology {
    let packages = cpus.packages.unwrap_or_default();
    let of_packages: Vec<IdSet> = packages.iter().map(|package| package.pus.clone()).collect();
    let nodes = nodes::classify(cpus.nodes, &of_packages, &evidence(printed));
    let allowed = Allowed {
        pus: cpus.online.clone(),
        nodes: nodes.iter().map(|node| node.os_index).collect(),
        offline_pus: cpus.missing,
        ..Allowed::default()
    };

    Topology {
        source: TopologySource::ThisSystem,
        hostname: None,
        hwloc_version: String::new(),
        packages,
        pus: pu_list(&cpus.online, &allowed, &nodes),
        nodes,
        distances: printed.numactl.as_ref().and_then(|numactl| numactl.distances.clone()),
        l3s: cpus.l3s.unwrap_or_default(),
        cores: cpus.cores.unwrap_or_default(),
        allowed,
        gpus: Vec::new(),
        slow: None,
    }
}

/// What tells the memory of GPUs from other memory without CPUs.
fn evidence(printed: &Printed) -> Evidence {
    let superchip =
        |gpu: &NvidiaGpu| gpu.name.as_deref().and_then(Coherence::by_name) == Some(Coherence::C2c);
    let power = printed.lscpu.as_ref().and_then(|lscpu| lscpu.architecture.as_deref());
    let has_nvidia = !printed.nvidia_numbers().is_empty();
    let rows = printed.matrix.iter().flat_map(|matrix| &matrix.rows);
    Evidence {
        drivers_nodes: rows.filter_map(|row| row.memory_node).collect(),
        gpus_show_memory: printed.nvidia.values().any(superchip)
            || (has_nvidia && power.is_some_and(|name| name.starts_with("ppc64"))),
    }
}

/// The network adapters of the tree.
fn nics(printed: &Printed, around: &Surroundings) -> Vec<Nic> {
    let Some(tree) = &printed.tree else { return Vec::new() };
    let nic = |(at, object): (usize, &Object)| {
        let Kind::Pci(device) = object.kind else { return None };
        let class_id = gpus::class_id(device.class?);
        Some(Nic {
            pci: device.address?,
            vendor_id: device.ids.map_or(0, |(vendor, _)| vendor),
            device_id: device.ids.map_or(0, |(_, device)| device),
            class_id,
            kind: NicKind::of(class_id)?,
            name: None,
            os_devices: tree.children(at).filter_map(|child| child.name.clone()).collect(),
            locality: locality(&tree.attachment(at), None, None, around),
            link: None,
        })
    };

    let mut nics: Vec<Nic> = tree.objects.iter().enumerate().filter_map(nic).collect();
    nics.sort_by_key(|nic| nic.pci);
    nics
}

fn identity(gpu: &Gpu, found: &Gpus, listed: &BTreeMap<u32, NvidiaGpu>) -> Identity {
    let (numbers, tool) =
        if gpu.vendor_id == NVIDIA { (&found.nvidia, "nvidia-smi") } else { (&found.rocm, "rocm-smi") };
    let is_it = |pci: &PciAddress| *pci == gpu.pci;
    let smi_index = numbers.iter().find(|(_, pci)| is_it(pci)).map(|(number, _)| *number);
    let minor = smi_index.and_then(|number| listed.get(&number)?.minor).filter(|_| gpu.vendor_id == NVIDIA);
    let file = |minor| crate::identity::DeviceFile { path: format!("/dev/nvidia{minor}"), present: false };

    Identity {
        index: gpu.index,
        pci: gpu.pci,
        uuid: gpu.uuid.clone(),
        runtime: Runtime::of_vendor(gpu.vendor_id),
        runtime_indices: None,
        smi_index,
        smi_source: if smi_index.is_some() { tool.to_owned() } else { format!("no text of {tool} says it") },
        device_files: minor.map(file).into_iter().collect(),
        os_devices: gpu.os_devices.clone(),
    }
}
