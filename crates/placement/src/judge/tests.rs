//! Each finding made and unmade by the least change that matters, on the small machine of this crate's tests.
//! Some 410 lines because each finding has its case.

use super::*;
use crate::TargetId;
use crate::machine::{gpu, machine, set, without};

/// Rank `number` on these PUs with these GPUs, with the default policy.
fn rank(number: usize, pus: &str, gpus: &[u8]) -> Observed {
    let device = |index: &u8| Visible { pci: address(*index), part: None };
    Observed {
        name: format!("rank {number}"),
        pus: Ok(set(pus)),
        policy: Ok(PolicyMode::Default),
        policy_nodes: IdSet::default(),
        memory_nodes: Some(set("0-2")),
        pages: BTreeMap::new(),
        gpus: Ok(gpus.iter().map(device).collect()),
        absent: None,
        closed: None,
        refused: Some(Vec::new()),
        denied: IdSet::default(),
    }
}

fn address(index: u8) -> Option<PciAddress> {
    match gpu(index) {
        TargetId::Gpu(pci) => Some(pci),
        TargetId::Node(_) => None,
    }
}

fn pool(pus: &str, gpus: &[u8]) -> JobResources {
    JobResources { pus: set(pus), gpus: gpus.iter().filter_map(|index| address(*index)).collect() }
}

/// What is found with the whole machine as pool, as kinds and weights.
fn found(ranks: &[Observed]) -> (PlacementVerdict, Vec<(FindingKind, PlacementVerdict)>) {
    let judgement = judge(&machine(), &pool("0-17", &[0, 1]), ranks);
    (judgement.placed, judgement.findings.iter().map(|finding| (finding.kind, finding.weight)).collect())
}

fn text(judgement: &Judgement) -> String {
    judgement.findings.iter().map(|finding| finding.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn ranks_near_their_gpus_and_apart_are_well_placed() {
    assert_eq!(found(&[rank(0, "0", &[0]), rank(1, "6", &[1])]), (PlacementVerdict::Well, vec![]));
    assert_eq!(found(&[rank(0, "0-1,8-9", &[0]), rank(1, "6-7", &[1])]), (PlacementVerdict::Well, vec![]));
    assert_eq!(found(&[rank(0, "0", &[]), rank(1, "4-5", &[])]), (PlacementVerdict::Well, vec![]));
    assert_eq!(found(&[]), (PlacementVerdict::Well, vec![]));
    let judged = judge(&machine(), &pool("0-17", &[]), &[rank(0, "0,2", &[0])]);
    assert_eq!(judged.ranks[0].closeness, Some(Closeness::NumaLocal), "the farthest of its PUs");
    assert_eq!(judged.ranks[0].nodes, set("0"));
}

#[test]
fn a_swapped_binding_is_misplaced_and_each_sentence_says_what_would_be_near() {
    let ranks = [rank(0, "6", &[0]), rank(1, "0", &[1])];
    let judged = judge(&machine(), &pool("0,6", &[0, 1]), &ranks);
    assert_eq!(judged.placed, PlacementVerdict::Misplaced);
    assert!(
        judged
            .ranks
            .iter()
            .all(|rank| rank.placed == PlacementVerdict::Misplaced
                && rank.closeness == Some(Closeness::Remote))
    );
    assert_eq!(
        text(&judged),
        "rank 0 runs on PU 6, far from its GPU 0 at 0000:01:00.0: PU 0 is near to it\n\
         rank 1 runs on PU 0, far from its GPU 1 at 0000:02:00.0: PU 6 is near to it"
    );
}

#[test]
fn far_where_nothing_near_can_be_had_is_unknown_and_not_misplaced() {
    let judged = judge(&machine(), &pool("4-7", &[0]), &[rank(0, "4", &[0])]);
    assert_eq!(
        (judged.placed, judged.findings[0].kind),
        (PlacementVerdict::Unknown, FindingKind::FarFromGpu)
    );
    insta::assert_snapshot!("nothing_near_can_be_had", text(&judged));
}

#[test]
fn far_because_other_ranks_have_all_that_is_near_is_not_wrong_and_what_an_exchange_would_better_is() {
    let full: Vec<Observed> = (0..5).map(|at| rank(at, &at.to_string(), &[0])).collect();
    let judged = judge(&machine(), &pool("0-7", &[0]), &full);
    assert_eq!(judged.placed, PlacementVerdict::Unknown, "{}", text(&judged));
    assert_eq!(
        judged.findings[0].text,
        "rank 4 runs on PU 4, far from its GPU 0 at 0000:01:00.0: other ranks have PUs 0-3; as near as this \
         launch allows"
    );
    // The siblings of the near cores are free, and a core of one's own far away is better than half of one.
    assert_eq!(judge(&machine(), &pool("0-17", &[0]), &full).placed, PlacementVerdict::Unknown);
    let far = |ranks: &[Observed]| -> Vec<usize> {
        let judged = judge(&machine(), &pool("0-7", &[0, 1]), ranks);
        let far = |found: &&Finding| {
            found.kind == FindingKind::FarFromGpu && found.weight == PlacementVerdict::Misplaced
        };
        judged.findings.iter().filter(far).flat_map(|found| found.ranks.clone()).collect()
    };
    let of = |places: &[(&str, u8)]| -> Vec<Observed> {
        places.iter().enumerate().map(|(at, (pus, gpu))| rank(at, pus, &[*gpu])).collect()
    };
    assert_eq!(
        far(&of(&[("0", 0), ("1", 0), ("2", 0), ("3", 1), ("4", 0)])),
        [3, 4],
        "ranks 3 and 4 exchanged"
    );
    assert_eq!(far(&of(&[("0", 0), ("1", 0), ("2", 0), ("4", 0)])), [3], "PU 3 is free");
    assert_eq!(far(&of(&[("0-3", 0), ("0-3", 0), ("4-5", 0)])), [2], "two ranks leave room for two cores");
    assert_eq!(far(&of(&[("0-1", 0), ("2-3", 0), ("4-5", 0)])), [0; 0], "each rank has two");
    assert_eq!(
        far(&of(&[("0", 0), ("1", 0), ("2", 0), ("3", 0), ("4", 0), ("4", 0)])),
        [4, 5],
        "PUs 5-7 are free"
    );
}

#[test]
fn a_rank_that_is_wider_than_all_that_is_near_is_told_so_and_of_no_other_ranks() {
    let alone = judge(&machine(), &pool("0-7", &[0]), &[rank(0, "4-7,12-15", &[0])]);
    assert_eq!(alone.placed, PlacementVerdict::Misplaced, "four near cores are free");
    let wide = judge(&machine(), &pool("0-7,16-17", &[0]), &[rank(0, "4-7,16-17", &[0])]);
    assert_eq!(wide.placed, PlacementVerdict::Unknown);
    assert_eq!(
        text(&wide),
        "rank 0 runs on PUs 4-7,16-17, far from its GPU 0 at 0000:01:00.0: it has 6 cores, and 4 of those \
         near to it are free (PUs 0-3); as near as this launch allows"
    );
}

#[test]
fn a_rank_that_is_wider_than_what_is_left_near_to_its_gpu_is_not_wrong() {
    let pair = [rank(0, "0-1,4-5", &[0]), rank(1, "2-3,6-7", &[0])];
    let judged = judge(&machine(), &pool("0-7", &[0]), &pair);
    assert_eq!(
        (judged.placed, judged.findings[0].kind),
        (PlacementVerdict::Unknown, FindingKind::NotBound),
        "{}",
        text(&judged)
    );
    assert_eq!(
        judge(&machine(), &pool("0-7", &[0]), &pair[..1]).placed,
        PlacementVerdict::Misplaced,
        "PUs 2-3 are free"
    );
}

#[test]
fn another_node_of_the_package_is_far() {
    let mut topology = machine();
    topology.packages.truncate(1);
    topology.packages[0].pus = set("0-17");
    let judged = judge(&topology, &pool("0-17", &[]), &[rank(0, "4", &[0])]);
    assert_eq!(judged.ranks[0].closeness, Some(Closeness::SamePackage));
    assert_eq!(judged.placed, PlacementVerdict::Misplaced);
}

#[test]
fn a_rank_with_a_gpu_that_nothing_binds_is_misplaced_and_one_with_gpus_of_several_domains_unknown() {
    assert_eq!(
        found(&[rank(0, "0-7", &[0])]),
        (PlacementVerdict::Misplaced, vec![(FindingKind::NotBound, PlacementVerdict::Misplaced)])
    );
    // GPUs 1 and 2 are both near to all of package 1.
    let one_domain = found(&[rank(0, "4-17", &[1, 2])]);
    assert_eq!(
        one_domain,
        (PlacementVerdict::Misplaced, vec![(FindingKind::NotBound, PlacementVerdict::Misplaced)])
    );
    assert_eq!(found(&[rank(0, "4-7", &[1, 2])]).0, PlacementVerdict::Well);
    let whole_node = found(&[rank(0, "0-17", &[0, 1])]);
    assert_eq!(
        whole_node,
        (PlacementVerdict::Unknown, vec![(FindingKind::GpuNotKnown, PlacementVerdict::Unknown)])
    );
    let far_from_both = found(&[rank(0, "16", &[0, 1])]);
    assert_eq!(
        far_from_both,
        (PlacementVerdict::Misplaced, vec![(FindingKind::FarFromGpu, PlacementVerdict::Misplaced)])
    );
}

#[test]
fn what_nobody_knows_of_several_gpus_for_one_reason_is_said_once() {
    let mut topology = machine();
    topology.gpus[0].locality = topology.gpus[3].locality.clone();
    let judged = judge(&topology, &pool("0-17", &[0, 3]), &[rank(0, "0", &[0]), rank(1, "4", &[3])]);
    let unknown: Vec<_> =
        judged.findings.iter().filter(|found| found.kind == FindingKind::LocalityNotKnown).collect();
    assert_eq!((judged.placed, unknown.len()), (PlacementVerdict::Unknown, 1), "{}", text(&judged));
    assert_eq!(unknown[0].ranks, [0, 1]);
    assert_eq!(
        judged.ranks.iter().map(|rank| rank.placed).collect::<Vec<_>>(),
        [PlacementVerdict::Unknown; 2]
    );
    for part in ["0000:01:00.0 (rank 0), ", "0000:04:00.0 (rank 1): locality unknown (written by hand)"] {
        assert!(unknown[0].text.contains(part), "{part}: {}", unknown[0].text);
    }
}

#[test]
fn what_is_not_known_is_unknown_with_its_reason() {
    let silent = Observed { gpus: Err("another user's".to_owned()), ..rank(0, "0", &[]) };
    let unseen = Observed { pus: Err("no status".to_owned()), ..rank(0, "0", &[0]) };
    let policy = Observed { policy: Err("no numa_maps".to_owned()), ..rank(0, "0", &[0]) };
    for (seen, kind, words) in [
        (silent, FindingKind::GpuNotKnown, "another user's"),
        (unseen, FindingKind::NotSeen, "no status"),
        (policy, FindingKind::NotSeen, "no numa_maps"),
        (rank(0, "99", &[0]), FindingKind::NotSeen, "PU 99, which this machine does not have"),
        (rank(0, "0", &[3]), FindingKind::LocalityNotKnown, &machine().gpus[3].locality.reason),
        (rank(0, "0-7", &[]), FindingKind::SpansNodes, "NUMA nodes 0-1"),
    ] {
        let judged = judge(&machine(), &pool("0-17", &[]), &[seen]);
        assert_eq!((judged.placed, judged.findings[0].kind), (PlacementVerdict::Unknown, kind), "{words}");
        assert!(text(&judged).contains(words), "{}", text(&judged));
    }
    let part = Visible { pci: None, part: Some("MIG-1".to_owned()) };
    let mig = Observed { gpus: Ok(vec![part]), ..rank(0, "0", &[]) };
    assert_eq!(found(&[mig]).1, [(FindingKind::GpuNotKnown, PlacementVerdict::Unknown)]);
}

#[test]
fn one_on_the_gpus_node_and_another_l3_is_well_placed_with_a_remark() {
    assert_eq!(
        found(&[rank(0, "2", &[0])]),
        (PlacementVerdict::Well, vec![(FindingKind::NearerL3, PlacementVerdict::Well)])
    );
    let judged = judge(&machine(), &pool("2-3", &[]), &[rank(0, "2", &[0])]);
    assert!(judged.findings.is_empty(), "there is none to be had: {}", text(&judged));
}

#[test]
fn ranks_that_must_share_are_misplaced_only_while_others_are_free() {
    let both = [rank(0, "0", &[]), rank(1, "0", &[])];
    assert_eq!(
        found(&both),
        (PlacementVerdict::Misplaced, vec![(FindingKind::SharedPus, PlacementVerdict::Misplaced)])
    );
    let full = judge(&machine(), &pool("0", &[]), &both);
    assert_eq!((full.placed, full.findings[0].kind), (PlacementVerdict::Well, FindingKind::SharedPus));
    assert_eq!(text(&full), "ranks 0-1 have only PU 0 between them, and this job has no others");

    let siblings = [rank(0, "0", &[]), rank(1, "8", &[])];
    assert_eq!(
        found(&siblings),
        (PlacementVerdict::Misplaced, vec![(FindingKind::SharedCores, PlacementVerdict::Misplaced)])
    );
    let two_threads = judge(&machine(), &pool("0,8", &[]), &siblings);
    assert_eq!(two_threads.placed, PlacementVerdict::Well, "the step has this one core");
    assert_eq!(judge(&machine(), &pool("0-1,8-9", &[]), &siblings).placed, PlacementVerdict::Misplaced);

    let beside_a_wide_one = [rank(0, "0", &[]), rank(1, "0", &[]), rank(2, "1-3", &[])];
    let judged = judge(&machine(), &pool("0-3", &[]), &beside_a_wide_one);
    assert_eq!(judged.findings[0].weight, PlacementVerdict::Misplaced, "rank 2 could do with less");
    assert_eq!(text(&judged), "ranks 0-1 have only PU 0 between them, while other ranks have PUs to spare");
    let beside_a_wide_one = [rank(0, "0", &[]), rank(1, "8", &[]), rank(2, "1-2", &[])];
    let judged = judge(&machine(), &pool("0-2,8", &[]), &beside_a_wide_one);
    assert_eq!(
        text(&judged),
        "ranks 0-1 have only PUs 0,8, which are hardware threads of fewer cores between them, while other \
         ranks have cores to spare"
    );
    let unseen = Observed { pus: Err("it ended".to_owned()), ..rank(2, "", &[]) };
    let judged = judge(&machine(), &pool("0-1", &[]), &[both[0].clone(), both[1].clone(), unseen]);
    assert!(!text(&judged).contains("while"), "rank 2 may have PU 1: {}", text(&judged));

    let overlapping = [rank(0, "0-1", &[]), rank(1, "0-1", &[])];
    assert_eq!(
        found(&overlapping),
        (PlacementVerdict::Well, vec![(FindingKind::SharedPus, PlacementVerdict::Well)])
    );
}

#[test]
fn each_crowd_is_found_and_those_on_one_pu_do_not_hide_those_on_one_core() {
    let of = |places: &[&str]| -> Vec<(FindingKind, Vec<usize>)> {
        let ranks: Vec<Observed> = places.iter().enumerate().map(|(at, pus)| rank(at, pus, &[])).collect();
        let judged = judge(&machine(), &pool("0-17", &[]), &ranks);
        judged.findings.into_iter().map(|found| (found.kind, found.ranks)).collect()
    };
    assert_eq!(of(&["0", "0", "1", "1", "2"]), [(FindingKind::SharedPus, vec![0, 1, 2, 3])]);
    assert_eq!(
        of(&["0", "0", "1", "9"]),
        [(FindingKind::SharedPus, vec![0, 1]), (FindingKind::SharedCores, vec![2, 3])]
    );
    assert_eq!(
        of(&["0", "0", "0,8"]),
        [(FindingKind::SharedPus, vec![0, 1]), (FindingKind::SharedCores, vec![0, 1, 2])]
    );
}

#[test]
fn memory_that_may_only_be_elsewhere_is_misplaced_and_what_the_cpuset_takes_is_unknown() {
    let with = |mode, nodes: &str, may: &str| Observed {
        policy: Ok(mode),
        policy_nodes: set(nodes),
        memory_nodes: Some(set(may)),
        ..rank(0, "0", &[0])
    };
    for (mode, nodes, placed) in [
        (PolicyMode::Bind, "0", PlacementVerdict::Well),
        (PolicyMode::Bind, "1", PlacementVerdict::Misplaced),
        (PolicyMode::Bind, "0-1", PlacementVerdict::Well),
        (PolicyMode::Bind, "3", PlacementVerdict::Misplaced), // the GPU's own memory
        (PolicyMode::Bind, "2", PlacementVerdict::Well),      // around every PU
        (PolicyMode::Preferred, "1", PlacementVerdict::Misplaced),
        (PolicyMode::Interleave, "0-1", PlacementVerdict::Well),
        (PolicyMode::Local, "", PlacementVerdict::Well),
    ] {
        let judged = judge(&machine(), &pool("0", &[]), &[with(mode, nodes, "0-3")]);
        assert_eq!(judged.placed, placed, "{mode:?} {nodes}: {}", text(&judged));
    }
    // What was printed on a machine may give no sizes.
    let mut without_sizes = machine();
    without_sizes.nodes.iter_mut().for_each(|node| node.total_bytes = 0);
    let judged = judge(&without_sizes, &pool("0", &[]), &[with(PolicyMode::Bind, "1", "0-3")]);
    assert_eq!(judged.placed, PlacementVerdict::Misplaced, "{}", text(&judged));
    // A list of CPUs does not say where memory without CPUs is: near or far, nobody knows.
    let mut lost = machine();
    lost.nodes[2].pus = IdSet::default();
    for (nodes, placed) in [("2", PlacementVerdict::Unknown), ("1", PlacementVerdict::Misplaced)] {
        let judged = judge(&lost, &pool("0", &[]), &[with(PolicyMode::Bind, nodes, "0-3")]);
        assert_eq!(judged.placed, placed, "{nodes}: {}", text(&judged));
    }
    let confined = judge(&machine(), &pool("0", &[]), &[with(PolicyMode::Default, "", "1")]);
    assert_eq!(
        (confined.placed, confined.findings[0].kind),
        (PlacementVerdict::Unknown, FindingKind::MemoryElsewhere)
    );
    // Memory near the GPU is not elsewhere, also where no PU near it is to be had.
    let far = Observed { policy_nodes: set("0"), policy: Ok(PolicyMode::Bind), ..rank(0, "4", &[0]) };
    let judged = judge(&machine(), &pool("4", &[]), &[far]);
    assert!(
        judged.findings.iter().all(|finding| finding.kind == FindingKind::FarFromGpu),
        "{}",
        text(&judged)
    );
    // Node 4 has no memory: the nearest that has is what a plan takes, and others are farther.
    for (node, placed) in [("1", PlacementVerdict::Well), ("0", PlacementVerdict::Misplaced)] {
        let bound = Observed { policy: Ok(PolicyMode::Bind), policy_nodes: set(node), ..rank(0, "16", &[]) };
        assert_eq!(judge(&machine(), &pool("16", &[]), &[bound]).placed, placed, "node {node}");
    }
}

#[test]
fn most_of_the_memory_elsewhere_is_misplaced_and_little_memory_says_nothing() {
    const MIB: u64 = 1 << 20;
    let with =
        |pages: &[(u32, u64)]| Observed { pages: pages.iter().copied().collect(), ..rank(0, "0", &[]) };
    for (pages, placed) in [
        (&[(0, 100 * MIB)][..], PlacementVerdict::Well),
        (&[(1, 100 * MIB)], PlacementVerdict::Misplaced),
        (&[(0, 60 * MIB), (1, 50 * MIB)], PlacementVerdict::Well),
        (&[(0, 50 * MIB), (1, 60 * MIB)], PlacementVerdict::Misplaced),
        (&[(0, 10 * MIB), (3, 900 * MIB)], PlacementVerdict::Well), // a GPU's memory
        (&[(1, 15 * MIB)], PlacementVerdict::Well),
    ] {
        let judged = judge(&machine(), &pool("0", &[]), &[with(pages)]);
        assert_eq!(judged.placed, placed, "{pages:?}: {}", text(&judged));
    }
    let judged = judge(&machine(), &pool("0", &[]), &[with(&[(0, 50 * MIB), (1, 60 * MIB)])]);
    assert_eq!(text(&judged), "60 MiB of the 110 MiB of rank 0 lie on node 1, which is not local to PU 0");
    let spread =
        Observed { policy: Ok(PolicyMode::Interleave), policy_nodes: set("0-1"), ..with(&[(1, 100 * MIB)]) };
    assert_eq!(judge(&machine(), &pool("0", &[]), &[spread]).placed, PlacementVerdict::Well);
}

#[test]
fn a_shared_gpu_is_misplaced_only_while_another_is_certainly_idle() {
    let both = [rank(0, "0", &[0]), rank(1, "1", &[0])];
    assert_eq!(
        found(&both),
        (PlacementVerdict::Misplaced, vec![(FindingKind::SharedGpu, PlacementVerdict::Misplaced)])
    );
    let judged = judge(&machine(), &pool("0-17", &[0]), &both);
    assert_eq!(
        (judged.placed, text(&judged).as_str()),
        (PlacementVerdict::Well, "ranks 0-1 share GPU 0 at 0000:01:00.0")
    );
    let third = [rank(0, "0", &[0]), rank(1, "1", &[0]), rank(2, "6", &[0, 1])];
    let shared =
        |ranks: &[Observed]| found(ranks).1.contains(&(FindingKind::SharedGpu, PlacementVerdict::Misplaced));
    assert!(!shared(&third), "the third may use the other one");
    let part = |name: &str| Ok(vec![Visible { pci: address(0), part: Some(name.to_owned()) }]);
    let parts = [
        Observed { gpus: part("MIG-1"), ..rank(0, "0", &[]) },
        Observed { gpus: part("MIG-2"), ..rank(1, "1", &[]) },
    ];
    assert_eq!(found(&parts).0, PlacementVerdict::Well, "each has an instance of its own");
}

#[test]
fn ipc_is_cut_where_a_device_file_is_refused_and_not_where_a_variable_hides_it() {
    let pair = |refused: [Option<Vec<PciAddress>>; 2]| {
        let [one, other] = refused;
        let ranks = [
            Observed { refused: one, ..rank(0, "0", &[0]) },
            Observed { refused: other, ..rank(1, "6", &[1]) },
        ];
        judge(&machine(), &pool("0-17", &[0, 1]), &ranks)
    };
    let files = |index| Some(address(index).into_iter().collect::<Vec<_>>());
    let free = || Some(Vec::new());
    assert_eq!(pair([free(), free()]).ipc, Ipc::Possible);
    assert_eq!(pair([None, free()]).ipc, Ipc::NotKnown);
    let cut = pair([files(1), files(0)]);
    assert_eq!((cut.ipc.clone(), cut.placed), (Ipc::Cut { ranks: vec![0, 1] }, PlacementVerdict::Well));
    assert!(text(&cut).contains("--gres-flags=allow-task-sharing"), "{}", text(&cut));
    assert_eq!(judge(&machine(), &pool("0", &[]), &[rank(0, "0", &[0])]).ipc, Ipc::NoPair);
}

#[test]
fn a_reserved_core_is_a_remark() {
    let topology = without(machine(), "0,2,4,6,8,10,12,14", topo::model::PuStatus::NotInCgroup);
    let judged = judge(&topology, &pool("0-17", &[]), &[rank(0, "0-1", &[0])]);
    assert_eq!(
        (judged.placed, judged.findings[0].kind),
        (PlacementVerdict::Well, FindingKind::ReservedCores)
    );
    insta::assert_snapshot!("a_reserved_core", text(&judged));
}

#[test]
fn pus_of_a_line_that_the_job_may_not_use_are_misplaced_with_the_reason() {
    let topology = without(machine(), "0,2,4,6,8,10,12,14", topo::model::PuStatus::NotInCgroup);
    for (pus, denied, words) in [
        ("0", "0", "the line gives rank 0 PU 0, which this site keeps from jobs"),
        ("0-1", "0,8", "the line gives rank 0 PUs 0,8, which this site keeps from jobs"),
        ("1,3", "3", "the line gives rank 0 PU 3, which this job may not use"),
        ("1", "99", "the line gives rank 0 PU 99, which this machine does not have"),
    ] {
        let line = Observed { denied: set(denied), ..rank(0, pus, &[0]) };
        let judged = judge(&topology, &pool("1,3,5,7,9,11,13,15", &[]), &[line]);
        let found = &judged.findings[0];
        assert_eq!(
            (found.kind, found.weight, judged.placed),
            (FindingKind::PusDenied, PlacementVerdict::Misplaced, PlacementVerdict::Misplaced)
        );
        assert!(found.text.starts_with(words), "{}", found.text);
        assert_eq!(
            judged.findings.iter().filter(|one| one.kind == FindingKind::ReservedCores).count(),
            0,
            "{}",
            text(&judged)
        );
    }
}

#[test]
fn a_rank_without_a_pu_is_not_seen_and_shares_none() {
    let judged =
        judge(&machine(), &pool("0-17", &[]), &[rank(0, "", &[]), rank(1, "", &[]), rank(2, "1", &[])]);
    assert_eq!(
        text(&judged),
        "rank 0 may run on no PU that is online\nrank 1 may run on no PU that is online"
    );
    assert_eq!(judged.placed, PlacementVerdict::Unknown);
}
