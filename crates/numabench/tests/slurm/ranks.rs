//! Tasks of a step as ranks of one run: bound, numbered by their nodes, in one document.
//!
//! Ranks run one after the other here, since on two busy CPUs they would seldom overlap enough to be a
//! result; that they can run at once is tested too, by what the document says of it and not by its figures.

use std::error::Error;
use std::fs;

use serde_json::{Value, json};

use crate::lab::Lab;
use crate::mpi::{self, Mpi, pingpong, step};
use crate::proof::{self, list, number, placed, text};
use crate::run::{BINARY, Done, Ended, skipped};

/// One after the other, ten rounds, to standard output.
const ALONE: [&str; 5] = ["--order", "alone", "--reps=10", "--json", "-"];

/// A lab with two CPUs a node.
fn two_cpus() -> Result<Option<Lab>, Box<dyn Error>> {
    if std::thread::available_parallelism()?.get() < 2 {
        skipped("two ranks on two CPUs: this machine has one");
        return Ok(None);
    }
    Lab::start()
}

/// PUs with the NUMA nodes that they are on: where a rank's memory is to be by default.
fn with_nodes(pus: &[u64]) -> Result<Vec<(u64, u64)>, Box<dyn Error>> {
    let node = |pu: u64| -> Result<(u64, u64), Box<dyn Error>> {
        for entry in fs::read_dir(format!("/sys/devices/system/cpu/cpu{pu}"))? {
            if let Some(node) = entry?.file_name().to_string_lossy().strip_prefix("node") {
                return Ok((pu, node.parse()?));
            }
        }
        Ok((pu, 0)) // a kernel without NUMA
    };
    pus.iter().map(|pu| node(*pu)).collect()
}

/// The document of a run that went well.
fn document(ended: &Ended) -> Result<Value, Box<dyn Error>> {
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    proof::document(ended)
}

/// The launch as the document tells of it.
fn launched(document: &Value, mpi: &Mpi, tasks: u64, nodes: u64) {
    let launch = &document["launch"];
    assert!(text(launch, "/launcher").contains("srun"), "{launch}");
    assert_eq!((number(launch, "/tasks"), number(launch, "/nodes")), (tasks, nodes), "{launch}");
    assert!(text(launch, "/mpi_library").contains(mpi.name), "{launch}");
    assert_eq!(document["missing"], json!([]));
    let ranks = list(document, "/ranks");
    assert_eq!(
        ranks.iter().map(|rank| number(rank, "/rank")).collect::<Vec<_>>(),
        (0..tasks).collect::<Vec<_>>()
    );
    let processes: std::collections::BTreeSet<u64> =
        ranks.iter().map(|rank| number(rank, "/process_id")).collect();
    assert_eq!(processes.len() as u64, tasks, "each rank is a process: {processes:?}");
}

#[test]
fn two_tasks_are_one_run_under_open_mpi_and_under_mpich_with_the_same_binary() -> Done {
    let Some(lab) = two_cpus()? else { return Ok(()) };
    for mpi in mpi::all() {
        let srun = ["-N1", "-n2", mpi.option, "--cpu-bind=none"];
        for (cpus, pus) in [("0,1", [0, 1]), ("1,0", [1, 0])] {
            let args = [&["--cpus", cpus, "--gpus", "0,0"], &ALONE[..]].concat();
            let run = document(&step(&lab, Some(&mpi.plugin), &pingpong(&srun, &args)))?;
            launched(&run, &mpi, 2, 1);
            placed(&run, &with_nodes(&pus)?)?;
            assert!(
                placed(&run, &with_nodes(&[pus[1], pus[0]])?).is_err(),
                "the same checker says no to the other order"
            );
        }
    }
    Ok(())
}

#[test]
fn tasks_that_slurm_has_bound_stay_there_when_nobody_names_pus() -> Done {
    let Some(lab) = two_cpus()? else { return Ok(()) };
    for mpi in mpi::all() {
        for (map, pus) in [("--cpu-bind=map_cpu:0,1", [0, 1]), ("--cpu-bind=map_cpu:1,0", [1, 0])] {
            let srun = ["-N1", "-n2", mpi.option, map];
            let args = [&["--gpus", "0,0"], &ALONE[..]].concat();
            let run = document(&step(&lab, Some(&mpi.plugin), &pingpong(&srun, &args)))?;
            placed(&run, &with_nodes(&pus)?).map_err(|error| format!("{} {map}: {error}", mpi.name))?;
        }
    }
    Ok(())
}

#[test]
fn two_nodes_with_two_ranks_each_take_the_lists_by_their_place_on_the_node() -> Done {
    let Some(lab) = two_cpus()? else { return Ok(()) };
    for mpi in mpi::all() {
        // Open MPI tells nodes by their host names, MPICH by what Slurm says.
        if mpi.name == "Open MPI" && !lab.has_host_names()? {
            skipped(
                "two nodes with Open MPI: the lab's nodes share one host name (unshare --uts is not allowed)",
            );
            continue;
        }
        for (distribution, nodes) in [("block", [0, 0, 1, 1]), ("cyclic", [0, 1, 0, 1])] {
            let srun = ["-N2", "-n4", mpi.option, "--cpu-bind=none", "-m", distribution];
            let args = [&["--cpus", "1,0", "--gpus", "0,0"], &ALONE[..]].concat();
            let run = document(&step(&lab, Some(&mpi.plugin), &pingpong(&srun, &args)))?;
            launched(&run, &mpi, 4, 2);
            let ranks = list(&run, "/ranks");
            assert_eq!(
                ranks.iter().map(|rank| number(rank, "/node")).collect::<Vec<_>>(),
                nodes,
                "{distribution}"
            );
            // The first rank of a node has the first of the list, whatever its number.
            let pus: Vec<u64> = (0..4).map(|rank| u64::from(!nodes[..rank].contains(&nodes[rank]))).collect();
            placed(&run, &with_nodes(&pus)?)
                .map_err(|error| format!("{} {distribution}: {error}", mpi.name))?;
            assert_eq!(list(&run, "/nodes").len(), 2);
        }
    }
    Ok(())
}

#[test]
fn ranks_at_once_share_one_window_of_their_nodes_clock() -> Done {
    let (Some(lab), Some(mpi)) = (two_cpus()?, mpi::mpich()) else { return Ok(()) };
    let srun = ["-N1", "-n2", mpi.option, "--cpu-bind=none", BINARY, "pingpong", "--backend", "host"];
    // Rounds that last longer than a busy machine's scheduler keeps one of the two waiting.
    let more =
        ["--cpus", "0,1", "--gpus", "0,0", "--size=16MiB", "--direction=h2d", "--reps=40", "--json", "-"];
    // The ranks may still have been together for too little of the time: the document then says so, with exit
    // code 1 or 3.
    let run = proof::document(&step(&lab, Some(&mpi.plugin), &[&srun[..], &more].concat()))?;
    launched(&run, &mpi, 2, 1);
    let case = &list(&run, "/cases")[0];
    assert_eq!(list(case, "/ranks").len(), 2, "{case:#}");
    assert!(list(case, "/ranks").iter().all(|rank| !list(rank, "/blocks").is_empty()), "{case:#}");
    Ok(())
}

#[test]
fn one_task_is_a_run_of_threads_and_needs_no_mpi() -> Done {
    let Some(lab) = two_cpus()? else { return Ok(()) };
    let args = [&["--cpus", "0,1", "--gpus", "0,0"], &ALONE[..]].concat();
    let run = document(&step(
        &lab,
        None,
        &pingpong(&["-N1", "-n1", "-c2", "--cpu-bind=none", "--mpi=none"], &args),
    ))?;
    assert!(run["launch"].is_null());
    placed(&run, &with_nodes(&[0, 1])?)?;
    Ok(())
}
