//! What one of two machines hides that the other one shows of where its GPUs are: a virtual machine beside
//! its host.
//!
//! Their devices have other addresses, so that a list of differences names each twice; that is no answer to
//! the question for which the two are compared.

use crate::model::Rung;
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
    /// Whether it shows no PCIe switch above any of them.
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
    let (gpus, of_host) = (guest.topology.gpus.len(), host.topology.gpus.len());
    if gpus == 0 || of_host == 0 {
        return None;
    }
    let without_node = if unknown(host) == 0 { unknown(guest) } else { 0 };
    let without_switch = guest.interconnect.devices.len() > 1 && switched(host) && !switched(guest);
    (without_node > 0 || without_switch).then_some(Hidden { by_second, gpus, without_node, without_switch })
}

/// Whether a switch is above a GPU and another device.
fn switched(survey: &Survey) -> bool {
    let is_switch = |level: Option<PciLevel>| level.is_some_and(|level| level <= PciLevel::Pxb);
    survey.interconnect.pairs.iter().any(|pair| pair.from.starts_with("GPU") && is_switch(pair.pci))
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
