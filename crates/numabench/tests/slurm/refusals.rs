//! Launches and lists that cannot become one run: refused once, by one voice, with what to change; never N
//! runs.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::lab::Lab;
use crate::mpi::{self, pingpong, step};
use crate::run::{BINARY, Done, Ended};
use crate::{driver, proof};

/// Two ranks on two CPUs, all of a node's theirs.
const FREE: [&str; 3] = ["-N1", "-n2", "--cpu-bind=none"];

/// How soon a step ends whose tasks cannot all begin: far less than the two minutes that a task in MPI_Init
/// waits for another one.
const SOON: Duration = Duration::from_secs(30);

fn refused(lab: &Lab, plugin: Option<&Path>, args: &[&str], words: &[&str]) {
    step(lab, plugin, args).refused(2, words);
}

#[test]
fn several_tasks_without_the_plug_in_are_refused_with_the_ways_to_get_it_or_do_without() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let remedies = ["srun started 2 processes", "cargo xtask mpi-plugin", "NUMABENCH_MPI", "srun -N1 -n1"];
    for option in ["--mpi=none", "--mpi=pmi2"] {
        refused(&lab, None, &pingpong(&[&FREE[..], &[option]].concat(), &[]), &remedies);
    }
    let nowhere = Path::new("/nonexistent/libnumabench_mpi.so");
    let args = pingpong(&[&FREE[..], &["--mpi=none"]].concat(), &[]);
    refused(&lab, Some(nowhere), &args, &["srun started 2 processes", "/nonexistent/libnumabench_mpi.so"]);
    Ok(())
}

#[test]
fn a_launch_in_which_mpi_finds_nobody_is_refused_with_the_option_that_helps() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        for option in ["--mpi=none", mpi.wrong] {
            let srun = [&FREE[..], &[option]].concat();
            let args = pingpong(&srun, &["--cpus", "0,1", "--gpus", "0,0", "--json", "-"]);
            refused(
                &lab,
                Some(&mpi.plugin),
                &args,
                &["srun started 2 processes", mpi.name, mpi.option, "srun -N1 -n1"],
            );
        }
    }
    Ok(())
}

#[test]
fn lists_shorter_than_the_ranks_of_a_node_are_refused_with_both_numbers() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        let srun = [&FREE[..], &[mpi.option]].concat();
        let short = |cpus: &str, gpus: &str, words: &[&str]| {
            refused(&lab, Some(&mpi.plugin), &pingpong(&srun, &["--cpus", cpus, "--gpus", gpus]), words);
        };
        short("0", "0,0", &["--cpus names 1 PU", "this node has 2 ranks"]);
        short("0,1", "0", &["--gpus names 1 device", "this node has 2 ranks"]);
    }
    Ok(())
}

#[test]
fn a_pu_that_a_task_is_not_bound_to_is_refused_with_sruns_option() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        let srun = ["-N1", "-n2", "--cpu-bind=map_cpu:0,1", mpi.option];
        let args = pingpong(&srun, &["--cpus", "1,0", "--gpus", "0,0"]);
        refused(&lab, Some(&mpi.plugin), &args, &["rank 0", "PU 1", "srun --cpu-bind=none"]);
    }
    Ok(())
}

#[test]
fn a_pu_outside_of_the_step_is_refused_by_the_task_on_its_own_too() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let srun = ["-N1", "-n1", "--exclusive", "--cpu-bind=map_cpu:0", "--mpi=none"];
    refused(&lab, None, &pingpong(&srun, &["--cpus", "1", "--gpus", "0"]), &["PU 1", "allowed here: 0"]);
    Ok(())
}

#[test]
fn a_gpu_that_slurm_has_hidden_from_a_task_is_refused_and_without_a_list_each_takes_its_own() -> Done {
    let (Some(lab), Some(mpi)) = (Lab::start()?, mpi::mpich()) else { return Ok(()) };
    let mut libraries = driver::fake()?.display().to_string();
    libraries.push_str(&format!(":{}", std::env::var("LD_LIBRARY_PATH").unwrap_or_default()));
    let simulated = |more: &[&str]| -> Result<Ended, Box<dyn Error>> {
        let mut srun = lab.command("srun");
        srun.args([
            "--quiet",
            "--time=5",
            "--kill-on-bad-exit=0",
            "-N1",
            "-n2",
            "--cpu-bind=none",
            "--gpus-per-task=1",
        ]);
        srun.args([
            mpi.option,
            BINARY,
            "pingpong",
            "--size",
            "64KiB",
            "--direction",
            "h2d",
            "--order",
            "alone",
            "--reps=10",
        ]);
        srun.args(["--timing", "host", "--json", "-"]).args(more);
        srun.env("LD_LIBRARY_PATH", &libraries).env("NUMABENCH_MPI", &mpi.plugin);
        Ok(mpi::without_sruns_words(Ended::of(&srun.output()?)))
    };
    // The driver counts 0000:c1:00.0 first, so Slurm's 0 is that, and PCI order is the other way round.
    let own = simulated(&[])?;
    assert_eq!(own.code, Some(0), "{}{}", own.out, own.err);
    let document = proof::document(&own)?;
    let devices: Vec<&str> =
        proof::list(&document, "/ranks").iter().map(|rank| proof::text(rank, "/asked/device")).collect();
    assert_eq!(devices, ["0000:c1:00.0", "0000:05:00.0"]);
    simulated(&["--gpus", "0,1"])?.refused(2, &["rank 0", "0000:05:00.0", "--gpu-bind=none"]);
    assert_eq!(simulated(&["--gpus", "1,0"])?.code, Some(0));
    Ok(())
}

#[test]
fn options_that_differ_between_tasks_are_refused_with_both() -> Done {
    let (Some(lab), Some(mpi)) = (Lab::start()?, mpi::mpich()) else { return Ok(()) };
    let programs = lab.results().join("programs");
    let line =
        |rank: u32, reps: &str| format!("{rank} {BINARY} pingpong --backend host --gpus 0,0 --reps {reps}\n");
    fs::write(&programs, line(0, "10") + &line(1, "20"))?;
    let programs = programs.display().to_string();
    let args = [&FREE[..], &[mpi.option, "--multi-prog", &programs]].concat();
    refused(&lab, Some(&mpi.plugin), &args, &["rank 1", "--reps 20", "--reps 10"]);
    Ok(())
}

#[test]
fn a_document_that_the_first_task_cannot_write_ends_all_tasks_at_once() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        for command in ["mpi", "laplace"] {
            let began = Instant::now();
            let args = [&FREE[..], &[mpi.option, BINARY, command, "--json", "/nonexistent/x"]].concat();
            refused(&lab, Some(&mpi.plugin), &args, &["/nonexistent/x"]);
            assert!(began.elapsed() < SOON, "{} {command} took {:?}", mpi.name, began.elapsed());
        }
    }
    Ok(())
}
