//! Every script of `jobs/`, submitted: the text that users submit, with values of this machine
//! (`tests/lab/jobs.env`).
//!
//! bash itself writes down which lines it runs, so "the script works" means that each of its lines ran here.
//! Options of sbatch that name what a lab has not got (account, partition, four GPUs) are overridden on its
//! command line, as users may.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::{Batch, Lab};
use crate::mpi::{self, Mpi};
use crate::proof;
use crate::run::{BINARY, Done};

/// A script, what sbatch is told instead of its own options, on how many nodes its tasks are ranks (0: it has
/// one task), and the documents it leaves (`%` is the job's number).
struct Job {
    script: &'static str,
    options: &'static [&'static str],
    nodes_of_ranks: u64,
    documents: &'static [&'static str],
}

const JOBS: [Job; 8] = [
    Job {
        script: "one-node.sh",
        options: &["--gpus-per-node=2"],
        nodes_of_ranks: 0,
        documents: &["result-%"],
    },
    Job {
        script: "lumi-g.sh",
        options: &["--gpus-per-node=2"],
        nodes_of_ranks: 1,
        documents: &["right-%", "wrong-%", "half-right-%", "half-wrong-%"],
    },
    Job {
        script: "leonardo.sh",
        options: &["--gres=gpu:2"],
        nodes_of_ranks: 1,
        documents: &["near-%", "far-%", "spread-%"],
    },
    Job {
        script: "gh200.sh",
        options: &["--gpus-per-node=2", "--mem=0"],
        nodes_of_ranks: 1,
        documents: &["away-0-%", "away-1-%"],
    },
    Job {
        script: "gh200-shared.sh",
        options: &["--array=0-1", "--cpus-per-task=1", "--mem=0"],
        nodes_of_ranks: 0,
        documents: &["shared-%-0", "shared-%-1"],
    },
    Job {
        script: "nvidia-node.sh",
        options: &["--gpus-per-node=2"],
        nodes_of_ranks: 1,
        documents: &["chosen-%", "slurms-%"],
    },
    Job {
        script: "placed.sh",
        options: &["--ntasks-per-node=2", "--gpus-per-node=2"],
        nodes_of_ranks: 0,
        documents: &[],
    },
    Job {
        script: "partition-sweep.sh",
        options: &["--gpus-per-node=2"],
        nodes_of_ranks: 2,
        documents: &["sweep-%"],
    },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jobs")
}

/// The values that scripts have in the lab.
fn lab_values() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/jobs.env")
}

/// The plug-in's path, srun's word for its MPI, and sbatch's option for two ranks a node; without one, one
/// task.
fn launch(mpi: Option<&Mpi>) -> (String, &'static str, &'static str) {
    match mpi {
        Some(mpi) => {
            (mpi.plugin.display().to_string(), mpi.option.trim_start_matches("--mpi="), "--ntasks-per-node=2")
        }
        None => (String::new(), "none", "--ntasks-per-node=1"),
    }
}

/// Submits the script with the lab's values and tracing; gives the lines that ran.
fn submitted(lab: &Lab, job: &Job, mpi: Option<&Mpi>) -> Result<(Batch, BTreeSet<usize>), Box<dyn Error>> {
    let path = folder().join(job.script);
    let (traced, trace) = (lab.results().join("trace.bash"), lab.results().join("trace"));
    // Every bash that is not interactive reads the file BASH_ENV names; only the batch script is to be
    // traced.
    let tracing = format!(
        "if [ -n \"$SLURM_JOB_ID\" ] && [ -z \"$SLURM_STEP_ID\" ]; then\n\
         unset BASH_ENV; exec 9>>{}; BASH_XTRACEFD=9; PS4='@$LINENO '; set -x\nfi\n",
        trace.display()
    );
    fs::write(&traced, tracing)?;
    let (plugin, mpi_type, tasks) = launch(mpi);
    let variables = [
        ("NUMABENCH", BINARY),
        ("NUMABENCH_LAB", &lab_values().display().to_string()),
        ("NUMABENCH_ARGS", "--backend host --size 64KiB --reps 4"),
        ("NUMABENCH_MPI", &plugin),
        ("SLURM_MPI_TYPE", mpi_type),
        ("BASH_ENV", &traced.display().to_string()),
    ];
    let mut options = job.options.to_vec();
    if job.nodes_of_ranks > 0 {
        options.push(tasks);
        options.push(if mpi.is_some() && job.nodes_of_ranks == 2 { "--nodes=2" } else { "--nodes=1" });
    }
    let batch = lab.sbatch(&path, &options, &variables)?;
    let text = fs::read_to_string(&trace)?;
    fs::remove_file(&trace)?;
    let line = |text: &str| text.trim_start_matches('@').split(' ').next()?.parse().ok();
    Ok((batch, text.lines().filter(|line| line.starts_with('@')).filter_map(line).collect()))
}

/// The lines of a script that do something: no comments, no words that only end or open a block, and of a
/// command that goes on over several lines the first.
fn working_lines(script: &str) -> BTreeSet<usize> {
    let mut lines = BTreeSet::new();
    let mut goes_on = false;
    for (at, line) in (1..).zip(script.lines()) {
        let words = line.trim();
        let structure = ["", "}", "fi", "done", "else"].contains(&words)
            || words.starts_with('#')
            || words.ends_with("() {");
        // A function on one line does its work where it is called from, if at all.
        if !goes_on && !structure && !words.contains("() { ") {
            lines.insert(at);
        }
        goes_on = words.ends_with('\\');
    }
    lines
}

#[test]
fn every_job_script_is_in_the_list_and_asks_for_a_signal_before_its_limit() -> Done {
    let listed: BTreeSet<&str> = JOBS.iter().map(|job| job.script).collect();
    for entry in fs::read_dir(folder())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        assert!(listed.contains(name.as_str()), "jobs/{name} is not run by this test");
        let text = fs::read_to_string(folder().join(&name))?;
        assert!(
            text.contains("\n#SBATCH --signal=TERM@60\n"),
            "jobs/{name} is killed at its limit without a warning"
        );
    }
    Ok(())
}

#[test]
fn every_line_of_every_job_script_runs_and_leaves_its_documents() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    // Without a plug-in each run has one task: the same lines, but no launch.
    let mpi = mpi::mpich();
    for job in &JOBS {
        let (batch, ran) = submitted(&lab, job, mpi.as_ref())?;
        let text = fs::read_to_string(folder().join(job.script))?;
        assert_eq!(
            (batch.state.as_str(), batch.exit),
            ("COMPLETED", (0, 0)),
            "{}: {}",
            job.script,
            batch.out
        );
        let missed: Vec<String> = working_lines(&text)
            .difference(&ran)
            .map(|at| format!("{at}: {}", text.lines().nth(at - 1).unwrap_or_default()))
            .collect();
        assert!(missed.is_empty(), "{}: these lines did not run: {missed:#?}", job.script);
        let mut tasks = 0;
        for name in job.documents {
            let name = name.replace('%', &batch.job);
            let document = proof::file(&lab.results().join(format!("{name}.json")))
                .map_err(|error| format!("{name}: {error}"))?;
            assert_eq!(proof::text(&document, "/status"), "complete", "{name}");
            tasks = tasks.max(proof::number(&document, "/launch/tasks"));
        }
        let expected = if mpi.is_some() { 2 * job.nodes_of_ranks } else { 0 };
        assert_eq!(tasks, expected, "{}: ranks that are processes", job.script);
        assert!(batch.out.contains("Slurm job "), "{}: `topo` shows the step: {}", job.script, batch.out);
    }
    Ok(())
}

#[test]
fn a_job_at_its_time_limit_keeps_what_is_finished_and_begins_no_other_run() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    let values = lab.results().join("values");
    let longer = "options=(--backend host --size 64KiB --direction h2d --order alone --reps 10000000)";
    fs::write(&values, format!(". {}\n{longer}\n", lab_values().display()))?;
    let values = values.display().to_string();
    let mpi = mpi::mpich();
    let (plugin, mpi_type, tasks) = launch(mpi.as_ref());
    let variables = [
        ("NUMABENCH", BINARY),
        ("NUMABENCH_LAB", values.as_str()),
        ("NUMABENCH_MPI", &plugin),
        ("SLURM_MPI_TYPE", mpi_type),
    ];
    // A minute is the least limit there is, and the signal is due a minute before it: Slurm sends it when it
    // next looks, within 30 s.
    let options = ["--gpus-per-node=2", tasks, "--time=1"];
    let batch = lab.sbatch(&folder().join("lumi-g.sh"), &options, &variables)?;
    assert_eq!(batch.exit, (143, 0), "{}: {}", batch.state, batch.out);
    let document = |name: &str| lab.results().join(format!("{name}-{}.json", batch.job));
    let right = proof::file(&document("right"))?;
    assert_eq!((proof::text(&right, "/status"), &right["exit_code"]), ("interrupted", &143.into()));
    assert!(proof::results(&right).all(|result| !proof::list(result, "/blocks").is_empty()), "{}", batch.out);
    assert!(!document("wrong").exists(), "{}", batch.out);
    Ok(())
}
