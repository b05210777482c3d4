//! hwloc's matrices between devices, which its NVML and RSMI components write into a file: by GPU instead of
//! by object.
//!
//! The partitions of an AMD GPU hang from one PCI device; each has a row, which its library's name tells.
//! Values are as hwloc keeps them: MB/s for bandwidths, numbers for hops.

use hwlocality::Topology as Hwloc;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;
use stats::PciAddress;

use crate::devices::{address, pci_of};
use crate::gpu_class::NVIDIA;
use crate::hwloc_object::text;
use crate::model::Gpu;
use crate::partition::on_bus;

/// PCI class of an NVSwitch: a bridge to something that is not PCI.
const OTHER_BRIDGE: u16 = 0x0680;

/// What a row stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A library's device, by its name and where it is on the bus.
    Device { pci: PciAddress, name: String },
    /// An NVSwitch.
    Switch,
    /// Something else, such as a package with NVLinks of its own.
    Other,
}

/// A square matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) ends: Vec<End>,
    /// Row by row.
    pub(super) values: Vec<u64>,
}

impl Matrix {
    /// The first matrix of this name.
    pub(super) fn named(hwloc: &Hwloc, name: &str) -> Option<Self> {
        let found = hwloc.distances_with_name(name).ok()?;
        let matrix = found.first()?;
        let ends: Vec<End> = matrix.objects().map(|object| object.map_or(End::Other, end)).collect();
        (matrix.distances().len() == ends.len() * ends.len())
            .then(|| Self { ends, values: matrix.distances().to_vec() })
    }

    /// The first row of a GPU: it has two where two libraries found it.
    fn row(&self, gpu: &Gpu) -> Option<usize> {
        self.ends.iter().position(|end| end.is_of(gpu))
    }

    /// From one row to another, 0 where there is nothing.
    fn value(&self, row: usize, column: usize) -> u64 {
        self.values.get(row * self.ends.len() + column).copied().unwrap_or(0)
    }

    /// From one GPU to another; `None` where one of them is not in it.
    pub(super) fn between(&self, one: &Gpu, other: &Gpu) -> Option<u64> {
        Some(self.value(self.row(one)?, self.row(other)?))
    }

    /// From a GPU to all switches together.
    pub(super) fn to_switches(&self, gpu: &Gpu) -> u64 {
        let switches = || (0..self.ends.len()).filter(|column| self.ends[*column] == End::Switch);
        self.row(gpu).map_or(0, |row| {
            switches().fold(0, |sum: u64, column| sum.saturating_add(self.value(row, column)))
        })
    }
}

impl End {
    fn is_of(&self, gpu: &Gpu) -> bool {
        let Self::Device { pci, name } = self else { return false };
        let is_its_partition = gpu.partition.is_none() || gpu.os_devices.contains(name);
        *pci == on_bus(gpu.pci, gpu.partition) && is_its_partition
    }
}

fn end(object: &TopologyObject) -> End {
    match (object.object_type(), pci_of(object), object.parent().and_then(pci_of)) {
        (ObjectType::OSDevice, _, Some(device)) => {
            End::Device { pci: address(device), name: object.name().map(text).unwrap_or_default() }
        }
        // hwloc's own word first: a class can be missing in a file.
        (ObjectType::PCIDevice, ..)
            if object.subtype().is_some_and(|subtype| text(subtype) == "NVSwitch") =>
        {
            End::Switch
        }
        (_, Some(device), _) if device.class_id() == OTHER_BRIDGE && device.vendor_id() == NVIDIA => {
            End::Switch
        }
        _ => End::Other,
    }
}
