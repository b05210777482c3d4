//! Every signal that ends a run, at every command that keeps something: the document is whole and says that
//! it was ended, a trial's program and folder are gone.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Field;
use super::tried::{Random, Tally, emptied};

/// Runs that go on for longer than they are left.
const COMMANDS: &[&str] = &[
    "pingpong --backend host --gpus 0 --size 64KiB --direction h2d --reps 9000000",
    "matrix --backend host --range 1MiB --max-time 60s",
    "sweep --backend host --size 4KiB..1MiB --max-time 60s",
    "latency --backend host --range 1MiB --max-time 60s",
    "trial --vary X=1 --max-runs 40 -- sleep 0.05",
    "place --measure --backend host --size 4MiB --max-time 60s",
];

/// The signals, and whether a run that they end still writes its document.
const SIGNALS: &[(&str, Signal, bool)] = &[
    ("SIGINT", Signal::INT, true),
    ("SIGTERM", Signal::TERM, true),
    ("SIGHUP", Signal::HUP, true),
    ("SIGXCPU", Signal::XCPU, true),
    ("SIGKILL", Signal::KILL, false),
];

/// How long what a signal ends may go on.
const AT_MOST: Duration = Duration::from_secs(15);

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let all: Vec<_> =
        COMMANDS.iter().flat_map(|command| SIGNALS.iter().map(move |signal| (*command, signal))).collect();
    // Started with nohup(1), SIGHUP is ignored by all that is started from here.
    let is_ignored = |signal: Signal| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
    };
    let mut ignored = 0;
    for (command, (name, signal, writes)) in random.sample(&all, field.extent.single_signal) {
        if is_ignored(*signal) {
            ignored += 1;
            continue;
        }
        let folder = field.folder.join("signals");
        emptied(&folder)?;
        let path = folder.join("result.json");
        let (before, after) = command.split_once(" -- ").unwrap_or((command, ""));
        let mut child = Command::new(field.binary);
        child.args(before.split(' ')).arg("--json").arg(&path).env("TMPDIR", &folder);
        if !after.is_empty() {
            child.arg("--").args(after.split(' '));
        }
        let mut child = child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let began = Instant::now();
        while !path.exists() && began.elapsed() < AT_MOST {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(random.below(300) as u64));
        let sent = Instant::now();
        kill_process(Pid::from_child(&child), *signal)?;
        let code = loop {
            match child.try_wait()? {
                Some(status) => break status.code(),
                None if sent.elapsed() > AT_MOST => {
                    child.kill()?;
                    break child.wait()?.code();
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        // Where there is little to measure (one NUMA node) a run may have ended by itself before the signal
        // came.
        if code == Some(0) && is_complete(&path) {
            continue;
        }
        let wanted = writes.then(|| 128 + signal.as_raw());
        let wrong = (code != wanted).then(|| format!("code {code:?}, not {wanted:?}"));
        let wrong = wrong.or_else(|| is_whole(&path, *writes)).or_else(|| left(&folder, after));
        tally.count(&format!("{name}: {command}"), wrong);
    }
    if ignored > 0 {
        tally.note(format!("{ignored} signals are ignored by who started this (nohup): not tried"));
    }
    Ok(())
}

/// Whether the document says that all was measured, or is a placement.
fn is_complete(path: &Path) -> bool {
    let document: Option<Value> = fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    document
        .is_some_and(|document| document["status"] == "complete" || document["schema"] == "numabench.place")
}

/// What is wrong with the document.
fn is_whole(path: &Path, was_told: bool) -> Option<String> {
    let bytes = fs::read(path).unwrap_or_default();
    match serde_json::from_slice::<Value>(&bytes) {
        Err(error) => Some(format!("{} bytes are no document: {error}", bytes.len())),
        Ok(document) if was_told && document["status"] == "running" => {
            Some("the document says that it still runs".to_owned())
        }
        Ok(_) => None,
    }
}

/// What a trial left: processes of its program with this folder in their mark, and folders of its own.
fn left(folder: &Path, program: &str) -> Option<String> {
    if program.is_empty() {
        return None;
    }
    let mark = format!("NUMABENCH_TRIAL_RUN={}", folder.display());
    let processes = || {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let has = |entry: &fs::DirEntry| {
            let bytes = fs::read(entry.path().join("environ")).unwrap_or_default();
            bytes.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes()))
        };
        all.filter(has).count()
    };
    let folders = || {
        let all = fs::read_dir(folder).into_iter().flatten().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with("numabench-trial-")).count()
    };
    let began = Instant::now();
    while processes() + folders() > 0 && began.elapsed() < AT_MOST {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (processes, folders) = (processes(), folders());
    (processes + folders > 0).then(|| format!("{processes} processes and {folders} folders are left"))
}
