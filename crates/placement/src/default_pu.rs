//! The PU a rank gets when none was asked for: the first allowed core of its target's locality domain.
//!
//! A later rank on the same domain gets the next free core, so that no PU is given twice while one is free. Splitting a
//! domain's cores evenly among its GPUs is the recommender's work, not the ping-pong's.

use stats::IdSet;
use topo::model::{Rung, Topology};

use crate::{ChosenBy, TargetId};

/// The PU for a rank, given those taken; `None` when this process may use no PU at all.
pub(crate) fn default_pu(topology: &Topology, target: TargetId, taken: &IdSet) -> Option<(u32, ChosenBy)> {
    let (domain, known) = domain(topology, target);
    let local = first_pus(topology, &domain);
    let anywhere = first_pus(topology, &topology.allowed.pus);
    let free = |pus: &[u32]| pus.iter().copied().find(|pu| !taken.contains(*pu));
    if let Some(pu) = free(&local) {
        return Some((pu, ChosenBy::Domain { cores: domain }));
    }
    // More ranks than cores on the domain: share one of its cores rather than leave the domain.
    if let Some(pu) = local.get(taken.and(&local.iter().copied().collect()).len() % local.len().max(1)) {
        return Some((*pu, ChosenBy::DomainShared { cores: domain }));
    }
    let pu = free(&anywhere).or_else(|| anywhere.first().copied())?;
    Some((pu, if known { ChosenBy::DomainNotAllowed { cores: domain } } else { ChosenBy::LocalityUnknown }))
}

/// The target's local PUs, and whether anybody knows them.
fn domain(topology: &Topology, target: TargetId) -> (IdSet, bool) {
    match target {
        TargetId::Node(node) => {
            let node = topology.nodes.iter().find(|n| n.os_index == node);
            node.map_or((IdSet::default(), false), |n| (n.pus.clone(), !n.pus.is_empty()))
        }
        TargetId::Gpu(pci) => {
            let gpu = topology.gpus.iter().find(|gpu| gpu.pci == pci);
            let known = gpu.filter(|gpu| gpu.locality.rung != Rung::Unknown && !gpu.locality.pus.is_empty());
            known.map_or((IdSet::default(), false), |gpu| (gpu.locality.pus.clone(), true))
        }
    }
}

/// The first allowed PU of each core that has one in `pus`: one PU a core, also where only one sibling is allowed.
fn first_pus(topology: &Topology, pus: &IdSet) -> Vec<u32> {
    let usable = topology.allowed.pus.and(pus);
    let mut first: Vec<u32> = topology.cores.iter().filter_map(|core| core.pus.and(&usable).first()).collect();
    // A machine whose firmware names no cores still has PUs.
    if first.is_empty() {
        first = usable.iter().collect();
    }
    first.sort_unstable();
    first
}
