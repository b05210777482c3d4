//! `numabench contend`: what ranks lose when they copy at once, and what they share.

use placement::{Membind, Plan, Request, Target};
use topo::{Survey, Topology};

use crate::args::contend::Contend;
use crate::backends::{self, Untouched};
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::budget;
use crate::suite::beside::Beside;
use crate::suite::{contend, plan, run};

/// Runs the command.
pub fn run(args: &Contend) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let survey: Survey = topo::survey().map_err(|error| Fault::new(Exit::NoResult, error))?;
    let topology = &survey.topology;
    let named = args.measuring.gpus.is_some();
    if args.measuring.dry_run {
        let Untouched { kind, targets, source } = backends::untouched(args.measuring.backend, named, topology)?;
        let planned = planned(args, topology, targets)?;
        if let Some(traffic) = args.beside {
            let beside = Beside::new(args, traffic, kind, topology, &planned)?;
            let names = [crate::suite::document::name_of(&planned.ranks[0].target), "all threads".to_owned()];
            return plan::show(&source, &[], &names, &beside.said(), beside.config.max_time);
        }
        let contend = contend::Contend::new(args, kind, &survey, planned)?;
        return plan::show(&source, &[], &contend.columns(), &contend.said(), contend.config.max_time);
    }
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = run::open(&args.measuring)?;
    let found = backends::find(args.measuring.backend, named, topology)?;
    let planned = planned(args, topology, backends::targets(&*found.platform))?;
    if let Some(traffic) = args.beside {
        let beside = Beside::new(args, traffic, found.platform.facts().kind, topology, &planned)?;
        budget(&beside.config, &Plan { ranks: planned.ranks[..1].to_vec(), notes: Vec::new() }, topology, &found)?;
        let experiment = beside.experiment(topology, &found);
        return run::run(&args.measuring, &experiment, topology, &found, sink.as_ref(), began);
    }
    let contend = contend::Contend::new(args, found.platform.facts().kind, &survey, planned.clone())?;
    budget(&contend.config, &planned, topology, &found)?;
    let experiment = contend.experiment(topology, &found);
    run::run(&args.measuring, &experiment, topology, &found, sink.as_ref(), began)
}

/// A rank for each GPU, or so many for the first one.
fn planned(args: &Contend, topology: &Topology, available: Vec<Target>) -> Result<Plan, Fault> {
    let targets = chosen(args.measuring.gpus.as_ref(), available.clone())?;
    let targets = match (args.ranks_per_gpu, targets.first()) {
        (Some(ranks), Some(first)) => vec![first.clone(); ranks as usize],
        _ => targets,
    };
    let request = Request { cpus: args.cpus.clone(), targets: Some(targets), available, membind: Membind::Local };
    placement::plan(topology, &request).map_err(Fault::usage)
}
