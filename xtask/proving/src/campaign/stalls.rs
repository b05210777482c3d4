//! Drivers whose calls never return, at each call that each command makes, with an exit handler that waits
//! for them: each command ends within its limit and two seconds, by itself, and what it kept is whole.
//!
//! Which calls a command makes the stand-in driver counts in a run without a fault. Runs that stall wait, so
//! many go on at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use report::{Document, SavedDocument};
use serde_json::Value;

use super::Field;
use super::libraries::devices;
use super::messages::{MPIS, plugin_of};
use super::tried::{Random, Tally, run};

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
    "sweep --pieces 4KiB,64KiB --total 256KiB --reps 2",
    "sweep --memory managed --size 64KiB --max-time 300ms",
    "contend --size 64KiB --reps 4",
    "kernels --reps 2",
    "laplace --grid 64x64",
    "suite",
    "topo --measure --size 64KiB --reps 4",
    "place --measure --size 64KiB --max-time 1s",
    "check --bandwidth --what peer",
    "mpi --size 64KiB --pattern ping-pong --operations send --max-time 300ms --operation-timeout 4s",
];
/// What keeps nothing before its GPUs are found; a limit that ends it then is said.
const UNBEGUN: &[&str] = &["place", "check", "laplace", "mpi"];
/// Which calls of a name stall: of as many as there are the first, the second, one in the middle and the
/// last.
fn which(count: usize) -> Vec<usize> {
    let mut which = vec![1, 2.min(count), count.div_ceil(2), count];
    which.sort_unstable();
    which.dedup();
    which
}
/// What the commands are told, and what they may take: the limit, two seconds, and what a loaded machine
/// takes to start a process.
const LIMIT: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(12);
/// Two ranks of `mpi` have so much longer: between two operations a session may be silent for 15 s more than
/// in one, and the other rank's supervisor waits 5 s for rank 0's.
const BETWEEN: Duration = Duration::from_secs(4 + 15 + 5);
/// How long a run without a fault may take.
const QUIET: Duration = Duration::from_secs(40);
/// How many runs go on at once.
const AT_ONCE: usize = 6;

/// Tries them.
pub fn fight(field: &Field, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let libraries = field.libraries.driver()?;
    let mut all = Vec::new();
    let has_mpi = mpi(field).is_some();
    if !has_mpi {
        tally.note("no MPI with a plug-in: its messages were not tried".to_owned());
    }
    for command in
        random.sample(COMMANDS, field.extent.single_command).filter(|what| has_mpi || name(what) != "mpi")
    {
        for (call, count) in calls_of(field, &libraries, command)? {
            all.extend(which(count).into_iter().map(|which| (*command, format!("stall {call} {which}"))));
        }
    }
    let mut tried: Vec<_> = random.sample(&all, field.extent.single_stall).collect();
    // Two ranks of `mpi` take longest: they begin first.
    tried.sort_by_key(|(command, _)| name(command) != "mpi");
    let (next, longest, counted) =
        (AtomicUsize::new(0), Mutex::new(Duration::ZERO), Mutex::new((tally, Ok(()))));
    thread::scope(|scope| {
        for number in 0..AT_ONCE {
            let (next, longest, counted, tried, libraries) = (&next, &longest, &counted, &tried, &libraries);
            scope.spawn(move || {
                while let Some((command, fault)) = tried.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = try_stall(field, number, libraries, command, fault);
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
    tally.note(format!(
        "the longest took {:.1} s with a limit of {} s",
        longest.as_secs_f64(),
        LIMIT.as_secs()
    ));
    done
}

fn prepared(field: &Field, libraries: &Path, what: &str, limit: Duration, path: &Path) -> Command {
    drop(fs::remove_file(path));
    let name = name(what);
    let mut command = match mpi(field).filter(|_| name == "mpi") {
        None => Command::new(field.binary),
        Some((launcher, plugin, options)) => {
            let mut command = Command::new(launcher);
            command.args(options).arg(field.binary).env("NUMABENCH_MPI", plugin);
            command
        }
    };
    command.args(what.split(' ')).args(["--timeout", &format!("{}s", limit.as_secs())]);
    if name != "check" {
        // One process of laplace is one rank with one GPU.
        let gpus = if name == "laplace" { "0" } else { "0,1" };
        command.args(["--backend", "cuda", "--gpus", gpus]);
    }
    command.arg("--json");
    if name != "topo" {
        command.arg(path).arg("--quiet");
    }
    command.env("LD_LIBRARY_PATH", libraries);
    command.env("FAKE_DEVICES", devices(2));
    command
}

fn name(what: &str) -> &str {
    what.split(' ').next().unwrap_or_default()
}

/// A launcher that is here, its plug-in and its options.
fn mpi(field: &Field) -> Option<(&'static str, PathBuf, &'static [&'static str])> {
    MPIS.iter().find_map(|(launcher, folder, options)| {
        Some((*launcher, plugin_of(field, launcher, folder)?, *options))
    })
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
fn try_stall(
    field: &Field,
    number: usize,
    libraries: &Path,
    what: &str,
    fault: &str,
) -> Result<(Option<String>, Duration)> {
    let folder = field.folder.join(format!("stalled-{number}"));
    fs::create_dir_all(&folder)?;
    let path = folder.join("stalled.json");
    let mut command = prepared(field, libraries, what, LIMIT, &path);
    command.env("FAKE_FAULTS", format!("{fault};exit waits"));
    let ended = run(&mut command, &folder)?;
    let name = name(what);
    let printed = (name == "topo" && !ended.out.is_empty()).then(|| ended.out.clone().into_bytes());
    let document = printed.or_else(|| fs::read(&path).ok()).map(|bytes| exit_code(&bytes));
    let latest = if name == "mpi" { LATEST + BETWEEN } else { LATEST };
    let wrong = match (ended.code, document) {
        (None, _) => Some(format!("it went on for {:.1} s: {}", ended.took.as_secs_f64(), ended.err)),
        _ if ended.took > latest => Some(format!("it took {:.1} s", ended.took.as_secs_f64())),
        _ if ended.err.contains("panicked") => Some(ended.err.clone()),
        (_, Some(Err(error))) => Some(format!("the document cannot be read: {error}")),
        // Ended from outside of the run: what was kept is of a run that goes on.
        (Some(code), Some(Ok(said))) => (said.is_some() && said != Some(code.into()))
            .then(|| format!("code {code}, and the document says {said:?}")),
        (Some(1 | 77), None) if ended.err.contains("error: ") => None,
        (Some(124), None) if UNBEGUN.contains(&name) && ended.err.contains("error: ") => None,
        (Some(code), None) => Some(format!("code {code} and no document: {}", ended.err)),
    };
    Ok((wrong, ended.took))
}

/// The exit code in a document that is whole, where that kind has one and its run has ended.
fn exit_code(bytes: &[u8]) -> Result<Option<i64>> {
    let document: Value = serde_json::from_slice(bytes)?;
    if document["schema"] == Document::SCHEMA {
        Document::from_json(bytes)?;
    }
    Ok(document["exit_code"].as_i64())
}
