//! What lies between the devices: the cells of `nvidia-smi topo -m`, the link types of `rocm-smi`, the
//! bridges of lstopo's tree.

use std::collections::BTreeMap;

use stats::PciAddress;

use super::gpus::Gpus;
use super::nvidia_matrix::{Cell, MatrixRow};
use super::said::Printed;
use super::tree::{Kind, OsDevice, Tree};
use crate::gpu_class::{AMD, NVIDIA};
use crate::interconnect::{
    Affinity, Endpoint, Fabric, Interconnect, InterconnectSource, Pair, affinity_by_locality,
};
use crate::model::{Gpu, Rung, Topology};
use crate::nics::Nic;
use crate::partition::{in_order, on_bus};
use crate::pci_path::{PciLevel, PciPath, between};

const MATRIX: &str = "nvidia-smi topo -m";
const BRIDGES: &str = "PCI bridges";

/// A device of the matrix.
struct Device {
    pci: PciAddress,
    name: Option<String>,
    /// Its place among the rows of nvidia-smi.
    row: Option<usize>,
    /// rocm-smi's number.
    rocm: Option<u32>,
    path: Option<PciPath>,
    near: crate::model::Locality,
}

/// What is between every two devices.
pub(super) fn interconnect(
    printed: &Printed,
    topology: &Topology,
    nics: &[Nic],
    found: &Gpus,
) -> Interconnect {
    let rows: &[MatrixRow] = printed.matrix.as_ref().map_or(&[], |matrix| &matrix.rows);
    let mut devices: Vec<(Endpoint, Device)> =
        topology.gpus.iter().map(|gpu| gpu_device(printed, topology, gpu, rows, found)).collect();
    devices.extend(adapters(printed, topology, nics, rows));

    let mut pairs = Vec::new();
    for (at, (one, from)) in devices.iter().enumerate() {
        for (other, to) in &devices[at + 1..] {
            pairs.push(pair(printed, topology, (one, from), (other, to), rows));
        }
    }
    let has = |vendor| topology.gpus.iter().any(|gpu| gpu.vendor_id == vendor);
    let said = |is_said: bool, tool: &str| InterconnectSource {
        source: is_said.then(|| tool.to_owned()),
        reason: (!is_said).then(|| format!("no text of {tool} was given")),
    };
    Interconnect {
        devices: devices.into_iter().map(|(endpoint, _)| endpoint).collect(),
        pairs,
        nvlink: has(NVIDIA).then(|| said(!rows.is_empty(), MATRIX)),
        xgmi: has(AMD).then(|| {
            said(printed.rocm.as_ref().is_some_and(|rocm| !rocm.xgmi.is_empty()), "rocm-smi --showtopo")
        }),
    }
}

fn gpu_device(
    printed: &Printed,
    topology: &Topology,
    gpu: &Gpu,
    rows: &[MatrixRow],
    found: &Gpus,
) -> (Endpoint, Device) {
    let number_of = |numbers: &BTreeMap<u32, PciAddress>| {
        numbers.iter().find(|(_, pci)| **pci == gpu.pci).map(|(number, _)| *number)
    };
    let number = number_of(&found.nvidia);
    let row = number.and_then(|number| rows.iter().position(|row| row.gpu() == Some(number)));
    let path = printed.tree.as_ref().and_then(|tree| path(tree, on_bus(gpu.pci, gpu.partition)));
    let endpoint = Endpoint {
        label: format!("GPU{}", gpu.index),
        pci: gpu.pci,
        name: None,
        affinity: Some(affinity(topology, gpu, row.map(|row| &rows[row]))),
        nvlinks: None,
        bridges: Vec::new(),
    };

    let device = Device {
        pci: gpu.pci,
        name: None,
        row,
        rocm: number_of(&found.rocm),
        path,
        near: gpu.locality.clone(),
    };
    (endpoint, device)
}

/// nvidia-smi's columns where it has the row, else the GPU's locality.
fn affinity(topology: &Topology, gpu: &Gpu, row: Option<&MatrixRow>) -> Affinity {
    if let Some(row) = row {
        return Affinity {
            pus: row.pus.clone(),
            nodes: row.nodes.clone(),
            memory_node: row.memory_node,
            source: MATRIX.to_owned(),
        };
    }
    affinity_by_locality(topology, gpu)
}

/// The adapters: those of nvidia-smi's rows in their order, else those of the tree by name.
fn adapters(
    printed: &Printed,
    topology: &Topology,
    nics: &[Nic],
    rows: &[MatrixRow],
) -> Vec<(Endpoint, Device)> {
    let at = |name: &str| nics.iter().find(|nic| nic.os_devices.iter().any(|device| device == name));
    let unplaced = |nic: &Nic| nic.locality.clone();
    let mut found: Vec<Device> = Vec::new();
    let gpus = u8::try_from(topology.gpus.len()).unwrap_or(u8::MAX);

    for (number, (place, row)) in (gpus..).zip(rows.iter().enumerate().filter(|(_, row)| row.gpu().is_none()))
    {
        let nic = row.adapter.as_deref().and_then(at);
        let pci = nic.map_or(PciAddress::unknown(number), |nic| nic.pci);
        let near = nic.map_or_else(super::gpus::not_said, unplaced);
        let path = printed.tree.as_ref().and_then(|tree| path(tree, pci));
        found.push(Device { pci, name: row.adapter.clone(), row: Some(place), rocm: None, path, near });
    }

    if let Some(tree) = printed.tree.as_ref().filter(|_| found.is_empty()) {
        let fast = nics.iter().filter_map(|nic| Some((fast_name(tree, nic)?, nic)));
        let mut fast: Vec<(String, &Nic)> = fast.collect();
        fast.sort_by_cached_key(|(name, nic)| (name.starts_with("hs"), in_order(name), nic.pci));
        found.extend(fast.into_iter().map(|(name, nic)| Device {
            pci: nic.pci,
            name: Some(name),
            row: None,
            rocm: None,
            path: path(tree, nic.pci),
            near: unplaced(nic),
        }));
    }

    let endpoint = |(number, device): (usize, Device)| {
        let label = format!("NIC{number}");
        let name = device.name.clone();
        let bridges = Vec::new();
        (Endpoint { label, pci: device.pci, name, affinity: None, nvlinks: None, bridges }, device)
    };
    found.into_iter().enumerate().map(endpoint).collect()
}

/// The name of an adapter that data of GPUs leaves by: an RDMA device's, else a Slingshot interface's.
fn fast_name(tree: &Tree, nic: &Nic) -> Option<String> {
    let at = device_at(tree, nic.pci)?;
    let children = || tree.children(at);
    let rdma = children().find(|child| child.kind == Kind::OsDevice(OsDevice::OpenFabrics));
    let slingshot = || {
        children().find(|child| {
            child.subtype.as_deref() == Some("Slingshot")
                || child.name.as_deref().is_some_and(|name| name.starts_with("hsn"))
        })
    };
    rdma.or_else(slingshot)?.name.clone()
}

pub(super) fn device_at(tree: &Tree, pci: PciAddress) -> Option<usize> {
    let is_it = |kind: Kind| matches!(kind, Kind::Pci(device) if device.address == Some(pci));
    tree.objects.iter().position(|object| is_it(object.kind))
}

fn path(tree: &Tree, pci: PciAddress) -> Option<PciPath> {
    device_at(tree, pci).map(|at| tree.pci_path(at))
}

fn pair(
    printed: &Printed,
    topology: &Topology,
    (one, from): (&Endpoint, &Device),
    (other, to): (&Endpoint, &Device),
    rows: &[MatrixRow],
) -> Pair {
    let cell = from.row.zip(to.row).and_then(|(from, to)| rows[from].cells[to]);
    let xgmi = from.rocm.zip(to.rocm).is_some_and(|(from, to)| {
        printed
            .rocm
            .as_ref()
            .is_some_and(|rocm| rocm.xgmi.contains(&(from, to)) || rocm.xgmi.contains(&(to, from)))
    });
    let by_bridges = || match (&from.path, &to.path) {
        (Some(one), Some(other)) => between(one, other, same_node(printed, topology, from, to)),
        _ => Err("no text says the bridges above both of them"),
    };
    let (level, source): (Result<PciLevel, &str>, &str) = match cell {
        Some(Cell::Pci(level)) => (Ok(level), MATRIX),
        Some(Cell::NvLinks(_)) if from.path.is_none() || to.path.is_none() => {
            (Err("nvidia-smi topo -m shows the NVLinks of two GPUs in place of the way over PCIe"), MATRIX)
        }
        _ => (by_bridges(), BRIDGES),
    };

    let nvlinks = match cell {
        Some(Cell::NvLinks(links)) => Some(Fabric::Nvlink { links: Some(links), bytes_per_s: None }),
        _ => None,
    };

    Pair {
        from: one.label.clone(),
        to: other.label.clone(),
        pci: level.ok(),
        pci_source: source.to_owned(),
        reason: level.err().map(str::to_owned),
        fabric: nvlinks.or_else(|| {
            xgmi.then_some(Fabric::Xgmi { hops: None, least_bytes_per_s: None, most_bytes_per_s: None })
        }),
    }
}

/// Whether two devices are near the same NUMA node; `None` where no text says. lstopo in a job shows one node
/// of several and does not say so.
fn same_node(printed: &Printed, topology: &Topology, one: &Device, other: &Device) -> Option<bool> {
    if printed.has_one_node() {
        return Some(true);
    }
    if topology.places().count() == 1 {
        return None;
    }
    let is_known = one.near.rung != Rung::Unknown && other.near.rung != Rung::Unknown;
    is_known.then(|| !one.near.all_nodes().and(&other.near.all_nodes()).is_empty())
}
