//! Whether the addresses that devices use are translated.

use topo::fs_root::FsRoot;

use super::pci::PciDevice;

/// How device addresses are translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iommu {
    /// Whether sysfs would show an IOMMU.
    pub is_shown: bool,
    /// Whether the kernel has an IOMMU at work (`/sys/class/iommu`).
    pub is_active: bool,
    /// The words of the kernel's command line that are about it.
    pub options: Vec<String>,
    /// How many different groups the devices here are in; groups are what a device could be given to a guest
    /// with.
    pub groups: usize,
}

/// Reads it.
pub fn iommu(root: &FsRoot, devices: &[PciDevice]) -> Iommu {
    let line = root.text("/proc/cmdline").unwrap_or_default();
    let about = |word: &&str| word.contains("iommu");
    let mut groups: Vec<u32> = devices.iter().filter_map(|device| Some(device.group.as_ref()?.0)).collect();
    groups.sort_unstable();
    groups.dedup();
    Iommu {
        is_shown: !root.names("/sys/class").is_empty(),
        is_active: !root.names("/sys/class/iommu").is_empty() || !groups.is_empty(),
        options: line.split_whitespace().filter(about).map(str::to_owned).collect(),
        groups: groups.len(),
    }
}
