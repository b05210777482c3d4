//! ROCR_VISIBLE_DEVICES, then HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES over what it leaves.
//!
//! Followed: ROCm's documentation ("GPU isolation techniques") and, for odd values, the runtimes' sources:
//! ROCR-Runtime's `amd_filter_device.cpp` (numbers as strtol reads them with any base, UUIDs in any case by 1
//! to 16 digits of their beginning, blanks around are nothing, an invalid or repeated entry ends the list)
//! and clr's `rocdevice.cpp` (numbers as they are printed and nothing else, a repeated one is passed over, an
//! invalid one ends the list; HIP_VISIBLE_DEVICES, even an empty one, before CUDA_VISIBLE_DEVICES). There
//! GPU_DEVICE_ORDINAL counts for OpenCL only; the documentation names HIP too.

use std::collections::BTreeMap;

use super::{Listed, Runtime, Visibility, Visible, of_runtime};
use crate::kfd::KfdGpu;

const ROCR: &str = "ROCR_VISIBLE_DEVICES";
const HIP: &str = "HIP_VISIBLE_DEVICES";
const CUDA: &str = "CUDA_VISIBLE_DEVICES";
const OPENCL: &str = "GPU_DEVICE_ORDINAL";

/// What HIP would list of these GPUs, in ROCr's order; empty where that is not known.
pub(super) fn visibility(agents: &[KfdGpu], variables: &BTreeMap<String, String>) -> Visibility {
    let mut notes = Vec::new();
    let listed = list(agents, variables, &mut notes);
    if variables.contains_key(OPENCL) {
        notes.push(format!("{OPENCL} is for OpenCL programs; HIP's runtime does not read it"));
    }
    of_runtime(Runtime::Hip, &[ROCR, HIP, CUDA, OPENCL], variables, listed, notes)
}

fn list(agents: &[KfdGpu], variables: &BTreeMap<String, String>, notes: &mut Vec<String>) -> Listed {
    if agents.is_empty() {
        return Err("the order of ROCm's devices is in /sys/class/kfd, which shows no GPU here".to_owned());
    }
    let mut visible: Vec<&KfdGpu> = match variables.get(ROCR) {
        Some(value) => rocr(agents, value, notes),
        None => agents.iter().collect(),
    };
    let second = [HIP, CUDA].into_iter().find_map(|name| Some((name, variables.get(name)?)));
    if let Some((name, value)) = second {
        visible = hip(&visible, name, value, notes);
        if name == HIP && variables.contains_key(CUDA) {
            notes.push(format!("{HIP} is set, so HIP does not read {CUDA}"));
        }
    }
    Ok(visible.into_iter().map(|agent| Visible::whole(agent.pci)).collect())
}

/// `or`: what else ends the list.
fn ends(name: &str, entry: &str, or: &str) -> String {
    format!("\"{entry}\" in {name} is not a device there{or}: the list ends there")
}

fn rocr<'a>(agents: &'a [KfdGpu], value: &str, notes: &mut Vec<String>) -> Vec<&'a KfdGpu> {
    let mut visible: Vec<&KfdGpu> = Vec::new();
    if value.is_empty() {
        return visible;
    }

    // No more entries than there are devices are looked at.
    for entry in value.split(',').take(agents.len()) {
        let wanted = entry.trim().to_ascii_uppercase();
        let found = if wanted.starts_with('G') { by_uuid(agents, &wanted) } else { number(&wanted) };
        let found = found
            .and_then(|index| agents.get(index))
            .filter(|agent| !visible.iter().any(|seen| seen == agent));
        let Some(agent) = found else {
            notes.push(ends(ROCR, entry, ", or is there for the second time"));
            break;
        };
        visible.push(agent);
    }
    visible
}

/// A whole number as strtol reads it with base 0: decimal, 0x hexadecimal, 0 octal.
fn number(text: &str) -> Option<usize> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (digits, base) = match (text.strip_prefix("0X"), text.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (text, 10),
    };
    usize::from_str_radix(digits, base).ok().filter(|_| !digits.starts_with('+'))
}

/// The one agent whose UUID begins so.
fn by_uuid(agents: &[KfdGpu], wanted: &str) -> Option<usize> {
    let begins = |agent: &KfdGpu| {
        agent.uuid.as_ref().is_some_and(|uuid| uuid.to_ascii_uppercase().starts_with(wanted))
    };
    let mut found = (0..agents.len()).filter(|index| begins(&agents[*index]));
    let only = found.next().filter(|_| (5..=20).contains(&wanted.len()))?;
    if found.next().is_some() { None } else { Some(only) }
}

fn hip<'a>(agents: &[&'a KfdGpu], name: &str, value: &str, notes: &mut Vec<String>) -> Vec<&'a KfdGpu> {
    let mut visible: Vec<&KfdGpu> = Vec::new();
    let mut entries: Vec<&str> = value.split(',').collect();
    if entries.len() > 1 && entries.last() == Some(&"") {
        entries.pop(); // it stops at the end of the text
    }

    for entry in entries {
        let named = |agent: &&KfdGpu| agent.uuid.as_ref().is_some_and(|uuid| uuid.contains(entry));
        let found = if entry.contains("GPU-") {
            agents.iter().copied().find(named)
        } else {
            let index = entry.parse::<usize>().ok().filter(|index| index.to_string() == entry);
            index.and_then(|index| agents.get(index).copied())
        };
        let Some(agent) = found else {
            if !value.trim().is_empty() {
                notes.push(ends(name, entry, ""));
            }
            break;
        };
        if !visible.contains(&agent) {
            visible.push(agent);
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::PciAddress;

    /// Four GPUs in ROCr's order, which is not that of PCI.
    fn agents() -> Vec<KfdGpu> {
        let agent = |(node, bus): (u32, u8)| KfdGpu {
            node,
            pci: PciAddress { domain: 0, bus, device: 0, function: 0 },
            uuid: Some(format!("GPU-{:016x}", 0xdead_0000_0000_0000_u64 + (u64::from(bus) << 40))),
            links: Vec::new(),
        };
        [(4, 0xc1), (5, 0xc6), (6, 0x03), (7, 0x09)].map(agent).to_vec()
    }

    fn buses(variables: &[(&str, &str)]) -> Vec<u8> {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let devices = visibility(&agents(), &variables).devices.unwrap_or_default();
        devices.iter().filter_map(|device| device.pci).map(|pci| pci.bus).collect()
    }

    #[test]
    fn without_variables_all_are_visible_in_the_order_of_the_drivers_nodes() {
        assert_eq!(buses(&[]), [0xc1, 0xc6, 0x03, 0x09]);
    }

    #[test]
    fn rocr_takes_numbers_of_any_base_and_beginnings_of_uuids_and_stops_at_the_first_other() {
        for (value, seen) in [
            ("", &[][..]),
            ("2,0", &[0x03, 0xc1]),
            (" 2 , 0", &[0x03, 0xc1]),
            ("0x1,02", &[0xc6, 0x03]),
            ("0,-1,1", &[0xc1]),
            ("0,4,1", &[0xc1]),
            ("0,0,1", &[0xc1]),
            ("1a", &[]),
            ("0,,1", &[0xc1]),
            ("gpu-DEADC1", &[0xc1]),
            ("GPU-dead", &[]),
            ("GPU-", &[]),
            ("1,GPU-dead03", &[0xc6, 0x03]),
            ("0,1,2,3,0", &[0xc1, 0xc6, 0x03, 0x09]),
        ] {
            assert_eq!(buses(&[(ROCR, value)]), seen, "{value:?}");
        }
    }

    #[test]
    fn hip_takes_numbers_as_printed_and_passes_over_what_it_has() {
        for (value, seen) in [
            ("", &[][..]),
            ("2,0", &[0x03, 0xc1]),
            ("0, 1", &[0xc1]),
            ("01", &[]),
            ("0,0,1", &[0xc1, 0xc6]),
            ("0,7,1", &[0xc1]),
            ("0,", &[0xc1]),
            ("GPU-deadc1", &[0xc1]),
            ("GPU-dead", &[0xc1]),
            ("GPU-DEADC1", &[]),
        ] {
            assert_eq!(buses(&[(HIP, value)]), seen, "{value:?}");
            assert_eq!(buses(&[(CUDA, value)]), seen, "{CUDA} is an alias");
        }
    }

    #[test]
    fn only_rocr_ends_its_list_at_what_is_there_for_the_second_time() {
        let note = |name: &str| {
            let variables = [(name.to_owned(), "0,7".to_owned())].into_iter().collect();
            visibility(&agents(), &variables).notes.concat()
        };
        assert!(note(ROCR).contains("not a device there, or is there for the second time: the list ends"));
        assert!(note(HIP).contains("\"7\" in HIP_VISIBLE_DEVICES is not a device there: the list ends"));
    }

    #[test]
    fn hip_counts_over_what_rocr_leaves_and_its_own_variable_comes_before_its_alias() {
        assert_eq!(buses(&[(ROCR, "3,2"), (HIP, "1")]), [0x03]);
        assert_eq!(buses(&[(ROCR, "3,2"), (CUDA, "0"), (HIP, "1,0")]), [0x03, 0x09]);
        assert_eq!(
            buses(&[(ROCR, "3"), (HIP, "1")]),
            [0_u8; 0],
            "Slurm's and a user's variable together hide all"
        );
        assert_eq!(buses(&[(CUDA, "0"), (HIP, "")]), [0_u8; 0]);
    }

    #[test]
    fn the_opencl_variable_changes_nothing_and_is_explained() {
        let variables = [(OPENCL.to_owned(), "1".to_owned())].into_iter().collect();
        let seen = visibility(&agents(), &variables);
        assert_eq!(seen.devices.map(|devices| devices.len()), Some(4));
        assert!(seen.notes[0].contains("OpenCL"), "{:?}", seen.notes);
    }

    #[test]
    fn without_the_drivers_nodes_the_order_is_not_known() {
        let seen = visibility(&[], &BTreeMap::new());
        assert_eq!(seen.devices, None);
        assert!(seen.reason.is_some_and(|why| why.contains("/sys/class/kfd")));
    }
}
