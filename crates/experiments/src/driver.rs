//! The steps that every measurement takes: the plan without a driver, or the machine, its devices, the
//! experiment, the run and the document.
//!
//! A kind of measurement says what it measures of given devices ([`Measurement`]); what comes before and
//! after is here, once. Nothing is printed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    EngineConfig, Failure, Journal, PerCase, RunEnd, RunState, Stage, Suite, Trouble, Worker, Workers,
};
use launchers::Launch;
use placement::{Selection, Target};
use ranks::{Communicator, Single};
use topo::Survey;

use crate::backends::{self, FoundPlatform, Untouched};
use crate::document::{self, verdict};
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::fault::Fault;
pub use crate::finding::Finder;
use crate::finding::{drivers, found};
use crate::journal::{DocumentJournal, FinishedRun};
use crate::options::Measuring;
use crate::outline::{Outline, how};
use crate::reach::{NoAnswer, Reach, Reached};
pub use crate::run_context::RunContext;
use crate::run_facts::RunFacts;
use crate::signals::Signals;
use crate::watchdog::not_opened;

/// A kind of measurement, with its options.
pub trait Measurement {
    /// The command, as documents name it.
    fn command(&self) -> &'static str;

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
    fn experiment(&self, survey: &Survey, found: &FoundPlatform, making: Making)
    -> Result<Experiment, Fault>;

    /// What opened GPUs are asked before the experiment is known for good; `None` where that takes no opened
    /// GPU. Until they answer, the experiment that is made without their answer stands in the document.
    ///
    /// # Errors
    /// What was asked for cannot be measured here.
    fn reach(&self, _survey: &Survey, _found: &FoundPlatform) -> Result<Option<Reach>, Fault> {
        Ok(None)
    }

    /// The time that the whole run is given, its start and its last verification included; `None` where
    /// measuring alone has a limit.
    fn within(&self) -> Option<Duration> {
        None
    }

    /// What finds the devices.
    ///
    /// # Errors
    /// Options that exclude each other.
    fn finder(&self) -> Result<Finder, Fault> {
        Ok(drivers(self.measuring()))
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

/// What is needed while an experiment is made of devices.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// What ends the run early.
    pub signals: &'a Signals,
    /// What opened GPUs have answered.
    pub reached: &'a Reached,
}

/// Reads the machine.
///
/// # Errors
/// It cannot be read.
pub fn survey() -> Result<Survey, Fault> {
    topo::survey().map_err(|error| Fault::new(Exit::NoResult, error))
}

/// Reads the machine, or the one that these files describe, where there are any.
///
/// # Errors
/// It cannot be read.
pub fn survey_of(saved: &[PathBuf]) -> Result<Survey, Fault> {
    if saved.is_empty() { survey() } else { topo::survey_files(saved).map_err(Fault::usage) }
}

/// The plan of a measurement; touches no GPU.
///
/// # Errors
/// What was asked for cannot be measured here.
pub fn outline(measurement: &dyn Measurement) -> Result<Outline, Fault> {
    let survey = survey()?;
    outline_on(measurement, &survey)
}

/// The plan of a measurement on this machine, which may be a saved one; touches no GPU.
///
/// # Errors
/// What was asked for cannot be measured there.
pub fn outline_on(measurement: &dyn Measurement, survey: &Survey) -> Result<Outline, Fault> {
    let untouched = measurement.untouched(survey)?;
    let measuring = measurement.measuring();
    measuring.refuse_on(untouched.kind)?;
    Ok(Outline { how: how(measuring), ..measurement.outline(survey, untouched)? })
}

/// Measures; the document is kept where the session says, and given back.
///
/// # Errors
/// What was asked for cannot be measured here. Once a run has begun, faults go into its document.
pub fn measure(measurement: &dyn Measurement, mut session: RunContext) -> Result<FinishedRun, Fault> {
    let survey = survey()?;
    let (command, args) = (measurement.command(), measurement.measuring());
    let found = match found(command, args, &survey.topology, measurement.finder()?, session)? {
        Ok((found, again)) => {
            session = again;
            found
        }
        Err(ended) => return Ok(ended),
    };

    args.refuse_on(found.platform.facts().kind)?;
    let mut facts = RunFacts::new(measurement.measuring(), &survey.topology, &found);
    facts.within = measurement.within();
    let unasked = Reached::default();
    let signals = session.signals;
    let reached = match measurement.reach(&survey, &found)? {
        None => unasked,
        Some(reach) => {
            let experiment =
                measurement.experiment(&survey, &found, Making { signals, reached: &unasked })?;
            match facts.asked(&experiment, reach, session)? {
                Ok((reached, again)) => {
                    session = again;
                    reached
                }
                Err(ended) => return Ok(ended),
            }
        }
    };

    let experiment = measurement.experiment(&survey, &found, Making { signals, reached: &reached })?;
    facts.ask_host(&experiment);
    let ended = facts.run(&experiment, session);

    // The process ends soon and the kernel gives everything back: a driver that does not let go of a device
    // must not keep what was found from being shown.
    std::mem::forget((experiment, found));
    Ok(ended)
}

/// Runs an experiment.
pub fn run(
    args: &Measuring,
    experiment: &Experiment,
    survey: &Survey,
    found: &FoundPlatform,
    session: RunContext,
) -> FinishedRun {
    RunFacts::new(args, &survey.topology, found).run(experiment, session)
}

impl RunFacts<'_> {
    fn run(&self, experiment: &Experiment, session: RunContext) -> FinishedRun {
        let RunContext { origin, sink, signals, observer, say } = session;
        self.with_facts(experiment, &origin, |facts| {
            let build = |state: &RunState, exit| {
                let mut document = document::build(facts, state, exit);
                self.remark(&mut document);
                document
            };
            let mut journal = DocumentJournal::new(&build, sink, observer, say);
            let workers = Workers::threads(experiment.workers.clone(), self.timer);
            let state = led(&experiment.engine, &experiment.suite, workers, signals, &mut journal);
            let exit = verdict::exit(&state, signals.exit());
            journal.conclude(&state, exit, |_| Exit::Ok)
        })
    }

    /// Has opened GPUs asked: the document of a run that has not begun is kept before, and says where the run
    /// ends there.
    fn asked<'s>(
        &self,
        experiment: &Experiment,
        reach: Reach,
        session: RunContext<'s>,
    ) -> Result<Result<(Reached, RunContext<'s>), FinishedRun>, Fault> {
        let RunContext { origin, sink, signals, observer, say } = session;
        let limit = reach.limit;
        let unbegun = |end, trouble: Option<Trouble>| {
            let nodes = vec![0; experiment.workers.len()];
            RunState::unbegun(&experiment.suite.cases(), &nodes, end, |_| trouble.clone())
        };
        let ended =
            self.with_facts(experiment, &origin, |facts| -> Result<Result<Reached, FinishedRun>, Fault> {
                let build = |state: &RunState, exit| document::build(facts, state, exit);
                let mut journal = DocumentJournal::new(&build, sink, &mut *observer, say);
                journal.begin(&unbegun(RunEnd::Running, None));
                let state = match reach.ask(&self.found.platform, &signals.interrupted)? {
                    Ok(reached) => return Ok(Ok(reached)),
                    Err(NoAnswer::Signal) => unbegun(RunEnd::Interrupted, None),
                    Err(NoAnswer::Hangs(step)) => {
                        let why = not_opened(&step, limit);
                        say(&format!("error: {why}"));
                        unbegun(RunEnd::TimedOut, Some(Trouble::Failed(Failure::new(Stage::Open, why))))
                    }
                };
                Ok(Err(journal.conclude(&state, verdict::exit(&state, signals.exit()), |_| Exit::Ok)))
            })?;

        Ok(ended.map(|reached| (reached, RunContext { origin, sink, signals, observer, say })))
    }
}

/// Measures what the run after it must know and no document has.
pub fn ahead(
    (engine, suite, workers): (EngineConfig, Arc<dyn Suite>, Vec<Worker>),
    signals: &Signals,
) -> RunState {
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
    let mut enough = PerCase::new(engine.amount);
    engine::lead(engine, workers, suite, &mut comm, &signals.interrupted, &mut enough, journal)
}

/// The devices that a selection names, each once; all of them where there is none.
///
/// # Errors
/// Exit 77 for a device that is not here, 2 for a list that cannot be followed.
pub fn chosen(selection: Option<&Selection>, available: Vec<Target>) -> Result<Vec<Target>, Fault> {
    let mut targets: Vec<Target> = Vec::new();
    for target in chosen_for_ranks(selection, available)? {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// The devices that a selection names, as often as it names them: each time is a rank of its own.
///
/// # Errors
/// As [`chosen`].
pub fn chosen_for_ranks(selection: Option<&Selection>, available: Vec<Target>) -> Result<Vec<Target>, Fault> {
    selection.map_or(Ok(available.clone()), |selection| resolved(selection, &available))
}

fn resolved(selection: &Selection, available: &[Target]) -> Result<Vec<Target>, Fault> {
    selection.resolve(available).map_err(|error| match error {
        placement::SelectionError::Absent { .. } => Fault::new(Exit::Absent, error),
        _ => Fault::usage(error),
    })
}

/// Refuses a launch of several processes: each would measure the node while the others do. `or_else` is what
/// a command has for such a launch.
///
/// # Errors
/// Exit 2, said by the first process.
pub fn one_process(or_else: &str) -> Result<(), Fault> {
    let launch = Launch::here();
    if launch.is_alone() {
        return Ok(());
    }
    let text = format!(
        "this command measures a node from one process, and was launched as several: use srun -n1 \
         --cpu-bind=none (or mpirun -n 1 --bind-to none){or_else}"
    );
    Err(if launch.speaks() { Fault::usage(text) } else { Fault::silent(Exit::Usage) })
}
