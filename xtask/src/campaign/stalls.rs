//! Drivers whose calls never return, at each call that each command makes, with an exit handler that waits for them: each command ends within its limit and two seconds, by
//! itself, and what it kept is whole.
//!
//! Which calls a command makes the stand-in driver counts in a run without a fault. Runs that stall wait, so many go on at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use report::Document;

use super::tried::{Random, Tally, run};
use super::{Field, build};

/// What is run on two devices.
const COMMANDS: &[&str] = &[
    "pingpong --size 64KiB --reps 4",
    "pingpong --size 64KiB --reps 4 --timing device",
    "pingpong --size 64KiB --reps 4 --engine sm",
    "pingpong --size 64KiB --reps 4 --memory pinned-driver --order both",
    "peer --size 64KiB --reps 4",
    "matrix --size 64KiB --reps 4 --rows node",
    "latency --between gpus",
    "latency --reps 4",
    "sweep --size 4KiB..64KiB --reps 4",
    "contend --size 64KiB --reps 4",
    "kernels --reps 2",
    "laplace --grid 64x64",
    "suite",
];
/// Which calls of a name stall: of as many as there are the first, the second, one in the middle and the last.
fn which(count: usize) -> Vec<usize> {
    let mut which = vec![1, 2.min(count), count.div_ceil(2), count];
    which.sort_unstable();
    which.dedup();
    which
}
/// What the commands are told, and what they may take: the limit, two seconds, and what a loaded machine takes to start a process.
const LIMIT: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(12);
/// How long a run without a fault may take.
const QUIET: Duration = Duration::from_secs(40);
/// How many runs go on at once.
const AT_ONCE: usize = 6;

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let libraries = field.folder.join("driver");
    build::library(&libraries, "libcuda.so.1", &field.root.join("tests/fake-driver/src/lib.rs"))?;
    let mut all = Vec::new();
    for command in random.sample(COMMANDS, field.extent.single_command) {
        for (call, count) in calls_of(field, &libraries, command)? {
            all.extend(which(count).into_iter().map(|which| (*command, format!("stall {call} {which}"))));
        }
    }
    let tried: Vec<_> = random.sample(&all, field.extent.single_stall).collect();
    let (next, longest, counted) = (AtomicUsize::new(0), Mutex::new(Duration::ZERO), Mutex::new((tally, Ok(()))));
    thread::scope(|scope| {
        for number in 0..AT_ONCE {
            let (next, longest, counted, tried, libraries) = (&next, &longest, &counted, &tried, &libraries);
            scope.spawn(move || {
                while let Some((command, fault)) = tried.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = one(field, number, libraries, command, fault);
                    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                    match done {
                        Ok((wrong, took)) => {
                            counted.0.count(&format!("{command}: {fault}"), wrong);
                            let mut longest = longest.lock().unwrap_or_else(PoisonError::into_inner);
                            *longest = took.max(*longest);
                        }
                        Err(error) => counted.1 = Err(error),
                    }
                }
            });
        }
    });
    let (tally, done) = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
    let longest = longest.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.note(format!("the longest took {:.1} s with a limit of {} s", longest.as_secs_f64(), LIMIT.as_secs()));
    done
}

fn prepared(field: &Field, libraries: &Path, what: &str, limit: Duration, path: &Path) -> Command {
    drop(fs::remove_file(path));
    let mut command = Command::new(field.binary);
    // One process of it is one rank with one GPU.
    let gpus = if what.starts_with("laplace") { "0" } else { "all" };
    command.args(what.split(' ')).args(["--backend", "cuda", "--gpus", gpus, "--quiet"]);
    command.args(["--timeout", &format!("{}s", limit.as_secs()), "--json"]).arg(path);
    command.env("LD_LIBRARY_PATH", libraries);
    command.env("FAKE_DEVICES", "device 0000:10:00.0; memory 64MiB;device 0000:11:00.0; memory 64MiB");
    command
}

/// The calls of the driver that a command makes, and how often.
fn calls_of(field: &Field, libraries: &Path, what: &str) -> Result<BTreeMap<String, usize>> {
    let counts = field.folder.join("counts");
    drop(fs::remove_file(&counts));
    let mut command = prepared(field, libraries, what, QUIET, &field.folder.join("stalled.json"));
    let ended = run(command.env("FAKE_CALLS", &counts), &field.folder)?;
    let text = fs::read_to_string(&counts)
        .with_context(|| format!("{what}, without a fault: {:?}: {}{}", ended.code, ended.out, ended.err))?;
    let count = |line: &str| {
        let (call, count) = line.split_once(' ')?;
        Some((call.to_owned(), count.parse().ok()?))
    };
    Ok(text.lines().filter(|line| line.starts_with("cu")).filter_map(count).collect())
}

/// What was wrong, and how long it took.
fn one(field: &Field, number: usize, libraries: &Path, what: &str, fault: &str) -> Result<(Option<String>, Duration)> {
    let folder = field.folder.join(format!("stalled-{number}"));
    fs::create_dir_all(&folder)?;
    let path = folder.join("stalled.json");
    let mut command = prepared(field, libraries, what, LIMIT, &path);
    command.env("FAKE_FAULTS", format!("{fault};exit waits"));
    let ended = run(&mut command, &folder)?;
    let document = fs::read(&path).ok().map(|bytes| Document::from_json(&bytes).map(|document| document.exit_code));
    let wrong = match (ended.code, document) {
        (None, _) => Some(format!("it went on for {:.1} s: {}", ended.took.as_secs_f64(), ended.err)),
        _ if ended.took > LATEST => Some(format!("it took {:.1} s", ended.took.as_secs_f64())),
        _ if ended.err.contains("panicked") => Some(ended.err.clone()),
        (_, Some(Err(error))) => Some(format!("the document cannot be read: {error}")),
        // Ended from outside of the run: what was kept is of a run that goes on.
        (Some(code), Some(Ok(said))) => (said.is_some() && said.map(i32::from) != Some(code))
            .then(|| format!("code {code}, and the document says {said:?}")),
        (Some(1 | 77), None) if ended.err.contains("error: ") => None,
        (Some(code), None) => Some(format!("code {code} and no document: {}", ended.err)),
    };
    Ok((wrong, ended.took))
}
