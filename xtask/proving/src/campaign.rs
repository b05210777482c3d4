//! `cargo xtask campaign [--long] [--seed N] [--only PART] [--binary FILE]`: holds the binary against its
//! promises with what users and machines do to it, and prints how often that was tried and how often it was
//! right.
//!
//! * `lines` command lines that cannot be followed: the promised code, a message that names the value, in two
//!   seconds;
//! * `inputs` damaged hwloc files, placement documents and files that are none: refused or read, never a
//!   crash, never a wait;
//! * `exports` documents of all kinds, whole and damaged, in every form: refused, or read by a parser of the
//!   form (`readers`);
//! * `kills` SIGKILL at any time, with a fast disk and with a slow one: the document is whole and lacks no
//!   more than docs/results.md says, and nothing lies beside it;
//! * `faults` drivers that fail in one way, and in two at once, on eight stand-in devices: a document, and no
//!   process ends by a signal;
//! * `disks`   disks without room, folders that go away: the table comes, and the document is somewhere;
//! * `environment` variables that are no text, too long, or tell of launches that cannot be: no panic, no
//!   silence, nothing that steers a terminal;
//! * `limits`  of files, processes and memory: a result or a message of every command that writes;
//! * `stalls` drivers whose calls never return, at each call, with an exit handler that waits for them: the
//!   limit holds;
//! * `containers` two processes of one number, one host and one folder: each file is its own;
//! * `calls`   every system call that can fail fails once, in every command;
//! * `messages` every call of MPI that two ranks make fails once, under each MPI that is here;
//! * `signals` every signal that ends a run, at every command that keeps something, a trial's program among
//!   them.
//!
//! The short campaign is part of `cargo xtask test` and takes less than a minute; `--long` takes the figures
//! that releases are held against. All that is drawn comes from the seed, so a finding can be had again. Left
//! out: several nodes and launchers, which the tests of `slurm` have.

mod calls;
mod containers;
mod disks;
mod environment;
mod exports;
mod faults;
mod inputs;
mod kills;
mod libraries;
mod limits;
mod lines;
mod messages;
mod readers;
mod signals;
mod stalls;
mod tried;

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Result, bail};

use libraries::Libraries;
use tried::{Random, Tally};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Command lines.
    pub lines: usize,
    /// Damaged files of each kind.
    pub inputs: usize,
    /// Kills.
    pub kills: usize,
    /// Pairs of faults; of single ones one in `single` is tried.
    pub pairs: usize,
    /// See `pairs`.
    pub single: usize,
    /// Environments.
    pub environments: usize,
    /// Of limits and of signals, each at each command, one in so many is tried.
    pub single_limit: usize,
    /// See `single_limit`.
    pub single_signal: usize,
    /// As `single_limit`, of system calls.
    pub single_call: usize,
    /// As `single`, of calls of a driver that never return.
    pub single_stall: usize,
    /// Of commands whose calls are counted first, one in so many.
    pub single_command: usize,
    /// As `single`, of calls of MPI.
    pub single_message: usize,
    /// Pairs of containers.
    pub containers: usize,
}

const SHORT: Extent = Extent {
    lines: 80,
    inputs: 25,
    kills: 12,
    pairs: 12,
    single: 29,
    environments: 30,
    single_limit: 6,
    single_signal: 4,
    single_command: 4,
    single_call: 25,
    single_message: 61,
    single_stall: 8,
    containers: 1,
};
const LONG: Extent = Extent {
    lines: 1000,
    inputs: 2400,
    kills: 1000,
    pairs: 500,
    single: 1,
    environments: 1000,
    single_limit: 1,
    single_signal: 1,
    single_command: 1,
    single_call: 1,
    single_message: 1,
    single_stall: 1,
    containers: 25,
};

/// Where a campaign is fought.
pub struct Field<'f> {
    /// The binary.
    pub binary: &'f Path,
    /// The repository's root.
    pub root: &'f Path,
    /// A folder for what is written: a part's own, for some go on at once.
    pub folder: PathBuf,
    /// The libraries that parts share.
    pub libraries: &'f Libraries,
    /// How much is tried.
    pub extent: Extent,
}

/// Parts that wait for most of their time: each goes on beside the others.
const WAIT: [&str; 2] = ["stalls", "messages"];

/// How many of the other parts go on at once: runs wait too, for disks and for their killer.
const LANES: usize = 2;

/// Tries one kind of things.
type Fight = fn(&Field, &mut Random, &mut Tally) -> Result<()>;

/// Runs the command.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let (mut extent, mut seed, mut binary, mut only) = (SHORT, 1, root.join("target/debug/numabench"), None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} takes a value"));
        match word.as_str() {
            "--long" => extent = LONG,
            "--seed" => seed = value()?.parse().context("--seed takes a number")?,
            "--only" => only = Some(value()?.clone()),
            "--binary" => binary = std::path::absolute(value()?)?,
            other => bail!("takes --long, --seed N, --only PART and --binary FILE, but was given {other:?}"),
        }
    }
    if !binary.exists() {
        bail!(
            "{} is not there: build it (cargo build), or name another one with --binary FILE",
            binary.display()
        );
    }
    let folder = root.join("target/campaign");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let parts: [(&'static str, Fight); 13] = [
        ("lines", lines::fight),
        ("inputs", inputs::fight),
        ("kills", kills::fight),
        ("faults", faults::fight),
        ("disks", disks::fight),
        ("exports", exports::fight),
        ("environment", environment::fight),
        ("limits", limits::fight),
        ("signals", signals::fight),
        ("stalls", stalls::fight),
        ("calls", calls::fight),
        ("messages", messages::fight),
        ("containers", containers::fight),
    ];
    if let Some(other) = only.as_ref().filter(|only| !parts.iter().any(|(name, _)| name == only)) {
        bail!("--only {other}: the parts are {}", parts.map(|(name, _)| name).join(", "));
    }
    let libraries = Libraries::new(root, &folder);
    let chosen: Vec<_> = parts
        .into_iter()
        .enumerate()
        .filter(|(_, (name, _))| only.as_ref().is_none_or(|only| name == only))
        .collect();
    let tried = |&(at, (name, fight)): &(usize, (&'static str, Fight))| {
        let own = folder.join(name);
        std::fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
        let field = Field { binary: &binary, root, folder: own, libraries: &libraries, extent };
        let mut tally = Tally::new(name);
        fight(&field, &mut Random::new(seed + at as u64), &mut tally)?;
        Ok(tally)
    };
    // Those that wait for calls that never return and for launches, each on its own, and the others by turns.
    let (waiting, others): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|(_, (name, _))| WAIT.contains(name));
    let others = Mutex::new(others.into_iter());
    let next = || others.lock().unwrap_or_else(PoisonError::into_inner).next();
    let mut tallies = thread::scope(|scope| {
        let own = waiting.iter().map(|part| scope.spawn(|| vec![(part.0, tried(part))]));
        let lanes = (0..LANES)
            .map(|_| scope.spawn(|| iter::from_fn(next).map(|part| (part.0, tried(&part))).collect()));
        let lanes: Vec<ScopedJoinHandle<'_, Vec<_>>> = own.chain(lanes).collect();
        let ended = |lane: ScopedJoinHandle<'_, _>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        lanes.into_iter().flat_map(ended).collect::<Vec<_>>()
    });
    tallies.sort_by_key(|(at, _)| *at);
    let tallies = tallies.into_iter().map(|(_, tally)| tally).collect::<Result<Vec<Tally>>>()?;
    println!("{:<16}{:>7}{:>7}  (seed {seed})", "campaign", "tried", "right");
    tallies.iter().for_each(|tally| println!("{tally}"));
    let wrong: usize = tallies.iter().map(Tally::wrong).sum();
    if wrong > 0 { bail!("{wrong} were not right; each is named above") } else { Ok(()) }
}
