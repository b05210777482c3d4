//! On which cores the interrupts of GPUs and adapters arrive: `/proc/irq/N`,
//! Documentation/core-api/irq/irq-affinity.rst.

use stats::{IdSet, PciAddress};
use topo::fs_root::FsRoot;

use super::pci::{PciDevice, PciDeviceKind};

/// The interrupts of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupts {
    /// The device.
    pub pci: PciAddress,
    /// What it is.
    pub kind: PciDeviceKind,
    /// What it is called in sentences.
    pub name: String,
    /// The PUs that each of its interrupts is sent to, as far as the kernel says.
    pub pus: Vec<IdSet>,
    /// Whether the kernel lists interrupts of it and says of none where it goes.
    pub is_hidden: bool,
}

/// Those of devices whose local cores are known.
pub fn interrupts(root: &FsRoot, devices: &[PciDevice]) -> Vec<Interrupts> {
    devices.iter().filter_map(|device| device_interrupts(root, device)).collect()
}

fn device_interrupts(root: &FsRoot, device: &PciDevice) -> Option<Interrupts> {
    let numbers = root.names(&format!("/sys/bus/pci/devices/{}/msi_irqs", device.pci));
    if numbers.is_empty() {
        return None;
    }
    let list =
        |number: &String, file: &str| root.text(&format!("/proc/irq/{number}/{file}")).ok()?.parse().ok();
    let goes_to = |number: &String| {
        list(number, "effective_affinity_list")
            .filter(|set: &IdSet| !set.is_empty())
            .or_else(|| list(number, "smp_affinity_list"))
    };
    let pus: Vec<IdSet> = numbers.iter().filter_map(goes_to).collect();

    Some(Interrupts {
        pci: device.pci,
        kind: device.kind,
        name: device.name.clone(),
        is_hidden: pus.is_empty(),
        pus,
    })
}
