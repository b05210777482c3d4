//! Whether a run was where its variant says, from what was seen of its ranks.
//!
//! A rank may have fewer PUs than it was given (a program binds its threads, OpenMP does), never others.
//! Where nobody asked, a rank's first thread may have fewer PUs than it was first seen on, or all of these
//! and more (hwloc, which MPI libraries start with, binds it to one PU after the other while it looks at the
//! machine); else something moved it from outside. Other threads tell nothing there: one that begins between
//! two looks may have PUs of its own. Memory that was bound must lie there, as soon as there is enough of it
//! to tell. A run of which nothing was seen proves nothing and counts: it was too short, or its ranks are on
//! other nodes; how many these were is shown.

use std::collections::BTreeMap;

use placement::judge::mostly_elsewhere;
use report::trial::TrialRank;
use stats::IdSet;
use topo::Topology;

use crate::rank_observer::{SeenLook, SeenRank};

/// What the looks prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementProof {
    /// Every rank that was seen was where it was to be.
    AsAsked,
    /// No rank was seen.
    NotSeen,
    /// A rank was elsewhere: which, where, and when.
    Misplaced(String),
}

/// What these looks at this machine prove.
pub fn proof(topology: &Topology, looks: &[SeenLook]) -> PlacementProof {
    let mut first: BTreeMap<Option<u32>, (f64, u32, &IdSet)> = BTreeMap::new();

    for look in looks {
        for SeenRank { rank, is_bound_as_its_parent } in &look.ranks {
            if let Some(why) = elsewhere(topology, rank) {
                return PlacementProof::Misplaced(format!("{why}, {:.1} s after the start", look.after_s));
            }
            let Some(pus) = &rank.first_thread_pus else { continue };
            let seen = (look.after_s, rank.pid, pus);
            let (since, pid, before) = *first.entry(rank.rank).or_insert(seen);
            // A script may run several programs, each a process with a binding of its own.
            if pid != rank.pid && !is_bound_as_its_parent {
                first.insert(rank.rank, seen);
                continue;
            }
            if rank.asked_pus.is_none() && !pus.is_subset(before) && !before.is_subset(pus) {
                return PlacementProof::Misplaced(format!(
                    "the first thread of {} could run on PUs {before} {since:.1} s after the start and on \
                     PUs {pus} {:.1} s after it: something changed its binding",
                    rank.name(),
                    look.after_s
                ));
            }
        }
    }

    if first.is_empty() { PlacementProof::NotSeen } else { PlacementProof::AsAsked }
}

fn elsewhere(topology: &Topology, rank: &TrialRank) -> Option<String> {
    if let (Some(asked), Some(pus)) = (&rank.asked_pus, &rank.pus)
        && !pus.minus(asked).is_empty()
    {
        return Some(format!("{} could run on PUs {pus}, its place is PUs {asked}", rank.name()));
    }

    let asked = rank.asked_memory_nodes.as_ref()?;
    let found = mostly_elsewhere(topology, &rank.pages_bytes, asked)?;
    Some(format!(
        "{} of the {} MiB of {} were not on node {asked}, where its memory was bound",
        format_args!("{} MiB", found.far >> 20),
        found.all >> 20,
        rank.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with GPU memory on nodes of its own.
    fn proven(looks: &[SeenLook]) -> PlacementProof {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/gh200-quad.xml");
        let machine = topo::from_xml(std::path::Path::new(file)).expect("a saved machine");
        proof(&machine, looks)
    }

    fn set(text: &str) -> IdSet {
        text.parse().unwrap_or_default()
    }

    fn look(after_s: f64, pus: &str, asked: Option<&str>) -> SeenLook {
        let (all, own) = (Some(set(pus)), Some(set(pus)));
        let asked_pus = asked.map(set);
        let rank =
            TrialRank { rank: Some(3), pus: all, first_thread_pus: own, asked_pus, ..TrialRank::of(1) };
        SeenLook { after_s, ranks: vec![SeenRank { rank, is_bound_as_its_parent: false }] }
    }

    #[test]
    fn a_rank_may_have_less_than_it_was_given_and_nothing_else() {
        assert_eq!(
            proven(&[look(0.1, "0-3", Some("0-3")), look(0.5, "1", Some("0-3"))]),
            PlacementProof::AsAsked
        );
        let PlacementProof::Misplaced(why) =
            proven(&[look(0.1, "0-3", Some("0-3")), look(0.5, "4", Some("0-3"))])
        else {
            panic!("it was moved")
        };
        assert_eq!(why, "rank 3 could run on PUs 4, its place is PUs 0-3, 0.5 s after the start");
    }

    #[test]
    fn where_nobody_asked_a_rank_may_bind_itself_and_not_be_moved() {
        assert_eq!(proven(&[look(0.1, "0-7", None), look(0.5, "2", None)]), PlacementProof::AsAsked);
        assert_eq!(
            proven(&[look(0.1, "2", None), look(0.5, "0-7", None)]),
            PlacementProof::AsAsked,
            "hwloc has finished"
        );
        for (before, after) in [("2", "3"), ("0-3", "3-5")] {
            let moved = proven(&[look(0.1, before, None), look(0.5, after, None)]);
            assert!(
                matches!(moved, PlacementProof::Misplaced(why) if why.contains("binding")),
                "{before} {after}"
            );
        }
    }

    #[test]
    fn two_programs_that_a_script_runs_one_after_the_other_have_pus_of_their_own() {
        let mut second = look(0.5, "3", None);
        second.ranks[0].rank.pid = 2;
        assert_eq!(proven(&[look(0.1, "2", None), second.clone()]), PlacementProof::AsAsked);
        let mut moved = second.clone();
        (moved.after_s, moved.ranks[0].rank.first_thread_pus) = (0.9, Some(set("4")));
        let moved = proven(&[look(0.1, "2", None), second.clone(), moved]);
        assert!(matches!(moved, PlacementProof::Misplaced(_)), "{moved:?}");
        second.ranks[0].is_bound_as_its_parent = true;
        let script = proven(&[look(0.1, "2", None), second]);
        assert!(matches!(script, PlacementProof::Misplaced(_)), "the script itself was moved: {script:?}");
    }

    #[test]
    fn a_thread_that_begins_between_two_looks_with_pus_of_its_own_was_not_moved() {
        let mut later = look(0.5, "2", None);
        later.ranks[0].rank.pus = Some(set("2-3"));
        assert_eq!(proven(&[look(0.1, "2", None), later.clone()]), PlacementProof::AsAsked);
        later.ranks[0].rank.first_thread_pus = Some(set("3"));
        let moved = proven(&[look(0.1, "2", None), later]);
        assert!(
            matches!(moved, PlacementProof::Misplaced(_)),
            "the first thread was, though another one has its PU: {moved:?}"
        );
    }

    #[test]
    fn bound_memory_that_lies_elsewhere_is_seen_as_soon_as_there_is_enough() {
        let of = |mib: u64| {
            let mut one = look(1.0, "0", Some("0"));
            one.ranks[0].rank.asked_memory_nodes = Some(set("0"));
            one.ranks[0].rank.pages_bytes = [(0, 5 << 20), (1, mib << 20)].into_iter().collect();
            proven(&[one])
        };
        assert_eq!(of(10), PlacementProof::AsAsked);
        let parts = ["100 MiB", "105 MiB", "rank 3"];
        assert!(
            matches!(of(100), PlacementProof::Misplaced(why) if parts.iter().all(|part| why.contains(part)))
        );
    }

    #[test]
    fn what_a_program_gave_to_its_gpu_is_not_elsewhere() {
        let of = |node: u32| {
            let mut one = look(1.0, "0", Some("0"));
            one.ranks[0].rank.asked_memory_nodes = Some(set("0"));
            one.ranks[0].rank.pages_bytes = [(0, 50 << 20), (node, 900 << 20)].into_iter().collect();
            proven(&[one])
        };
        assert_eq!(of(4), PlacementProof::AsAsked, "node 4 is a GPU's memory");
        assert!(matches!(of(1), PlacementProof::Misplaced(_)));
    }

    #[test]
    fn nothing_seen_is_said_as_that() {
        assert_eq!(proven(&[]), PlacementProof::NotSeen);
        assert_eq!(proven(&[SeenLook { after_s: 1.0, ranks: Vec::new() }]), PlacementProof::NotSeen);
    }
}
