//! The PCIe bridges above a device, each with its link: how fast a switch is joined to the CPU, and a device
//! to its slot.
//!
//! Where the kernel's files are at hand (a machine, a file of `topo --save`), they say what a port can do; a
//! file of lstopo's has what the link carried when it was written.

use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::{ObjectAttributes, UpstreamAttributes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::devices::address;
use crate::fs_root::FsRoot;
use crate::link;
use crate::model::Link;

/// A PCIe bridge: a root port, or a port of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PciBridge {
    /// Its address.
    pub pci: PciAddress,
    /// Its link: of a switch's upstream port the one towards the CPU, of any other port the one to what is
    /// below it; null where nobody says.
    pub link: Option<Link>,
}

/// The bridges above a device, from the host bridge down.
pub(super) fn bridges(device: &TopologyObject, root: Option<&FsRoot>) -> Vec<PciBridge> {
    let mut bridges = Vec::new();
    for above in device.ancestors() {
        let Some(ObjectAttributes::Bridge(bridge)) = above.attributes() else { break };
        if let Some(UpstreamAttributes::PCI(pci)) = bridge.upstream_attributes() {
            let pci = address(pci);
            let link = root.and_then(|root| link::of_port(root, pci)).or_else(|| link::in_file(above));
            bridges.push(PciBridge { pci, link });
        }
    }
    bridges.reverse();
    bridges
}
