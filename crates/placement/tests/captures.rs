//! Real machines: the published mappings come out, and every capture's plan keeps the rules.

mod machines;
mod rules;

use std::error::Error;

use placement::{
    ChosenBy, Closeness, Member, Membind, NodePlanError, NodeRequest, Plan, PlanError, PuError,
    RankPlanError, Request, Target, plan, plan_node,
};
use stats::IdSet;
use topo::Topology;
use topo::model::NodeKind;

use machines::{captures, load, shares};

type Outcome = Result<(), Box<dyn Error>>;

/// What `numabench pingpong` asks for: `cpus` as typed, one GPU each.
fn asked(topology: &Topology, cpus: Option<&str>) -> Result<Plan, Box<dyn Error>> {
    let cpus = cpus.map(str::parse).transpose()?;
    let request = Request { cpus, ..rules::automatic(Target::gpus_of(topology)) };
    Ok(plan(topology, &request)?)
}

fn pus(plan: &Plan) -> Vec<u32> {
    plan.ranks.iter().map(|rank| rank.pu).collect()
}

fn memory_nodes(plan: &Plan) -> Vec<u32> {
    plan.ranks.iter().map(|rank| rank.memory_node).collect()
}

fn closeness(plan: &Plan) -> Vec<Closeness> {
    plan.ranks.iter().map(|rank| rank.verdict.closeness).collect()
}

/// LUMI-G's allowed set: the first core of each L3 is not for jobs (both of its hardware threads).
fn low_noise(topology: &Topology) -> Result<Topology, Box<dyn Error>> {
    let reserved: IdSet = "0-120:8".parse()?;
    Ok(topology.restricted_to(&topology.allowed.pus.minus(&reserved)))
}

#[test]
fn lumi_g_gets_the_published_cores_with_and_without_its_reserved_ones() -> Outcome {
    let Some(folder) = captures("LUMI-G's mapping") else { return Ok(()) };
    let tioga = load(&folder, "mi250x-tioga")?;
    let every_core = asked(&tioga, None)?;
    assert_eq!(pus(&every_core), [48, 56, 16, 24, 0, 8, 32, 40]);
    let lumi = asked(&low_noise(&tioga)?, None)?;
    assert_eq!(pus(&lumi), [49, 57, 17, 25, 1, 9, 33, 41]);
    for plan in [&every_core, &lumi] {
        assert_eq!(memory_nodes(plan), [3, 3, 1, 1, 0, 0, 2, 2]);
        assert_eq!(closeness(plan), [Closeness::L3Local; 8]);
        assert_eq!(plan.notes, [""; 0]);
        assert!(plan.ranks.iter().all(|rank| matches!(rank.chosen_by, ChosenBy::Domain { .. })));
    }
    Ok(())
}

#[test]
fn lumi_g_with_ranks_in_core_order_is_seen_to_be_wrong_for_six_gpus_of_eight() -> Outcome {
    let Some(folder) = captures("LUMI-G in core order") else { return Ok(()) };
    let lumi = low_noise(&load(&folder, "mi250x-tioga")?)?;
    let plan = asked(&lumi, Some("1,9,17,25,33,41,49,57"))?;
    // The node is one package, so what is wrong is on another NUMA node of it; GPUs 2 and 3 hang from L3s 2
    // and 3.
    let mut want = [Closeness::SamePackage; 8];
    want[2] = Closeness::L3Local;
    want[3] = Closeness::L3Local;
    assert_eq!(closeness(&plan), want);
    assert_eq!(memory_nodes(&plan), [0, 0, 1, 1, 2, 2, 3, 3], "memory follows the PU, not the GPU");
    let neighbour = asked(&lumi, Some("57"))?;
    assert_eq!(closeness(&neighbour), [Closeness::NumaLocal], "the other L3 of the GPU's own node");
    let reason = &neighbour.ranks[0].verdict.reason;
    assert!(reason.contains("48-55,112-119"), "{reason}");
    Ok(())
}

#[test]
fn lumi_g_under_srun_takes_what_each_task_was_bound_to_and_shown() -> Outcome {
    let Some(folder) = captures("LUMI-G under srun") else { return Ok(()) };
    let lumi = low_noise(&load(&folder, "mi250x-tioga")?)?;
    let gpus = Target::gpus_of(&lumi);
    // The documents' masks of seven cores, which are in the order of the GPUs; a task sees its GPU, as number
    // 0.
    let masks: [u64; 8] =
        [0xfe << 48, 0xfe << 56, 0xfe << 16, 0xfe << 24, 0xfe, 0xfe << 8, 0xfe << 32, 0xfe << 40];
    let task = |(rank, mask): (usize, &u64)| Member {
        name: format!("rank {rank}"),
        allowed: lumi.restricted_to(&(0..64).filter(|pu| mask >> pu & 1 == 1).collect()).allowed,
        visible: vec![Target { index: 0, ..gpus[rank].clone() }],
    };
    let members: Vec<Member> = masks.iter().enumerate().map(task).collect();
    let plan = rules::check_node(&lumi, &members)?.ok_or("no plan")?;
    assert_eq!(pus(&plan), [49, 57, 17, 25, 1, 9, 33, 41]);
    assert_eq!(closeness(&plan), [Closeness::L3Local; 8]);
    let asked = NodeRequest { gpus: Some("4-7,0-3".parse()?), ..NodeRequest::default() };
    let refused = plan_node(&lumi, &members, &asked).err();
    let Some(NodePlanError::Hidden { name, device, own, .. }) = &refused else {
        return Err(format!("{refused:?}").into());
    };
    assert!(
        name == "rank 0" && device.contains("0000:d1:00.0") && own.contains("0,1,2,3,4,5,6,7"),
        "{refused:?}"
    );
    let asked = NodeRequest { cpus: Some("57,49,17,25,1,9,33,41".parse()?), ..NodeRequest::default() };
    let refused = plan_node(&lumi, &members, &asked);
    let Err(NodePlanError::Rank(RankPlanError::Pu(PuError::NotInAffinity {
        pu: 57, owner, allowed, ..
    }))) = &refused
    else {
        return Err(format!("{refused:?}").into());
    };
    assert_eq!((&owner[..], allowed.to_string().as_str()), ("rank 0", "49-55"));
    Ok(())
}

#[test]
fn a_reserved_core_of_lumi_g_is_refused_with_the_allowed_ones() -> Outcome {
    let Some(folder) = captures("LUMI-G's reserved cores") else { return Ok(()) };
    let lumi = low_noise(&load(&folder, "mi250x-tioga")?)?;
    let refused = asked(&lumi, Some("48")).err().ok_or("nothing refused it")?;
    let Some(PlanError::Rank(RankPlanError::Pu(PuError::NotInAffinity { pu: 48, allowed, .. }))) =
        refused.downcast_ref()
    else {
        return Err(refused);
    };
    assert!(allowed.to_string().starts_with("1-7,9-15,17-23"), "{allowed}");
    Ok(())
}

#[test]
fn lumi_g_with_more_ranks_than_gpus_fills_each_l3_before_it_shares_a_core() -> Outcome {
    let Some(folder) = captures("LUMI-G with 20 ranks on one GPU") else { return Ok(()) };
    let lumi = low_noise(&load(&folder, "mi250x-tioga")?)?;
    let first = Target::gpus_of(&lumi).into_iter().take(1).cycle().take(20).collect();
    let plan = plan(&lumi, &rules::automatic(first))?;
    let cores = (49..56).chain(113..120).chain(49..55).collect::<Vec<u32>>();
    assert_eq!(pus(&plan), cores);
    Ok(())
}

#[test]
fn host_memory_never_goes_to_a_gpus_node_unless_that_is_asked_for() -> Outcome {
    let Some(folder) = captures("nodes of GPUs' memory") else { return Ok(()) };
    for (name, gpus_nodes, own) in [
        ("gh200-quad-synthetic-gpunuma-kept", "4,12,20,28", vec![0, 1, 2, 3]),
        ("v100-lassen-gpunuma-hwloc1", "252-255", vec![0, 0, 8, 8]),
        ("v100-power9-6gpu-gpunuma-kept", "250-255", vec![0, 0, 0, 8, 8, 8]),
    ] {
        let topology = load(&folder, name)?;
        let gpus_nodes: IdSet = gpus_nodes.parse()?;
        assert_eq!(memory_nodes(&asked(&topology, None)?), own, "{name}");
        for pu in topology.allowed.pus.iter() {
            let plan = asked(&topology, Some(&pu.to_string()))?;
            assert!(!gpus_nodes.contains(plan.ranks[0].memory_node), "{name}: PU {pu}: {plan:?}");
        }
        let asked_for = gpus_nodes.first().ok_or("no node")?;
        let request =
            Request { membind: Membind::Node(asked_for), ..rules::automatic(Target::gpus_of(&topology)) };
        let plan = plan(&topology, &request)?;
        assert!(memory_nodes(&plan).iter().all(|node| *node == asked_for), "{name}");
    }
    Ok(())
}

#[test]
fn gh200_ranks_get_the_cores_of_their_own_superchip() -> Outcome {
    let Some(folder) = captures("GH200") else { return Ok(()) };
    let topology = load(&folder, "gh200-quad-synthetic-gpunuma-kept")?;
    let plan = asked(&topology, None)?;
    assert_eq!(pus(&plan), [0, 72, 144, 216]);
    assert_eq!(closeness(&plan), [Closeness::NumaLocal; 4]);
    let crossed = asked(&topology, Some("72,0,216,144"))?;
    assert_eq!(closeness(&crossed), [Closeness::Remote; 4]);
    Ok(())
}

#[test]
fn a_virtual_machine_that_does_not_tell_gets_distinct_cores_and_no_claim() -> Outcome {
    let Some(folder) = captures("eight H200 in a virtual machine") else { return Ok(()) };
    let topology = load(&folder, "h200-x8-vm-no-locality")?;
    let plan = asked(&topology, None)?;
    assert_eq!(closeness(&plan), [Closeness::Unknown; 8]);
    assert!(plan.ranks.iter().all(|rank| rank.chosen_by == ChosenBy::LocalityUnknown));
    let cores: Vec<_> =
        plan.ranks.iter().map(|rank| topology.core_of(rank.pu).and_then(|c| c.pus.first())).collect();
    let distinct: std::collections::BTreeSet<_> = cores.iter().collect();
    assert_eq!(distinct.len(), 8, "{cores:?}");
    assert!(plan.ranks.iter().all(|rank| topology.allowed.pus.contains(rank.pu)));
    Ok(())
}

#[test]
fn the_memory_only_node_of_knl_is_a_target_and_not_where_host_memory_goes() -> Outcome {
    let Some(folder) = captures("KNL") else { return Ok(()) };
    let knl = load(&folder, "knl-quad-flat-hwloc1")?;
    let targets = Target::nodes_of(&knl);
    assert_eq!(targets.iter().map(|target| target.index).collect::<Vec<_>>(), [0, 1]);
    let plan = plan(&knl, &rules::automatic(targets))?;
    assert_eq!(memory_nodes(&plan), [0, 0]);
    Ok(())
}

#[test]
fn every_capture_under_every_share_of_it_is_planned_by_the_rules() -> Outcome {
    let Some(folder) = captures("every capture's plan") else { return Ok(()) };
    let (mut files, mut plans) = (0, 0);
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        files += 1;
        let whole = topo::from_xml(&path)?;
        for share in shares(&whole) {
            let topology = whole.restricted_to(&share);
            for targets in [Target::gpus_of(&topology), Target::nodes_of(&topology)] {
                for times in [1, 3] {
                    let several = std::iter::repeat_n(targets.clone(), times).flatten().collect();
                    let made = rules::check(&topology, &rules::automatic(several));
                    let made = made.map_err(|error| format!("{}, PUs {share}: {error}", path.display()))?;
                    plans += usize::from(made.is_some());
                }
            }
        }
    }
    assert!(files >= 20 && plans > files * 8, "{plans} plans of {files} captures");
    Ok(())
}

#[test]
fn every_pu_and_node_of_every_capture_is_planned_or_refused_for_its_reason() -> Outcome {
    let Some(folder) = captures("every PU and node") else { return Ok(()) };
    for entry in std::fs::read_dir(&folder)? {
        let topology = topo::from_xml(&entry?.path())?;
        let request = |cpus: Option<u32>, membind| Request {
            cpus: cpus.map(|pu| stats::IdList(vec![pu])),
            membind,
            ..rules::automatic(Target::nodes_of(&topology).into_iter().take(1).collect())
        };
        for pu in &topology.pus {
            let planned = plan(&topology, &request(Some(pu.os_index), Membind::Local));
            assert_eq!(
                planned.is_ok(),
                topology.allowed.pus.contains(pu.os_index),
                "PU {}: {planned:?}",
                pu.os_index
            );
            assert!(
                planned.is_ok() || matches!(planned, Err(PlanError::Rank(RankPlanError::Pu(_)))),
                "{planned:?}"
            );
        }
        for node in &topology.nodes {
            let planned = plan(&topology, &request(None, Membind::Node(node.os_index)));
            let good = node.allowed && !matches!(node.kind, NodeKind::CpuOnly | NodeKind::Empty);
            assert_eq!(planned.is_ok(), good, "{node:?}: {planned:?}");
        }
    }
    Ok(())
}
