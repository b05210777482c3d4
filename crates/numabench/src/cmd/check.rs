//! `numabench check`: look at each rank, bring the node's together, judge, show, and end with one code for all of the node.
//!
//! Ranks of other nodes are judged by their own first rank, since placement is a node's own matter; each node writes its table in
//! one piece. Nothing is started and nothing is changed, so it can stand before any program: without `--strict` nothing that goes wrong here
//! keeps the program from starting, since a prologue must never cost the job.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use placement::judge::{Finding, Judgement, Kind, Placed, Pool, judge};
use placement::nic::{self, NearNic};
use ranks::{Launch, Launcher};
use stats::{IdSet, PciAddress};
use topo::gpu_users::gpu_users;
use topo::running::having_open;

use crate::args::check::Check;
use crate::check::launch_line::{self, LineError};
use crate::check::machine::Machine;
use crate::check::rendezvous::{self, missing};
use crate::check::seen::{self, Seen};
use crate::check::table::Shown;
use crate::check::{bandwidth, document, fix, key, table};
use crate::cmd::exec::not_started;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Check) -> Result<Exit, Fault> {
    if args.bandwidth {
        return bandwidth::run(args);
    }
    if args.program.is_empty() {
        return look(args);
    }
    if args.strict {
        match look(args)? {
            Exit::Ok => {}
            exit => return Ok(exit),
        }
    } else {
        match catch_unwind(AssertUnwindSafe(|| look(args))) {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => terminal::say(&format!("warning: {fault}; the program is started all the same")),
            // What is wrong has been said by the panic itself.
            Err(_) => terminal::say("warning: the check failed; the program is started all the same"),
        }
    }
    Err(not_started(::exec::become_other(&args.program, std::env::vars_os().collect())))
}

/// Looks, judges and shows.
fn look(args: &Check) -> Result<Exit, Fault> {
    let launch = Launch::here().told(args.rank, args.ranks.map(NonZeroUsize::get)).map_err(Fault::usage)?;
    let machine = Machine::read(args.input.as_deref())?;
    match &args.launch {
        Some(line) => of_line(args, line, &machine),
        None if args.pid.is_empty() && !args.all => of_launch(args, &launch, &machine),
        None => of_processes(args, &machine),
    }
}

/// The ranks that a line would start.
fn of_line(args: &Check, line: &str, machine: &Machine) -> Result<Exit, Fault> {
    let launched = launch_line::read(line, machine.judged_by()).map_err(|error| match error {
        LineError::NotSaid(_) => Fault::new(Exit::Undecided, error),
        _ => Fault::usage(error),
    })?;
    let count = launched.ranks.len();
    let words = format!("{count} {} of the line, which is not run", if count == 1 { "rank" } else { "ranks" });
    show(
        args,
        machine,
        &Group {
            seen: launched.ranks,
            missing: IdSet::default(),
            launcher: Some(launched.launcher),
            words,
            notes: Vec::new(),
        },
    )
}

/// Running processes, looked at from outside: those that were named, or all that use a GPU.
fn of_processes(args: &Check, machine: &Machine) -> Result<Exit, Fault> {
    let topology = machine.judged_by();
    let users = gpu_users(topology);
    let pids = match (args.all, users.asked.is_empty()) {
        (false, _) => args.pid.clone(),
        (true, false) => users.pids(),
        (true, true) => having_open(topology),
    };
    let how = match &users.asked[..] {
        [] => "GPUs by device files and variables".to_owned(),
        asked => format!("GPUs by the list of processes of {}", asked.join(" and ")),
    };
    let how = if topology.gpus.is_empty() { String::new() } else { format!(", {how}") };
    // Of those that nobody named one may have ended meanwhile.
    let seen = pids.iter().map(|pid| Seen::of_pid(machine, *pid, &users));
    let all: Vec<Seen> = match args.all {
        true => seen.filter_map(Result::ok).collect(),
        false => seen.collect::<Result<_, _>>().map_err(Fault::usage)?,
    };
    let words = match all.len() {
        0 => format!("no process here uses a GPU{how}"),
        1 => format!("a process looked at from outside{how}"),
        count => format!("{count} processes looked at from outside{how}"),
    };
    let notes = users.silent;
    show(args, machine, &Group { seen: all, missing: IdSet::default(), launcher: None, words, notes })
}

/// This process, or all ranks of this launch on this node.
fn of_launch(args: &Check, launch: &Launch, machine: &Machine) -> Result<Exit, Fault> {
    let own = Seen::of_this(machine, launch).map_err(|error| Fault::new(Exit::NoResult, error))?;
    let launcher = Some(launch.launcher);
    let (rank, size) = match (launch.local_rank, launch.local_size) {
        (Some(rank), Some(size)) if rank < size => (rank, size),
        _ => {
            let words =
                format!("one process of {}; how many it started on this node is not known", launch.launcher.name());
            return show(
                args,
                machine,
                &Group { seen: vec![own], missing: IdSet::default(), launcher, words, notes: Vec::new() },
            );
        }
    };
    if size == 1 {
        let words = in_words(launch, machine, 1);
        return show(
            args,
            machine,
            &Group { seen: vec![own], missing: IdSet::default(), launcher, words, notes: Vec::new() },
        );
    }
    let no_result = |error| Fault::new(Exit::Undecided, error);
    let place = rendezvous::Place::of(&key(launch), args.timeout);
    if rank > 0 {
        return place.join(rank, &own).map(Exit::from_code).map_err(no_result);
    }
    let mut first = place.first().map_err(no_result)?;
    let mut said: BTreeMap<usize, Seen> = first.gather(size);
    said.insert(rank, own);
    let missing = missing(&said, size);
    let words = in_words(launch, machine, size);
    let shown =
        show(args, machine, &Group { seen: said.into_values().collect(), missing, launcher, words, notes: Vec::new() });
    first.answer(shown.as_ref().map_or_else(|fault| fault.exit, |exit| *exit).code());
    shown
}

/// The ranks that are judged together.
struct Group {
    seen: Vec<Seen>,
    missing: IdSet,
    launcher: Option<Launcher>,
    words: String,
    /// What is to be known beside what is found.
    notes: Vec<String>,
}

/// The judgement, and the pool that it is made by. By a saved machine that has near PUs where this one has none, far is wrong: they could be had there.
fn judged(machine: &Machine, seen: &[Seen]) -> (Pool, Judgement) {
    let topology = machine.judged_by();
    let observed: Vec<_> = seen.iter().map(|seen| seen.observed(topology)).collect();
    let pool = seen::pool(seen);
    let judgement = judge(topology, &pool, &observed);
    let is_open = |found: &Finding| found.kind == Kind::FarFromGpu && found.weight == Placed::Unknown;
    match &machine.saved {
        Some(saved) if judgement.findings.iter().any(is_open) => {
            let pool = Pool { pus: pool.pus.or(&saved.topology.allowed.pus), ..pool };
            let judgement = judge(topology, &pool, &observed);
            (pool, judgement)
        }
        _ => (pool, judgement),
    }
}

/// Judges, and shows it.
fn show(args: &Check, machine: &Machine, group: &Group) -> Result<Exit, Fault> {
    let (topology, seen) = (machine.judged_by(), group.seen.as_slice());
    let (pool, judgement) = judged(machine, seen);
    let complete = group.missing.is_empty();
    let nobody = seen.is_empty();
    let placed = if complete && !nobody { judgement.placed } else { judgement.placed.max(Placed::Unknown) };
    let host = machine.here.topology.host();
    let (launcher, situation) = (group.launcher, seen::situation(machine, seen));
    let fix = fix::lines(&fix::Case {
        topology,
        pool: &pool,
        seen,
        judgement: &judgement,
        launcher,
        host: &host,
        situation,
        complete,
    });
    let (launch, missing, judgement) = (group.words.as_str(), &group.missing, &judgement);
    let (waited, threads, notes, nics) = (args.timeout, args.threads, group.notes.as_slice(), nics(machine, seen));
    let shown = Shown {
        host: &host,
        launch,
        topology,
        seen,
        missing,
        waited,
        judgement,
        placed,
        nics: &nics,
        threads,
        notes,
        fix: &fix,
    };
    let bytes = if args.json {
        document::bytes(&shown).map_err(|error| Fault::new(Exit::NoResult, error))?
    } else {
        table::table(&shown).into_bytes()
    };
    // The program's standard output is its own.
    if args.program.is_empty() {
        terminal::print(&bytes)?
    } else {
        terminal::say_bytes(&bytes)
    }
    Ok(match placed {
        Placed::Well => Exit::Ok,
        Placed::Misplaced => Exit::Finding,
        Placed::Unknown => Exit::Undecided,
    })
}

/// The adapter near the GPU of each that has one GPU.
fn nics(machine: &Machine, seen: &[Seen]) -> Vec<Option<NearNic>> {
    let only = |seen: &Seen| match seen.running.gpus.devices.as_deref() {
        Some([one]) => one.pci,
        _ => None,
    };
    let gpus: Vec<Option<PciAddress>> = seen.iter().map(only).collect();
    if gpus.iter().all(Option::is_none) {
        return Vec::new();
    }
    let Some(interconnect) = machine.interconnect() else { return Vec::new() };
    gpus.into_iter().map(|gpu| nic::near(&interconnect, gpu?)).collect()
}

/// `4 ranks of srun here, Slurm job 7, step 0`.
fn in_words(launch: &Launch, machine: &Machine, size: usize) -> String {
    let ranks = match (launch.launcher, size) {
        (Launcher::Nobody, 1) => "this process".to_owned(),
        (Launcher::Nobody, size) => format!("{size} ranks here"),
        (launcher, 1) => format!("1 rank of {} here", launcher.name()),
        (launcher, size) => format!("{size} ranks of {} here", launcher.name()),
    };
    let step = machine.here.step.as_ref().map(|step| format!(", Slurm job {}, step {}", step.job, step.step));
    ranks + &step.unwrap_or_default()
}
