//! CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
//!
//! Documented (CUDA C++ Programming Guide, "CUDA Environment Variables"): an empty value hides all; indices
//! or UUIDs, a UUID by as much of its beginning as is unique; after an invalid entry nothing is visible;
//! `MIG-…` names an instance. The rest was tried out with cuInit on driver 580.159 and two H200, and the
//! tests hold it: the first entry decides whether the list is of indices or of UUIDs; an index is as much of
//! a number as there is (`1abc` and ` 1` are 1, `0x1` is 0); an entry that appears twice makes cuInit fail
//! (code 101), so nothing is visible at all; so does an unknown CUDA_DEVICE_ORDER. Indices above 2^31 are
//! left out.

use std::collections::{BTreeMap, BTreeSet};

use stats::PciAddress;

use super::{Listed, Runtime, Visibility, Visible, of_runtime};
use crate::model::Gpu;
use crate::nvml::Nvml;

const LIST: &str = "CUDA_VISIBLE_DEVICES";
const ORDER: &str = "CUDA_DEVICE_ORDER";
/// Characters of a UUID behind its prefix; CUDA compares no more.
const UUID_LENGTH: usize = 36;

/// What CUDA would list of these GPUs, in PCI order.
pub(super) fn visibility(gpus: &[&Gpu], nvml: &Nvml, variables: &BTreeMap<String, String>) -> Visibility {
    let mut notes = Vec::new();
    let listed = match variables.get(ORDER).map(String::as_str) {
        Some("PCI_BUS_ID") => list(gpus, nvml, variables, Ok(()), &mut notes),
        None | Some("FASTEST_FIRST") => {
            let alike = gpus.iter().all(|gpu| gpu.device_id == gpus[0].device_id);
            let order = if alike { Ok(()) } else { Err(FASTEST_FIRST.to_owned()) };
            list(gpus, nvml, variables, order, &mut notes)
        }
        Some(other) => {
            notes.push(format!("CUDA does not start with {ORDER}={other}: set PCI_BUS_ID or FASTEST_FIRST"));
            Ok(Vec::new())
        }
    };

    if let Nvml::Said(facts) = nvml {
        for gpu in gpus.iter().filter(|gpu| facts.gpu(gpu.pci).is_some_and(|said| !said.mig.is_empty())) {
            notes.push(format!(
                "GPU {} is divided by MIG: CUDA lists its instances and not the GPU",
                gpu.index
            ));
        }
    }
    of_runtime(Runtime::Cuda, &[LIST, ORDER], variables, listed, notes)
}

const FASTEST_FIRST: &str = "CUDA_DEVICE_ORDER is FASTEST_FIRST (the default) and the GPUs differ, so that \
    only CUDA knows its order: set CUDA_DEVICE_ORDER=PCI_BUS_ID";

/// `order` is that of PCI, or why CUDA's is not known.
fn list(
    gpus: &[&Gpu],
    nvml: &Nvml,
    variables: &BTreeMap<String, String>,
    order: Result<(), String>,
    notes: &mut Vec<String>,
) -> Listed {
    let Some(value) = variables.get(LIST) else {
        return order.map(|()| gpus.iter().map(|gpu| Visible::whole(gpu.pci)).collect());
    };
    let entries: Vec<&str> = value.split(',').collect();
    let by_uuid = entries.first().is_some_and(|first| is_uuid(first));
    let mut visible = Vec::new();

    for entry in &entries {
        let found = match (by_uuid, is_uuid(entry)) {
            (true, true) => uuid(entry, gpus, nvml),
            (false, _) => {
                index(entry, gpus.len()).and_then(|index| gpus.get(index)).map(|gpu| Visible::whole(gpu.pci))
            }
            (true, false) => None,
        };
        let Some(found) = found else {
            let after = if value.trim().is_empty() { return Ok(Vec::new()) } else { entry };
            notes.push(format!("\"{after}\" in {LIST} is not a device here: CUDA ends the list there"));
            break;
        };
        visible.push(found);
    }

    let parts: BTreeSet<(Option<PciAddress>, &Option<String>)> =
        visible.iter().map(|device| (device.pci, &device.part)).collect();
    if parts.len() < visible.len() {
        notes.push(format!("{LIST} names a device twice: CUDA does not start (cuInit answers 101)"));
        return Ok(Vec::new());
    }
    if visible.iter().filter(|device| device.part.is_some()).count() > 1 {
        notes.push("of several MIG instances older drivers list the first only".to_owned());
    }

    // By index one must know the order, unless nothing was found.
    if by_uuid || visible.is_empty() { Ok(visible) } else { order.map(|()| visible) }
}

fn is_uuid(entry: &str) -> bool {
    entry.starts_with("GPU-") || entry.starts_with("MIG-")
}

/// As C's atoi reads it: blanks, a sign, as many digits as there are.
fn index(entry: &str, count: usize) -> Option<usize> {
    let entry = entry.trim_start();
    let digits = entry.strip_prefix('+').unwrap_or(entry);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|index| *index < count)
}

/// The device of a UUID's beginning; `None` where there is none, or more than one.
fn uuid(entry: &str, gpus: &[&Gpu], nvml: &Nvml) -> Option<Visible> {
    let (prefix, id) = entry.split_at(4);
    if prefix == "MIG-" && id.starts_with("GPU-") {
        // Drivers before 470: MIG-GPU-<UUID>/<GPU instance>/<compute instance>.
        let (of_gpu, _) = id.split_once('/')?;
        let found = uuid(of_gpu, gpus, nvml)?;
        return Some(Visible { pci: found.pci, part: Some(entry.to_owned()) });
    }

    let begins = |known: &str| {
        let (known, wanted) = (known.get(4..).unwrap_or(""), id.get(..UUID_LENGTH).unwrap_or(id).trim_end());
        known.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
    };
    let whole =
        gpus.iter().filter(|gpu| gpu.uuid.as_deref().is_some_and(begins)).map(|gpu| Visible::whole(gpu.pci));
    let mut found: Vec<Visible> = whole.collect();

    if prefix == "MIG-" {
        let known = nvml.facts();
        let instances = known.into_iter().flat_map(|facts| &facts.gpus).flat_map(|gpu| {
            let of_gpu = gpu.mig.iter().filter(|mig| begins(mig));
            of_gpu.map(|mig| Visible { pci: Some(gpu.pci), part: Some(mig.clone()) })
        });
        found.extend(instances);
        if found.is_empty() && known.is_none() {
            return Some(Visible { pci: None, part: Some(entry.to_owned()) });
        }
    }
    if found.len() == 1 { found.pop() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GpuName, Locality, Rung};
    use crate::nvml::{Facts, NvGpu};

    const UUIDS: [&str; 2] =
        ["GPU-18813e2a-47d7-7471-f6fa-82decf0624e3", "GPU-6641f881-c976-07df-ebef-faff02b5777c"];

    fn gpu(index: u32, device_id: u16) -> Gpu {
        let set = stats::IdSet::default;
        Gpu {
            index,
            pci: PciAddress { domain: 0, bus: 0, device: 6 + index as u8, function: 0 },
            vendor_id: 0x10de,
            device_id,
            class_id: 0x0302,
            name: GpuName { value: None, source: "none".to_owned() },
            uuid: Some(UUIDS[index as usize].to_owned()),
            os_devices: Vec::new(),
            locality: Locality {
                rung: Rung::Unknown,
                reason: String::new(),
                attached_to: String::new(),
                pus: set(),
                nodes: set(),
                outside_pus: set(),
                outside_nodes: set(),
                l3_pus: None,
            },
            link: None,
            partition: None,
        }
    }

    fn seen_by(nvml: &Nvml, ids: [u16; 2], variables: &[(&str, &str)]) -> Visibility {
        let gpus = [gpu(0, ids[0]), gpu(1, ids[1])];
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        visibility(&gpus.iter().collect::<Vec<_>>(), nvml, &variables)
    }

    /// The PCI device numbers of what is visible, in CUDA's order.
    fn numbers(visibility: &Visibility) -> Option<Vec<u8>> {
        let devices = visibility.devices.as_ref()?;
        Some(devices.iter().filter_map(|device| device.pci).map(|pci| pci.device).collect())
    }

    /// Each row is what cuInit and cuDeviceGetPCIBusId answered to this value on two H200 (driver
    /// 580.159.04).
    #[test]
    fn every_value_that_was_tried_out_gives_what_cuda_gave() {
        let (one, other) = (UUIDS[0], UUIDS[1]);
        let shouted = format!("GPU-{}", other[4..].to_uppercase());
        let table: Vec<(String, &[u8])> = [
            ("", &[][..]),
            (" ", &[]),
            ("0,1", &[6, 7]),
            ("1,0", &[7, 6]),
            ("0,0", &[]),
            ("0,0,1", &[]),
            ("1,0,1", &[]),
            ("-1", &[]),
            ("0,-1,1", &[6]),
            ("0,5,1", &[6]),
            ("0, 1", &[6, 7]),
            (" 0", &[6]),
            ("0 ", &[6]),
            ("1,", &[7]),
            ("0,,1", &[6]),
            (",1", &[]),
            ("0x1", &[6]),
            ("01", &[7]),
            ("+1", &[7]),
            ("1abc", &[7]),
            ("abc", &[]),
            ("0;1", &[6]),
            ("all", &[]),
            ("NoDevFiles", &[]),
            ("GPU-6641", &[7]),
            ("GPU-6", &[7]),
            ("GPU-", &[]),
            ("GPU", &[]),
            ("GPU-dead", &[]),
            ("0:0", &[6]),
            ("1.0", &[7]),
            ("0,1,2", &[6, 7]),
            (&shouted, &[7]),
        ]
        .into_iter()
        .map(|(value, seen)| (value.to_owned(), seen))
        .chain([
            (format!("{other},{one}"), &[7, 6][..]),
            (other.to_lowercase(), &[]),
            (format!("0,{other}"), &[6]),
            (format!("{other},0"), &[7]),
            (format!("{other},{other}"), &[]),
            (format!("0,{one},1"), &[6]),
            (other[4..].to_owned(), &[]),
            (format!("MIG-{}", &other[4..]), &[7]),
            (format!(" {other}"), &[]),
            (format!("{other} "), &[7]),
            (format!("{other}0"), &[7]),
        ])
        .collect();

        for (value, seen) in table {
            let visibility = seen_by(&Nvml::NotAsked, [0x2335; 2], &[(LIST, &value)]);
            assert_eq!(numbers(&visibility).as_deref(), Some(seen), "{LIST}={value:?}");
        }

        for (order, seen) in [("PCI_BUS_ID", &[6, 7][..]), ("FASTEST_FIRST", &[6, 7]), ("bogus", &[])] {
            let visibility = seen_by(&Nvml::NotAsked, [0x2335; 2], &[(ORDER, order)]);
            assert_eq!(numbers(&visibility).as_deref(), Some(seen), "{order}");
        }
    }

    #[test]
    fn on_gpus_that_differ_an_index_is_nothing_until_the_order_is_set_and_a_uuid_is() {
        let differ = [0x2335, 0x20b0];
        for list in [None, Some("0"), Some("1,0")] {
            let variables: Vec<(&str, &str)> = list.map(|list| (LIST, list)).into_iter().collect();
            let visibility = seen_by(&Nvml::NotAsked, differ, &variables);
            assert_eq!(visibility.devices, None, "{list:?}");
            assert!(visibility.reason.is_some_and(|why| why.contains("FASTEST_FIRST")), "{list:?}");
        }
        let by_uuid = seen_by(&Nvml::NotAsked, differ, &[(LIST, "GPU-66")]);
        assert_eq!(numbers(&by_uuid), Some(vec![7]));
        let ordered = seen_by(&Nvml::NotAsked, differ, &[(LIST, "1"), (ORDER, "PCI_BUS_ID")]);
        assert_eq!(numbers(&ordered), Some(vec![7]));
        assert_eq!(numbers(&seen_by(&Nvml::NotAsked, differ, &[(LIST, "")])), Some(vec![]));
    }

    #[test]
    fn a_mig_instance_is_found_by_nvml_and_without_it_named_without_its_gpu() {
        let instance = "MIG-0aaaaaaa-1111-2222-3333-444444444444";
        let said = |number: u8, mig: Vec<String>| NvGpu {
            pci: PciAddress { domain: 0, bus: 0, device: number, function: 0 },
            smi_index: 0,
            minor: None,
            uuid: None,
            pus: None,
            nodes: None,
            memory_node: None,
            mig,
            link_mbytes_per_s: None,
            links: Vec::new(),
        };

        let gpus = vec![said(6, Vec::new()), said(7, vec![instance.to_owned()])];
        let nvml = Nvml::Said(Facts { driver: "1".to_owned(), gpus, paths: Vec::new() });
        let known = seen_by(&nvml, [0x2335; 2], &[(LIST, instance)]);
        let seven = PciAddress { domain: 0, bus: 0, device: 7, function: 0 };
        assert_eq!(known.devices, Some(vec![Visible { pci: Some(seven), part: Some(instance.to_owned()) }]));
        assert!(
            known.notes.iter().any(|note| note.contains("MIG") && note.contains(" 1 ")),
            "{:?}",
            known.notes
        );
        let unknown = seen_by(&Nvml::NotAsked, [0x2335; 2], &[(LIST, instance)]);
        assert_eq!(unknown.devices, Some(vec![Visible { pci: None, part: Some(instance.to_owned()) }]));
        let nowhere = seen_by(&nvml, [0x2335; 2], &[(LIST, "MIG-ffffffff")]);
        assert_eq!(nowhere.devices, Some(Vec::new()));
        let old = format!("MIG-{}/1/0", UUIDS[0]);
        let of_first = seen_by(&nvml, [0x2335; 2], &[(LIST, &old)]);
        assert_eq!(numbers(&of_first), Some(vec![6]));
    }

    #[test]
    fn what_ends_a_list_or_fails_is_said() {
        let notes = |value: &str| seen_by(&Nvml::NotAsked, [0x2335; 2], &[(LIST, value)]).notes.join("; ");
        insta::assert_snapshot!("notes_on_lists", format!("{}\n{}", notes("0,5,1"), notes("0,0")));
        assert_eq!(notes("1,0"), "");
        assert_eq!(notes(""), "", "that is how one hides all");
    }
}
