//! What one of two machines hides that the other one shows of where its GPUs are: a virtual machine beside
//! its host.
//!
//! Their devices have other addresses, so that a list of differences names each twice; that is no answer to
//! the question for which the two are compared. A guest has GPUs of its host, so machines with other GPUs are
//! two machines. Left out: a virtual function of an AMD GPU, which has a device id of its own.

use super::devices::is_same_model;
use crate::model::{Gpu, Rung};
use crate::partition::whole;
use crate::pci_path::PciLevel;
use crate::survey::Survey;

/// What is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// Whether it is the second machine that hides it.
    pub(crate) by_second: bool,
    /// The GPUs of that machine.
    pub(crate) gpus: usize,
    /// Of how many of them the NUMA node is not known.
    pub(crate) without_node: usize,
    /// Whether it is a virtual machine without a PCIe switch above any of them.
    pub(crate) without_switch: bool,
}

/// What one of them hides; `None` where neither does.
pub(crate) fn hidden(old: &Survey, new: &Survey) -> Option<Hidden> {
    of(new, old, true).or_else(|| of(old, new, false))
}

fn of(guest: &Survey, host: &Survey, by_second: bool) -> Option<Hidden> {
    let unknown = |survey: &Survey| {
        let gpus = survey.topology.gpus.iter();
        gpus.filter(|gpu| gpu.locality.rung == Rung::Unknown).count()
    };
    let gpus = &guest.topology.gpus;
    let is_hosts = |gpu: &Gpu| host.topology.gpus.iter().any(|other| is_same_model(other, gpu));
    if gpus.is_empty() || !gpus.iter().all(is_hosts) {
        return None;
    }

    let without_node = if unknown(host) == 0 { unknown(guest) } else { 0 };
    let is_guest = guest.virtual_machine.is_some() && guest.interconnect.devices.len() > 1;
    let without_switch = is_guest && is_switched(host) && !is_switched(guest);
    let gpus = gpus.len();
    (without_node > 0 || without_switch).then_some(Hidden { by_second, gpus, without_node, without_switch })
}

/// Whether a switch is above a GPU and another device; what is between the partitions of a GPU is none.
fn is_switched(survey: &Survey) -> bool {
    let devices = &survey.interconnect.devices;
    devices.iter().enumerate().filter(|(_, device)| device.affinity.is_some()).any(|(at, gpu)| {
        devices.iter().enumerate().skip(at + 1).any(|(to, other)| {
            let pair = survey.interconnect.between(at, to).filter(|_| whole(gpu.pci) != whole(other.pci));
            pair.and_then(|pair| pair.pci).is_some_and(|level| level <= PciLevel::Pxb)
        })
    })
}

impl Hidden {
    /// What is hidden, in words.
    pub(crate) fn words(&self) -> String {
        let nodes = match self.without_node {
            0 => None,
            all if all == self.gpus => Some("the NUMA nodes of its GPUs".to_owned()),
            some => Some(format!("the NUMA nodes of {some} of {} GPUs", self.gpus)),
        };
        let switches = self.without_switch.then(|| "which devices share a PCIe switch".to_owned());
        nodes.into_iter().chain(switches).collect::<Vec<_>>().join(" and ")
    }
}
