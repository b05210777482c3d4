//! Whether ranks must share PUs or cores.
//!
//! Sets that overlap are no sharing yet: eight ranks that may each run on the same eight cores have room.
//! They share for certain when there are fewer PUs than ranks among those that they have between them, which
//! by Hall's theorem is exactly when no matching gives each rank a PU of its own. The matching is found with
//! augmenting paths; ranks reached from one that finds none are those that share. They need not where a
//! matching of the ranks with all PUs of the pool is larger.

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
    // A core goes by its smallest PU.
    let core = |pu: u32| topology.core_of(pu).and_then(|core| core.pus.first()).unwrap_or(pu);
    let all_cores = |pus: &IdSet| pus.iter().map(core).collect::<IdSet>();

    let by_pu = Sharing::of(sets.iter().map(|(_, pus)| pus.iter().collect()).collect());
    let mut by_core = Sharing::of(sets.iter().map(|(_, pus)| all_cores(pus).iter().collect()).collect());
    // Those who share a PU share its core too.
    let crowded = by_pu.all();
    by_core.crowds.retain(|crowd| !crowd.who.is_subset(&crowded));

    let taken = IdSet::of_all(sets.iter().map(|(_, pus)| *pus));
    let cores_taken = all_cores(&taken);
    let all = pool.pus.or(&taken);
    let of_pus = shared((FindingKind::SharedPus, &by_pu), ranks, &sets, (all.len(), all.minus(&taken)));
    let free = all.iter().filter(|pu| !cores_taken.contains(core(*pu))).collect();
    let of_cores = shared((FindingKind::SharedCores, &by_core), ranks, &sets, (all_cores(&all).len(), free));

    let found: Vec<Finding> = of_pus.into_iter().chain(of_cores).collect();
    if found.is_empty() { overlap(ranks, &sets).into_iter().collect() } else { found }
}

/// What is said of those who share, where there are so many PUs or cores in all, and these PUs are free.
fn shared(
    (kind, sharing): (FindingKind, &Sharing),
    ranks: &[Observed],
    sets: &[(usize, &IdSet)],
    (units, free): (usize, IdSet),
) -> Option<Finding> {
    let crowd = sharing.all();
    let pus = IdSet::of_all(crowd.iter().map(|at| sets[*at].1));
    let who: Vec<usize> = crowd.iter().map(|at| sets[*at].0).collect();
    let is_of_cores = kind == FindingKind::SharedCores;

    let what = match is_of_cores {
        true => format!("{}, which are hardware threads of fewer cores", pus_in_words(&pus)),
        false => pus_in_words(&pus),
    };
    // A rank whose PUs are not known may have any of them.
    let unseen = ranks.iter().filter(|seen| seen.pus.is_err()).count();
    let could_be_apart = sharing.matched < sets.len().min(units.saturating_sub(unseen));
    let (weight, rest) = match (could_be_apart, free.is_empty()) {
        (true, false) => (PlacementVerdict::Misplaced, format!("while no rank has {}", pus_in_words(&free))),
        (true, true) => {
            let units = if is_of_cores { "cores" } else { "PUs" };
            (PlacementVerdict::Misplaced, format!("while other ranks have {units} to spare"))
        }
        (false, true) => (PlacementVerdict::Well, "and this job has no others".to_owned()),
        (false, false) => {
            let text = format!("and ranks whose PUs are not known may have {}", pus_in_words(&free));
            (PlacementVerdict::Well, text)
        }
    };

    let text = format!("{} have only {what} between them, {rest}", names(ranks, &who));
    (!crowd.is_empty()).then_some(Finding { kind, weight, ranks: who, text })
}

/// So many groups of ranks that overlap are told.
const TOLD: usize = 4;

/// Ranks whose sets overlap, each with another one at least.
struct Overlap {
    who: Vec<usize>,
    all: IdSet,
    common: IdSet,
}

impl Overlap {
    fn groups(sets: &[(usize, &IdSet)]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (rank, pus) in sets {
            let mine = Self { who: vec![*rank], all: (*pus).clone(), common: IdSet::default() };
            let (met, mut apart): (Vec<Self>, Vec<Self>) =
                groups.into_iter().partition(|group| !group.all.and(pus).is_empty());
            apart.push(met.into_iter().fold(mine, Self::with));
            groups = apart;
        }
        groups.retain(|group| !group.common.is_empty());
        groups.iter_mut().for_each(|group| group.who.sort_unstable());
        groups.sort_unstable_by_key(|group| group.who[0]);
        groups
    }

    fn with(mut self, other: Self) -> Self {
        self.common = self.common.or(&other.common).or(&self.all.and(&other.all));
        self.all = self.all.or(&other.all);
        self.who.extend(other.who);
        self
    }
}

/// A remark on sets that overlap without need: each group of ranks for itself.
fn overlap(ranks: &[Observed], sets: &[(usize, &IdSet)]) -> Option<Finding> {
    let groups = Overlap::groups(sets);
    let told = groups.iter().take(TOLD).enumerate();
    let mut texts: Vec<String> = told
        .map(|(at, group)| {
            let (who, pus) = (names(ranks, &group.who), pus_in_words(&group.common));
            if at == 0 { format!("{who} may run on the same {pus}") } else { format!("{who} on {pus}") }
        })
        .collect();
    let more = groups.len().saturating_sub(TOLD);
    texts.extend((more > 0).then(|| format!("and so for {more} more groups of ranks")));

    let text = format!("{}; nothing keeps them apart", texts.join(", "));
    let who: Vec<usize> = groups.into_iter().flat_map(|group| group.who).collect();
    (!who.is_empty()).then_some(Finding {
        kind: FindingKind::SharedPus,
        weight: PlacementVerdict::Well,
        ranks: who,
        text,
    })
}

/// Who has to share the units that each wants one of.
struct Sharing {
    /// Those who have fewer units between them than they are, by place in what was given, each once.
    crowds: Vec<Crowd>,
    /// How many can have a unit of their own.
    matched: usize,
}

struct Crowd {
    who: BTreeSet<usize>,
    units: BTreeSet<u32>,
}

impl Sharing {
    fn of(wants: Vec<Vec<u32>>) -> Self {
        let mut owners = BTreeMap::new();
        let mut matched = 0;
        let mut crowds: Vec<Crowd> = Vec::new();
        // What a search that found none has looked at never helps a later one.
        let mut dead = BTreeSet::new();

        for one in 0..wants.len() {
            let mut tried = dead.clone();
            if is_assigned(one, &wants, &mut owners, &mut tried) {
                matched += 1;
                continue;
            }
            let reached = tried.difference(&dead).filter_map(|unit| owners.get(unit)).copied();
            let who: BTreeSet<usize> = reached.chain([one]).collect();
            let units: BTreeSet<u32> = who.iter().flat_map(|one| wants[*one].iter().copied()).collect();
            dead = tried;

            let (joined, apart): (Vec<Crowd>, Vec<Crowd>) =
                crowds.into_iter().partition(|crowd| !crowd.units.is_disjoint(&units));
            let mut joined = joined.into_iter().chain([Crowd { who, units }]);
            let first = joined.next();
            crowds = apart;
            crowds.extend(first.map(|first| joined.fold(first, Crowd::with)));
        }
        Self { crowds, matched }
    }

    fn all(&self) -> BTreeSet<usize> {
        self.crowds.iter().flat_map(|crowd| &crowd.who).copied().collect()
    }
}

impl Crowd {
    fn with(mut self, other: Self) -> Self {
        self.who.extend(other.who);
        self.units.extend(other.units);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_overlap_in_pairs_are_told_in_pairs() {
        let sets: Vec<IdSet> = ["0-3", "8-11", "2-5", "8-9", "20", "5-6"]
            .map(|set| set.parse().unwrap_or_default())
            .into_iter()
            .collect();
        let sets: Vec<(usize, &IdSet)> = sets.iter().enumerate().collect();
        let groups = Overlap::groups(&sets);
        let told: Vec<(&[usize], String)> =
            groups.iter().map(|group| (&group.who[..], group.common.to_string())).collect();
        assert_eq!(told, [(&[0, 2, 5][..], "2-3,5".to_owned()), (&[1, 3][..], "8-9".to_owned())]);
    }

    fn crowd_of(wants: &[&str]) -> Option<Vec<usize>> {
        let pus = |set: &&str| set.parse::<IdSet>().unwrap_or_default().iter().collect();
        let crowd = Sharing::of(wants.iter().map(pus).collect()).all();
        (!crowd.is_empty()).then(|| crowd.into_iter().collect())
    }

    #[test]
    fn overlapping_sets_with_room_are_no_crowd_and_too_few_units_are() {
        assert_eq!(crowd_of(&[]), None);
        assert_eq!(crowd_of(&["0-1", "0-1"]), None);
        assert_eq!(crowd_of(&["0-7", "0", "1", "2"]), None, "the first one is moved along");
        assert_eq!(crowd_of(&["0", "0"]), Some(vec![0, 1]));
        assert_eq!(crowd_of(&["0-1", "4", "0-1", "0-1"]), Some(vec![0, 2, 3]), "rank 1 is none of them");
        assert_eq!(crowd_of(&["0", "0", "1", "1", "2"]), Some(vec![0, 1, 2, 3]), "both crowds");
        assert_eq!(crowd_of(&["0-63"; 64]), None);
        assert_eq!(crowd_of(&["0-62"; 64]).map(|crowd| crowd.len()), Some(64));
    }
}
