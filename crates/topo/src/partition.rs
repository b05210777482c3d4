//! The partitions of an AMD GPU (modes DPX, TPX, QPX, CPX): several devices of ROCm behind one address on the
//! bus.
//!
//! A partition is named as ROCm names it: by the GPU's address with the partition's number as the function
//! (the driver's `location_id` has it there). Left out: how many there are (`partitions`), and the mode's
//! name, which follows from the number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

/// The last function that a PCI address can have.
pub(crate) const LAST: u8 = 7;

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
    partition.map_or(pci, |_| whole(pci))
}

/// The address of the GPU that the partition at this address is of.
pub(crate) fn whole(pci: PciAddress) -> PciAddress {
    PciAddress { function: 0, ..pci }
}

/// A key that puts names with numbers at their ends in the order of the numbers: `rsmi9` before `rsmi10`.
pub(crate) fn in_order(name: &str) -> (String, u64) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (letters.to_owned(), name[letters.len()..].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = ["rsmi10", "card1", "rsmi9", "rsmi2"];
        names.sort_by_key(|name| in_order(name));
        assert_eq!(names, ["card1", "rsmi2", "rsmi9", "rsmi10"]);
    }
}
