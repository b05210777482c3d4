//! Whether ranks must share PUs or cores.
//!
//! Sets that overlap are no sharing yet: eight ranks that may each run on the same eight cores have room.
//! They share for certain when there are fewer PUs than ranks among those that they have between them, which
//! by Hall's theorem is exactly when no matching gives each rank a PU of its own. The matching is found with
//! augmenting paths; ranks reached from one that finds none are those that share.

use std::collections::{BTreeMap, BTreeSet};

use stats::IdSet;
use topo::model::Topology;

use crate::matching::is_assigned;

use super::{Finding, FindingKind, JobResources, Observed, PlacementVerdict, names, pus_in_words};

/// What was found.
pub(super) fn apart(topology: &Topology, pool: &JobResources, ranks: &[Observed]) -> Vec<Finding> {
    // A rank without PUs shares none; what it is is said where PUs are looked at.
    let sets: Vec<(usize, &IdSet)> = ranks
        .iter()
        .enumerate()
        .filter_map(|(rank, seen)| Some((rank, seen.pus.as_ref().ok().filter(|pus| !pus.is_empty())?)))
        .collect();
    let taken = IdSet::of_all(sets.iter().map(|(_, pus)| *pus));
    let by_pu: Vec<Vec<u32>> = sets.iter().map(|(_, pus)| pus.iter().collect()).collect();
    if let Some(crowd) = crowd(&by_pu) {
        let free = pool.pus.minus(&taken);
        return vec![shared(FindingKind::SharedPus, ranks, &sets, &crowd, free)];
    }

    // A core goes by its smallest PU.
    let core = |pu: u32| topology.core_of(pu).and_then(|core| core.pus.first()).unwrap_or(pu);
    let by_core: Vec<Vec<u32>> =
        sets.iter().map(|(_, pus)| pus.iter().map(core).collect::<IdSet>().iter().collect()).collect();

    if let Some(crowd) = crowd(&by_core) {
        let used: IdSet = taken.iter().map(core).collect();
        let free = pool.pus.iter().filter(|pu| !used.contains(core(*pu))).collect();
        return vec![shared(FindingKind::SharedCores, ranks, &sets, &crowd, free)];
    }
    overlap(ranks, &sets).into_iter().collect()
}

fn shared(
    kind: FindingKind,
    ranks: &[Observed],
    sets: &[(usize, &IdSet)],
    crowd: &[usize],
    free: IdSet,
) -> Finding {
    let pus = IdSet::of_all(crowd.iter().map(|at| sets[*at].1));
    let who: Vec<usize> = crowd.iter().map(|at| sets[*at].0).collect();
    let what = match kind {
        FindingKind::SharedCores => {
            format!("{}, which are hardware threads of fewer cores", pus_in_words(&pus))
        }
        _ => pus_in_words(&pus),
    };
    let (weight, rest) = if free.is_empty() {
        (PlacementVerdict::Well, "and this job has no others".to_owned())
    } else {
        (PlacementVerdict::Misplaced, format!("while no rank has {}", pus_in_words(&free)))
    };
    let text = format!("{} have only {what} between them, {rest}", names(ranks, &who));
    Finding { kind, weight, ranks: who, text }
}

/// A remark on sets that overlap without need.
fn overlap(ranks: &[Observed], sets: &[(usize, &IdSet)]) -> Option<Finding> {
    let mut common = IdSet::default();
    let mut seen = IdSet::default();
    for (_, pus) in sets {
        common = common.or(&seen.and(pus));
        seen = seen.or(pus);
    }

    let who: Vec<usize> =
        sets.iter().filter(|(_, pus)| !pus.and(&common).is_empty()).map(|(rank, _)| *rank).collect();
    let text = format!(
        "{} may run on the same {}; nothing keeps them apart",
        names(ranks, &who),
        pus_in_words(&common)
    );

    (!common.is_empty()).then_some(Finding {
        kind: FindingKind::SharedPus,
        weight: PlacementVerdict::Well,
        ranks: who,
        text,
    })
}

/// The places in `wants` of those that have fewer units between them than they are; `None` where each can
/// have one of its own.
fn crowd(wants: &[Vec<u32>]) -> Option<Vec<usize>> {
    let mut owners = BTreeMap::new();
    for one in 0..wants.len() {
        let mut visited = BTreeSet::new();
        if !is_assigned(one, wants, &mut owners, &mut visited) {
            let reached = visited.iter().filter_map(|unit| owners.get(unit)).copied();
            let crowd: BTreeSet<usize> = reached.chain([one]).collect();
            return Some(crowd.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd_of(wants: &[&str]) -> Option<Vec<usize>> {
        let pus = |set: &&str| set.parse::<IdSet>().unwrap_or_default().iter().collect();
        crowd(&wants.iter().map(pus).collect::<Vec<_>>())
    }

    #[test]
    fn overlapping_sets_with_room_are_no_crowd_and_too_few_units_are() {
        assert_eq!(crowd_of(&[]), None);
        assert_eq!(crowd_of(&["0-1", "0-1"]), None);
        assert_eq!(crowd_of(&["0-7", "0", "1", "2"]), None, "the first one is moved along");
        assert_eq!(crowd_of(&["0", "0"]), Some(vec![0, 1]));
        assert_eq!(crowd_of(&["0-1", "4", "0-1", "0-1"]), Some(vec![0, 2, 3]), "rank 1 is none of them");
        assert_eq!(crowd_of(&["0-63"; 64]), None);
        assert_eq!(crowd_of(&["0-62"; 64]).map(|crowd| crowd.len()), Some(64));
    }
}
