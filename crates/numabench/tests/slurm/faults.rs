//! Ranks that die, and signals: the document holds what was finished, says who is missing, and nothing hangs.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::{self, Mpi};
use crate::proof::{self, list, number, results, text};
use crate::run::{BINARY, Done, Ended};

/// How long a launch may take to end once a rank is gone.
const SOON: Duration = Duration::from_secs(60);

/// A run of two ranks that would take minutes, of which a pass is in `document`.
struct Long {
    srun: Child,
    conf: String,
}

impl Long {
    fn start(lab: &Lab, mpi: &Mpi, document: &Path, more: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut srun = Command::new("bash");
        srun.args(["-c", ". \"$0\" && exec srun \"$@\""]).arg(lab.folder().join("env.sh"));
        srun.args([
            "--quiet",
            "--time=5",
            "--kill-on-bad-exit=0",
            "-N1",
            "-n2",
            "--cpu-bind=none",
            mpi.option,
            BINARY,
        ]);
        srun.args([
            "pingpong",
            "--backend",
            "host",
            "--gpus",
            "0,0",
            "--size",
            "64KiB",
            "--direction",
            "h2d,d2h",
        ]);
        srun.args(["--order", "alone", "--reps", "3000000", "--json"]).arg(document).args(more);
        srun.env("NUMABENCH_MPI", &mpi.plugin)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let srun = srun.spawn()?;
        let began = Instant::now();
        while !document.exists() {
            if began.elapsed() > SOON {
                return Err("no document after a minute".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        let conf = format!("SLURM_CONF={}", lab.folder().join("etc/slurm.conf").display());
        Ok(Self { srun, conf })
    }

    /// The process of this rank.
    fn process(&self, rank: u32) -> Result<u32, Box<dyn Error>> {
        let procid = format!("SLURM_PROCID={rank}");
        for entry in fs::read_dir("/proc")?.flatten() {
            let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
            let has =
                |variable: &str| environment.split(|byte| *byte == 0).any(|text| text == variable.as_bytes());
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            if name == "numabench\n" && has(&procid) && has(&self.conf) {
                return Ok(entry.file_name().to_string_lossy().parse()?);
            }
        }
        Err(format!("rank {rank} is not there").into())
    }

    /// Sends a signal to the process of this rank.
    fn signal(&self, rank: u32, signal: Signal) -> Done {
        let process = Pid::from_raw(i32::try_from(self.process(rank)?)?).ok_or("process 0")?;
        kill_process(process, signal).map_err(|error| format!("rank {rank} is gone already: {error}").into())
    }

    /// How it ended, which must be soon.
    fn end(mut self) -> Result<Ended, Box<dyn Error>> {
        let began = Instant::now();
        while self.srun.try_wait()?.is_none() {
            if began.elapsed() > SOON {
                self.srun.kill()?;
                return Err(format!("srun has not ended {SOON:?} after the fault").into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(mpi::without_sruns_words(Ended::of(&self.srun.wait_with_output()?)))
    }
}

fn measured(document: &Value) {
    let finished = results(document).filter(|result| !list(result, "/blocks").is_empty()).count();
    assert!(finished > 0, "what was finished is kept: {document:#}");
}

#[test]
fn a_rank_that_is_killed_is_named_and_what_was_finished_is_kept() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        let path = lab.results().join(format!("{}.json", mpi.option));
        let run = Long::start(&lab, &mpi, &path, &[])?;
        run.signal(1, Signal::KILL)?;
        let ended = run.end()?;
        let document = proof::file(&path)?;
        assert_eq!(
            text(&document, "/status"),
            "partial",
            "{}: {}{}",
            mpi.name,
            document["status_reason"],
            ended.err
        );
        assert_eq!(document["exit_code"], 3, "{}", mpi.name);
        let missing = list(&document, "/missing");
        assert_eq!(missing.iter().map(|rank| number(rank, "/rank")).collect::<Vec<_>>(), [1], "{}", mpi.name);
        assert!(missing[0]["host"].is_string(), "{missing:?}");
        measured(&document);
    }
    Ok(())
}

#[test]
fn sigterm_to_a_step_ends_all_ranks_with_one_code_and_keeps_what_is_finished() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        let path = lab.results().join(format!("{}.json", mpi.option));
        let run = Long::start(&lab, &mpi, &path, &[])?;
        let jobs = Ended::of(&lab.command("squeue").args(["--noheader", "--steps", "--format=%i"]).output()?)
            .well()
            .out;
        let step = jobs.split_whitespace().find(|step| step.ends_with(".0")).ok_or("no step")?.to_owned();
        Ended::of(&lab.command("scancel").args(["--signal=TERM", &step]).output()?).well();
        let ended = run.end()?;
        assert_eq!(ended.code, Some(143), "{}: {}{}", mpi.name, ended.out, ended.err);
        let document = proof::file(&path)?;
        proof::agrees(&document, ended.code)?;
        assert_eq!(
            (text(&document, "/status"), list(&document, "/missing").len()),
            ("interrupted", 0),
            "{}",
            mpi.name
        );
        measured(&document);
    }
    Ok(())
}

#[test]
fn a_rank_that_hangs_holds_the_others_no_longer_than_the_timeout() -> Done {
    let Some(lab) = Lab::start()? else { return Ok(()) };
    for mpi in mpi::all() {
        let path = lab.results().join(format!("{}.json", mpi.option));
        let run = Long::start(&lab, &mpi, &path, &["--timeout", "10s"])?;
        run.signal(1, Signal::STOP)?;
        let ended = run.end()?;
        let document = proof::file(&path)?;
        assert_eq!(
            (text(&document, "/status"), &document["exit_code"]),
            ("timed-out", &124.into()),
            "{}",
            ended.err
        );
        measured(&document);
    }
    Ok(())
}
