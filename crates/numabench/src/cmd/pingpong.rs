//! `numabench pingpong`: read the machine, plan, open the output, run, report. Here for a process on its own, whose ranks are its
//! threads; `launched` does the same with processes as ranks.

use std::num::NonZeroUsize;

use ::pingpong::RunState;
use ranks::Launch;
use ranks::{Communicator, Single};

use crate::args::Pingpong;
use crate::backends;
use crate::began::Began;
use crate::document::part::Local;
use crate::document::{self, Facts, verdict};
use crate::document_journal::{DocumentJournal, Output};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::planned;
use crate::progress::Progress;
use crate::run_setup::{budget, open, read};
use crate::signals::Signals;
use crate::{config, dry_run, launched};

/// Runs the command.
pub fn run(args: &Pingpong) -> Result<Exit, Fault> {
    let launch = Launch::here().told(args.rank, args.ranks.map(NonZeroUsize::get)).map_err(Fault::usage)?;
    if args.dry_run {
        return if launch.speaks() { dry_run::show(args, &read()?) } else { Ok(Exit::Ok) };
    }
    if launch.is_alone() { alone(args) } else { launched::run(args, &launch) }
}

fn alone(args: &Pingpong) -> Result<Exit, Fault> {
    let began = Began::now();
    let topology = read()?;
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = open(args)?;
    let found = backends::find(args.backend, args.gpus.is_some(), &topology)?;
    let plan = planned(args, &topology, backends::targets(&*found.platform))?;
    let config = config::checked(args, found.platform.facts().kind, plan.ranks.len())?;
    budget(&config, &plan, &topology, &found)?;

    let signals = Signals::catch()?;
    let machine = topo::environment::probe();
    let timer = ::pingpong::clock::measure();
    let hosts = [topology.host()];
    let local =
        Local { topology: &topology, found: &found, machine: &machine, timer, plan: &plan, node: 0, hosts: &hosts };
    let ranks: Vec<usize> = plan.ranks.iter().map(|rank| rank.rank).collect();
    let facts = Facts {
        args,
        config: &config,
        parts: &local.parts(&ranks),
        platform: &local.platform(),
        environment: &local.environment(),
        launch: None,
        began,
    };
    let progress = Progress::new(::pingpong::Case::all(&config).len(), args.quiet);
    let build = |state: &RunState, exit| document::build(&facts, state, exit);
    let mut journal = DocumentJournal::new(&build, Output::of(args), sink.as_ref(), progress);
    let world = Single::default();
    let mut comm = Communicator::new(&world);
    let interrupted = &signals.interrupted;
    let state = ::pingpong::lead(&config, local.workers(), &local.suite(&config), &mut comm, interrupted, &mut journal);
    let exit = verdict::exit(&state, signals.exit());
    journal.conclude(&state, exit)
}
