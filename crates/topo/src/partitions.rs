//! How many partitions an AMD GPU is divided into: by the driver's nodes on this machine, and in a file by
//! the devices of ROCm SMI that hang from one PCI device.

use stats::PciAddress;

use crate::found::Found;
use crate::gpu_class::AMD;
use crate::kfd::KfdGpu;
use crate::partition::{LAST, Partition, in_order};

/// Each GPU's partitions in its place. `libraries` are the names and UUIDs of ROCm SMI's devices that hang
/// from a GPU, by its address.
pub(crate) fn divided(
    found: Vec<Found>,
    libraries: impl Fn(PciAddress) -> Vec<(String, Option<String>)>,
    kfd: &[KfdGpu],
) -> Vec<Found> {
    let parts = |whole: Found| -> Vec<Found> {
        if whole.vendor_id != AMD || whole.pci.function != 0 {
            return vec![whole];
        }
        let of_driver = kfd.iter().filter(|gpu| PciAddress { function: 0, ..gpu.pci } == whole.pci);
        // A job may be shown some of them only: the highest number tells that the others are there.
        let by_driver = of_driver.map(|gpu| gpu.pci.function + 1).max().unwrap_or(0);
        let mut named = libraries(whole.pci);
        named.sort_by_key(|(name, _)| in_order(name));
        let of = by_driver.max(u8::try_from(named.len()).unwrap_or(0)).min(LAST + 1);
        if of < 2 {
            return vec![whole];
        }

        let part = |number: u8| {
            let library = named.get(usize::from(number));
            let pci = PciAddress { function: number, ..whole.pci };
            let uuid = kfd.iter().find(|gpu| gpu.pci == pci).and_then(|gpu| gpu.uuid.clone());
            Found {
                pci,
                partition: Some(Partition { number, of }),
                uuid: uuid.or_else(|| library?.1.clone()),
                os_devices: library.map(|(name, _)| name.clone()).into_iter().collect(),
                ..whole.clone()
            }
        };
        (0..of).map(part).collect()
    };
    found.into_iter().flat_map(parts).collect()
}
