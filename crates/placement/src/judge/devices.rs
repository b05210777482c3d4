//! GPUs among the ranks: whether one is shared while another is idle, and whether they can reach one
//! another's memory.
//!
//! A rank counts as the user of a GPU only where it sees exactly that one: of several, its program chooses.
//! IPC between GPUs needs each process to open the other's device file; a device cgroup for each task refuses
//! that (PLACEMENT's rule 7), while variables that only hide a GPU do not.

use std::collections::{BTreeMap, BTreeSet};

use stats::PciAddress;
use topo::model::Topology;
use topo::visibility::Visible;

use super::{Finding, FindingKind, JobResources, Observed, PlacementVerdict, gpu_in_words, names};

/// Whether the ranks' GPUs can reach one another's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ipc {
    /// No two ranks are known to use different GPUs.
    NoPair,
    /// No device file is refused.
    Possible,
    /// These ranks may not open a GPU that another one uses.
    Cut {
        /// By their place in what was given.
        ranks: Vec<usize>,
    },
    /// Whether device files are refused cannot be asked of some rank.
    NotKnown,
}

impl Ipc {
    /// As documents name it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoPair => "no-pair",
            Self::Possible => "possible",
            Self::Cut { .. } => "cut",
            Self::NotKnown => "not-known",
        }
    }

    pub(super) fn finding(&self, ranks: &[Observed]) -> Option<Finding> {
        let Self::Cut { ranks: who } = self else { return None };
        let text = format!(
            "{} may not open the device files of the others' GPUs (device cgroup), so IPC between GPUs is \
             cut: srun --gres-flags=allow-task-sharing, or --gpu-bind=none and numabench exec",
            names(ranks, who)
        );
        Some(Finding { kind: FindingKind::IpcCut, weight: PlacementVerdict::Well, ranks: who.clone(), text })
    }
}

/// The one device that a rank uses; `None` where it has none, several, or unknown ones.
fn only(rank: &Observed) -> Option<&Visible> {
    match rank.gpus.as_deref() {
        Ok([only]) => Some(only),
        _ => None,
    }
}

/// GPUs that several ranks use.
pub(super) fn shared(topology: &Topology, pool: &JobResources, ranks: &[Observed]) -> Vec<Finding> {
    let mut users: BTreeMap<(Option<PciAddress>, Option<&String>), Vec<usize>> = BTreeMap::new();
    for (rank, seen) in ranks.iter().enumerate() {
        if let Some(device) = only(seen) {
            users.entry((device.pci, device.part.as_ref())).or_default().push(rank);
        }
    }

    // A rank that sees several, or of which nobody knows, may be the one that uses the idle one.
    let all_told = ranks.iter().all(|rank| rank.gpus.as_ref().is_ok_and(|gpus| gpus.len() <= 1));
    let idle: Vec<PciAddress> = pool
        .gpus
        .iter()
        .copied()
        .filter(|pci| !users.keys().any(|(used, _)| used.is_none_or(|used| used == *pci)))
        .collect();
    let idle = if all_told { idle } else { Vec::new() };
    let crowded = users.iter().filter(|(_, who)| who.len() > 1);
    let finding = |((pci, part), who): (&(Option<PciAddress>, Option<&String>), &Vec<usize>)| {
        let device = Visible { pci: *pci, part: part.cloned() };
        let base = format!("{} share {}", names(ranks, who), gpu_in_words(topology, &device));
        let (weight, text) = match idle.first() {
            Some(pci) => {
                let other = gpu_in_words(topology, &Visible { pci: Some(*pci), part: None });
                (PlacementVerdict::Misplaced, format!("{base}, while no rank uses {other}"))
            }
            None => (PlacementVerdict::Well, base),
        };
        Finding { kind: FindingKind::SharedGpu, weight, ranks: who.clone(), text }
    };
    crowded.map(finding).collect()
}

/// Several GPUs that ranks see alike, beside ranks whose GPUs are known to be open already.
pub(super) fn undecided(ranks: &[Observed], open: &BTreeSet<usize>) -> Vec<Finding> {
    type Devices<'r> = BTreeSet<(Option<PciAddress>, Option<&'r String>)>;
    let mut users: BTreeMap<Devices<'_>, Vec<usize>> = BTreeMap::new();
    for (rank, seen) in ranks.iter().enumerate().filter(|(rank, _)| !open.contains(rank)) {
        let devices = seen.gpus.iter().flatten().map(|device| (device.pci, device.part.as_ref()));
        users.entry(devices.collect()).or_default().push(rank);
    }

    let crowded = users.into_iter().filter(|(devices, who)| devices.len() > 1 && who.len() > 1);
    let finding = |(devices, who): (Devices<'_>, Vec<usize>)| {
        let text = format!(
            "{} each see the same {} GPUs: their programs decide which of them each uses, and those that \
             take the first one share it",
            names(ranks, &who),
            devices.len()
        );
        Finding { kind: FindingKind::GpuNotKnown, weight: PlacementVerdict::Well, ranks: who, text }
    };
    crowded.map(finding).collect()
}

/// Whether the ranks' GPUs can reach one another's memory.
pub(super) fn ipc(ranks: &[Observed]) -> Ipc {
    let used = |rank: &Observed| only(rank).and_then(|device| device.pci);
    let users: Vec<(usize, PciAddress)> =
        ranks.iter().enumerate().filter_map(|(rank, seen)| Some((rank, used(seen)?))).collect();
    let Some((_, first)) = users.first() else { return Ipc::NoPair };
    if users.iter().all(|(_, pci)| pci == first) {
        return Ipc::NoPair;
    }
    let refuses = |rank: usize, own: PciAddress| {
        let others = users.iter().map(|(_, pci)| *pci).filter(|pci| *pci != own);
        ranks[rank].refused.as_ref().map(|refused| others.into_iter().any(|pci| refused.contains(&pci)))
    };
    let cut: Vec<usize> = users
        .iter()
        .filter(|(rank, own)| refuses(*rank, *own) == Some(true))
        .map(|(rank, _)| *rank)
        .collect();

    if !cut.is_empty() {
        Ipc::Cut { ranks: cut }
    } else if users.iter().any(|(rank, own)| refuses(*rank, *own).is_none()) {
        Ipc::NotKnown
    } else {
        Ipc::Possible
    }
}
