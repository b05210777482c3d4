//! The recommender on the machine written by hand, where every rule has a case of its own.

use topo::model::PuStatus;

use super::*;
use crate::Closeness;
use crate::machine::{machine, set, without, without_nodes};

fn these(gpus: &[usize]) -> GpuChoice {
    let all = Target::gpus_of(&machine());
    GpuChoice::These(gpus.iter().map(|gpu| all[*gpu].clone()).collect())
}

fn given(topology: &Topology, ask: &Ask) -> NodePlaces {
    recommend(topology, ask).expect("places")
}

/// Each rank's PUs.
fn pus(places: &NodePlaces) -> Vec<String> {
    places.places.iter().map(|place| place.pus.to_string()).collect()
}

#[track_caller]
fn why(place: &Place, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(place.why.contains(part), "no \"{part}\" in {place:?}"));
}

#[test]
fn each_gpu_gets_what_is_its_own_and_those_without_get_what_is_left() {
    let places = given(&machine(), &Ask::default());
    assert_eq!(pus(&places), ["0-1", "6-7", "4-5", "16-17", "2-3"]);
    let memory: Vec<Option<u32>> = places.places.iter().map(|place| place.memory_node).collect();
    assert_eq!(memory, [0, 1, 1, 1, 0].map(Some), "node 4 has no memory, node 1 is the nearest");
    let whys: Vec<&str> = places.places.iter().map(|place| &*place.why).collect();
    insta::assert_snapshot!(whys.join("\n"), @"
    local to its GPU (0-1,8-9)
    local to its GPU (6-7,14-15)
    local to its GPU (4-7,12-15)
    its GPU's locality is unknown: cores are shared evenly over the NUMA nodes
    no PU is local to its GPU: the nearest, on NUMA node 0
    ");
    let closeness: Vec<_> =
        places.places.iter().filter_map(|place| Some(place.verdict.as_ref()?.closeness)).collect();
    use Closeness::{L3Local, NumaLocal, Unknown};
    assert_eq!(closeness, [L3Local, L3Local, NumaLocal, Unknown, NumaLocal]);
}

#[test]
fn a_list_that_names_a_gpu_twice_has_it_once_and_its_ranks_are_not_called_neighbours() {
    let notes = |gpus: &[usize], ranks| {
        given(&machine(), &Ask { gpus: these(gpus), ranks: Some(ranks), ..Ask::default() }).notes.join("\n")
    };
    assert!(notes(&[0, 1, 0, 1], 4).contains("4 ranks share 2 GPUs"), "{}", notes(&[0, 1, 0, 1], 4));
    assert!(!notes(&[0, 1, 0, 1], 4).contains("neighbouring"));
    assert!(notes(&[0, 1], 4).contains("4 ranks share 2 GPUs: neighbouring ranks"), "{}", notes(&[0, 1], 4));
    assert!(!notes(&[0, 1, 0, 1], 2).contains("GPUs"), "{}", notes(&[0, 1, 0, 1], 2));
}

#[test]
fn ranks_without_gpus_on_second_hardware_threads_are_near_to_none() {
    let ask = Ask { gpus: GpuChoice::None, ranks: Some(12), smt: true, ..Ask::default() };
    let notes = given(&machine(), &ask).notes.join("\n");
    assert!(notes.contains("second hardware threads") && !notes.contains("GPU"), "{notes}");
}

#[test]
fn cores_that_stay_idle_are_said_to_be_out_of_reach_only_where_every_width_was_tried()
-> Result<(), topo::TopoError> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../topo/tests/fixtures/leonardo.xml");
    let leonardo = topo::survey_xml(std::path::Path::new(file))?.topology;
    let ask = Ask { strategy: Strategy::Compact, ranks: Some(2), ..Ask::default() };
    let notes = given(&leonardo, &ask).notes.join("\n");
    assert!(notes.contains("--cores-per-rank 8 uses 16"), "{notes}");
    Ok(())
}

#[test]
fn a_gpu_whose_cores_are_another_jobs_counts_elsewhere_only_where_a_rank_drives_it() {
    let topology = without(machine(), "0-1,8-9", PuStatus::NotInCgroup);
    let both = given(&topology, &Ask { gpus: these(&[0, 4]), ..Ask::default() });
    assert_eq!(pus(&both), ["2", "3"]);
    why(&both.places[0], &["this job has none of its GPU's local PUs (0-1,8-9)", "on NUMA node 0"]);
    assert_eq!(pus(&given(&topology, &Ask { gpus: these(&[4]), ..Ask::default() })), ["2-3"]);
}

#[test]
fn more_cores_than_a_gpus_share_come_from_the_nearest_and_its_own_come_first() {
    let ask = Ask { gpus: these(&[1]), cores_per_rank: Some(3), ..Ask::default() };
    let places = given(&machine(), &ask);
    assert_eq!((pus(&places), places.places[0].first), (vec!["4,6-7".to_owned()], 6));
    why(&places.places[0], &["its share is 2 cores: 4 is NUMA-local too"]);
    assert_eq!(
        places.places[0].verdict.as_ref().map(|verdict| verdict.closeness),
        Some(Closeness::NumaLocal)
    );
}

#[test]
fn a_core_near_comes_before_one_far_away_that_before_a_hardware_thread_and_a_free_pu_before_a_shared_one() {
    let ranks = |ranks| given(&machine(), &Ask { ranks: Some(ranks), gpus: these(&[0]), ..Ask::default() });
    assert_eq!(pus(&ranks(9)), ["0", "1", "2", "3", "4", "5", "6", "7", "16"]);
    assert_eq!(pus(&ranks(12))[10..], ["8", "9"]);
    let all = ranks(19);
    let whys = [&ranks(9).places[2], &ranks(9).places[4], &ranks(12).places[10], &all.places[18]];
    insta::assert_snapshot!(whys.map(|place| place.why.clone()).join("\n"), @"
    its GPU's local cores (0-1,8-9) are taken: placed on PU 2 (NUMA-local); 9 ranks share this GPU and its 2 cores
    its GPU's local cores (0-1,8-9) are taken: placed on PU 4 (REMOTE); 9 ranks share this GPU and its 2 cores
    near its GPU (0-1,8-9), on a core of another rank's share; 12 ranks share this GPU and its 2 cores; a second hardware thread: no core is free there
    near its GPU (0-1,8-9), on a core of another rank's share; 19 ranks share this GPU and its 2 cores; shared with another rank: no PU is free
    ");
    assert_eq!(pus(&all)[18], "0", "near");
    assert_eq!(all.places.iter().filter(|place| place.why.contains("shared")).count(), 1);
    insta::assert_snapshot!("notes_on_19_ranks", all.notes.join("\n"));
}

#[test]
fn ranks_without_a_gpu_are_one_a_node_and_as_even_as_they_can_be() {
    let ask = |ranks| Ask { ranks, gpus: GpuChoice::None, ..Ask::default() };
    let places = given(&machine(), &ask(None));
    assert_eq!(pus(&places), ["0-3", "4-7", "16-17"]);
    assert!(
        places
            .places
            .iter()
            .all(|place| place.target.is_none() && place.verdict.is_none() && place.rung.is_none())
    );
    assert_eq!(pus(&given(&machine(), &ask(Some(5)))), ["0-1", "2-3", "4-5", "6-7", "16-17"]);
    assert_eq!(pus(&given(&machine(), &Ask { smt: true, ..ask(Some(1)) })), ["0-3,8-11"]);
    let mut none = machine();
    none.gpus.clear();
    assert_eq!(pus(&given(&none, &Ask::default())), ["0-3", "4-7", "16-17"], "all of no GPUs is none");
}

#[test]
fn ranks_that_copy_to_nodes_are_placed_at_those_and_no_gpu_takes_a_share() {
    let targets = Target::nodes_of(&machine());
    let places = given(&machine(), &Ask { gpus: GpuChoice::These(targets[..2].to_vec()), ..Ask::default() });
    assert_eq!(pus(&places), ["0-3", "4-7"]);
    places.places.iter().for_each(|place| why(place, &["local to its memory"]));
    assert!(places.places.iter().all(|place| !place.why.contains("GPU")), "{places:?}");
}

#[test]
fn parts_of_one_gpu_share_its_cores() {
    let part = |uuid: &str| Target { uuid: Some(uuid.to_owned()), ..Target::gpus_of(&machine())[2].clone() };
    let ask = Ask { gpus: GpuChoice::These(vec![part("MIG-a"), part("MIG-b")]), ..Ask::default() };
    assert_eq!(pus(&given(&machine(), &ask)), ["4", "5"]);
}

#[test]
fn the_pool_may_be_other_than_what_is_allowed_but_never_offline() {
    let topology = without(machine(), "0", PuStatus::NotInAffinity);
    let ask = Ask { gpus: these(&[0]), pus: Some(set("0-3,99")), ..Ask::default() };
    let places = given(&topology, &ask);
    assert_eq!(pus(&places), ["0-1"]);
    insta::assert_snapshot!("notes_on_a_pool", places.notes.join("\n"));
    let offline = without(machine(), "0-1,8-9", PuStatus::Offline);
    let refused = recommend(&offline, &Ask { pus: Some(set("0-1")), ..Ask::default() });
    assert_eq!(
        refused,
        Err(RecommendError::NoPu { pool: set("0-1"), missing: set("0-1"), reserved: set("") })
    );
    let words = refused.map_err(|error| error.to_string()).err().unwrap_or_default();
    assert_eq!(words, "there is no PU to place ranks on: of PUs 0-1, 0-1 are not online here");
    let all = Ask { reserve: set("0-17"), ..Ask::default() };
    assert!(matches!(recommend(&machine(), &all), Err(RecommendError::NoPu { .. })));
}

#[test]
fn a_rank_whose_memory_may_lie_nowhere_is_placed_all_the_same_and_told() {
    let places = given(&without_nodes(machine(), "0-2"), &Ask { gpus: these(&[0, 1]), ..Ask::default() });
    assert!(places.places.iter().all(|place| place.memory_node.is_none()));
    insta::assert_snapshot!("notes_on_memory_nowhere", places.notes.join("\n"));
}

#[test]
fn nothing_is_asked_for_and_nothing_is_refused_by_its_own_name() {
    let asked = |ask: Ask| recommend(&machine(), &ask).err();
    assert_eq!(asked(Ask { ranks: Some(0), ..Ask::default() }), Some(RecommendError::NoRanks));
    assert_eq!(asked(Ask { cores_per_rank: Some(0), ..Ask::default() }), Some(RecommendError::NoCores));
    let error = asked(Ask { ranks: Some(2), cores_per_rank: Some(6), ..Ask::default() });
    let Some(error @ RecommendError::TooManyCores { needed: 12, there: 10, .. }) = error else {
        panic!("{error:?}")
    };
    insta::assert_snapshot!("refused_cores", error);
}

#[test]
fn nobody_has_a_second_core_before_everyone_has_one() {
    // GPU 2 has cores 4 and 5 for its own, GPU 1 has 6 and 7.
    let ranks = |smt| Ask { gpus: these(&[2, 2, 2, 1]), smt, ..Ask::default() };
    assert_eq!(pus(&given(&machine(), &ranks(false))), ["4", "5", "7", "6"]);
    assert_eq!(pus(&given(&machine(), &ranks(true))), ["4,12", "5,13", "7,15", "6,14"]);
}

#[test]
fn halves_of_small_l3s_are_as_even_as_cores_go() {
    let mut topology = machine();
    let l3 = |pus| topo::model::L3 { os_index: None, size_bytes: None, pus: set(pus) };
    // Two L3s of two cores and two of one, as where a core of a pair is reserved.
    topology.l3s = ["0-1,8-9", "2-3,10-11", "4,12", "5,13"].map(l3).to_vec();
    let pool = Pool::of(&topology, &Ask::default());
    let sizes: Vec<usize> = split(&pool, &[0, 1, 2, 3, 4, 5], 2).iter().map(Vec::len).collect();
    assert_eq!(sizes, [3, 3]);
    let sizes: Vec<usize> = split(&pool, &[0, 1, 2, 3, 4], 3).iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 2, 1], "one L3 each stays one L3 each");
}

#[test]
fn small_cores_are_left_out_while_there_are_enough_others_and_else_are_given_last()
-> Result<(), RecommendError> {
    let mut topology = machine();
    topology.slow = Some(topo::model::SlowCores { pus: set("0-1,8-9"), reason: "small".to_owned() });
    let of = |ranks: usize| {
        let ask =
            Ask { ranks: Some(ranks), gpus: GpuChoice::None, strategy: Strategy::Compact, ..Ask::default() };
        recommend(&topology, &Ask { cores_per_rank: Some(1), ..ask })
    };
    let pus = |places: &NodePlaces| places.places.iter().map(|place| place.first).collect::<Vec<u32>>();
    let few = of(2)?;
    assert_eq!(pus(&few), [2, 3]);

    let one = recommend(
        &topology,
        &Ask { ranks: Some(1), cores_per_rank: Some(topology.cores.len()), ..Ask::default() },
    )?;
    let cores = topology.cores.len();
    let all = of(cores)?;
    assert_eq!(pus(&all)[cores - 2..], [0, 1]);
    insta::assert_snapshot!(
        "notes_on_small_cores",
        [few.notes, one.notes, all.notes].map(|notes| notes.join("\n")).join("\n\n")
    );
    Ok(())
}
