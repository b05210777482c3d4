//! Running an experiment: the engine leads it in this process, the document is kept between passes, the result is shown at the end.

use std::path::Path;
use std::sync::Arc;

use engine::{EngineConfig, Journal, PerCase, RunState, Suite, Worker, Workers};
use ranks::{Communicator, Launch, Single};
use report::Document;
use report::sink::Sink;
use topo::Topology;

use super::document::{self, Facts};
use super::experiment::Experiment;
use crate::args::measuring::Measuring;
use crate::backends::Found;
use crate::began::Began;
use crate::document::part::Local;
use crate::document::verdict;
use crate::document_journal::{DocumentJournal, Output};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::signals::{Signals, survive_file_size_limit};

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
                --bind-to none)";
    Err(if launch.speaks() { Fault::usage(anyhow::anyhow!(text)) } else { Fault::silent(Exit::Usage) })
}

/// Opens the file that the document goes to, where it goes to one.
///
/// # Errors
/// It cannot be written.
pub fn open(args: &Measuring) -> Result<Option<Sink>, Fault> {
    survive_file_size_limit();
    let file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    file.map(|path| Sink::open(path).map_err(Fault::usage)).transpose()
}

/// Measures, keeps and shows.
///
/// # Errors
/// The document or the table cannot be written.
pub fn run(
    args: &Measuring,
    experiment: &Experiment,
    topology: &Topology,
    found: &Found,
    sink: Option<&Sink>,
    began: Began,
) -> Result<Exit, Fault> {
    run_until(args, experiment, topology, found, sink, &Signals::catch()?, began)
}

/// The same, where signals have been caught already.
///
/// # Errors
/// The document or the table cannot be written.
pub fn run_until(
    args: &Measuring,
    experiment: &Experiment,
    topology: &Topology,
    found: &Found,
    sink: Option<&Sink>,
    signals: &Signals,
    began: Began,
) -> Result<Exit, Fault> {
    let output =
        Output { json: args.json.as_deref(), quiet: args.quiet, color: args.color, fail_on_slower_twin: false };
    let progress = Progress::new(experiment.suite.cases().len(), args.quiet);
    with_facts(args, experiment, topology, found, began, |facts| {
        let build = |state: &RunState, exit| document::build(facts, state, exit);
        let mut journal = DocumentJournal::new(&build, output, sink, progress);
        let state = lead(facts, signals, &mut journal);
        let exit = verdict::exit(&state, signals.exit());
        journal.conclude(&state, exit)
    })
}

/// Measures, and makes the document of it, which is neither kept nor shown: more is to come.
pub fn documented(
    args: &Measuring,
    experiment: &Experiment,
    topology: &Topology,
    found: &Found,
    signals: &Signals,
    began: Began,
) -> (Document, Exit) {
    let mut watched = Watched(Progress::new(experiment.suite.cases().len(), args.quiet));
    with_facts(args, experiment, topology, found, began, |facts| {
        let state = lead(facts, signals, &mut watched);
        watched.0.clear();
        let exit = verdict::exit(&state, signals.exit());
        (document::build(facts, &state, Some(exit)), exit)
    })
}

/// Works out what is known before the run, and hands it on.
fn with_facts<T>(
    args: &Measuring,
    experiment: &Experiment,
    topology: &Topology,
    found: &Found,
    began: Began,
    then: impl FnOnce(&Facts) -> T,
) -> T {
    let machine = topo::environment::probe();
    let timer = engine::clock::measure();
    let hosts = [topology.host()];
    let plan = &experiment.places;
    let local = Local { topology, found, machine: &machine, timer, plan, node: 0, hosts: &hosts };
    let places: Vec<usize> = plan.ranks.iter().map(|place| place.rank).collect();
    let (parts, platform, environment) = (local.parts(&places), local.platform(), local.environment());
    then(&Facts { args, experiment, timer, parts: &parts, platform: &platform, environment: &environment, began })
}

/// The run itself, led in this process.
fn lead(facts: &Facts, signals: &Signals, journal: &mut dyn Journal) -> RunState {
    let Experiment { engine, suite, workers, .. } = facts.experiment;
    led(engine, suite, Workers::threads(workers.clone(), facts.timer), signals, journal)
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

/// Measures what the run after it must know and no document has; shows nothing.
pub fn ahead((engine, suite, workers): (EngineConfig, Arc<dyn Suite>, Vec<Worker>), signals: &Signals) -> RunState {
    let workers = Workers::threads(workers, engine::clock::measure());
    led(&engine, &suite, workers, signals, &mut Watched(Progress::new(0, true)))
}

/// Shows how far a run is, and keeps nothing.
struct Watched(Progress);

impl Journal for Watched {
    fn pass_ended(&mut self, state: &RunState) {
        self.0.show(state);
    }

    fn signalled(&mut self, _: &RunState) {}
}
