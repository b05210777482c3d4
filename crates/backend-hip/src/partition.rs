//! Partitions of one GPU, told apart by the function of its PCI address.
//!
//! A partitioned MI300 is one function on the bus and several devices of HIP. ROCm SMI's own way to name them
//! is the partition's number as the address's function; versions of HIP differ in whether
//! hipDeviceGetPCIBusId follows it. Where it does not, the devices of one address are numbered here in HIP's
//! order, which is that of the partitions.
//!
//! Left out: partitions that a variable hides. The first that is left is then number 0, whichever it is.

use stats::PciAddress;

/// The last function a PCI address can have.
const LAST: u8 = 7;

/// Gives the second and further devices of one address the functions that follow, as long as there are any.
/// `addresses` is in HIP's order.
pub(crate) fn tell_apart(addresses: &mut [PciAddress]) {
    for at in 1..addresses.len() {
        let (before, rest) = addresses.split_at_mut(at);
        let Some(own) = rest.first_mut() else { return };
        let free = (own.function..=LAST).map(|function| PciAddress { function, ..*own });
        if let Some(address) = free.into_iter().find(|address| !before.contains(address)) {
            *own = address;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_apart(texts: &[&str]) -> Vec<String> {
        let parsed = texts.iter().filter_map(|text| text.parse().ok());
        let mut addresses: Vec<PciAddress> = parsed.collect();
        assert_eq!(addresses.len(), texts.len(), "an address of the test is none");
        tell_apart(&mut addresses);
        addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn devices_of_their_own_address_keep_it() {
        let gcds = ["0000:c1:00.0", "0000:c6:00.0", "0000:c9:00.0"];
        assert_eq!(told_apart(&gcds), gcds);
        let partitions = ["0000:01:00.0", "0000:01:00.1", "0000:01:00.2"];
        assert_eq!(told_apart(&partitions), partitions);
    }

    #[test]
    fn partitions_of_one_address_are_numbered_in_order() {
        let six = told_apart(&["0000:01:00.0"; 6]);
        assert_eq!(six[0], "0000:01:00.0");
        assert_eq!(six[5], "0000:01:00.5");
        let two = told_apart(&["0002:01:00.0", "0001:01:00.0", "0002:01:00.0", "0001:01:00.0"]);
        assert_eq!(two, ["0002:01:00.0", "0001:01:00.0", "0002:01:00.1", "0001:01:00.1"]);
    }

    #[test]
    fn where_functions_run_out_the_address_is_shared() {
        let nine = told_apart(&["0000:01:00.0"; 9]);
        assert_eq!(nine[7..], ["0000:01:00.7", "0000:01:00.0"]);
    }
}
