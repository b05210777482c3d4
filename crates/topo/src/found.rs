//! A GPU as it was found, in hwloc's objects or the kernel's files, before its locality is judged.

use stats::PciAddress;

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
    /// Whether a name holds one of these words.
    pub(crate) fn name_says(&self, words: &[&str]) -> bool {
        let names = [&self.gpu_model, &self.pci_name];
        names.into_iter().flatten().any(|name| words.iter().any(|word| name.contains(word)))
    }
}
