//! Network adapters, with what is local to them: an adapter near to the data sends it faster.
//!
//! PCI base class 02 (network controller), and 0c06, which InfiniBand adapters had before 0207 was theirs.
//! Virtual functions of this machine's own adapters are left out as GPUs' are (`devices`). Left out too: what
//! runs over them (addresses, rates).

use hwlocality::Topology as Hwloc;
use hwlocality::object::TopologyObject;
use hwlocality::object::types::ObjectType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::devices::{address, attachment, kernels_node, pci_of};
use crate::fs_root::FsRoot;
use crate::hwloc_object::{info, text};
use crate::link;
use crate::locality::{Surroundings, locality};
use crate::model::{Link, Locality};

/// A network adapter (one PCI function).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// Its identity.
    pub pci: PciAddress,
    /// PCI vendor id, e.g. 0x15b3 Mellanox.
    pub vendor_id: u16,
    /// PCI device id.
    pub device_id: u16,
    /// PCI class, e.g. 0x0207 (InfiniBand).
    pub class_id: u16,
    /// Its kind, by its PCI class.
    pub kind: NicKind,
    /// Its name in the PCI id list, where that is known.
    pub name: Option<String>,
    /// What the kernel calls it (`eth0`, `hsn0`, `ib0`, `mlx5_0`).
    pub os_devices: Vec<String>,
    /// Which PUs and nodes are local to it, and how that is known.
    pub locality: Locality,
    /// Its PCIe link, where the kernel tells.
    pub link: Option<Link>,
}

/// What a network adapter is, by its PCI class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicKind {
    /// 0200; Slingshot adapters too.
    Ethernet,
    /// 0207, once 0c06.
    Infiniband,
    /// 0208; Omni-Path.
    Fabric,
    /// Any other of base class 02.
    Other,
}

impl NicKind {
    pub(crate) fn of(class_id: u16) -> Option<Self> {
        match class_id {
            0x0200 => Some(Self::Ethernet),
            0x0207 | 0x0c06 => Some(Self::Infiniband),
            0x0208 => Some(Self::Fabric),
            class_id => (class_id >> 8 == 0x02).then_some(Self::Other),
        }
    }
}

/// The network adapters among hwloc's PCI devices, in PCI order.
pub(crate) fn nics(hwloc: &Hwloc, surroundings: &Surroundings<'_>, root: Option<&FsRoot>) -> Vec<Nic> {
    let mut nics: Vec<Nic> =
        hwloc.pci_devices().filter_map(|object| nic(object, surroundings, root)).collect();
    nics.sort_by_key(|nic| nic.pci);
    nics
}

fn nic(object: &TopologyObject, surroundings: &Surroundings<'_>, root: Option<&FsRoot>) -> Option<Nic> {
    let device = pci_of(object)?;
    let (kind, pci) = (NicKind::of(device.class_id())?, address(device));
    if root.is_some_and(|root| root.exists(&format!("/sys/bus/pci/devices/{pci}/physfn"))) {
        return None;
    }
    let os_devices = object.io_children().filter(|child| child.object_type() == ObjectType::OSDevice);

    Some(Nic {
        pci,
        vendor_id: device.vendor_id(),
        device_id: device.device_id(),
        class_id: device.class_id(),
        kind,
        name: info(object, "PCIDevice"),
        os_devices: os_devices.filter_map(|device| device.name().map(text)).collect(),
        locality: locality(
            &attachment(object)?,
            root.and_then(|root| kernels_node(root, pci)),
            None,
            surroundings,
        ),
        link: root.map_or_else(|| link::in_file(object), |root| link::under(root, pci)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_classes_are_told_apart_and_others_are_none() {
        for (class, kind) in [
            (0x0200, Some(NicKind::Ethernet)),
            (0x0207, Some(NicKind::Infiniband)),
            (0x0c06, Some(NicKind::Infiniband)),
            (0x0208, Some(NicKind::Fabric)),
            (0x0280, Some(NicKind::Other)),
            (0x0108, None),
            (0x0302, None),
            (0x0c03, None),
        ] {
            assert_eq!(NicKind::of(class), kind, "{class:04x}");
        }
    }
}
