//! The partitions of an AMD GPU (modes DPX, TPX, QPX, CPX): several devices of ROCm behind one address on the bus.
//!
//! A partition is named as ROCm names it: by the GPU's address with the partition's number as the function (the driver's `location_id`
//! has it there). What tells how many there are: the driver's nodes on this machine, and in a file the devices of ROCm SMI that hang
//! from one PCI device. Left out: the mode's name, which follows from the number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::devices::Found;
use crate::gpu_class::AMD;
use crate::kfd::KfdGpu;

/// The last function that a PCI address can have.
const LAST: u8 = 7;

/// Which part of a GPU a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Partition {
    /// Its number, 0..
    pub number: u8,
    /// How many the GPU is divided into.
    pub of: u8,
}

/// The address that the bus shows for a device at this address.
pub(crate) fn on_bus(pci: PciAddress, partition: Option<Partition>) -> PciAddress {
    partition.map_or(pci, |_| PciAddress { function: 0, ..pci })
}

/// Gives the second and further devices of one address the functions that follow, as long as there are any.
pub(crate) fn tell_apart(gpus: &mut [KfdGpu]) {
    for at in 1..gpus.len() {
        let (before, rest) = gpus.split_at_mut(at);
        let Some(own) = rest.first_mut() else { return };
        let free = (own.pci.function..=LAST).map(|function| PciAddress { function, ..own.pci });
        let free = free.into_iter().find(|pci| before.iter().all(|other| other.pci != *pci));
        own.pci = free.unwrap_or(own.pci);
    }
}

/// Each GPU's partitions in its place. `libraries` are the names and UUIDs of ROCm SMI's devices that hang from a GPU, by its address.
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

/// A key that puts names with numbers at their ends in the order of the numbers: `rsmi9` before `rsmi10`.
pub(crate) fn in_order(name: &str) -> (String, u64) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (letters.to_owned(), name[letters.len()..].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(node: u32, pci: &str) -> Option<KfdGpu> {
        Some(KfdGpu { node, pci: pci.parse().ok()?, uuid: None, links: Vec::new() })
    }

    #[test]
    fn nodes_of_one_address_are_partitions_in_their_order() {
        let addresses = ["0000:02:00.0", "0000:02:00.0", "0001:02:00.0", "0001:02:00.1"];
        let mut gpus: Vec<KfdGpu> = (4..).zip(addresses).filter_map(|(node, pci)| gpu(node, pci)).collect();
        tell_apart(&mut gpus);
        let told: Vec<String> = gpus.iter().map(|gpu| gpu.pci.to_string()).collect();
        assert_eq!(told, ["0000:02:00.0", "0000:02:00.1", "0001:02:00.0", "0001:02:00.1"]);
    }

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = ["rsmi10", "card1", "rsmi9", "rsmi2"];
        names.sort_by_key(|name| in_order(name));
        assert_eq!(names, ["card1", "rsmi2", "rsmi9", "rsmi10"]);
    }
}
