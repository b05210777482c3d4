//! The GPUs: one line each, then how each locality is known, in words, once per reason.

use stats::IdSet;
use stats::units::rate;

use super::layout::{cut, fitted, grouped, ids};
use crate::gpu_class::{AMD, NVIDIA};
use crate::model::{Gpu, Link, Locality, NodeKind, Rung, Topology, Unsaid};

/// The column of links where all of them are PCIe's.
const PCIE: &str = "PCIe link";

/// The table and its notes.
pub(super) fn lines(topology: &Topology, width: usize) -> Vec<String> {
    if topology.gpus.is_empty() {
        let is_open = topology.source.unsaid().contains(&Unsaid::Gpus);
        return vec![if is_open { "GPUs: not said" } else { "no GPU among the PCI devices" }.to_owned()];
    }
    let coherent = topology.gpus.iter().any(|gpu| topology.host_link(gpu).is_some());
    let pcie = topology.gpus.iter().any(|gpu| gpu.link.is_some());
    let links = if coherent { Some("link to its CPU") } else { pcie.then_some(PCIE) };
    let longest = topology.gpus.iter().map(|gpu| name(gpu).chars().count()).max().unwrap_or(0);
    let mut lines = fitted(width, longest, |name_columns| {
        let mut rows = vec![head(links)];
        rows.extend(topology.gpus.iter().map(|gpu| row(topology, gpu, links, name_columns)));
        rows
    });
    let is_numbered_by_tool = topology.source.unsaid().contains(&Unsaid::GpuAddresses);
    let order = if is_numbered_by_tool { "GPUs, as the tool numbers them" } else { "GPUs, in PCI order" };
    lines.insert(0, order.to_owned());
    lines.extend(notes(&topology.gpus, width));
    lines.extend(modes(topology, width));

    lines
}

fn head(links: Option<&'static str>) -> Vec<String> {
    let mut head = vec!["#", "PCI address", "name", "node", "known from"];
    head.extend(links);
    head.into_iter().map(str::to_owned).collect()
}

fn row(topology: &Topology, gpu: &Gpu, links: Option<&str>, name_columns: usize) -> Vec<String> {
    let mut row = vec![
        gpu.index.to_string(),
        gpu.pci.to_string(),
        cut(&name(gpu), name_columns),
        node_cell(topology, &gpu.locality),
        rung(gpu.locality.rung).to_owned(),
    ];
    row.extend(links.map(|title| link_to_cpu(topology, gpu, title)));
    row
}

/// The local nodes without those of GPUs' memory, which the nodes' own lines name; `?` where nobody knows.
pub(crate) fn node_cell(topology: &Topology, locality: &Locality) -> String {
    let gpus = |id: u32| topology.node(id).is_some_and(|node| node.kind == NodeKind::GpuMemory);
    let host: IdSet = locality.nodes.iter().filter(|id| !gpus(*id)).collect();
    match (locality.rung, host.is_empty()) {
        (Rung::Unknown, _) => "?".to_owned(),
        (_, true) => "-".to_owned(),
        (_, false) => ids(&host),
    }
}

pub(crate) fn name(gpu: &Gpu) -> String {
    let ids = || match (gpu.vendor_id, gpu.device_id) {
        (NVIDIA, 0) => "NVIDIA, model ?".to_owned(),
        (AMD, 0) => "AMD, model ?".to_owned(),
        (_, 0) => "model ?".to_owned(),
        (vendor, device) => format!("PCI {vendor:04x}:{device:04x}"),
    };
    gpu.name.value.clone().unwrap_or_else(ids)
}

pub(crate) fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::L3 => "L3",
        Rung::PciLocalCpus => "PCI",
        Rung::Driver => "driver",
        Rung::Unknown => "unknown",
    }
}

/// What copies between host memory and the GPU go over. The PCIe link of a GPU with another link to its CPU
/// carries none of them.
fn link_to_cpu(topology: &Topology, gpu: &Gpu, title: &str) -> String {
    match (topology.host_link(gpu), &gpu.link) {
        (Some(other), _) => other.name.to_owned(),
        (None, Some(found)) if title == PCIE => link(found),
        (None, Some(found)) => format!("PCIe {}", link(found)),
        (None, None) => "-".to_owned(),
    }
}

/// `gen5 x16`, and what it can be where it is less now; `63.015 GB/s` where that is all that is known.
pub(crate) fn link(link: &Link) -> String {
    if let Some(bytes_per_s) = link.bytes_per_s {
        return rate(bytes_per_s as f64);
    }
    let written = |generation: Option<u8>, lanes: Option<u8>| {
        let part = |letter: &str, number: Option<u8>| {
            number.map_or_else(|| format!("{letter}?"), |n| format!("{letter}{n}"))
        };
        format!("{} {}", part("gen", generation), part("x", lanes))
    };
    let (now, most) = (written(link.generation, link.width), written(link.max_generation, link.max_width));
    if now == most { now } else { format!("{now} of {most}") }
}

/// How GPUs share memory with their CPU, where they do: one entry per mode.
fn modes(topology: &Topology, width: usize) -> Vec<String> {
    let memory = topology.gpus.iter().filter_map(|gpu| Some((gpu.index, topology.memory_mode(gpu)?)));
    let links = topology.gpus.iter().filter_map(|gpu| Some((gpu.index, topology.host_link(gpu)?.figure()?)));
    grouped(memory.chain(links), width)
}

/// Why each locality is what it is, one entry per reason.
pub(super) fn notes<'t>(gpus: impl IntoIterator<Item = &'t Gpu>, width: usize) -> Vec<String> {
    let reason = |gpu: &Gpu| {
        let unknown = if gpu.locality.rung == Rung::Unknown { "locality unknown: " } else { "" };
        (gpu.index, format!("{unknown}{}", gpu.locality.reason))
    };
    grouped(gpus.into_iter().map(reason), width)
}
