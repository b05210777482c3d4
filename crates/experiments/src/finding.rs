//! Finding the devices, which a driver may never do: it hangs while it is loaded and initialised.
//!
//! A thread of its own asks the drivers, and this one waits no longer than the limit and until a signal.
//! Where no answer comes at once the document of a run that has not begun is written; it says which driver
//! hangs. Drivers answer in a second or two; a quick refusal (there is no GPU) leaves no document.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use device::{Device, DeviceError, DeviceFacts, DeviceId, Platform, PlatformFacts};
use engine::{
    Bound, Case, EngineConfig, Failure, Order, RunEnd, RunState, Site, Stage, Suite, Trouble, Worker,
};
use placement::Plan;
use topo::Topology;

use crate::backends::{self, FoundPlatform};
use crate::document::{self, verdict};
use crate::exit::Exit;
use crate::experiment::{Beforehand, CaseMap, Experiment, RequestedSettings};
use crate::fault::Fault;
use crate::journal::{DocumentJournal, FinishedRun};
use crate::options::Measuring;
use crate::run_context::RunContext;
use crate::run_facts::RunFacts;
use crate::watchdog::{OPENS, no_thread, not_opened};

/// An answer that comes within this time needs no document before it.
const AT_ONCE: Duration = Duration::from_millis(500);

/// How often a signal is looked for meanwhile.
const LOOKS: Duration = Duration::from_millis(50);

/// Finds the devices of this machine, and says which driver is asked.
pub type Finder = Box<dyn FnOnce(&Topology, &dyn Fn(String)) -> Result<FoundPlatform, Fault> + Send>;

/// Asks the drivers that these options allow.
pub fn drivers(args: &Measuring) -> Finder {
    let (backend, is_named) = (args.backend, args.gpus.is_some());
    Box::new(move |topology, begins| backends::find_and_tell(backend, is_named, topology, begins))
}

/// Finds the devices within the limit.
///
/// # Errors
/// Exit 77 when what was asked for is not here; there can be no thread more. A run whose document was begun
/// ends without one.
pub fn found<'s>(
    command: &'static str,
    args: &Measuring,
    topology: &Topology,
    find: Finder,
    session: RunContext<'s>,
) -> Result<Result<(FoundPlatform, RunContext<'s>), FinishedRun>, Fault> {
    let limit = args.engine.timeout.unwrap_or(OPENS);
    let step = Arc::new(Mutex::new(String::new()));
    let (answer, answered) = mpsc::channel();
    let (machine, at) = (topology.clone(), Arc::clone(&step));
    let ask = move || {
        let begins = |what| *at.lock().unwrap_or_else(PoisonError::into_inner) = what;
        // Whoever asked may be gone.
        let _ = answer.send(find(&machine, &begins));
    };
    thread::Builder::new().name("finds GPUs".to_owned()).spawn(ask).map_err(|error| no_thread(&error))?;
    let began = Instant::now();

    match answered.recv_timeout(AT_ONCE.min(limit)) {
        Ok(found) => return Ok(Ok((found?, session))),
        Err(RecvTimeoutError::Timeout) => {}
        Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
    }

    let RunContext { origin, sink, signals, observer, say } = session;
    let unanswered = unanswered(args, topology);
    let experiment = not_known(command, args);
    let unbegun = |end, why: Option<String>| {
        RunState::unbegun(&experiment.suite.cases(), &[0], end, |_| {
            why.clone().map(|why| Trouble::Failed(Failure::new(Stage::Open, why)))
        })
    };
    let ended = RunFacts::new(args, topology, &unanswered).with_facts(
        &experiment,
        &origin,
        |facts| -> Result<Result<FoundPlatform, FinishedRun>, Fault> {
            let build = |state: &RunState, exit| document::build(facts, state, exit);
            let mut journal = DocumentJournal::new(&build, sink, &mut *observer, say);
            journal.begin(&unbegun(RunEnd::Running, None));
            let (end, why, exit) = loop {
                match answered.recv_timeout(LOOKS.min(limit.saturating_sub(began.elapsed()))) {
                    Ok(Ok(found)) => return Ok(Ok(found)),
                    Ok(Err(fault)) => break (RunEnd::Complete, Some(fault.to_string()), Some(fault.exit)),
                    Err(RecvTimeoutError::Disconnected) => {
                        let fault = panicked();
                        break (RunEnd::Complete, Some(fault.to_string()), Some(fault.exit));
                    }
                    Err(RecvTimeoutError::Timeout) if signals.exit().is_some() => {
                        break (RunEnd::Interrupted, None, None);
                    }
                    Err(RecvTimeoutError::Timeout) if began.elapsed() < limit => {}
                    Err(RecvTimeoutError::Timeout) => {
                        let step = step.lock().unwrap_or_else(PoisonError::into_inner).clone();
                        break (RunEnd::TimedOut, Some(not_opened(&step, limit)), None);
                    }
                }
            };
            if exit.is_none() {
                // The thread is left within the driver: the process must end without its exit handlers.
                engine::abandon();
            }
            if let Some(why) = &why {
                say(&format!("error: {why}"));
            }
            let state = unbegun(end, why);
            let exit = exit.unwrap_or_else(|| verdict::exit(&state, signals.exit()));
            Ok(Err(journal.conclude(&state, exit, |_| Exit::Ok)))
        },
    )?;
    Ok(ended.map(|found| (found, RunContext { origin, sink, signals, observer, say })))
}

fn panicked() -> Fault {
    Fault::new(Exit::NoResult, "the GPUs were not found: the thread that asked the drivers panicked")
}

/// The devices of a driver that has not answered: none yet.
struct Unanswered(PlatformFacts);

impl Platform for Unanswered {
    fn facts(&self) -> &PlatformFacts {
        &self.0
    }

    fn devices(&self) -> &[DeviceFacts] {
        &[]
    }

    fn open(&self, id: DeviceId) -> Result<Box<dyn Device>, DeviceError> {
        Err(DeviceError::UnknownDevice { asked: id.to_string(), present: "none".to_owned() })
    }
}

fn unanswered(args: &Measuring, topology: &Topology) -> FoundPlatform {
    let kind = backends::likely(args.backend, topology);
    let facts = PlatformFacts { kind, api_version: None, simulated: None };
    FoundPlatform { platform: Arc::new(Unanswered(facts)), why_host: None }
}

/// One case that stands for all of a run whose devices are not known.
struct NotKnown;

impl Suite for NotKnown {
    fn cases(&self) -> Vec<Case> {
        vec![Case { index: 0, order: Order::Alone, setup: 0, phase: 0, members: None, most_blocks: None }]
    }

    fn site(self: Arc<Self>, _: &Worker, _: &Bound) -> Result<Box<dyn Site>, Failure> {
        Err(Failure::new(Stage::Open, "no device is known"))
    }
}

/// The experiment of a run whose devices are not known: no place, no case and no figure of it stand in the
/// document.
fn not_known(command: &'static str, args: &Measuring) -> Experiment {
    Experiment {
        command,
        suite: Arc::new(NotKnown),
        workers: Vec::new(),
        // No host memory takes part either.
        engine: EngineConfig { huge_pages: false, ..args.engine },
        places: Plan { ranks: Vec::new(), notes: Vec::new() },
        figures: CaseMap::default(),
        matrices: Vec::new(),
        known: Beforehand::default(),
        asked: RequestedSettings::default(),
    }
}
