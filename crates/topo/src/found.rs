//! A GPU as it was found, in hwloc's objects or the kernel's files, before its locality is judged.

use stats::PciAddress;

use crate::coherence::Coherence;
use crate::locality::Attachment;
use crate::model::Link;
use crate::partition::Partition;

/// A GPU as found, before its locality is judged.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) pci: PciAddress,
    pub(crate) vendor_id: u16,
    pub(crate) device_id: u16,
    pub(crate) class_id: u16,
    /// The name in hwloc's infos: from a GPU library when the file was made, else from the PCI id list.
    pub(crate) gpu_model: Option<String>,
    pub(crate) pci_name: Option<String>,
    pub(crate) uuid: Option<String>,
    pub(crate) os_devices: Vec<String>,
    pub(crate) attachment: Attachment,
    /// Which part of the GPU it is, where that is divided.
    pub(crate) partition: Option<Partition>,
    /// The link as hwloc knows it.
    pub(crate) link: Option<Link>,
}

impl Found {
    /// Whether one of its names is that of a GPU that NVLink-C2C connects to its CPU.
    pub(crate) fn is_superchip_by_name(&self) -> bool {
        let names = [&self.gpu_model, &self.pci_name];
        names.into_iter().flatten().any(|name| Coherence::by_name(name) == Some(Coherence::C2c))
    }
}
