//! What is different of the links between devices: NVLinks, xGMI, the way over PCIe.
//!
//! Devices are matched by PCI address. A link that one description cannot show is no change: a file has
//! NVLinks only where the vendor's library was asked. Ways over PCIe that two sources name (NVML, bridges)
//! are not held against each other, because their rules differ.

use stats::PciAddress;
use stats::units::rate;

use super::{capped, changed, is_text};
use crate::interconnect::{Endpoint, Fabric, Pair};
use crate::survey::Survey;

/// How many pairs are named one by one: a switch that is gone changes all of them.
const MOST_PAIRS: usize = 8;

/// The changes of the links between devices that both have.
pub(super) fn links(old: &Survey, new: &Survey) -> Vec<String> {
    let (was, is) = (&old.interconnect, &new.interconnect);
    let place = |device: &Endpoint| was.devices.iter().position(|before| before.pci == device.pci);
    let mut words = Vec::new();
    let mut counted: Vec<PciAddress> = Vec::new();
    for device in &is.devices {
        let Some(before) = place(device).map(|at| &was.devices[at]) else { continue };
        if let Some(change) = own_links(before, device) {
            words.push(format!("GPU {}: {change}", device.pci));
            counted.push(device.pci);
        }
    }

    let mut pairs = Vec::new();
    for (at, one) in is.devices.iter().enumerate() {
        for (to, other) in is.devices.iter().enumerate().skip(at + 1) {
            let before = place(one).zip(place(other)).and_then(|(one, other)| was.between(one, other));
            let Some((before, now)) = before.zip(is.between(at, to)) else { continue };
            // What a GPU lost of its NVLinks is said once, and not again for all that it reaches by them.
            let is_said = [one.pci, other.pci].iter().any(|pci| counted.contains(pci));
            let fabric = if is_said { None } else { fabric(old, new, before, now) };
            let change = [fabric, path(before, now)].into_iter().flatten();
            pairs.extend(change.map(|change| format!("{} to {}: {change}", called(one), called(other))));
        }
    }
    words.extend(capped(pairs, MOST_PAIRS, "pairs of devices"));

    words
}

fn called(device: &Endpoint) -> String {
    let kind = if device.affinity.is_some() { "GPU" } else { "NIC" };
    format!("{kind} {}", device.pci)
}

/// Another number of NVLinks of a GPU, or another rate of each.
fn own_links(was: &Endpoint, is: &Endpoint) -> Option<String> {
    let (was, is) = (was.nvlinks.as_ref()?, is.nvlinks.as_ref()?);
    if was.links != is.links {
        return Some(format!("{} NVLinks, were {}", is.links, was.links));
    }
    let (before, now) = changed(was.bytes_per_s_each, is.bytes_per_s_each)?;
    Some(format!("NVLinks of {}, were of {}", rate(now as f64), rate(before as f64)))
}

/// Another way over PCIe.
fn path(was: &Pair, is: &Pair) -> Option<String> {
    let (before, now) = changed(was.pci, is.pci).filter(|_| was.pci_source == is.pci_source)?;
    Some(format!("{} over PCIe, was {}", now.word(), before.word()))
}

/// Another link besides PCIe.
fn fabric(old: &Survey, new: &Survey, was: &Pair, is: &Pair) -> Option<String> {
    match (was.fabric, is.fabric) {
        (Some(before), Some(now)) => same_fabric(old, new, before, now),
        (Some(before), None) => {
            tells(new, is, before).then(|| format!("no {}, was {}", name(before), was.sign()))
        }
        (None, Some(now)) => tells(old, was, now).then(|| format!("{}, had no {}", is.sign(), name(now))),
        (None, None) => None,
    }
}

fn same_fabric(old: &Survey, new: &Survey, was: Fabric, is: Fabric) -> Option<String> {
    // NVML and hwloc count a link's rate by two rules.
    let source = |survey: &Survey| {
        let said = if matches!(was, Fabric::Nvlink { .. }) {
            &survey.interconnect.nvlink
        } else {
            &survey.interconnect.xgmi
        };
        said.as_ref().and_then(|said| said.source.clone())
    };
    let has_one_source = source(old) == source(new);

    match (was, is) {
        (
            Fabric::Nvlink { links: before, bytes_per_s: rate_before },
            Fabric::Nvlink { links: now, bytes_per_s: rate_now },
        ) => {
            if let Some((before, now)) = changed(before, now) {
                return Some(format!("{now} NVLinks, were {before}"));
            }
            let (before, now) = changed(rate_before, rate_now).filter(|_| has_one_source)?;
            Some(format!("{} over NVLink, was {}", rate(now as f64), rate(before as f64)))
        }

        (
            Fabric::Xgmi { hops: before, most_bytes_per_s: rate_before, .. },
            Fabric::Xgmi { hops: now, most_bytes_per_s: rate_now, .. },
        ) => {
            if let Some((before, now)) = changed(before, now) {
                return Some(format!("{now} hops over xGMI, were {before}"));
            }
            let (before, now) = changed(rate_before, rate_now).filter(|_| has_one_source)?;
            Some(format!("{} over xGMI, was {}", rate(now as f64), rate(before as f64)))
        }
        _ => Some(format!("{}, was {}", name(is), name(was))),
    }
}

fn name(fabric: Fabric) -> &'static str {
    match fabric {
        Fabric::Nvlink { .. } => "NVLink",
        Fabric::Xgmi { .. } => "xGMI",
    }
}

/// Whether a description would show such a link: somebody says where they are, or a name of the vendor's
/// library shows that hwloc asked it and found none. A text of neither way says nothing of the pair.
fn tells(survey: &Survey, pair: &Pair, fabric: Fabric) -> bool {
    if is_text(survey) && pair.pci.is_none() {
        return false;
    }
    let (source, library) = match fabric {
        Fabric::Nvlink { .. } => (&survey.interconnect.nvlink, "nvml"),
        Fabric::Xgmi { .. } => (&survey.interconnect.xgmi, "rsmi"),
    };
    let mut names = survey.topology.gpus.iter().flat_map(|gpu| &gpu.os_devices);
    source.as_ref().is_some_and(|source| source.source.is_some())
        || names.any(|name| name.starts_with(library))
}
