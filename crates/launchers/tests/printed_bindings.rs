//! What launchers printed of where they put ranks, each text from a real launch on the saved machine (`cargo
//! xtask launch-truth` has the way), with the PUs that the kernel was asked for.

use std::error::Error;
use std::path::Path;

use launchers::printed_bindings::read;
use launchers::{Launcher, printed_bindings::PrintedError};
use topo::Topology;

type Outcome = Result<(), Box<dyn Error>>;

fn machine(name: &str) -> Result<Topology, topo::TopoError> {
    topo::from_xml(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../topo/tests/fixtures/{name}.xml")))
}

/// The ranks' PUs in the order of their numbers in the launch, `?` where they are not known.
fn places(text: &str, name: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let nodes = read(text, &machine(name)?)?;
    let mut ranks = nodes[0].readings[0].ranks.clone();
    ranks.sort_by_key(|rank| rank.world);
    Ok(ranks.iter().map(|rank| rank.pus.as_ref().map_or("?".to_owned(), ToString::to_string)).collect())
}

fn refusal(text: &str, name: &str) -> Result<String, Box<dyn Error>> {
    let refused: Result<_, PrintedError> = read(text, &machine(name)?);
    Ok(refused.err().ok_or("it is taken")?.to_string())
}

/// Open MPI 4.1.8 with `--map-by numa:PE=2`, and with `--bind-to hwthread`.
#[test]
fn open_mpi_4_draws_the_cores_of_each_package() -> Outcome {
    let two = "[vm:16172] MCW rank 0 bound to socket 0[core 0[hwt 0-1]], socket 0[core 1[hwt 0-1]]: \
        [BB/BB/../../../..][../../../../../..]\n[vm:16172] MCW rank 1 bound to socket 1[core 6[hwt 0-1]], \
        socket 1[core 7[hwt 0-1]]: [../../../../../..][BB/BB/../../../..]\n\
        [vm:16172] MCW rank 2 bound to socket 0[core 2[hwt 0-1]], socket 0[core 3[hwt 0-1]]: \
        [../../BB/BB/../..][../../../../../..]\n";
    assert_eq!(places(two, "interleaved")?, ["0,2,12,14", "1,3,13,15", "4,6,16,18"]);
    let thread = "[vm:1] MCW rank 0 bound to socket 0[core 0[hwt 1]]: \
        [.B/../../../../..][../../../../../..]\n[vm:1] MCW rank 1 is not bound (or bound to all available \
        processors)\n";
    assert_eq!(places(thread, "interleaved")?, ["12", "0-23"]);
    // A job that lacks PUs 0 and 1 has seven cores.
    let part = "[vm:15712] MCW rank 0 bound to socket 0[core 0[hwt 0-1]]: [BB/../..][../../../..]\n\
        [vm:15712] MCW rank 1 bound to socket 1[core 3[hwt 0-1]]: [../../..][BB/../../..]\n";
    assert_eq!(places(part, "two-packages-gpus")?, ["2-3", "8-9"]);
    // A package of which the job has nothing is drawn empty.
    assert_eq!(
        places("[vm:2] MCW rank 0 bound to socket 1[core 0[hwt 0]]: [][B/././.]", "job-share")?,
        ["8"]
    );
    assert!(refusal(part, "interleaved")?.contains("not of the packages, cores and PUs"));
    Ok(())
}

/// Open MPI 5.0.8 and 5.0.11 with `--bind-to package`, `--bind-to core` and `--bind-to hwthread
/// --use-hwthread-cpus`.
#[test]
fn open_mpi_5_numbers_cores_by_order_and_threads_as_the_kernel_does() -> Outcome {
    let text = "[vm:1] Rank 0 bound to package[0][core:L0-5]\n[vm:1] Rank 2 bound to package[1][core:L6-11]\n\
        [vm:1] Rank 1 bound to package[0][core:1]\n";
    let all = ["0,2,4,6,8,10,12,14,16,18,20,22", "2,14", "1,3,5,7,9,11,13,15,17,19,21,23"];
    assert_eq!(places(text, "interleaved")?, all);
    assert_eq!(places("[vm:1] Rank 0 bound to package[0][hwt:12]", "interleaved")?, ["12"]);
    assert_eq!(places("[vm:1] Rank 1 bound to package[0][hwt:L64]", "lumi-g")?, ["64"]);
    // Reserved cores are none of the job's: its core 0 is the second one.
    assert_eq!(places("[vm:1] Rank 0 bound to package[0][core:0]", "power9")?, ["4-7"]);
    // Where a core is one PU, the number is the PU's.
    assert_eq!(places("[vm:1] Rank 0 bound to package[1][core:L8-11]", "job-share")?, ["8-11"]);
    let beyond = refusal("[vm:1] Rank 0 bound to package[0][core:12]", "interleaved")?;
    assert!(beyond.contains("core 12 of the text is beyond the 12"), "{beyond}");
    Ok(())
}

/// MPICH 3.4.3 and 5.0.2 with `-bind-to core` and `-bind-to socket`.
#[test]
fn mpichs_bits_end_with_the_number_of_pus() -> Outcome {
    let text = "process 1 binding: 010000000000010000000000\nprocess 0 binding: 100000000000100000000000\n";
    assert_eq!(places(text, "interleaved")?, ["0,12", "1,13"]);
    // The job has fourteen PUs, 2 to 15: the last two are not shown.
    assert_eq!(places("process 1 binding: 00000000111111", "two-packages-gpus")?, ["?"]);
    Ok(())
}

/// Intel MPI 2021.19 with I_MPI_DEBUG=4.
#[test]
fn intel_mpis_table_lists_pus() -> Outcome {
    let text = "[0] MPI startup(): library kind: release\n[0] MPI startup(): ===== CPU pinning =====\n\
        [0] MPI startup(): Rank    Pid      Node name  Pin cpu\n\
        [0] MPI startup(): 0       16642    vm         {0,2}\n\
        [0] MPI startup(): 1       16643    vm         {1,3,5}\n";
    assert_eq!(places(text, "interleaved")?, ["0,2", "1,3,5"]);
    Ok(())
}

/// As tasks of two nodes log it, here with the form of public logs.
#[test]
fn srun_and_pals_print_masks_with_each_ranks_node() -> Outcome {
    let srun = "cpu-bind=MASK - nid002, task  2  0 [77]: mask 0x1 set\n\
        cpu-bind=MASK - nid001, task  1  1 [54]: mask 0xff00000000000000 set\n\
        cpu-bind=MASK - nid001, task  0  0 [53]: mask 0xff000000000000 set\n";
    assert_eq!(places(srun, "lumi-g")?, ["48-55", "56-63"]);
    let nodes = read(srun, &machine("lumi-g")?)?;
    let names: Vec<_> = nodes.iter().map(|node| node.of.as_deref().unwrap_or_default()).collect();
    assert_eq!(names, ["nid001, of 2 nodes in the text", "nid002, of 2 nodes in the text"]);
    let second = &nodes[1].readings[0].ranks;
    assert_eq!((second.len(), second[0].world, &second[0].pus), (1, 2, &Ok("0".parse()?)));
    let pals = "x1 0: cpubind:list x3109c0 pid 2105784 rank 0 0: mask 0x3\n\
        x1 1: cpubind:list x3109c0 pid 2105785 rank 1 1: mask 0x300\n";
    assert_eq!(
        (places(pals, "lumi-g")?, read(pals, &machine("lumi-g")?)?[0].launcher),
        (vec!["0-1".into(), "8-9".into()], Launcher::Pals)
    );
    let failed = "cpu-bind=MASK - a, task 0 0 [1]: mask 0x1 FAILED\n";
    assert_eq!(places(failed, "lumi-g")?, ["?"]);
    let why = read(failed, &machine("lumi-g")?)?[0].readings[0].ranks[0].pus.clone();
    assert_eq!(why, Err("the launcher printed that its binding failed".to_owned()));
    Ok(())
}

#[test]
fn texts_of_no_launcher_of_two_and_of_another_machine_are_refused() -> Outcome {
    assert!(refusal("hello\n", "lumi-g")?.contains("no line says where a rank is"));
    let two = "process 0 binding: 10\n[vm:1] Rank 0 bound to package[0][core:0]\n";
    assert!(refusal(two, "lumi-g")?.contains("several launchers"));
    let beyond = "cpu-bind=MASK - a, task 0 0 [1]: mask 0x10000 set\n";
    assert!(refusal(beyond, "vm-two-nodes")?.contains("PUs 16 are not on the saved machine"));
    Ok(())
}

#[test]
fn a_rank_that_is_printed_again_is_one_and_two_processes_of_one_number_are_two_launches() -> Outcome {
    let srun = |task: usize, process: usize, mask: &str| {
        format!("cpu-bind=MASK - nid001, task  {task}  {task} [{process}]: mask {mask} set\n")
    };
    let first = srun(0, 10, "0x1") + &srun(1, 11, "0x2");
    assert_eq!(places(&(first.clone() + &first), "lumi-g")?, ["0", "1"], "a log that holds them twice");
    assert_eq!(places(&(first.clone() + &srun(1, 11, "0x4")), "lumi-g")?, ["0", "2"], "the same process");
    let said = refusal(&(first.clone() + &srun(0, 20, "0x1")), "lumi-g")?;
    assert!(
        said.contains("rank 0 is there twice, as process 10 on nid001 and as process 20 on nid001"),
        "{said}"
    );
    // The second step's tasks on another node have the same numbers in their launch.
    let elsewhere = srun(0, 10, "0x1") + &srun(0, 10, "0x1").replace("nid001", "nid002");
    assert!(refusal(&elsewhere, "lumi-g")?.contains("several launches"));

    let pals = |process: usize| format!("x1 0: cpubind:list x3109c0 pid {process} rank 0 0: mask 0x3\n");
    assert!(refusal(&(pals(1) + &pals(2)), "lumi-g")?.contains("as process 1 on x3109c0 and as process 2"));
    let intel = |process: usize| {
        format!(
            "[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n[0] MPI startup(): 0  {process}  vm  {{0}}\n"
        )
    };
    assert!(refusal(&(intel(1) + &intel(2)), "lumi-g")?.contains("as process 1 on vm and as process 2"));

    // The number beside Open MPI's host is the daemon's; MPICH names neither.
    let open_mpi = |daemon: usize, pu: usize| format!("[vm:{daemon}] Rank 0 bound to package[0][hwt:{pu}]\n");
    assert_eq!(places(&(open_mpi(1, 3) + &open_mpi(1, 3)), "lumi-g")?, ["3"]);
    for other in [open_mpi(2, 3), open_mpi(1, 4)] {
        assert!(refusal(&(open_mpi(1, 3) + &other), "lumi-g")?.contains("several launches"), "{other}");
    }
    let mpich = |bits: &str| format!("process 0 binding: {bits}{}\n", "0".repeat(22));
    assert_eq!(places(&(mpich("10") + &mpich("10")), "interleaved")?, ["0"]);
    let said = refusal(&(mpich("10") + &mpich("01")), "interleaved")?;
    assert!(said.contains("rank 0 is there twice, with two bindings"), "{said}");
    Ok(())
}
