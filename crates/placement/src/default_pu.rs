//! The PU a rank gets when none was asked for: the first allowed core of its target's locality domain.
//!
//! A later rank on the same domain gets the next free core; when every core has a rank, the next free
//! hardware thread; when every hardware thread has one, the one with the fewest. So no PU is given twice
//! while one is free, and no rank leaves the domain while a PU of it is allowed. Splitting a domain's cores
//! evenly among its GPUs is the recommender's work, not the ping-pong's.

use stats::IdSet;
use topo::model::{Rung, Topology};

use crate::{ChosenBy, TargetId};

/// The PU for a rank whose process may use `allowed`, given those of the ranks before it; `None` when it may
/// use none at all.
pub(crate) fn default_pu(
    topology: &Topology,
    allowed: &IdSet,
    target: TargetId,
    taken: &[u32],
) -> Option<(u32, ChosenBy)> {
    let domain = local_pus(topology, target);
    let usable = |pus: &IdSet| least_taken(topology, &allowed.and(pus), taken);
    if let Some((pu, has_own_core)) = domain.as_ref().and_then(usable) {
        let cores = domain.unwrap_or_default();
        return Some((
            pu,
            if has_own_core { ChosenBy::Domain { cores } } else { ChosenBy::DomainShared { cores } },
        ));
    }

    let (pu, _) = least_taken(topology, allowed, taken)?;
    let chosen_by = match domain {
        Some(cores) if cores.is_empty() => ChosenBy::NoLocalPu,
        Some(cores) => ChosenBy::DomainNotAllowed { cores },
        None => ChosenBy::LocalityUnknown,
    };
    Some((pu, chosen_by))
}

/// The target's local PUs, allowed or not; `None` where nobody knows them.
pub(crate) fn local_pus(topology: &Topology, target: TargetId) -> Option<IdSet> {
    match target {
        TargetId::Node(node) => topology.node(node).map(|node| node.pus.clone()),
        TargetId::Gpu(pci) => {
            let locality = &topology.gpu_at(pci)?.locality;
            (locality.rung != Rung::Unknown).then(|| locality.pus.or(&locality.outside_pus))
        }
    }
}

/// The PU of `usable` with the fewest ranks on it, then with the fewest on its core, then none of a slow
/// core, then the smallest; and whether its core is free.
fn least_taken(topology: &Topology, usable: &IdSet, taken: &[u32]) -> Option<(u32, bool)> {
    let ranks = |on: &dyn Fn(u32) -> bool| taken.iter().filter(|pu| on(**pu)).count();
    let on_core = |pu: u32| {
        // A machine whose firmware names no cores still has PUs.
        let core = topology.core_of(pu);
        ranks(&|other| other == pu || core.is_some_and(|core| core.pus.contains(other)))
    };
    let pu = usable
        .iter()
        .min_by_key(|pu| (ranks(&|other| other == *pu), on_core(*pu), topology.is_slow(*pu), *pu))?;
    Some((pu, on_core(pu) == 0))
}

#[cfg(test)]
mod tests {
    use topo::model::PuStatus;

    use super::*;
    use crate::machine::{gpu, machine, set, without};

    fn chosen(topology: &Topology, target: TargetId, taken: &[u32]) -> Option<(u32, ChosenBy)> {
        default_pu(topology, &topology.allowed.pus, target, taken)
    }

    #[test]
    fn small_cores_are_given_after_the_others_and_before_a_core_is_shared() {
        let mut topology = machine();
        let slow = Some(topo::model::SlowCores { pus: set("0,8,1,9"), reason: "small".to_owned() });
        topology.slow = slow;
        assert_eq!(given(&topology, TargetId::Node(0), 5).0, [2, 3, 0, 1, 10]);
    }

    /// The PUs that `ranks` ranks on one target get one after the other, and how the last one's was chosen.
    fn given(topology: &Topology, target: TargetId, ranks: usize) -> (Vec<u32>, Option<ChosenBy>) {
        let (mut taken, mut last) = (Vec::new(), None);
        for _ in 0..ranks {
            if let Some((pu, chosen_by)) = chosen(topology, target, &taken) {
                taken.push(pu);
                last = Some(chosen_by);
            }
        }
        (taken, last)
    }

    #[test]
    fn ranks_take_a_domains_cores_then_its_other_threads_then_share_evenly() {
        let cores = set("0-1,8-9");
        let topology = machine();
        let domain = Some(ChosenBy::Domain { cores: cores.clone() });
        let shared = Some(ChosenBy::DomainShared { cores });
        assert_eq!(given(&topology, gpu(0), 2), (vec![0, 1], domain));
        assert_eq!(given(&topology, gpu(0), 3), (vec![0, 1, 8], shared.clone()));
        assert_eq!(given(&topology, gpu(0), 10), (vec![0, 1, 8, 9, 0, 1, 8, 9, 0, 1], shared));
    }

    #[test]
    fn a_core_with_one_sibling_allowed_counts_as_a_core() {
        let topology = without(machine(), "0,9", PuStatus::NotInAffinity);
        let (pus, chosen_by) = given(&topology, gpu(0), 2);
        assert_eq!((pus, chosen_by), (vec![1, 8], Some(ChosenBy::Domain { cores: set("0-1,8-9") })));
    }

    #[test]
    fn a_pu_taken_by_a_rank_of_another_target_is_left_to_it() {
        // GPU 1's L3 lies inside GPU 2's package.
        let topology = machine();
        assert_eq!(chosen(&topology, gpu(1), &[4, 5, 6]).map(|(pu, _)| pu), Some(7));
        assert_eq!(chosen(&topology, gpu(2), &[4, 6]).map(|(pu, _)| pu), Some(5));
    }

    #[test]
    fn where_the_affinity_has_none_of_the_domain_a_rank_goes_elsewhere_and_says_so() {
        for status in [PuStatus::NotInAffinity, PuStatus::NotInCgroup, PuStatus::Offline] {
            let topology = without(machine(), "0-1,8-9", status);
            let (pus, chosen_by) = given(&topology, gpu(0), 2);
            assert_eq!(pus, [2, 3], "{status:?}");
            assert_eq!(chosen_by, Some(ChosenBy::DomainNotAllowed { cores: set("0-1,8-9") }), "{status:?}");
        }
    }

    #[test]
    fn unknown_locality_spreads_over_allowed_cores_and_claims_nothing() {
        let topology = without(machine(), "0-3,8", PuStatus::NotInCgroup);
        let (pus, chosen_by) = given(&topology, gpu(3), 7);
        assert_eq!(pus, [4, 5, 6, 7, 9, 10, 11], "no sibling before every core has a rank");
        assert_eq!(chosen_by, Some(ChosenBy::LocalityUnknown));
        let not_there = TargetId::Gpu(stats::PciAddress { domain: 9, bus: 0, device: 0, function: 0 });
        assert_eq!(chosen(&topology, not_there, &[]), Some((4, ChosenBy::LocalityUnknown)));
    }

    #[test]
    fn a_known_place_without_cpus_is_not_called_unknown() {
        assert_eq!(chosen(&machine(), gpu(4), &[0]), Some((1, ChosenBy::NoLocalPu)));
    }

    #[test]
    fn a_nodes_own_pus_are_its_domain() {
        let node = |node| chosen(&machine(), TargetId::Node(node), &[]);
        assert_eq!(node(1), Some((4, ChosenBy::Domain { cores: set("4-7,12-15") })));
        assert_eq!(node(5), Some((0, ChosenBy::NoLocalPu)));
    }

    #[test]
    fn cores_the_firmware_does_not_name_are_no_obstacle() {
        let mut topology = machine();
        topology.cores.clear();
        assert_eq!(given(&topology, gpu(0), 5).0, [0, 1, 8, 9, 0]);
    }

    #[test]
    fn without_any_allowed_pu_there_is_none() {
        assert_eq!(chosen(&without(machine(), "0-17", PuStatus::NotInCgroup), gpu(0), &[]), None);
    }
}
