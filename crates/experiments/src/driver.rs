//! The steps that every measurement takes: the plan without a driver, or the machine, its devices, the experiment, the run and the document.
//!
//! A kind of measurement says what it measures of given devices ([`Measurement`]); what comes before and after is here, once. Nothing is printed.

use std::sync::Arc;

use engine::{EngineConfig, Journal, PerCase, RunState, Suite, Worker, Workers};
use placement::{Selection, Target};
use ranks::{Communicator, Launch, Single};
use report::sink::Sink;
use topo::Survey;

use crate::backends::{self, Found, Untouched};
use crate::document::of_experiment::{self, Facts};
use crate::document::part::Local;
use crate::document::{Origin, verdict};
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::journal::{DocumentJournal, Ended};
use crate::observer::Observer;
use crate::options::Measuring;
use crate::outline::Outline;
use crate::signals::Signals;
use crate::watchdog::Watchdog;

/// A kind of measurement, with its options.
pub trait Measurement {
    /// The options that all have.
    fn measuring(&self) -> &Measuring;

    /// What is to be measured on these devices of this machine, as far as it is known without a driver.
    ///
    /// # Errors
    /// What was asked for cannot be measured here.
    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault>;

    /// The same with the drivers' devices.
    ///
    /// # Errors
    /// What was asked for cannot be measured here.
    fn experiment(&self, survey: &Survey, found: &Found, making: Making) -> Result<Experiment, Fault>;

    /// Finds the devices.
    ///
    /// # Errors
    /// Exit 77 when what was asked for is not here.
    fn find(&self, survey: &Survey) -> Result<Found, Fault> {
        let measuring = self.measuring();
        backends::find(measuring.backend, measuring.gpus.is_some(), &survey.topology)
    }

    /// What can be planned for without touching a driver.
    ///
    /// # Errors
    /// Exit 77 when a GPU was asked for and the bus shows none.
    fn untouched(&self, survey: &Survey) -> Result<Untouched, Fault> {
        let measuring = self.measuring();
        backends::untouched(measuring.backend, measuring.gpus.is_some(), &survey.topology)
    }
}

/// What a run is given beside what it measures.
pub struct Session<'a> {
    /// What makes the document.
    pub origin: Origin,
    /// Where the document is kept, between passes too.
    pub sink: Option<&'a Sink>,
    /// What ends the run early.
    pub signals: &'a Signals,
    /// Who is told how far it is.
    pub observer: &'a mut dyn Observer,
    /// Says what a person should know at once and what ends nothing.
    pub say: fn(&str),
}

/// What is needed while an experiment is made of devices.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// What ends the run early.
    pub signals: &'a Signals,
    /// Says what a person should know at once.
    pub say: fn(&str),
}

/// Reads the machine.
///
/// # Errors
/// It cannot be read.
pub fn survey() -> Result<Survey, Fault> {
    topo::survey().map_err(|error| Fault::new(Exit::NoResult, error))
}

/// The plan of a measurement; touches no GPU.
///
/// # Errors
/// What was asked for cannot be measured here.
pub fn outline(measurement: &dyn Measurement) -> Result<Outline, Fault> {
    let survey = survey()?;
    measurement.outline(&survey, measurement.untouched(&survey)?)
}

/// Measures; the document is kept where the session says, and given back.
///
/// # Errors
/// What was asked for cannot be measured here. A run that began ends without one.
pub fn measure(measurement: &dyn Measurement, session: Session) -> Result<Ended, Fault> {
    let survey = survey()?;
    let opening = Watchdog::opening(measurement.measuring().timeout, session.say)?;
    let found = measurement.find(&survey)?;
    drop(opening);
    let experiment = measurement.experiment(&survey, &found, Making { signals: session.signals, say: session.say })?;
    let ended = run(measurement.measuring(), &experiment, &survey, &found, session);
    // The process ends soon and the kernel gives everything back: a driver that does not let go of a device must not keep what was found from being shown.
    std::mem::forget((experiment, found));
    Ok(ended)
}

/// Runs an experiment.
pub fn run(args: &Measuring, experiment: &Experiment, survey: &Survey, found: &Found, session: Session) -> Ended {
    let Session { origin, sink, signals, observer, say } = session;
    let topology = &survey.topology;
    let machine = topo::environment::probe();
    let timer = engine::clock::measure();
    let hosts = [topology.host()];
    let plan = &experiment.places;
    let local = Local { topology, found, machine: &machine, timer, plan, node: 0, hosts: &hosts };
    let places: Vec<usize> = plan.ranks.iter().map(|place| place.rank).collect();
    let (parts, platform, environment) = (local.parts(&places), local.platform(), local.environment());
    let facts = Facts {
        args,
        experiment,
        timer,
        parts: &parts,
        platform: &platform,
        environment: &environment,
        origin: &origin,
    };
    let build = |state: &RunState, exit| of_experiment::build(&facts, state, exit);
    let mut journal = DocumentJournal::new(&build, sink, observer, say);
    let workers = Workers::threads(experiment.workers.clone(), timer);
    let state = led(&experiment.engine, &experiment.suite, workers, signals, &mut journal);
    let exit = verdict::exit(&state, signals.exit());
    journal.conclude(&state, exit, |_| false)
}

/// Measures what the run after it must know and no document has.
pub fn ahead((engine, suite, workers): (EngineConfig, Arc<dyn Suite>, Vec<Worker>), signals: &Signals) -> RunState {
    led(&engine, &suite, Workers::threads(workers, engine::clock::measure()), signals, &mut Unkept)
}

/// Of which nothing is kept or shown.
struct Unkept;

impl Journal for Unkept {
    fn pass_ended(&mut self, _: &RunState) {}

    fn signalled(&mut self, _: &RunState) {}
}

fn led(
    engine: &EngineConfig,
    suite: &Arc<dyn Suite>,
    workers: Workers,
    signals: &Signals,
    journal: &mut dyn Journal,
) -> RunState {
    let world = Single::default();
    let mut comm = Communicator::new(&world);
    let mut enough = PerCase(engine.amount);
    engine::lead(engine, workers, suite, &mut comm, &signals.interrupted, &mut enough, journal)
}

/// The devices that a selection names; all of them where there is none.
///
/// # Errors
/// Exit 77 for a device that is not here, 2 for a list that cannot be followed.
pub fn chosen(selection: Option<&Selection>, available: Vec<Target>) -> Result<Vec<Target>, Fault> {
    selection.map_or(Ok(available.clone()), |selection| resolved(selection, &available))
}

fn resolved(selection: &Selection, available: &[Target]) -> Result<Vec<Target>, Fault> {
    selection.resolve(available).map_err(|error| match error {
        placement::SelectionError::Absent { .. } => Fault::new(Exit::Absent, error),
        _ => Fault::usage(error),
    })
}

/// Refuses a launch of several processes: each would measure the node while the others do.
///
/// # Errors
/// Exit 2, said by the first process.
pub fn one_process() -> Result<(), Fault> {
    let launch = Launch::here();
    if launch.is_alone() {
        return Ok(());
    }
    let text = "this command measures a node from one process, and was launched as several: use srun -n1 --cpu-bind=none (or mpirun -n 1 \
                --bind-to none); to measure each node of a launch by itself, one task a node and --json DIR/";
    Err(if launch.speaks() { Fault::usage(text) } else { Fault::silent(Exit::Usage) })
}
