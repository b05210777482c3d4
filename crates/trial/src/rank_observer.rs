//! What a run's ranks are seen to have while it runs: on which PUs, with how much memory on which node, with
//! which GPUs.
//!
//! The same reading of `/proc` as `check --pid`. A run's processes are found by a mark in the environment
//! that they were started with, so also those that a daemon started for the launcher (srun's tasks). Among
//! them are launchers, shells and helpers; a rank is the one of its number that holds the most memory. A
//! program that binds itself later is seen as it is at that moment. Left out: ranks on other nodes, and
//! processes whose environment may not be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use launchers::{Launch, LaunchSize, Launcher};
use report::trial::TrialRank;
use stats::IdSet;
use topo::Topology;
use topo::fs_root::value_of;
use topo::proc_file;
use topo::running::{Who, running};

/// The variable with the run's mark.
pub const MARK: &str = "NUMABENCH_TRIAL_RUN";

/// The variable with the place that the process was given, as [`AskedPlace`] writes it.
pub const ASKED: &str = "NUMABENCH_TRIAL_PLACE";

/// So many times more is read what is not as asked: together as long as hwloc takes on a busy machine.
const READINGS: usize = 12;

/// The longest pause between two readings.
const AGAIN_AFTER: Duration = Duration::from_millis(60);

/// The first pause after a rank was seen elsewhere: two readings are to see it there also in a short run.
/// Each further pause is twice as long.
const SOON: Duration = Duration::from_millis(10);

/// The place that a process was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedPlace {
    /// Its PUs; `None`: they were left alone.
    pub pus: Option<IdSet>,
    /// The nodes that its memory was bound to; `None`: it was left alone.
    pub memory_nodes: Option<IdSet>,
}

impl AskedPlace {
    /// As it stands in the variable.
    pub fn text(&self) -> String {
        let part = |name: &str, set: &Option<IdSet>| set.as_ref().map(|set| format!("{name}={set}"));
        let parts = [part("pus", &self.pus), part("memory", &self.memory_nodes)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(";")
    }

    /// From the variable's text; what cannot be read is left out.
    pub fn parse(text: &str) -> Self {
        let part = |name: &str| {
            let mut parts = text.split(';').filter_map(|part| part.split_once('='));
            parts.find(|(key, _)| *key == name).and_then(|(_, set)| set.parse().ok())
        };
        Self { pus: part("pus"), memory_nodes: part("memory") }
    }
}

/// What was seen of a run at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenLook {
    /// Seconds after the run began.
    pub after_s: f64,
    /// The ranks that were seen on this node.
    pub ranks: Vec<SeenRank>,
}

/// One rank as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRank {
    /// As documents have it.
    pub rank: TrialRank,
    /// Whether its first thread may run where its parent's may, so that nothing bound it by itself.
    pub is_bound_as_its_parent: bool,
}

impl SeenRank {
    /// Whether it could run on PUs that it was not given.
    fn is_elsewhere(&self) -> bool {
        let (asked, pus) = (self.rank.asked_pus.as_ref(), self.rank.pus.as_ref());
        asked.zip(pus).is_some_and(|(asked, pus)| !pus.minus(asked).is_empty())
    }

    /// Its number and its process.
    fn key(&self) -> (Option<u32>, u32) {
        (self.rank.rank, self.rank.pid)
    }
}

/// A process of a run.
#[derive(Clone, Debug)]
pub struct Marked {
    /// Its id.
    pub pid: u32,
    environment: BTreeMap<String, String>,
}

impl Marked {
    /// The launch that its variables tell of.
    fn launch(&self) -> Launch {
        Launch::sensed(|name| self.environment.get(name).cloned())
    }

    /// How many ranks that has.
    fn of_ranks(&self) -> Option<u32> {
        match self.launch() {
            Launch { launcher: Launcher::Nobody, .. } => None,
            Launch { size: LaunchSize::Known(size), .. } => u32::try_from(size).ok(),
            Launch { size: LaunchSize::AtLeast(_), .. } => None,
        }
    }
}

/// The processes that bear this mark.
pub fn marked(mark: &str) -> Vec<Marked> {
    with_mark(|other| other == mark)
}

/// The processes of all runs whose marks begin so.
pub fn marked_from(begin: &str) -> Vec<u32> {
    with_mark(|mark| mark.starts_with(begin)).iter().map(|one| one.pid).collect()
}

fn with_mark(is_meant: impl Fn(&str) -> bool) -> Vec<Marked> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // Most processes are others': their variables are not taken apart, because a look takes a processor from
    // the run.
    let name = mark_variable();
    pids.filter_map(|pid| process_with_mark(pid, &name, &is_meant)).collect()
}

/// The process, if its variable of this name (with `=`) has a mark that is meant.
fn process_with_mark(pid: u32, name: &[u8], is_meant: impl Fn(&str) -> bool) -> Option<Marked> {
    let raw = proc_file::at_once(Path::new(&format!("/proc/{pid}/environ"))).ok()?;
    let own = raw.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(name))?;
    is_meant(&String::from_utf8_lossy(own)).then_some(())?;
    // Of one reading: a process that ends meanwhile has no variables any more.
    Some(Marked { pid, environment: variables(&raw) })
}

/// The variables of an environment as the kernel shows it.
fn variables(raw: &[u8]) -> BTreeMap<String, String> {
    let variable = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    raw.split(|byte| *byte == 0).filter_map(variable).collect()
}

fn mark_variable() -> Vec<u8> {
    format!("{MARK}=").into_bytes()
}

/// The ranks of the run with this mark, as they are now: of two readings, whoever asked for what. A look
/// costs the run some time, so it must cost every variant's runs the same. What is not as asked is read again
/// until it is, for a while: hwloc, which MPI libraries start with, binds a thread to one PU after the other
/// while it looks at the machine.
pub fn look(topology: &Topology, mark: &str) -> Vec<SeenRank> {
    let has_ended = |pid| status(pid).is_none();
    read_again(&mut || reading(topology, mark), &has_ended, &thread::sleep)
}

/// The ranks of the last reading, and those that ended where they were not to be.
fn read_again(
    read: &mut dyn FnMut() -> Vec<SeenRank>,
    has_ended: &dyn Fn(u32) -> bool,
    pause: &dyn Fn(Duration),
) -> Vec<SeenRank> {
    let first = read();
    let mut seen = first.clone();
    let mut stayed: BTreeMap<(Option<u32>, u32), SeenRank> = BTreeMap::new();
    let mut soon = SOON;

    for reading_number in 0..READINGS {
        let is_elsewhere = seen.iter().any(SeenRank::is_elsewhere);
        if reading_number > 0 && !is_elsewhere {
            break;
        }
        pause(if is_elsewhere { soon } else { AGAIN_AFTER });
        soon = if is_elsewhere { (soon * 2).min(AGAIN_AFTER) } else { soon };

        let before = std::mem::replace(&mut seen, read());
        for rank in &seen {
            // hwloc's bindings change from one reading to the next.
            let is_as_before =
                |other: &SeenRank| other.key() == rank.key() && other.rank.pus == rank.rank.pus;
            if rank.is_elsewhere() && before.iter().any(is_as_before) {
                stayed.insert(rank.key(), rank.clone());
            } else {
                stayed.remove(&rank.key());
            }
        }
    }

    stayed.retain(|key, _| seen.iter().all(|rank| rank.key() != *key) && has_ended(key.1));
    seen.extend(stayed.into_values());
    if seen.is_empty() && !first.iter().any(SeenRank::is_elsewhere) {
        return first;
    }

    widen(&mut seen, &first);
    seen
}

/// Of PUs that nobody asked for, those of both readings are what a rank may use.
fn widen(seen: &mut [SeenRank], first: &[SeenRank]) {
    for seen in seen.iter_mut().filter(|seen| seen.rank.asked_pus.is_none()) {
        let Some(before) = first.iter().find(|before| before.key() == seen.key()) else { continue };
        let both = |before: &Option<IdSet>, now: &Option<IdSet>| match (before, now) {
            (Some(before), Some(now)) => Some(before.or(now)),
            _ => now.clone(),
        };
        let (before, rank) = (&before.rank, &mut seen.rank);
        rank.pus = both(&before.pus, &rank.pus);
        rank.first_thread_pus = both(&before.first_thread_pus, &rank.first_thread_pus);
    }
}

/// How long a processor is busy with one look that finds everything as asked, which is two readings: asked
/// with a mark that no process bears, the least of three, since whatever else runs here only makes them
/// longer.
pub fn cost_of_a_look() -> Duration {
    let scan = || {
        let clock = Instant::now();
        let _nobody = marked("a mark that no process bears");
        clock.elapsed()
    };
    2 * (0..3).map(|_| scan()).min().unwrap_or_default()
}

fn reading(topology: &Topology, mark: &str) -> Vec<SeenRank> {
    let mut ranks: BTreeMap<Option<usize>, (u64, Marked, Status)> = BTreeMap::new();
    for (process, status) in programs(mark) {
        let launch = process.launch();
        let rank = if launch.launcher == Launcher::Nobody { None } else { launch.rank };
        let resident = status.resident_kib;
        if ranks.get(&rank).is_none_or(|(most, ..)| resident > *most) {
            ranks.insert(rank, (resident, process, status));
        }
    }

    if ranks.len() > 1 {
        // What has no number beside those that have one is the shell or the script around the launcher.
        ranks.remove(&None);
    }
    let seen = |(rank, (_, process, status)): (Option<usize>, (u64, Marked, Status))| {
        rank_of(topology, rank, &process, status)
    };
    ranks.into_iter().filter_map(seen).collect()
}

/// The processes with this mark that are programs of ranks, each with what the kernel says of it.
fn programs(mark: &str) -> Vec<(Marked, Status)> {
    let program = |process: Marked| {
        let status = status(process.pid).filter(|status| !is_no_rank(&process, &status.program))?;
        // The variables are read again after the name. A process that became another program in between would
        // have the name of the new one and the variables of the old one, which asked for no place.
        process_with_mark(process.pid, &mark_variable(), |other| other == mark)
            .map(|process| (process, status))
    };
    marked(mark).into_iter().filter_map(program).collect()
}

/// A launcher, or a program that is about to become the rank's.
fn is_no_rank(process: &Marked, program: &str) -> bool {
    if Launcher::is_any(program) {
        return true;
    }
    let arguments = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    program == "numabench" && arguments.split(|byte| *byte == 0).nth(1) == Some(b"exec")
}

/// Where a process's first thread may run, in /proc/PID/status.
const ALLOWED: &str = "Cpus_allowed_list";

struct Status {
    program: String,
    resident_kib: u64,
    threads: u32,
    /// Whether its first thread may run where its parent's may.
    is_bound_as_its_parent: bool,
}

fn status(pid: u32) -> Option<Status> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = |name: &str| value_of(&text, name);
    let number = |text: Option<&str>| text.and_then(|text| text.split(' ').next()?.parse().ok());
    // One that has ended and was not waited for has no memory any more.
    let resident_kib = number(value("VmRSS"))?;
    let parent = value("PPid").and_then(|parent| fs::read_to_string(format!("/proc/{parent}/status")).ok());
    let of_parent = parent.as_deref().and_then(|parent| value_of(parent, ALLOWED));
    Some(Status {
        program: value("Name")?.to_owned(),
        resident_kib,
        threads: number(value("Threads")).map_or(1, |threads: u64| threads as u32),
        is_bound_as_its_parent: of_parent.is_some() && value(ALLOWED) == of_parent,
    })
}

fn rank_of(topology: &Topology, rank: Option<usize>, process: &Marked, status: Status) -> Option<SeenRank> {
    let seen = running(topology, Who::Pid(process.pid)).ok()?;
    let asked = process.environment.get(ASKED).map(|text| AskedPlace::parse(text)).unwrap_or_default();
    let pages: BTreeMap<u32, u64> =
        seen.pages.nodes.iter().flatten().map(|node| (node.node, node.bytes)).collect();
    let remote_bytes = seen.pus.as_ref().and_then(|pus| remote(topology, pus, &pages));
    let gpus =
        seen.gpus.devices.as_ref().map(|devices| devices.iter().filter_map(|device| device.pci).collect());

    let rank = TrialRank {
        rank: rank.map(|rank| rank as u32),
        of_ranks: process.of_ranks(),
        program: Some(status.program),
        threads: status.threads,
        pus: seen.pus,
        first_thread_pus: seen.first_thread_pus,
        asked_pus: asked.pus,
        asked_memory_nodes: asked.memory_nodes,
        pages_bytes: pages,
        remote_bytes,
        gpus,
        ..TrialRank::of(process.pid)
    };
    Some(SeenRank { rank, is_bound_as_its_parent: status.is_bound_as_its_parent })
}

/// Bytes on nodes of the host that none of these PUs is local to; `None` where no node is.
fn remote(topology: &Topology, pus: &IdSet, pages: &BTreeMap<u32, u64>) -> Option<u64> {
    let host = |node: u32| {
        let found = topology.nodes.iter().find(|one| one.os_index == node);
        found.filter(|node| node.kind.has_host_memory())
    };
    let is_local = |node: u32| host(node).is_some_and(|node| !node.pus.and(pus).is_empty());
    let nodes = topology.nodes.iter().map(|node| node.os_index);
    if pages.is_empty() || !nodes.clone().any(is_local) {
        return None;
    }

    Some(
        pages
            .iter()
            .filter(|(node, _)| host(**node).is_some() && !is_local(**node))
            .map(|(_, bytes)| *bytes)
            .sum(),
    )
}

#[cfg(test)]
mod tests;
