//! Random machines: the places of every strategy keep the rules.

mod places;
mod random;

use placement::{Ask, GpuChoice, Strategy as How, Target, TargetId};
use proptest::prelude::*;
use random::{build, seed};
use stats::IdSet;

/// What may be asked of any machine, GPUs as places in the list of all targets.
fn asks() -> impl Strategy<Value = (Ask, u8, Vec<usize>)> {
    let pus = prop::option::weighted(0.3, prop::collection::btree_set(0..32_u32, 0..20));
    let reserve = prop_oneof![3 => Just(IdSet::default()), 1 => prop::collection::btree_set(0..24_u32, 0..6).prop_map(IdSet)];
    (
        prop::option::of(0..30_usize),
        0..3_u8,
        prop::collection::vec(0..64_usize, 0..9),
        pus,
        prop::option::weighted(0.4, 0..5_usize),
        any::<bool>(),
        prop::sample::select(How::ALL.to_vec()),
        reserve,
    )
        .prop_map(|(ranks, choice, these, pus, cores_per_rank, smt, strategy, reserve)| {
            let gpus = GpuChoice::All;
            let ask = Ask { ranks, gpus, pus: pus.map(IdSet), cores_per_rank, smt, strategy, reserve };
            (ask, choice, these)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_random_machines_ranks_are_placed_by_the_rules(seed in seed(), (ask, choice, these) in asks()) {
        let topology = build(&seed);
        let all: Vec<Target> = Target::gpus_of(&topology).into_iter().chain(Target::nodes_of(&topology)).collect();
        let these = these.iter().filter_map(|at| all.get(at % all.len().max(1)).cloned()).collect();
        let gpus = match choice {
            0 => GpuChoice::All,
            1 => GpuChoice::None,
            _ => GpuChoice::These(these),
        };
        let ask = Ask { gpus, ..ask };
        prop_assert_eq!(places::check(&topology, &ask).map(drop), Ok(()));
        // What is not there cannot be kept free: that is refused, and the rest is placed.
        let reserve = ask.reserve.and(&topology.pus.iter().map(|pu| pu.os_index).collect());
        prop_assert_eq!(places::check(&topology, &Ask { reserve, ..ask }).map(drop), Ok(()));
    }

    /// A process that sees one GPU, and is asked for one rank, computes what the whole node's plan gives that
    /// GPU's rank.
    #[test]
    fn a_gpus_share_is_the_same_whoever_else_is_there(seed in seed(), smt in any::<bool>()) {
        let topology = build(&seed);
        let ask = Ask { smt, ..Ask::default() };
        let Ok(whole) = placement::recommend(&topology, &ask) else { return Ok(()) };
        // Fewer cores than ranks: each hardware thread is a place of its own, which one rank alone cannot
        // know.
        let cores = topology.cores.iter().filter(|core| !core.pus.and(&topology.allowed.pus).is_empty()).count();
        if smt && whole.places.len() > cores {
            return Ok(());
        }
        for place in &whole.places {
            let Some(target) = place.target.clone() else { continue };
            let known = topology.gpus.iter().any(|gpu| TargetId::Gpu(gpu.pci) == target.id && !gpu.locality.pus.and(&topology.allowed.pus).is_empty());
            let alone = placement::recommend(&topology, &Ask { ranks: Some(1), gpus: GpuChoice::These(vec![target]), ..ask.clone() });
            let alone = alone.map_err(|error| TestCaseError::fail(error.to_string()))?;
            // Known only to a plan of the whole node: who is driven out of its own cores, or has none and
            // takes a neighbour's.
            let comes_in = |other: &placement::Place| {
                ["this job has none", "is unknown", "its share is", "are taken", "share is left", "another rank's share"].iter().any(|words| other.why.contains(words))
            };
            if known && !whole.places.iter().any(comes_in) {
                prop_assert_eq!(&alone.places[0].pus, &place.pus);
            }
        }
    }
}
