//! The network adapters that are columns of the matrix: those that move data for GPUs.
//!
//! nvidia-smi lists what is in `/sys/class/infiniband`, virtual functions too; hwloc has the same as
//! OpenFabrics devices. Slingshot adapters and InfiniBand or Omni-Path ones without an RDMA device come after
//! them; plain Ethernet is left out, as there. The order is by name, numbers as numbers (`mlx5_2` before
//! `mlx5_10`): nvidia-smi's own is not documented.

use hwlocality::Topology as Hwloc;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::{OSDeviceType, ObjectType};

use super::bridges::bridges;
use super::{Endpoint, Placed};
use crate::devices::{address, attachment, kernels_node, pci_of};
use crate::fs_root::FsRoot;
use crate::hwloc_object::text;
use crate::locality::{Surroundings, locality};
use crate::nics::NicKind;
use crate::pci_path::PciPath;

/// PCI vendor id of Cray: its Ethernet adapters are Slingshot's.
const CRAY: u16 = 0x17db;

/// The adapters, in the order of the columns.
pub(super) fn adapters(hwloc: &Hwloc, around: &Surroundings, root: Option<&FsRoot>) -> Vec<Placed> {
    let mut found: Vec<(bool, String, Placed)> = Vec::new();
    for object in hwloc.pci_devices() {
        let Some(pci) = pci_of(object) else { continue };
        let rdma = os_devices(object, OSDeviceType::OpenFabrics);
        let is_rdma = !rdma.is_empty();
        let names = if is_rdma { rdma } else { fabric(object, root) };
        for name in names {
            let Some(attachment) = attachment(object) else { continue };
            let pci = address(pci);
            let kernels_node = root.and_then(|root| kernels_node(root, pci));
            let endpoint = Endpoint {
                label: String::new(),
                pci,
                name: Some(name.clone()),
                affinity: None,
                nvlinks: None,
                bridges: bridges(object, root),
            };
            let locality = locality(&attachment, kernels_node, None, around);
            found.push((!is_rdma, name, Placed { endpoint, path: Some(PciPath::of(object)), locality }));
        }
    }

    found
        .sort_by_cached_key(|(without_rdma, name, placed)| (*without_rdma, parts(name), placed.endpoint.pci));
    let numbered = |(number, (_, _, mut placed)): (usize, (bool, String, Placed))| {
        placed.endpoint.label = format!("NIC{number}");
        placed
    };
    found.into_iter().enumerate().map(numbered).collect()
}

/// The names of a device's OS devices of this type.
fn os_devices(object: &TopologyObject, wanted: OSDeviceType) -> Vec<String> {
    let is_wanted = |child: &&TopologyObject| {
        let attributes = child.attributes();
        matches!(attributes, Some(ObjectAttributes::OSDevice(device)) if device.device_type() == wanted)
    };
    let devices =
        object.io_children().filter(|child| child.object_type() == ObjectType::OSDevice).filter(is_wanted);
    devices.filter_map(|device| device.name().map(text)).collect()
}

/// The name of an adapter of a fast network that has no RDMA device; none for another device.
fn fabric(object: &TopologyObject, root: Option<&FsRoot>) -> Vec<String> {
    let Some(pci) = pci_of(object) else { return Vec::new() };
    let kind = NicKind::of(pci.class_id());
    let fast = matches!(kind, Some(NicKind::Infiniband | NicKind::Fabric)) || pci.vendor_id() == CRAY;
    let function =
        root.is_some_and(|root| root.exists(&format!("/sys/bus/pci/devices/{}/physfn", address(pci))));
    if kind.is_none() || !fast || function {
        return Vec::new();
    }
    let name = os_devices(object, OSDeviceType::Network).into_iter().next();
    vec![name.unwrap_or_else(|| address(pci).to_string())]
}

/// A name as words and numbers, which sort as people count.
fn parts(name: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let number_end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (digits, after) = after.split_at(number_end);
        parts.push((word.to_owned(), digits.parse().unwrap_or(0)));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["mlx5_bond_0", "mlx5_10", "mlx5_2", "hsn1", "mlx5_0", "hsn0"];
        names.sort_by_key(|name| parts(name));
        assert_eq!(names, ["hsn0", "hsn1", "mlx5_0", "mlx5_2", "mlx5_10", "mlx5_bond_0"]);
    }
}
