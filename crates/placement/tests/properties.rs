//! Random machines, more irregular than any that is sold: every plan keeps the rules, and nothing panics.

mod random;
mod rules;

use placement::{
    Member, Membind, NodePlanError, NodeRequest, PlanError, RankPlanError, Request, Selection, Target,
    TargetId, plan, plan_node, verdict,
};
use proptest::prelude::*;
use random::{build, seed};
use stats::{IdList, IdSet, PciAddress};
use topo::model::{Allowed, PuStatus, Topology};

/// What a process of the machine may use, and the GPUs it sees: subsets, from the bits of numbers.
type Share = (u64, u64, u8, u8);

fn shares() -> impl Strategy<Value = Vec<Share>> {
    let some = prop_oneof![Just(u64::MAX), any::<u64>()];
    let gpus = prop_oneof![3 => Just(u8::MAX), 2 => any::<u8>()];
    prop::collection::vec((some.clone(), some, prop_oneof![4 => Just(u8::MAX), 1 => any::<u8>()], gpus), 0..7)
}

/// Each share's process, bound (the first number) within a cpuset (the second) of its own.
fn members(machine: &Topology, shares: &[Share]) -> Vec<Member> {
    let every: IdSet = machine.pus.iter().map(|pu| pu.os_index).collect();
    let bits =
        |set: &IdSet, bits: u64| -> IdSet { set.iter().filter(|id| bits >> (id % 64) & 1 == 1).collect() };
    let offline = &machine.allowed.offline_pus;
    let member = |(rank, (bound, cpuset, nodes, gpus)): (usize, &Share)| {
        let in_cgroup = bits(&every, *cpuset).minus(offline);
        let pus = bits(&in_cgroup, *bound);
        let some_nodes = bits(&machine.allowed.nodes, u64::from_ne_bytes([*nodes; 8]));
        Member {
            name: format!("rank {rank}"),
            allowed: Allowed {
                offline_pus: offline.clone(),
                not_in_cgroup_pus: every.minus(&in_cgroup).minus(offline),
                not_in_affinity_pus: in_cgroup.minus(&pus),
                missing_nodes: machine.allowed.nodes.minus(&some_nodes),
                nodes: some_nodes,
                memory_limits: Vec::new(),
                pus,
            },
            visible: Target::gpus_of(machine)
                .into_iter()
                .filter(|gpu| gpus >> (gpu.index % 8) & 1 == 1)
                .collect(),
        }
    };
    shares.iter().enumerate().map(member).collect()
}

/// The machine as the process finds it.
fn read_by(machine: &Topology, member: &Member) -> Topology {
    let mut topology = Topology { allowed: member.allowed.clone(), ..machine.clone() };
    let Allowed { pus, nodes, offline_pus, not_in_cgroup_pus, .. } = &member.allowed;
    for pu in &mut topology.pus {
        pu.status = match pu.os_index {
            id if pus.contains(id) => PuStatus::Allowed,
            id if offline_pus.contains(id) => PuStatus::Offline,
            id if not_in_cgroup_pus.contains(id) => PuStatus::NotInCgroup,
            _ => PuStatus::NotInAffinity,
        };
    }
    topology.nodes.iter_mut().for_each(|node| node.allowed = nodes.contains(node.os_index));
    for gpu in &mut topology.gpus {
        let (local, near) = (
            gpu.locality.pus.or(&gpu.locality.outside_pus),
            gpu.locality.nodes.or(&gpu.locality.outside_nodes),
        );
        gpu.locality.pus = local.minus(not_in_cgroup_pus);
        gpu.locality.outside_pus = local.and(not_in_cgroup_pus);
        gpu.locality.nodes = near.and(nodes);
        gpu.locality.outside_nodes = near.minus(nodes);
    }
    topology
}

fn targets(topology: &Topology) -> Vec<Target> {
    Target::gpus_of(topology).into_iter().chain(Target::nodes_of(topology)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_random_machine_is_planned_by_the_rules(seed in seed(), chosen in prop::collection::vec(0..64_usize, 0..12)) {
        let topology = build(&seed);
        let all = targets(&topology);
        let several = chosen.iter().filter_map(|at| all.get(at % all.len().max(1)).cloned()).collect();
        prop_assert_eq!(rules::check(&topology, &rules::automatic(several)).map(drop), Ok(()));
    }

    #[test]
    fn pus_as_asked_are_given_or_refused_and_never_changed(
        seed in seed(),
        cpus in prop::collection::vec(0..32_u32, 1..6),
        node in prop::option::of(0..20_u32),
    ) {
        let topology = build(&seed);
        let available = targets(&topology);
        let first = available.first().cloned();
        let targets = first.map(|target| vec![target; cpus.len()]);
        let can = !available.is_empty() && cpus.iter().all(|pu| topology.allowed.pus.contains(*pu));
        let membind = node.map_or(Membind::Local, Membind::Node);
        let request = Request { cpus: Some(IdList(cpus.clone())), targets, available, membind };
        match plan(&topology, &request) {
            Ok(plan) => {
                prop_assert!(can);
                prop_assert_eq!(plan.ranks.iter().map(|rank| rank.pu).collect::<Vec<_>>(), cpus);
                prop_assert!(node.is_none_or(|node| plan.ranks.iter().all(|rank| rank.memory_node == node)));
            }
            Err(PlanError::Rank(RankPlanError::Node(error))) => prop_assert!(!error.to_string().is_empty()),
            Err(error) => prop_assert!(!can, "{}", error),
        }
    }

    #[test]
    fn launched_processes_are_planned_by_the_rules_each_within_its_own_set(seed in seed(), shares in shares()) {
        let topology = build(&seed);
        prop_assert_eq!(rules::check_node(&topology, &members(&topology, &shares)).map(drop), Ok(()));
    }

    #[test]
    fn every_process_of_a_node_makes_the_same_plan_of_the_same_members(
        seed in seed(),
        shares in shares(),
        cpus in prop::option::of(prop::collection::vec(0..32_u32, 0..8)),
        gpus in prop::option::of(prop::collection::vec(0..5_u32, 0..8)),
        node in prop::option::of(0..20_u32),
    ) {
        let topology = build(&seed);
        let members = members(&topology, &shares);
        let gpus = gpus.filter(|gpus| !gpus.is_empty()).map(|gpus| IdList(gpus).to_string().parse());
        let asked = NodeRequest {
            cpus: cpus.map(IdList),
            gpus: gpus.transpose().map_err(|error: placement::SelectionError| TestCaseError::fail(error.to_string()))?,
            membind: node.map_or(Membind::Local, Membind::Node),
            ..NodeRequest::default()
        };
        let made = plan_node(&topology, &members, &asked);
        for reader in &members {
            prop_assert_eq!(&plan_node(&read_by(&topology, reader), &members, &asked), &made);
        }
        match made {
            Ok(plan) => for (rank, member) in plan.ranks.iter().zip(&members) {
                prop_assert!(member.allowed.pus.contains(rank.pu), "{:?}", rank);
                prop_assert!(member.visible.iter().any(|seen| seen.id == rank.target.id), "{:?}", rank);
                let asked = asked.cpus.as_ref().and_then(|cpus| cpus.0.get(rank.rank));
                prop_assert!(asked.is_none_or(|asked| *asked == rank.pu), "{:?}", rank);
            },
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn processes_that_are_all_alike_are_planned_as_threads_of_one(
        seed in seed(),
        ranks in 1..6_usize,
        cpus in prop::option::of(prop::collection::vec(0..32_u32, 6)),
        gpus in prop::option::of(prop::collection::vec(0..64_u32, 6)),
    ) {
        let topology = build(&seed);
        let available = Target::gpus_of(&topology);
        let one = Member { name: "this process".to_owned(), allowed: topology.allowed.clone(), visible: available.clone() };
        let members = vec![one; ranks];
        let cpus = cpus.map(|cpus| IdList(cpus[..ranks].to_vec()));
        let gpus: Option<Vec<u32>> = gpus.filter(|_| !available.is_empty()).map(|gpus| gpus[..ranks].iter().map(|gpu| gpu % available.len() as u32).collect());
        let targets = match &gpus {
            Some(gpus) => gpus.iter().map(|gpu| available[*gpu as usize].clone()).collect(),
            None => available.iter().take(ranks).cloned().collect(),
        };
        let asked = NodeRequest {
            cpus: cpus.clone(),
            gpus: gpus.map(|gpus| IdList(gpus).to_string().parse::<Selection>()).transpose().map_err(|error| TestCaseError::fail(error.to_string()))?,
            ..NodeRequest::default()
        };
        let request = Request { cpus, targets: Some(targets), available, membind: Membind::Local };
        match (plan_node(&topology, &members, &asked), plan(&topology, &request)) {
            (Ok(launched), threads) => prop_assert_eq!(Ok(launched), threads),
            (Err(NodePlanError::Rank(error)), threads) => prop_assert_eq!(Err(PlanError::Rank(error)), threads),
            (Err(NodePlanError::Crowded { .. }), _) => prop_assert!(request.available.len() < ranks),
            (Err(error), _) => prop_assert!(request.available.is_empty(), "{}", error),
        }
    }

    #[test]
    fn a_verdict_is_given_for_any_pu_and_target(seed in seed(), pu in 0..40_u32, gpu in 0..8_u8, node in 0..20_u32) {
        let topology = build(&seed);
        let address = PciAddress { domain: 0, bus: gpu, device: 0, function: 0 };
        for target in [TargetId::Gpu(address), TargetId::Node(node)] {
            prop_assert!(!verdict(&topology, pu, target).reason.is_empty());
        }
    }

    #[test]
    fn a_selection_is_read_or_refused_in_words(text in "[0-9a-fA-F:.,GPU MIGal-]{0,24}") {
        match text.parse::<Selection>() {
            Ok(selection) => {
                let resolved = selection.resolve(&[]);
                prop_assert!(resolved.is_err() || selection == Selection::All);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
