//! Which devices the file puts under which switch and which NUMA node.
//!
//! Devices are under one switch where the way between them is (PIX), and switches under a further one where
//! the way crosses several (PXB): NCCL counts its own distances in the same way (`src/graph/paths.cc`). A way
//! over the CPU, or an unknown one, joins nothing. Functions of one card share its slot and no switch.

use std::collections::BTreeMap;

use stats::{IdSet, PciAddress};

use super::NcclDevice;
use super::links::rate;
use crate::interconnect::PciBridge;
use crate::model::Link;
use crate::pci_path::PciLevel;
use crate::survey::Survey;

/// The devices under NUMA nodes.
#[derive(Debug, Default)]
pub(super) struct NcclTree {
    /// By the node's number.
    pub(super) cpus: BTreeMap<u32, Vec<Branch>>,
}

/// What hangs from a CPU or a switch.
#[derive(Debug)]
pub(super) enum Branch {
    /// A device.
    Device(NcclDevice),
    /// A switch.
    Switch(Switch),
}

/// A switch that the file makes up for one that the guest does not show.
#[derive(Debug)]
pub(super) struct Switch {
    /// How it is joined to what is above it; `None` where neither its port nor a device behind it says.
    pub(super) link: Option<Link>,
    /// Whether that is the link of a device behind it, for want of its own.
    pub(super) link_of_device: bool,
    /// What is behind it.
    pub(super) branches: Vec<Branch>,
}

impl Branch {
    /// The lowest address that the file has here.
    fn first(&self) -> PciAddress {
        self.devices().iter().map(|device| device.written).min().unwrap_or(PciAddress::unknown(0))
    }

    /// The switches here and below.
    fn switches(&self) -> Vec<&Switch> {
        match self {
            Self::Device(_) => Vec::new(),
            Self::Switch(switch) => switch.branches.iter().flat_map(Self::switches).chain([switch]).collect(),
        }
    }

    /// The devices here and below.
    pub(super) fn devices(&self) -> Vec<&NcclDevice> {
        match self {
            Self::Device(device) => vec![device],
            Self::Switch(switch) => switch.branches.iter().flat_map(Self::devices).collect(),
        }
    }
}

impl NcclTree {
    /// Whether there is a switch.
    pub(super) fn has_switch(&self) -> bool {
        self.cpus.values().flatten().any(|branch| matches!(branch, Branch::Switch(_)))
    }

    /// That a switch is assumed above GPUs that were measured to share their way; `None` where the file has
    /// fewer than two of them.
    fn measured(&self, group: &[PciAddress]) -> Option<String> {
        let devices = self.cpus.values().flatten().flat_map(Branch::devices);
        let labels: Vec<&str> =
            devices.filter(|device| group.contains(&device.pci)).map(|device| &*device.label).collect();
        let together =
            "were measured to share their way to the host: a PCIe switch above them is taken for it";
        (labels.len() > 1).then(|| format!("{} {together}", labels.join(", ")))
    }

    /// Which links of switches are assumed; nothing where each is known.
    pub(super) fn remarks(&self) -> Vec<String> {
        let switches: Vec<&Switch> = self.cpus.values().flatten().flat_map(Branch::switches).collect();
        let unknown =
            switches.iter().filter(|switch| switch.link.as_ref().is_none_or(|link| rate(link) == 0)).count();
        let assumed = switches.iter().filter(|switch| switch.link_of_device).count() - unknown;

        let of_device = (assumed > 0).then(|| {
            let switches = of_switches(assumed, switches.len());
            format!(
                "the link of {switches} towards the CPU is not known: the file has that of the fastest \
                 device behind it"
            )
        });
        let of_nothing = (unknown > 0).then(|| {
            let switches = of_switches(unknown, switches.len());
            format!(
                "the link of {switches} towards the CPU is not known, nor that of a device behind it: NCCL \
                 takes 8 GT/s x16"
            )
        });
        of_device.into_iter().chain(of_nothing).collect()
    }
}

fn of_switches(some: usize, all: usize) -> String {
    let switches = if all == 1 { "PCIe switch" } else { "PCIe switches" };
    if some == all { format!("{all} {switches}") } else { format!("{some} of {all} {switches}") }
}

/// The devices in their places; those of which the NUMA node is not known are named in `remarks`.
pub(super) fn tree(
    survey: &Survey,
    devices: Vec<NcclDevice>,
    groups: &[Vec<PciAddress>],
    remarks: &mut Vec<String>,
) -> NcclTree {
    // How far two devices are apart: what the machine shows, or what was measured where that is nearer.
    let shown = |one: usize, other: usize| survey.interconnect.between(one, other)?.pci;
    let has_switch = |device: &NcclDevice| {
        (0..survey.interconnect.devices.len()).any(|other| {
            other != device.at && shown(device.at, other).is_some_and(|level| level <= PciLevel::Pxb)
        })
    };
    let level = |one: &NcclDevice, other: &NcclDevice| {
        let shown = shown(one.at, other.at);
        let grouped = |group: &Vec<PciAddress>| group.contains(&one.pci) && group.contains(&other.pci);
        // What is measured is wider than a switch that the machine shows above one of the two.
        let wider = || if has_switch(one) || has_switch(other) { PciLevel::Pxb } else { PciLevel::Pix };
        let measured = groups.iter().any(grouped).then(wider);
        match (shown, measured) {
            (Some(shown), Some(measured)) => Some(shown.min(measured)),
            (shown, measured) => shown.or(measured),
        }
    };

    // What is joined by any switch has one NUMA node; what is joined by one switch alone has that switch.
    let mut tree = NcclTree::default();
    for members in joined(devices, |one, other| level(one, other).is_some_and(|level| level <= PciLevel::Pxb))
    {
        match node_of(&members) {
            Ok(node) => {
                let switches = joined(members, |one, other| level(one, other) == Some(PciLevel::Pix));
                let branches =
                    switches.into_iter().map(|members| branches(survey, members)).collect::<Vec<_>>();
                tree.cpus.entry(node).or_default().extend(under_one(survey, branches));
            }
            Err(why) => remarks.extend(members.iter().zip(why).map(|(device, why)| {
                format!("{} ({}) is left out: its NUMA node is not known ({why})", device.label, device.pci)
            })),
        }
    }

    // In the order of addresses, as the machine's own listing has them.
    for branches in tree.cpus.values_mut() {
        branches.sort_by_key(Branch::first);
    }
    remarks.extend(groups.iter().filter_map(|group| tree.measured(group)));
    tree
}

/// The devices in groups in which every two are joined, directly or through others.
fn joined(
    devices: Vec<NcclDevice>,
    are_joined: impl Fn(&NcclDevice, &NcclDevice) -> bool,
) -> Vec<Vec<NcclDevice>> {
    let mut groups: Vec<Vec<NcclDevice>> = Vec::new();
    for device in devices {
        let is_near = |group: &Vec<NcclDevice>| group.iter().any(|other| are_joined(&device, other));
        let (near, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_near);
        groups = apart;
        groups.push(near.into_iter().flatten().chain([device]).collect());
    }
    groups
}

/// The NUMA node of devices that share a switch: the one that is known of any of them.
///
/// # Errors
/// Why there is none, of each device.
fn node_of(members: &[NcclDevice]) -> Result<u32, Vec<String>> {
    let known: IdSet = members.iter().filter_map(|device| device.node.clone().ok()).collect();
    match (known.len(), known.first()) {
        (1, Some(node)) => Ok(node),
        (0, _) => Err(members.iter().filter_map(|device| device.node.clone().err()).collect()),
        _ => Err(vec![
            format!("devices behind one switch are said to be near to nodes {known}");
            members.len()
        ]),
    }
}

/// Devices behind one switch; functions of one card are there without it.
fn branches(survey: &Survey, mut members: Vec<NcclDevice>) -> Vec<Branch> {
    members.sort_by_key(|device| device.written);
    let slot = |device: &NcclDevice| (device.pci.domain, device.pci.bus, device.pci.device);
    let is_one_card = members.windows(2).all(|pair| slot(&pair[0]) == slot(&pair[1]));
    let devices: Vec<Branch> = members.into_iter().map(Branch::Device).collect();
    if is_one_card { devices } else { vec![switch(survey, devices)] }
}

/// What is behind the same outer switch: that switch, where it has more than one branch. A device is then
/// behind a switch of its own, as its way to the others crosses several.
fn under_one(survey: &Survey, mut inner: Vec<Vec<Branch>>) -> Vec<Branch> {
    if inner.len() == 1 {
        return inner.remove(0);
    }
    let as_switch = |mut branches: Vec<Branch>| match branches.pop() {
        Some(only @ Branch::Switch(_)) if branches.is_empty() => only,
        last => switch(survey, branches.into_iter().chain(last).collect()),
    };
    let mut branches: Vec<Branch> = inner.into_iter().map(as_switch).collect();
    branches.sort_by_key(Branch::first);
    vec![switch(survey, branches)]
}

fn switch(survey: &Survey, branches: Vec<Branch>) -> Branch {
    let devices: Vec<&NcclDevice> = branches.iter().flat_map(Branch::devices).collect();
    let own = uplink(survey, &devices);
    let fastest = || devices.iter().filter_map(|device| device.link.clone()).max_by_key(rate);
    let link_of_device = own.as_ref().is_none_or(|link| rate(link) == 0);
    let own = own.filter(|_| !link_of_device);
    Branch::Switch(Switch { link: own.or_else(fastest), link_of_device, branches })
}

/// The link of the lowest bridge that all are under, where it is known.
fn uplink(survey: &Survey, devices: &[&NcclDevice]) -> Option<Link> {
    let paths = || devices.iter().map(|device| &survey.interconnect.devices[device.at].bridges);
    let first: &Vec<PciBridge> = paths().next()?;
    let is_common = |(at, bridge): &(usize, &PciBridge)| {
        paths().all(|path| path.get(*at).is_some_and(|other| other.pci == bridge.pci))
    };
    let common = first.iter().enumerate().take_while(is_common).count();
    // Below the root port alone there is no switch whose link it would be.
    let link = (common > 1).then(|| first[common - 1].link.as_ref())??;
    Some(super::slower(link, None))
}
