//! `numabench pingpong`: read the machine, plan, open the output, run, report.

use std::path::Path;
use std::time::Instant;

use ::pingpong::{Crew, Journal, RunConfig, RunState, check_budget};
use placement::Plan;
use ranks::{Mailbox, Single};
use report::Document;
use report::render::Style;
use report::sink::Sink;
use topo::Topology;

use crate::args::Pingpong;
use crate::backends::{self, Found};
use crate::config;
use crate::document::{Facts, verdict};
use crate::dry_run;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::planned;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Pingpong) -> Result<Exit, Fault> {
    let began = Instant::now();
    let topology = topo::read().map_err(|error| Fault::new(Exit::NoResult, error))?;
    if args.dry_run {
        return dry_run::show(args, &topology);
    }
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = match args.json.as_deref() {
        Some(path) if path != Path::new("-") => Some(Sink::open(path).map_err(Fault::usage)?),
        _ => None,
    };
    let found = backends::find(args.backend, args.gpus.is_some(), &topology)?;
    let plan = planned(args, &topology, backends::targets(&*found.platform))?;
    let config = config::checked(args, found.platform.facts().kind, plan.ranks.len())?;
    budget(&config, &plan, &topology, &found)?;

    let signals = Signals::catch()?;
    let timer = ::pingpong::clock::measure();
    let facts = Facts { args, config: &config, plan: &plan, topology: &topology, found: &found, began, timer };
    let progress = Progress::new(::pingpong::Case::all(&config).len(), args.quiet);
    let mut keeper =
        Keeper { facts, sink: sink.as_ref(), progress, trouble: None, environment: topo::environment::probe() };
    let crew = Crew::threads(plan.ranks.clone(), topology.machine_has_one_node(), timer);
    let world = Single::default();
    let state =
        ::pingpong::lead(&config, crew, &found.platform, &mut Mailbox::new(&world), &signals.interrupted, &mut keeper);
    keeper.progress.clear();

    let exit = verdict::exit(&state, &config, signals.exit());
    let document = keeper.document(&state, Some(exit));
    if let Some(sink) = &sink {
        sink.write(&json(&document)?).map_err(|error| Fault::new(Exit::NoResult, error))?;
    }
    if args.json.as_deref() == Some(Path::new("-")) {
        terminal::print(&json(&document)?)?;
    } else {
        let saved_to = args.json.as_ref().map(|path| path.display().to_string());
        let style = Style { width: terminal::width(), color: terminal::color(args.color), quiet: args.quiet, saved_to };
        terminal::print(report::render::table(&document, &style).as_bytes())?;
    }
    Ok(exit)
}

fn budget(config: &RunConfig, plan: &Plan, topology: &Topology, found: &Found) -> Result<(), Fault> {
    let host = |node| topology.node(node).map(|node| node.total_bytes);
    let device = |target| {
        let wanted = |facts: &&device::DeviceFacts| match (facts.id, target) {
            (device::DeviceId::Pci(a), placement::TargetId::Gpu(b)) => a == b,
            _ => false,
        };
        found.platform.devices().iter().find(wanted).map(|facts| facts.total_bytes)
    };
    check_budget(config, plan, host, device).map_err(Fault::usage)
}

fn json(document: &Document) -> Result<Vec<u8>, Fault> {
    report::render::json(document).map_err(|error| Fault::new(Exit::NoResult, error))
}

/// Keeps the document on disk and the progress line true, between passes.
struct Keeper<'a> {
    facts: Facts<'a>,
    sink: Option<&'a Sink>,
    progress: Progress,
    trouble: Option<String>,
    environment: topo::environment::Environment,
}

impl Keeper<'_> {
    fn document(&self, state: &RunState, exit: Option<Exit>) -> Document {
        crate::document::build(&self.facts, &self.environment, state, exit)
    }
}

impl Journal for Keeper<'_> {
    fn pass_ended(&mut self, state: &RunState) {
        if let Some(sink) = self.sink {
            let document = self.document(state, None);
            let written = report::render::json(&document)
                .map_err(|e| e.to_string())
                .and_then(|bytes| sink.write(&bytes).map_err(|e| e.to_string()));
            // Said once: the run goes on, and writing is tried again after the next pass.
            if let (Err(why), None) = (written, &self.trouble) {
                terminal::say(&format!("warning: the document could not be kept up to date: {why}"));
                self.trouble = Some(why);
            }
        }
        self.progress.show(state);
    }

    fn signalled(&mut self, _state: &RunState) {}
}
