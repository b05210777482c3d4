//! Fixes in each launcher's words, the pool, and the table, of ranks made by hand on the small machine of
//! `exec`'s tests: GPUs 2 and 3 on node 0 with PUs 0-3 and 8-11, GPUs 0 and 1 on node 1 with PUs 4-7 and
//! 12-15.

use std::collections::BTreeMap;

use launchers::{Launcher, Situation};
use placement::judge::{FindingKind, PlacementVerdict, judge};
use placement::nic::NearNic;
use stats::IdSet;
use topo::Cgroup;
use topo::pci_path::PciLevel;
use topo::process::{MemoryPolicy, PolicyMode};
use topo::running::{ClosedGpu, NodePages, Pages, ProcessThreads, Running, ThreadGroup, UsableGpus};
use topo::visibility::Visible;

use super::fix::{FixContext, lines};
use super::observed_rank::{ObservedRank, pool};
use super::table::{NodeTable, table};
use crate::written_machine::{address, machine, set};

/// Rank `rank` on these PUs with these GPUs.
fn rank(rank: usize, pus: &str, gpus: &[u8]) -> ObservedRank {
    let whole = |index: &u8| Visible { pci: Some(address(*index)), part: None };
    let policy = MemoryPolicy {
        mode: Some(PolicyMode::Default),
        nodes: IdSet::default(),
        flags: None,
        source: "numa_maps".to_owned(),
        reason: None,
    };
    let cgroup = Cgroup {
        pus: None,
        nodes: None,
        source: None,
        reason: None,
        memory_bytes: None,
        memory_source: None,
    };
    let running = Running {
        pid: 100 + rank as u32,
        program: Some("a.out".to_owned()),
        pus: Some(set(pus)),
        first_thread_pus: Some(set(pus)),
        memory_nodes: Some(set("0-1")),
        policy,
        cgroup,
        pages: Pages { nodes: Some(vec![NodePages { node: 0, bytes: 5 << 20 }]), reason: None },
        gpus: UsableGpus {
            devices: Some(gpus.iter().map(whole).collect()),
            reason: String::new(),
            variables: Default::default(),
            open: None,
            refused: Some(Vec::new()),
            absent: None,
            closed: Vec::new(),
            in_use: None,
        },
    };
    ObservedRank {
        rank: Some(rank),
        running,
        pool_pus: set("0-15"),
        pool_gpus: Vec::new(),
        threads: ProcessThreads::default(),
        nic_variables: BTreeMap::new(),
        omp_threads: None,
        pus_unknown: None,
    }
}

/// The fix for these ranks, which this launcher started.
fn fix(seen: &[ObservedRank], launcher: Option<Launcher>, situation: Situation) -> Vec<String> {
    let (topology, pool) = (machine(), pool(seen));
    let observed: Vec<_> = seen.iter().map(|seen| seen.observed(&topology)).collect();
    let judgement = judge(&topology, &pool, &observed);
    let (topology, pool, judgement) = (&topology, &pool, &judgement);
    lines(&FixContext {
        topology,
        pool,
        seen,
        judgement,
        launcher,
        host: "n7",
        situation,
        complete: true,
        binds_behind: false,
        shows_behind: false,
        has_own_part: false,
    })
}

/// Rank 0 has a GPU of node 1 and a PU of node 0, rank 1 the other way round.
fn swapped() -> [ObservedRank; 2] {
    [rank(0, "0", &[0]), rank(1, "4", &[2])]
}

#[test]
fn each_launcher_gets_its_own_words() {
    let whole = Situation { owns_node: Some(true), ..Situation::default() };
    let of = |launcher| fix(&swapped(), Some(launcher), whole).join("\n");
    assert_eq!(of(Launcher::Srun), "srun --cpu-bind=map_cpu:4,0");
    assert_eq!(of(Launcher::Hydra), "mpiexec -n 2 -bind-to user:4,0 PROGRAM");
    assert!(of(Launcher::Mpirun).contains("rank 0=n7 slot=4\nrank 1=n7 slot=0"), "{}", of(Launcher::Mpirun));
    assert_eq!(
        of(Launcher::Flux),
        "flux run -N1 -n2 --exclusive -o mpibind=off -o gpu-affinity=\"map:0;2\" -o \
         cpu-affinity=\"map:4;0\" PROGRAM"
    );
    assert_eq!(of(Launcher::Pals), "mpiexec -n 2 --ppn 2 --cpu-bind list:4:0 --gpu-bind list:0:2 PROGRAM");
    let of_three_nodes = Situation { ranks: Some(6), ..whole };
    for (launcher, start) in
        [(Launcher::Flux, "flux run -N3 -n6 "), (Launcher::Pals, "mpiexec -n 6 --ppn 2 ")]
    {
        let fix = fix(&swapped(), Some(launcher), of_three_nodes).join("\n");
        assert!(fix.starts_with(start), "{fix}");
    }
    assert_eq!(of(Launcher::Jsrun), "jsrun --bind none … numabench exec -- PROGRAM");
    assert_eq!(of(Launcher::Torchrun), "torchrun … --no-python numabench exec -- python3 PROGRAM");
    let part = fix(&swapped(), Some(Launcher::Srun), Situation { owns_node: Some(false), ..whole });
    assert!(part[0].starts_with("srun … numabench exec -- PROGRAM (this step does not own"), "{part:?}");
    let wide = [rank(0, "0-1", &[0]), rank(1, "4-5", &[2])];
    assert_eq!(fix(&wide, Some(Launcher::Srun), whole), ["srun --cpu-bind=mask_cpu:0x30,0x3"]);
}

#[test]
fn running_processes_are_moved_by_their_numbers() {
    assert_eq!(fix(&swapped(), None, Situation::default()), ["taskset -acp 4 100", "taskset -acp 0 101"]);
    let mut far = rank(0, "0", &[2]);
    // Node 7 is none of the host's.
    far.running.pages.nodes =
        Some(vec![NodePages { node: 1, bytes: 1 << 30 }, NodePages { node: 7, bytes: 1 << 30 }]);
    assert_eq!(fix(&[far], None, Situation::default()), ["migratepages 100 1 0"]);
}

#[test]
fn where_nothing_is_wrong_or_nobody_knows_a_line_there_is_none() {
    let whole = Situation::default();
    assert_eq!(fix(&[rank(0, "4", &[0]), rank(1, "0", &[2])], Some(Launcher::Srun), whole), [""; 0]);
    let shared = [rank(0, "4", &[0]), rank(1, "5", &[0]), rank(2, "0", &[2])];
    let mut with_idle = shared.clone();
    with_idle[0].pool_gpus.push(address(3));
    assert_eq!(fix(&shared, Some(Launcher::Srun), whole), [""; 0], "no GPU is idle");
    assert_eq!(fix(&with_idle, Some(Launcher::Srun), whole), ["srun … numabench exec -- PROGRAM"]);
}

#[test]
fn the_table_has_a_row_a_rank_what_was_found_the_sum_and_the_fix() {
    let (topology, seen) = (machine(), swapped());
    let observed: Vec<_> = seen.iter().map(|seen| seen.observed(&topology)).collect();
    let judgement = judge(&topology, &pool(&seen), &observed);
    assert!(judgement.findings.iter().all(|finding| finding.kind == FindingKind::FarFromGpu));
    let shown = NodeTable {
        host: "n7",
        judged_name: "n7",
        decided_by: &[],
        depends_on: "the site",
        launch: "2 ranks of srun here",
        topology: &topology,
        seen: &seen,
        missing: &set("3"),
        waited: std::time::Duration::from_secs(2),
        judgement: &judgement,
        placed: PlacementVerdict::Misplaced,
        nics: &[],
        threads: false,
        adapters: false,
        notes: &[],
        fix: &["srun --cpu-bind=map_cpu:4,0".to_owned()],
    };
    insta::assert_snapshot!(table(&shown));
}

/// What the table says of these on the small machine, with these adapters.
fn shown(seen: &[ObservedRank], nics: &[Option<NearNic>], threads: bool, missing: &str) -> String {
    table_of(seen, nics, (threads, false), missing)
}

/// The same, with each rank's adapter on demand.
fn table_of(
    seen: &[ObservedRank],
    nics: &[Option<NearNic>],
    (threads, adapters): (bool, bool),
    missing: &str,
) -> String {
    let topology = machine();
    let observed: Vec<_> = seen.iter().map(|seen| seen.observed(&topology)).collect();
    let judgement = judge(&topology, &pool(seen), &observed);
    let complete = missing.is_empty();
    table(&NodeTable {
        host: "n7",
        judged_name: "n7",
        decided_by: &[],
        depends_on: "the site",
        launch: "processes looked at from outside",
        topology: &topology,
        seen,
        missing: &set(missing),
        waited: std::time::Duration::from_secs(2),
        judgement: &judgement,
        placed: if complete { judgement.placed } else { judgement.placed.max(PlacementVerdict::Unknown) },
        nics,
        threads,
        adapters,
        notes: &["NVML is not here".to_owned()],
        fix: &[],
    })
}

#[test]
fn threads_remote_pages_adapters_and_closed_gpus_stand_under_the_rows() {
    let mut one = rank(0, "4-7", &[0]);
    one.running.pages.nodes =
        Some(vec![NodePages { node: 0, bytes: 1 << 20 }, NodePages { node: 1, bytes: 3 << 20 }]);
    let group = |pus: &str, count| ThreadGroup { name: "a.out".to_owned(), pus: set(pus), count };
    one.threads.own = vec![group("4-7", 1), group("5", 1), group("6", 1)];
    one.nic_variables = BTreeMap::from([("UCX_NET_DEVICES".to_owned(), "mlx5_3:1".to_owned())]);
    one.omp_threads = Some(8);
    one.running.gpus.closed = vec![ClosedGpu { pci: address(3), why: "/dev/kfd is of user 0".to_owned() }];
    let near = NearNic {
        name: "mlx5_0".to_owned(),
        pci: address(0),
        level: PciLevel::Pix,
        source: "PCI".to_owned(),
        variables: Vec::new(),
        farther: Vec::new(),
    };
    let told = shown(&[one.clone()], &[Some(near)], false, "");
    for words in [
        "1: 3 MiB, 0: 1 MiB (25 % remote)  0 0000:01:00.0  NUMA-local  mlx5_0 PIX\n",
        "\nrank 0: 3 threads: 2 on one PU each (5-6), 1 on 4-7 (a.out)\n",
        "note: UCX_NET_DEVICES=mlx5_3:1 of rank 0 names another adapter than the one near its GPU, mlx5_0\n",
        "note: rank 0 cannot open GPU 0000:04:00.0: /dev/kfd is of user 0\n",
        "note: rank 0 has OMP_NUM_THREADS=8 and 4 PUs, which are oversubscribed\n",
        "note: NVML is not here\n",
        "well placed: 1 of 1 rank\n",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let rows = shown(&[one], &[], true, "");
    assert!(
        rows.contains("\n  1 thread  a.out  4-7\n  1 thread  a.out  5\n") && !rows.contains("NIC"),
        "{rows}"
    );
}

#[test]
fn of_each_rank_it_is_said_which_adapter_is_near_and_which_one_its_variables_name() {
    let near = |name: &str| NearNic {
        name: name.to_owned(),
        pci: address(0),
        level: PciLevel::Pix,
        source: "PCI".to_owned(),
        variables: vec![format!("UCX_NET_DEVICES={name}:1")],
        farther: Vec::new(),
    };
    let with = |number, value: Option<&str>| {
        let mut one = rank(number, "4-7", &[0]);
        let variable = |value: &str| ("UCX_NET_DEVICES".to_owned(), value.to_owned());
        one.nic_variables = value.map(variable).into_iter().collect();
        one
    };
    let seen =
        [with(0, Some("mlx5_0:1")), with(1, Some("mlx5_3:1")), with(2, None), with(3, Some("mlx5_0:1"))];
    let nics = [Some(near("mlx5_0")), Some(near("mlx5_0")), Some(near("mlx5_0")), None];
    let text = table_of(&seen, &nics, (false, true), "");
    for words in [
        "; 1 rank is told to use an adapter that is not the near one\n",
        "\nrank 0: mlx5_0 (PIX) is near its GPU, and UCX_NET_DEVICES=mlx5_0:1 agrees\n",
        "\nnote: UCX_NET_DEVICES=mlx5_3:1 of rank 1 names another adapter than the one near its GPU, mlx5_0\n\
         ",
        "\nrank 2: mlx5_0 (PIX) is near its GPU; no variable names an adapter, so its libraries choose by \
         themselves; to name it: UCX_NET_DEVICES=mlx5_0:1\n",
        "\nrank 3: no network adapter is known to be near its GPU, or it has not one GPU\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let silent = table_of(&seen, &nics, (false, false), "");
    assert!(!silent.contains("(PIX)") && !silent.contains("told"), "{silent}");
}

#[test]
fn ranks_that_did_not_answer_are_counted_and_nobody_is_no_table() {
    let missing = shown(&[rank(0, "4-7", &[0])], &[], false, "1");
    assert!(missing.starts_with("n7: unknown: 1 of 2 ranks\n"), "{missing}");
    let nobody = shown(&[], &[], false, "");
    assert_eq!(
        nobody,
        "n7: unknown: no process was found\njudged: processes looked at from outside\n\
         note: NVML is not here\n"
    );
}

#[test]
fn of_many_ranks_the_wrong_ones_have_rows_and_the_others_are_one_line() {
    let topology = machine();
    let seen: Vec<ObservedRank> = (0..256)
        .map(|number| if number == 200 { rank(number, "0", &[0]) } else { rank(number, "4-7", &[]) })
        .collect();
    let observed: Vec<_> = seen.iter().map(|seen| seen.observed(&topology)).collect();
    let mut judgement = judge(&topology, &pool(&seen), &observed);
    // So many ranks on four PUs are crowded; here only the far one is to be wrong.
    judgement.findings.retain(|finding| finding.kind == FindingKind::FarFromGpu);
    judgement
        .ranks
        .iter_mut()
        .enumerate()
        .filter(|(rank, _)| *rank != 200)
        .for_each(|(_, rank)| rank.placed = PlacementVerdict::Well);
    let shown = NodeTable {
        host: "n7",
        judged_name: "n7",
        decided_by: &[],
        depends_on: "the site",
        launch: "256 ranks of srun here",
        topology: &topology,
        seen: &seen,
        missing: &set(""),
        waited: std::time::Duration::from_secs(2),
        judgement: &judgement,
        placed: PlacementVerdict::Misplaced,
        nics: &[],
        threads: false,
        adapters: false,
        notes: &[],
        fix: &[],
    };
    let text = table(&shown);
    assert!(text.lines().count() < 10, "{text}");
    assert!(
        text.starts_with("n7: WRONG: 1 of 256 ranks\n")
            && text.lines().nth(3).is_some_and(|row| row.trim_start().starts_with("rank 200")),
        "{text}"
    );
    for words in ["255 well placed: ranks 0-199,201-255 on PUs 4-7", "WRONG: 1 of 256 ranks"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_cpus_memory_on_a_node_of_its_own_is_beside_it() {
    let mut machine = machine();
    let beside = topo::model::NumaNode {
        os_index: 7,
        kind: topo::model::NodeKind::MemoryOnly,
        ..machine.nodes[0].clone()
    };
    machine.nodes.push(beside);
    let with_memory = |nodes: &str| crate::observed_rank::with_memory_beside(&machine, &set(nodes));
    assert_eq!((with_memory("0"), with_memory("1")), (set("0,7"), set("1")));
    machine.nodes.last_mut().expect("a node").pus = IdSet::default();
    let with_memory = |nodes: &str| crate::observed_rank::with_memory_beside(&machine, &set(nodes));
    assert_eq!(with_memory("1"), set("1,7"), "nobody says where it is");
}
