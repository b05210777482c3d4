//! hwloc's matrices between devices, which its NVML and RSMI components write into a file: by PCI address
//! instead of by object.
//!
//! Values are as hwloc keeps them: MB/s for bandwidths, numbers for hops.

use hwlocality::Topology as Hwloc;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;
use stats::PciAddress;

use crate::devices::{address, pci_of};
use crate::gpu_class::NVIDIA;
use crate::hwloc_object::text;

/// PCI class of an NVSwitch: a bridge to something that is not PCI.
const OTHER_BRIDGE: u16 = 0x0680;

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A device, by an OS device of it.
    Device(PciAddress),
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

    /// The rows of the device at `pci`: two where two libraries found it.
    pub(super) fn rows(&self, pci: PciAddress) -> impl Iterator<Item = usize> + '_ {
        (0..self.ends.len()).filter(move |row| self.ends[*row] == End::Device(pci))
    }

    /// From one row to another, 0 where there is nothing.
    pub(super) fn value(&self, row: usize, column: usize) -> u64 {
        self.values.get(row * self.ends.len() + column).copied().unwrap_or(0)
    }

    /// From one device to another; `None` where one of them is not in it.
    pub(super) fn between(&self, one: PciAddress, other: PciAddress) -> Option<u64> {
        Some(self.value(self.rows(one).next()?, self.rows(other).next()?))
    }

    /// From a device to all switches together.
    pub(super) fn to_switches(&self, pci: PciAddress) -> u64 {
        let switches = || (0..self.ends.len()).filter(|column| self.ends[*column] == End::Switch);
        let row = self.rows(pci).next();
        row.map_or(0, |row| {
            switches().fold(0, |sum: u64, column| sum.saturating_add(self.value(row, column)))
        })
    }
}

fn end(object: &TopologyObject) -> End {
    match (object.object_type(), pci_of(object), object.parent().and_then(pci_of)) {
        (ObjectType::OSDevice, _, Some(device)) => End::Device(address(device)),
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
