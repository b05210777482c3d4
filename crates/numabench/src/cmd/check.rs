//! `numabench check`: look at each rank, bring the node's together, judge, show, and end with one code for all of the node.
//!
//! Ranks of other nodes are judged by their own first rank, since placement is a node's own matter; each node writes its table in
//! one piece. Nothing is started and nothing is changed, so it can stand before any program: without `--strict` nothing that goes wrong here
//! keeps the program from starting, since a prologue must never cost the job.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use placement::judge::{Finding, Judgement, Kind, Placed, Pool, judge};
use ranks::{Launch, Launcher};
use stats::IdSet;

use crate::args::check::Check;
use crate::check::launch_line::{self, LineError};
use crate::check::machine::Machine;
use crate::check::rendezvous::{self, missing};
use crate::check::seen::{self, Seen};
use crate::check::table::Shown;
use crate::check::{bandwidth, document, fix, key, table};
use crate::cmd::exec::not_started;
use crate::document::hostname;
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
    let launch = told(Launch::here(), args)?;
    let machine = Machine::read(args.input.as_deref())?;
    match &args.launch {
        Some(line) => of_line(args, line, &machine),
        None if args.pid.is_empty() => of_launch(args, &launch, &machine),
        None => of_processes(args, &machine),
    }
}

/// The launch, with what the user says of this process's place on its node.
fn told(launch: Launch, args: &Check) -> Result<Launch, Fault> {
    let local_size = args.ranks.map(NonZeroUsize::get).or(launch.local_size);
    let local_rank = args.rank.or(launch.local_rank);
    if let (Some(rank), Some(size), Some(_)) = (local_rank, local_size, args.rank)
        && rank >= size
    {
        return Err(Fault::usage(anyhow::anyhow!(
            "rank {rank} of {size}: ranks are numbered from 0, so --rank is 0 to {}",
            size - 1
        )));
    }
    let is_alone = launch.launcher == Launcher::Nobody;
    let rank = if is_alone { args.rank.or(launch.rank) } else { launch.rank };
    Ok(Launch { local_rank, local_size, rank, ..launch })
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
        &Group { seen: launched.ranks, missing: IdSet::default(), launcher: Some(launched.launcher), words },
    )
}

/// Running processes, looked at from outside.
fn of_processes(args: &Check, machine: &Machine) -> Result<Exit, Fault> {
    let all = args.pid.iter().map(|pid| Seen::of_pid(machine, *pid).map_err(Fault::usage));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let words = format!("{} looked at from outside", if all.len() == 1 { "a process" } else { "processes" });
    show(args, machine, &Group { seen: all, missing: IdSet::default(), launcher: None, words })
}

/// This process, or all ranks of this launch on this node.
fn of_launch(args: &Check, launch: &Launch, machine: &Machine) -> Result<Exit, Fault> {
    let own = Seen::of_this(machine, launch).map_err(|error| Fault::new(Exit::NoResult, error))?;
    let launcher = Some(launch.launcher);
    let (rank, size) = match (launch.local_rank, launch.local_size) {
        (Some(rank), Some(size)) if rank < size => (rank, size),
        _ => {
            let words =
                format!("one process of {}, which does not say how many are on this node", launch.launcher.name());
            return show(args, machine, &Group { seen: vec![own], missing: IdSet::default(), launcher, words });
        }
    };
    if size == 1 {
        let words = in_words(launch, machine, 1);
        return show(args, machine, &Group { seen: vec![own], missing: IdSet::default(), launcher, words });
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
    let shown = show(args, machine, &Group { seen: said.into_values().collect(), missing, launcher, words });
    first.answer(shown.as_ref().map_or_else(|fault| fault.exit, |exit| *exit).code());
    shown
}

/// The ranks that are judged together.
struct Group {
    seen: Vec<Seen>,
    missing: IdSet,
    launcher: Option<Launcher>,
    words: String,
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
            let pool = Pool { pus: pool.pus.or(&saved.allowed.pus), ..pool };
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
    let placed = if complete { judgement.placed } else { judgement.placed.max(Placed::Unknown) };
    let host = hostname(&machine.here.topology);
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
    let waited = args.timeout;
    let shown = Shown { host: &host, launch, topology, seen, missing, waited, judgement, placed, fix: &fix };
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
