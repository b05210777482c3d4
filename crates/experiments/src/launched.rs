//! `numabench pingpong` where srun, mpirun or another launcher started several processes: each is a rank, and
//! together they are one run with one document. Some 410 lines because what ranks do together is one order.
//!
//! ```text
//! plug-in ─► MPI ─► handshake ─► plan, part ─► rendezvous ─► lead │ follow ─► document ─► one exit code
//! ```
//!
//! Up to the run every step is taken by all or by none (`startup`'s agreement). What cannot become one run is
//! refused before it begins: never N runs that look like one.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use launchers::{Launch, Launcher};
use pingpong::{Followed, RunConfig, RunState, Workers, read_weights};
use placement::{NodePlanError, NodeRequest, Plan, Remedies, SelectionError};
use ranks::{Communicator, Deadline, Mpi, Processes, ThreadLevel, World, WorldPlace};
use report::Document;
use report::sink::Sink;
use startup::{
    Agreement, Codes, Departure, Handshake, Introduced, LaunchLayout, ProcessRefusal, SlowStartNotice,
    StartError, StartWatchdog, Stopped, host, layouts, slow_start_notice, start_watchdog,
};
use topo::Topology;

use crate::backends::{self, FoundPlatform};
use crate::budget::budget_of_processes;
use crate::config;
use crate::document::rank_part::{Local, RankPart};
use crate::document::{self, DocumentFacts, Origin, verdict};
use crate::ending;
use crate::exit::Exit;
use crate::experiment::CaseMap;
use crate::fault::Fault;
use crate::journal::{DocumentJournal, FinishedRun};
use crate::observer::Observer;
use crate::options::PingPongOptions;
use crate::ping_pong::read;
use crate::signals::Signals;
use crate::unread_output;
use crate::watchdog::{FIRST_SPEAKS, Watchdog};

/// How long processes wait for each other before the run, when no `--timeout` is given.
const STARTING: Duration = Duration::from_secs(120);
/// The error where MPI does not start.
const NO_MPI: [&str; 2] = [
    "MPI did not start",
    "a process of the launch is missing, or this MPI and this launcher do not belong together",
];
/// How long others have to hear their code and leave before the first one ends all.
const OTHERS_LEAVE: Duration = Duration::from_millis(250);
/// How long MPI_Abort may take before this process ends by itself.
const ABORTS: Duration = Duration::from_secs(1);
/// How long the last messages may take before a launch that has lost ranks is aborted.
const LAST_WORD: Duration = Duration::from_millis(500);

/// What a process of a launch is given beside what it measures.
pub struct Desk<'a> {
    /// What makes the document.
    pub origin: Origin,
    /// Says something on standard error, at once: a launcher may end this process at any time.
    pub say: fn(&str),
    /// Opens the file of the document; asked of rank 0 alone.
    pub open: &'a dyn Fn() -> Result<Option<Sink>, Fault>,
    /// Who is told how far the run is.
    pub observer: &'a mut dyn Observer,
    /// The exit of a complete run, by what was expected of its document.
    pub expected: &'a dyn Fn(&mut Document) -> Exit,
    /// Shows what rank 0 ended with; the other processes wait for it.
    pub show: &'a dyn Fn(FinishedRun) -> Result<Exit, Fault>,
}

/// Measures as one process of several.
///
/// # Errors
/// The launch cannot become one run, or this process hears of no other one any more.
pub fn run(args: &PingPongOptions, launch: &Launch, desk: Desk) -> Result<Exit, Fault> {
    // Before there is another thread: it may change the environment.
    ranks::cray_gtl::bring_in();
    let limit = args.measuring.engine.timeout.unwrap_or(STARTING);
    let say = desk.say;
    let (mut witness, mut patience) = (None, None);
    let started = start(launch, limit, None, say, &mut |library| {
        if launch.speaks() {
            witness = StartWatchdog::set(&start_watchdog::sentence(launch, library), Stdio::inherit());
            patience = SlowStartNotice::begin(
                slow_start_notice::LONG,
                slow_start_notice::sentence(launch, library),
                say,
            );
        }
    });

    patience.into_iter().for_each(SlowStartNotice::end);
    witness.into_iter().for_each(StartWatchdog::dismiss);
    let (world, library) = started?;
    let told = report::launch::Launch {
        launcher: launch.launcher.name().to_owned(),
        tasks: world.place().size as u32,
        nodes: world.place().nodes as u32,
        mpi_library: Some(library),
    };
    let mut comm = Communicator::new(&world);
    let (ended, all_well) = session(args, launch, &told, Agreement::new(&mut comm, limit, CODES), desk);

    // Said before anybody leaves: a launcher may end the others as soon as one ends with a code.
    let ended = ended.map_err(|fault| {
        if fault.error.is_some() {
            say(&format!("error: {fault}"));
        }
        Fault::silent(fault.exit)
    });

    if all_well {
        if startup::leave(&world, &mut comm, launch, say) == Departure::Unfinalized {
            engine::abandon();
        }
    } else if world.place().rank == 0 {
        let code = ended.as_ref().map_or_else(|fault| fault.exit, |exit| *exit).code();
        unread_output::await_readers();
        thread::sleep(OTHERS_LEAVE);
        // Those who can have heard their code have left by now; whoever hangs is ended. MPI_Abort may end
        // this process by `exit`, and so wait for a thread that hangs.
        let exit = Exit::from_code(code);
        let forced_exit = thread::Builder::new().name("abort".to_owned()).spawn(move || {
            thread::sleep(ABORTS);
            ending::at_once(exit);
        });
        if forced_exit.is_ok() {
            world.abort(code);
        }
        ending::at_once(exit);
    } else {
        // The first one has yet to say why, and to end the others: a launcher that ends all as soon as one
        // ends would end it before.
        thread::sleep(FIRST_SPEAKS);
        // MPI was not left: its exit handlers may wait for those who are gone.
        engine::abandon();
    }
    ended
}

/// A fault that every process of the launch has before they can talk, told by one of them.
///
/// Rank 0 tells it. The others wait, because mpirun ends all processes as soon as one leaves with a code, and
/// what rank 0 has to say would be lost. A process that mpirun has not ended after the wait tells it too,
/// since rank 0 is late or gone; other launchers end nobody, and all would tell it. Where the launch's
/// variables were only inherited, and no launcher is to be seen, there is no rank 0 to wait for: it is told
/// at once.
pub fn said_once(fault: Fault, launch: &Launch) -> Fault {
    if waited_for_the_first(launch) && launch.launcher != Launcher::Mpirun {
        Fault::silent(fault.exit)
    } else {
        fault
    }
}

/// Gives rank 0 time to say why it leaves. Returns whether it is another process than this.
fn waited_for_the_first(launch: &Launch) -> bool {
    let is_other = !launch.speaks() && check::is_started(launch);
    if is_other {
        thread::sleep(FIRST_SPEAKS);
    }
    is_other
}

/// Starts MPI, and ends the process where it does not start in time. `starting` is told of the library
/// before.
///
/// # Errors
/// There is no plug-in, or it does not fit the launch: [`said_once`]. MPI does not start, which may be one
/// process's trouble: who is still there tells it, and who is not was ended by the first one's end.
pub fn start(
    launch: &Launch,
    limit: Duration,
    wanted: Option<ThreadLevel>,
    say: fn(&str),
    starting: &mut dyn FnMut(&str),
) -> Result<(Mpi, String), Fault> {
    let watched = |library: &str| {
        starting(library);
        // Without a thread for one, the launcher's own time limit is what ends a launch that hangs.
        Watchdog::of_rank(limit, launch.speaks(), NO_MPI, say).ok()
    };

    startup::start(launch, wanted, say, watched).map_err(|error| match error {
        StartError::Mpi(_) => {
            waited_for_the_first(launch);
            Fault::new(Exit::NoResult, error)
        }
        StartError::NoPlugin(_) | StartError::Refused(_) => said_once(Fault::usage(error), launch),
    })
}

/// The codes of what goes wrong where processes agree.
pub const CODES: Codes = Codes { no_result: Exit::NoResult.code(), timed_out: Exit::TimedOut.code() };

impl From<&Fault> for ProcessRefusal {
    fn from(fault: &Fault) -> Self {
        Self::new(fault.exit.code(), fault.to_string())
    }
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        let message = fault.error.is_some().then(|| fault.to_string());
        Self { exit: fault.exit.code(), message, heard_by_all: false }
    }
}

impl From<Stopped> for Fault {
    fn from(stopped: Stopped) -> Self {
        let exit = Exit::from_code(stopped.exit);
        stopped.message.map_or_else(|| Self::silent(exit), |message| Self::new(exit, message))
    }
}

/// What a process has before it knows of others.
struct Prepared {
    topology: Topology,
    found: FoundPlatform,
    sink: Option<Sink>,
}

fn prepare(args: &PingPongOptions, place: WorldPlace, desk: &Desk) -> Result<Prepared, Fault> {
    let topology = read()?;
    // The output is opened first: a run whose result cannot be kept must not begin. Rank 0 alone writes.
    let sink = if place.rank == 0 { (desk.open)()? } else { None };
    let opening = Watchdog::opening(Some(args.measuring.engine.timeout.unwrap_or(STARTING)), desk.say)?;
    let found = backends::find(args.measuring.backend, args.measuring.gpus.is_some(), &topology)?;
    drop(opening);
    Ok(Prepared { topology, found, sink })
}

/// From the first word to the exit code; and whether all processes are there to leave together.
fn session(
    args: &PingPongOptions,
    launch: &Launch,
    told: &report::launch::Launch,
    mut agreement: Agreement,
    desk: Desk,
) -> (Result<Exit, Fault>, bool) {
    let place = agreement.place();
    let ready = match assemble(args, launch, &mut agreement, &desk) {
        Ok(ready) => ready,
        Err(stopped) => {
            let all_there = stopped.heard_by_all;
            return (Err(stopped.into()), all_there);
        }
    };

    let Ready { prepared, layout, plan, config, parts, group, machine, timer, signals } = ready;
    let workers = pingpong::workers(&plan.ranks);
    let workers = Workers::process(workers, place.rank, group, layout.nodes.clone(), timer);
    let interrupted = &signals.interrupted;
    let local = Local {
        topology: &prepared.topology,
        found: &prepared.found,
        machine: &machine,
        timer,
        plan: &plan,
        node: place.node,
        hosts: &layout.hosts,
    };

    let suite = local.suite(&config);

    if place.rank != 0 {
        return match pingpong::follow(&config, workers, &suite, agreement.comm(), interrupted) {
            Followed::Dismissed { code, all_well } => (Ok(Exit::from_code(code)), all_well),
            Followed::Alone { why } => {
                let error = format!("rank {} on {} ends by itself: {why}", place.rank, host());
                let fault = Fault::new(signals.exit().unwrap_or(Exit::NoResult), error);
                (Err(fault), false)
            }
        };
    }

    let (platform, environment) = (local.platform(), local.environment());
    let figures = CaseMap::of_ranks(&config, parts.len());
    let of_ranks = args.facts(&config, &figures, &parts, &platform, &environment, &desk.origin);
    let facts = DocumentFacts { launch: Some(told), ..of_ranks };

    let build = |state: &RunState, exit| document::build(&facts, state, exit);
    let mut journal = DocumentJournal::new(&build, prepared.sink.as_ref(), desk.observer, desk.say);
    let state = pingpong::lead(&config, workers, &suite, agreement.comm(), interrupted, &mut journal);
    let exit = verdict::exit(&state, signals.exit());
    let ended = (desk.show)(journal.conclude(&state, exit, desk.expected));
    let code = ended.as_ref().map_or_else(|fault| fault.exit, |exit| *exit).code();
    pingpong::dismiss(agreement.comm(), &state, code);
    let all_well = state.ranks.iter().all(|rank| rank.lost.is_none());
    if !all_well {
        move_along(agreement.comm());
    }
    (ended, all_well)
}

/// Gives the last messages time to leave.
fn move_along(comm: &mut Communicator) {
    let until = Instant::now() + LAST_WORD;
    while Instant::now() < until && comm.try_receive().is_ok() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Everything a process needs for the run.
struct Ready {
    prepared: Prepared,
    layout: LaunchLayout,
    plan: Plan,
    config: RunConfig,
    parts: Vec<RankPart>,
    group: Processes,
    machine: topo::environment::Environment,
    timer: stats::flag::TimerFacts,
    signals: Signals,
}

/// The steps before the run, each taken by all processes or by none.
fn assemble(
    args: &PingPongOptions,
    launch: &Launch,
    agreement: &mut Agreement,
    desk: &Desk,
) -> Result<Ready, Stopped> {
    let place = agreement.place();
    let prepared = prepare(args, place, desk);
    let handshake =
        prepared.as_ref().map(|p| introduced(place, p, &desk.origin)).map_err(ProcessRefusal::from);
    let layout: LaunchLayout = agreement.agree(handshake, |all| layouts(all).map_err(Fault::usage))?;
    let prepared = prepared?;

    let machine = topo::environment::probe();
    let timer = pingpong::clock::measure();
    let planned = planned(args, launch, &prepared, &layout);
    let signals = Signals::catch();
    let part = planned.as_ref().map_err(ProcessRefusal::from).and_then(|(plan, _)| {
        signals.as_ref().map_err(ProcessRefusal::from)?;
        let Prepared { topology, found, .. } = &prepared;
        let local =
            Local { topology, found, machine: &machine, timer, plan, node: place.node, hosts: &layout.hosts };
        let none =
            || ProcessRefusal::from(&Fault::new(Exit::NoResult, "the platform has no such device any more"));
        local.parts(&[place.rank]).pop().ok_or_else(none)
    });
    let mut parts = Vec::new();
    agreement.agree(part, |all| {
        parts = all;
        Ok::<_, Stopped>(vec![(); parts.len()])
    })?;
    let ((plan, config), signals) = (planned?, signals?);

    let deadline: Deadline = agreement.deadline();
    let met =
        Processes::rendezvous(agreement.comm(), deadline).map_err(|error| Fault::new(Exit::NoResult, error));
    agreement.agree(met.as_ref().map(|_| ()).map_err(ProcessRefusal::from), Ok::<_, Stopped>)?;
    Ok(Ready { prepared, layout, plan, config, parts, group: met?, machine, timer, signals })
}

/// What this process says of itself first.
fn introduced(place: WorldPlace, prepared: &Prepared, origin: &Origin) -> Handshake {
    let platform = &*prepared.found.platform;
    Handshake::of(Introduced {
        place,
        version: env!("CARGO_PKG_VERSION"),
        arguments: origin.argv.iter().skip(1).cloned().collect(),
        topology: &prepared.topology,
        platform: platform.facts().kind.name(),
        why_host: prepared.found.why_host.as_deref(),
        devices: backends::targets(platform),
    })
}

/// The placement of this node's ranks, by the launch's numbers, and the run.
fn planned(
    args: &PingPongOptions,
    launch: &Launch,
    prepared: &Prepared,
    layout: &LaunchLayout,
) -> Result<(Plan, RunConfig), Fault> {
    let remedies = Remedies {
        not_in_affinity: launch.launcher.facts().frees_from_affinity.to_owned(),
        not_in_cgroup: launch.launcher.facts().widens_cpuset.to_owned(),
        hidden_device: launch.launcher.facts().shows_devices.to_owned(),
    };
    let asked = NodeRequest {
        cpus: args.cpus.clone(),
        gpus: args.measuring.gpus.clone(),
        membind: args.membind.clone(),
        remedies,
    };
    let mut plan =
        placement::plan_node(&prepared.topology, &layout.members(), &asked).map_err(|error| match error {
            NodePlanError::Selection(SelectionError::Absent { .. }) | NodePlanError::NotShown { .. } => {
                Fault::new(Exit::Absent, error)
            }
            _ => Fault::usage(error),
        })?;
    read_weights(&mut plan).map_err(Fault::usage)?;
    for (rank, number) in plan.ranks.iter_mut().zip(layout.ranks()) {
        rank.rank = number;
    }
    let kind = prepared.found.platform.facts().kind;
    let config = config::launched(args, kind, layout.nodes.len())?;
    budget_of_processes(&config, &plan, &prepared.topology, &prepared.found)?;

    Ok((plan, config))
}
