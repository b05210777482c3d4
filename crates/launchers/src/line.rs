//! A launch line as it was pasted, as the ranks it would start: what `check --launch` judges, without a
//! launch.
//!
//! ```text
//! text ─► words ─► a launcher's options ─► layouts of one node ─► each rank's process, followed ─► ranks
//! pasted           launcher/               one for each way        process, sh, numactl, taskset
//! ```
//!
//! What a launcher decides by itself is not guessed: there is a reading for each way that it may, or the
//! rank's PUs are unknown with the reason. A line of which no rank's PUs are known is refused with what to
//! write; what the launcher itself would refuse is refused as a line that is wrong.
//!
//! Some 530 lines because the way from a text to its ranks is read from top to bottom.

use std::collections::{BTreeMap, BTreeSet};

use stats::IdSet;
use topo::Topology;
use topo::process::PolicyMode;
use topo::running::UsableGpus;

use crate::assumption::Ways;
use crate::count::{Count, DealtNode};
pub use crate::error::LineError;
use crate::exec_call::ExecCall;
use crate::facts::{Reads, SharedPus};
use crate::follow::follow;
use crate::launcher::{Launcher, torchrun};
use crate::layout::{LaunchLine, Layout, OWN_PART, Options, Start, Tells};
use crate::objects::JobMachine;
use crate::pasted::{known, launch_of, pasted};
use crate::process::{GPU_VARIABLES, Known, Policy, Process, Variable};
use crate::slurm_files::SlurmFiles;
use crate::unknown::{SOME, UNKNOWN};
use crate::{gpus, mpirun, openmp};

/// One rank, as the line would start it.
#[derive(Clone, Debug, PartialEq)]
pub struct LineRank {
    /// Its number on its node.
    pub rank: usize,
    /// Its number in the launch.
    pub world: usize,
    /// The PUs that it may run on; or why they are not known.
    pub pus: Known<IdSet>,
    /// Its memory policy, and the nodes that the policy names; or why they are not known.
    pub policy: Known<Policy>,
    /// The GPUs that it can use.
    pub gpus: UsableGpus,
    /// The call of `numabench exec` that puts it elsewhere; the places above are those that exec finds.
    pub exec: Option<ExecCall>,
    /// The GPUs that the line asks for, all ranks' together, by index; `None`: all of the node.
    pub asked_gpus: Option<Vec<usize>>,
}

/// The ranks in those of the ways that the line may mean in which they end alike.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Those ways: one that assumes nothing where the line leaves nothing open.
    pub ways: Ways,
    /// In order.
    pub ranks: Vec<LineRank>,
}

impl Reading {
    /// The ranks of a line that leaves nothing open.
    pub(crate) fn certain(ranks: Vec<LineRank>) -> Self {
        Self { ways: vec![Vec::new()], ranks }
    }

    /// Adds a reading to others; to the ways of one that ends alike.
    pub fn join(self, all: &mut Vec<Self>) {
        match all.iter_mut().find(|known| known.ranks == self.ranks) {
            Some(known) => known.ways.extend(self.ways),
            None => all.push(self),
        }
    }
}

/// The ranks that a line would start on one node.
#[derive(Debug)]
pub struct Launched {
    /// The ways that the line may mean, at least one: they differ in what a site decides.
    pub readings: Vec<Reading>,
    /// Whose line it is.
    pub launcher: Launcher,
    /// Of how many ranks and nodes they are those of one node, in words; `None` where they are all.
    pub of: Option<String>,
    /// The number of that node among those of the launch.
    pub node: usize,
    /// How many ranks the launch has on all nodes; `None`: not known, or this node has fewer than others.
    pub size: Option<usize>,
    /// What is to be known beside what is judged.
    pub notes: Vec<String>,
    /// Whether what stands behind the launcher binds PUs or memory itself, so that the launcher's options
    /// change nothing.
    pub binds_behind: bool,
    /// Whether what stands behind the launcher chooses GPUs by variables.
    pub shows_behind: bool,
    /// Whether the line gives its ranks a smaller part of the node than the job has: a binding beyond it is
    /// refused.
    pub has_own_part: bool,
}

/// Reads the line, with lines before it that set its variables; files that it names (a rankfile, a wrapper)
/// are read too. Several lines that start a process each (`numactl … ./app &`) are the ranks of one node.
/// The ranks are those of the launch's first node.
///
/// # Errors
/// [`LineError`].
pub fn read(line: &str, topology: &Topology) -> Result<Launched, LineError> {
    read_at(line, topology, &SlurmFiles::default())
}

/// The same on a site of which more is known.
///
/// # Errors
/// [`LineError`]: also where a file of the site is of another machine.
pub fn read_at(line: &str, topology: &Topology, site: &SlurmFiles) -> Result<Launched, LineError> {
    read_nodes(line, topology, site).map(|mut nodes| nodes.swap_remove(0))
}

/// The same for each node of the launch whose ranks differ from those of the nodes before it; at least the
/// first.
///
/// # Errors
/// [`LineError`]: also where a file of the site is of another machine.
pub fn read_nodes(line: &str, topology: &Topology, site: &SlurmFiles) -> Result<Vec<Launched>, LineError> {
    match processes(line, topology) {
        Some(launched) => launched.map(|launched| vec![launched]),
        None => read_one(line, topology, site),
    }
}

/// A process a line; `None` where these are no such lines.
fn processes(text: &str, topology: &Topology) -> Option<Result<Launched, LineError>> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(|line| line.trim().trim_end_matches('&').trim_end());
    let lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with('#') && *line != "wait").collect();
    let starts_one = |line: &&str| {
        let words = shell_words::split(line).unwrap_or_default();
        !words.is_empty() && !words.iter().any(|word| Launcher::of_command(base(word)).is_some())
    };
    if lines.len() < 2 || !lines.iter().all(starts_one) {
        return None;
    }

    if lines.len() > placement::MOST_RANKS {
        return Some(Err(LineError::Wrong(format!(
            "a node has {} processes at most",
            placement::MOST_RANKS
        ))));
    }

    let mut ranks = Vec::with_capacity(lines.len());
    let mut notes: Vec<String> = Vec::new();

    for line in lines {
        let launched = match read_one(line, topology, &SlurmFiles::default()) {
            Ok(mut nodes) if nodes[0].launcher == Launcher::Nobody => nodes.swap_remove(0),
            Ok(_) => {
                let what = "of several lines each is to start one process: write the line of one launcher";
                return Some(Err(LineError::NotSaid(what.to_owned())));
            }
            Err(error) => return Some(Err(error)),
        };
        notes.extend(launched.notes.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        let own = launched.readings.into_iter().flat_map(|reading| reading.ranks);
        for rank in own {
            ranks.push(LineRank { rank: ranks.len(), world: ranks.len(), ..rank });
        }
    }
    Some(finish(vec![Reading::certain(ranks)], Launcher::Nobody, None, notes))
}

/// Reads one line: the nodes of its launch.
fn read_one(line: &str, topology: &Topology, site: &SlurmFiles) -> Result<Vec<Launched>, LineError> {
    let started = pasted(line, process(topology, Launcher::Nobody, &BTreeMap::new()))?;
    let Some(launch) = launch_of(&started)? else { return Ok(vec![alone(started)?]) };
    let (outer, words) = launch;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, rest) = (base(words[0]), &words[1..]);

    if !outer.is_free || outer.policy != Ok((PolicyMode::Default, IdSet::default())) {
        let name = Launcher::of_command(name).map_or(name, |launcher| launcher.name());
        let what =
            format!("what stands before {name} binds it and not its ranks alone: begin the line with {name}");
        return Err(LineError::NotSaid(what));
    }

    let variables = outer.values();
    let machine = JobMachine::of(topology);
    let line_here = LaunchLine { command: name, words: rest, variables: &variables, machine: &machine, site };
    let read = match Launcher::of_command(name).map(|named| (named, &named.facts().reads)) {
        Some((named, Reads::Own(_, read))) => read(&line_here).map(|options| (named, options)),
        Some((named, Reads::Mpirun(_))) => mpirun::read(named, &line_here),
        Some((_, Reads::Nothing)) | None => return Ok(vec![alone(started)?]),
    };
    let read_to = read.as_ref().map_or(words.len(), |(_, options)| words.len() - options.program.len());
    known(line, outer, &words, read_to, read.is_err())?;
    let (launcher, options) = read?;
    if options.program.contains(&":") {
        let what = "the line starts several programs (\":\"): write the line of one of them";
        return Err(LineError::NotSaid(what.to_owned()));
    }
    launched(outer, launcher, options)
}

/// The name of a program without its folders.
fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// A process as its launcher starts it, but for what differs between ranks.
pub(crate) fn process<'t>(
    topology: &'t Topology,
    launcher: Launcher,
    variables: &BTreeMap<String, String>,
) -> Process<'t> {
    let exported = |value: &String| Variable { value: value.clone(), exported: true };

    Process {
        topology,
        pus: Ok(topology.allowed.pus.clone()),
        is_free: true,
        policy: Ok((PolicyMode::Default, IdSet::default())),
        variables: variables.iter().map(|(name, value)| (name.clone(), exported(value))).collect(),
        // Nothing is known to show GPUs where the line does not say it.
        absent: launcher.not_told().into_iter().chain(GPU_VARIABLES).collect(),
        shares_own_pus: matches!(launcher.facts().shared_pus, SharedPus::OfRank(_)),
        foreign: Vec::new(),
        doubt: None,
        exec: None,
        workers: None,
        launch: None,
        has_input: false,
        unset: BTreeSet::new(),
        depth: 0,
        notes: Vec::new(),
    }
}

/// A line without a launcher: one process, or torchrun's workers.
fn alone(started: Vec<Process<'_>>) -> Result<Launched, LineError> {
    let process = ended(started)?;
    let mut notes = process.notes.clone();
    notes.extend(openmp::notes(&process));
    let (ranks, launcher, of) = match &process.workers {
        Some(workers) => {
            let of = workers.nodes.filter(|nodes| *nodes > 1).map(|nodes| format!("of {nodes} nodes"));
            (workers_of(&process, None, &mut notes)?, Launcher::Torchrun, of)
        }
        None => (vec![rank(&process, 0, None)?], Launcher::Nobody, None),
    };
    finish(vec![Reading::certain(ranks)], launcher, of, notes)
}

/// The ranks of a launcher's line, for each node whose ranks differ from those of the nodes before it.
fn launched(
    outer: &Process<'_>,
    launcher: Launcher,
    options: Options<'_>,
) -> Result<Vec<Launched>, LineError> {
    let size = options.layouts.first().map_or(0, |layout| layout.starts.len());
    let mut nodes: Vec<Launched> = Vec::new();
    for node in options.count.dealt(size) {
        let launched = on_node(outer, launcher, &options, &node)?;
        if !nodes.iter().any(|before| is_like(before, &launched)) {
            nodes.push(launched);
        }
    }
    Ok(nodes)
}

/// Whether the ranks of a node start as those of another one, which may have more.
fn is_like(before: &Launched, node: &Launched) -> bool {
    let starts_like =
        |(one, other): (&LineRank, &LineRank)| LineRank { world: one.world, ..other.clone() } == *one;
    let reads_like = |(one, other): (&Reading, &Reading)| {
        one.ways == other.ways
            && other.ranks.len() <= one.ranks.len()
            && one.ranks.iter().zip(&other.ranks).all(starts_like)
    };
    before.readings.len() == node.readings.len() && before.readings.iter().zip(&node.readings).all(reads_like)
}

/// The ranks of one node.
fn on_node(
    outer: &Process<'_>,
    launcher: Launcher,
    options: &Options<'_>,
    node: &DealtNode,
) -> Result<Launched, LineError> {
    let topology = outer.topology;
    let mut notes = options.notes.clone();
    let mut given = outer.values();
    given.retain(|name, _| !options.withheld.contains(name));
    given.extend(options.environment.clone());
    let mut readings: Vec<Reading> = Vec::new();
    let mut failures = Vec::new();
    let (mut started_by, mut binds_behind, mut shows_behind) = (launcher, false, false);
    let has_own_part = options.layouts.iter().any(|layout| {
        layout.ways.iter().flatten().any(|assumption| assumption.what == OWN_PART)
            || layout.starts.iter().any(|start| start.pool.is_some())
    });

    for Layout { ways, starts } in &options.layouts {
        let mut ranks = Vec::with_capacity(node.size);
        let mut failure = None;
        for (number, start) in starts.iter().take(node.size).enumerate() {
            let mut process = process(topology, launcher, &given);
            let world = start.world.unwrap_or(number);
            let world = node.worlds.as_ref().and_then(|worlds| worlds.get(world).copied());
            tell(&mut process, launcher, Numbers { rank: number, world, node }, &options.count);
            for (name, value) in &start.variables {
                match value {
                    Ok(value) => process.give(name, value.clone()),
                    Err(why) => process.doubt_variable(name, why),
                }
            }
            match &start.pus {
                Some(pus) => process.bind(pus.clone()),
                None => process.pus = Ok(topology.allowed.pus.clone()),
            }
            process.policy = Ok(start.policy.clone());
            process.foreign.clone_from(&outer.foreign);
            let before = (process.pus.clone(), process.policy.clone());
            let shown_before = process.shown_gpus();
            let started = process.clone();
            let process = match follow(process, options.program).and_then(ended) {
                // In another way of the site the program may start.
                Err(error) if options.layouts.len() > 1 => {
                    let mut lost = started;
                    lost.lose(error.to_string().trim_start_matches("--launch: "));
                    failure.get_or_insert(error);
                    lost
                }
                followed => followed?,
            };
            let of_others = read_of_others(&process, launcher)?;
            for note in process.notes.iter().cloned().chain(of_others).chain(openmp::notes(&process)) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            binds_behind |= process.exec.is_some() || before != (process.pus.clone(), process.policy.clone());
            shows_behind |= shown_before != process.shown_gpus();
            if process.workers.is_some() {
                // One torchrun a node: its workers are the ranks.
                if node.size > 1 {
                    let what = "each rank starts torchrun, whose workers then meet on the same GPUs: start \
                        one torchrun a node";
                    return Err(LineError::NotSaid(what.to_owned()));
                }
                started_by = Launcher::Torchrun;
                ranks = workers_of(&process, Some(start), &mut notes)?;
            } else {
                ranks.push(LineRank {
                    world: world.unwrap_or(number),
                    ..rank(&process, number, Some(start))?
                });
            }
        }
        failures.extend(failure);
        Reading { ways: ways.clone(), ranks }.join(&mut readings);
    }

    if failures.len() == options.layouts.len() {
        return Err(failures.swap_remove(0));
    }
    let of = options.count.beyond(node.size);
    let size = options.count.of_all_nodes(node.size);
    let finished = finish(readings, started_by, of, notes)?;
    Ok(Launched { node: node.node, size, binds_behind, shows_behind, has_own_part, ..finished })
}

/// What to say of variables that another launcher sets and this one's rank reads.
///
/// # Errors
/// [`LineError::Wrong`]: a variable that shows GPUs is empty for that, so the rank sees none.
fn read_of_others(process: &Process<'_>, launcher: Launcher) -> Result<Vec<String>, LineError> {
    let said = |name: &String| match launcher.own_variable(name) {
        Some(own) if own == name => format!(
            "the shell expands {name} before {} starts any rank, so it is empty: expand it in a script, or \
             in bash -c '…' with single quotes",
            launcher.name()
        ),
        Some(own) => format!("{} does not set {name}, so it is empty: its own is {own}", launcher.name()),
        None => format!("{} does not set {name}, so it is empty", launcher.name()),
    };

    let all: Vec<String> = process.foreign.iter().map(said).collect();

    match (process.empty_gpu_variable(), all.first()) {
        (Some(gpus), Some(why)) => {
            Err(LineError::Wrong(format!("{gpus} is empty, which hides all GPUs: {why}")))
        }
        _ => Ok(all),
    }
}

/// A rank's numbers.
#[derive(Clone, Copy)]
struct Numbers<'n> {
    /// On its node.
    rank: usize,
    /// In the launch; `None`: not known.
    world: Option<usize>,
    /// Its node.
    node: &'n DealtNode,
}

/// Gives the process the variables of its launcher.
fn tell(process: &mut Process<'_>, launcher: Launcher, numbers: Numbers<'_>, count: &Count) {
    let Numbers { rank, world, node } = numbers;
    let is_all = count.beyond(node.size).is_none();
    let known = |number: Option<usize>| number.map_or_else(|| UNKNOWN.to_string(), |one| one.to_string());

    for (name, tells) in launcher.facts().tells {
        let value = match tells {
            Tells::LocalRank => rank.to_string(),
            Tells::LocalSize => node.size.to_string(),
            Tells::Rank => known(world),
            Tells::Size if is_all => node.size.to_string(),
            Tells::Size => known(count.ranks),
            Tells::Node => node.node.to_string(),
            Tells::Launch => SOME.to_owned(),
        };
        process.give(name, value);
    }
}

/// The workers of a torchrun.
fn workers_of(
    process: &Process<'_>,
    start: Option<&Start>,
    notes: &mut Vec<String>,
) -> Result<Vec<LineRank>, LineError> {
    let Some(workers) = &process.workers else { return Ok(Vec::new()) };
    if workers.count > placement::MOST_RANKS {
        let what = format!("a node has {} workers at most", placement::MOST_RANKS);
        return Err(LineError::Wrong(what));
    }
    let by_convention = "torchrun hides no GPU: each worker is taken to use the one of its LOCAL_RANK";
    let shown = torchrun::shown(process).unwrap_or_default();
    let mut ranks = Vec::new();

    for number in 0..workers.count {
        let worker = torchrun::worker(workers, process, number)?;
        let before = worker.clone();
        let worker = match workers.program.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => worker,
            program => ended(follow(worker, program)?)?,
        };
        let own = start.and_then(|start| start.gpus.clone());
        let all: Known<Vec<usize>> = Ok((0..before.topology.gpus.len()).collect());
        let sees_all = own.is_none() || own == Some(all);
        let is_shown_more = GPU_VARIABLES.iter().any(|name| worker.exported(name) != before.exported(name));
        let by_number = shown.get(number).filter(|_| worker.exec.is_none() && sees_all && !is_shown_more);
        if by_number.is_some() && !notes.iter().any(|note| note == by_convention) {
            notes.push(by_convention.to_owned());
        }
        let gpus = match by_number {
            Some(gpu) => UsableGpus {
                devices: Some(vec![gpu.clone()]),
                reason: by_convention.to_owned(),
                ..UsableGpus::default()
            },
            None => gpus::usable(&worker, own.as_ref()),
        };
        ranks.push(LineRank { gpus, ..rank(&worker, number, None)? });
    }
    Ok(ranks)
}

/// The program that a process becomes; where it may become several that are placed differently, what they
/// agree on.
fn ended(processes: Vec<Process<'_>>) -> Result<Process<'_>, LineError> {
    let mut all = processes.into_iter();
    let Some(mut first) = all.next() else {
        return Err(LineError::NotSaid("the line starts no program".to_owned()));
    };

    for other in all {
        if first.exec != other.exec {
            let what = "numabench exec starts the program in one of several ways that the script may go";
            return Err(LineError::NotSaid(what.to_owned()));
        }
        first.merge(other);
    }

    let binds_again = first
        .exec
        .as_ref()
        .is_some_and(|exec| (&exec.1, &exec.2) != (&first.pus, &first.policy) || first.workers.is_some());
    if binds_again {
        let what = "what numabench exec starts places itself again: leave out one of the two";
        return Err(LineError::NotSaid(what.to_owned()));
    }
    Ok(first)
}

/// The rank that a process is.
fn rank(process: &Process<'_>, number: usize, start: Option<&Start>) -> Result<LineRank, LineError> {
    let gpus = gpus::usable(process, start.and_then(|start| start.gpus.as_ref()));
    let pus = if binds_its_threads(process) {
        Err("OMP_PLACES binds the threads of OpenMP and not the process: whether the program starts them \
            first does not follow from the line"
            .to_owned())
    } else {
        process.pus.clone()
    };

    let exec = process.exec.as_ref().map(|exec| {
        let whole = || process.topology.allowed.cpuset();
        let pool = match process.shares_own_pus {
            true => process.pus.clone().unwrap_or_else(|_| whole()),
            false => whole(),
        };
        ExecCall { pool: start.and_then(|start| start.pool.clone()).unwrap_or(pool), ..exec.0.clone() }
    });

    Ok(LineRank {
        rank: number,
        world: number,
        pus,
        policy: process.policy.clone(),
        gpus,
        exec,
        asked_gpus: start.and_then(|start| start.asked_gpus.clone()),
    })
}

/// Whether nothing binds the process and OpenMP binds its threads to PUs that the line names (OpenMP API 5.2,
/// 21.1.6; OMP_PROC_BIND=false leaves them).
fn binds_its_threads(process: &Process<'_>) -> bool {
    let exported = |name| process.exported(name).ok().flatten().unwrap_or_default();
    process.is_free
        && exported("OMP_PLACES").contains('{')
        && !exported("OMP_PROC_BIND").eq_ignore_ascii_case("false")
}

/// The answer; refused where no rank's PUs are known in any reading.
fn finish(
    readings: Vec<Reading>,
    launcher: Launcher,
    of: Option<String>,
    notes: Vec<String>,
) -> Result<Launched, LineError> {
    let ranks = || readings.iter().flat_map(|reading| &reading.ranks);
    let is_open = |rank: &LineRank| rank.pus.is_err() && rank.exec.is_none();
    if let (true, Some(Err(why))) = (ranks().all(is_open), ranks().next().map(|rank| &rank.pus)) {
        return Err(LineError::NotSaid(why.clone()));
    }

    Ok(Launched {
        readings,
        launcher,
        of,
        node: 0,
        size: None,
        notes,
        binds_behind: false,
        shows_behind: false,
        has_own_part: false,
    })
}
