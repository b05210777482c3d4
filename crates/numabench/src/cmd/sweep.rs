//! `numabench sweep`: bandwidth and time against size, with the latency and the rate that they come to.

use device::PlatformKind;
use pingpong::device_bytes;
use placement::{Membind, Plan, Request, Target, TargetId};
use topo::Topology;

use crate::args::sweep::Sweep;
use crate::backends::{self, Untouched};
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::{budget, read};
use crate::suite::{plan, run, sweep};

/// Runs the command.
pub fn run(args: &Sweep) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let topology = read()?;
    let named = args.measuring.gpus.is_some();
    if args.measuring.dry_run {
        let Untouched { kind, targets, source } = backends::untouched(args.measuring.backend, named, &topology)?;
        let planned = planned(args, &topology, targets)?;
        let sweep = listed(args, &topology, kind, planned.clone(), |_| None)?;
        let names: Vec<String> =
            planned.ranks.iter().map(|rank| crate::suite::document::name_of(&rank.target)).collect();
        return plan::show(&source, &[], &names, &sweep.said(), sweep.config.max_time);
    }
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = run::open(&args.measuring)?;
    let found = backends::find(args.measuring.backend, named, &topology)?;
    let planned = planned(args, &topology, backends::targets(&*found.platform))?;
    let kind = found.platform.facts().kind;
    let sweep = listed(args, &topology, kind, planned.clone(), |target| device_bytes(&*found.platform, target))?;
    budget(&sweep.config, &planned, &topology, &found)?;
    let experiment = sweep.experiment(&topology, &found);
    run::run(&args.measuring, &experiment, &topology, &found, sink.as_ref(), began)
}

/// A rank for each GPU that was named, or for the first.
fn planned(args: &Sweep, topology: &Topology, available: Vec<Target>) -> Result<Plan, Fault> {
    let mut targets = chosen(args.measuring.gpus.as_ref(), available.clone())?;
    if args.measuring.gpus.is_none() {
        targets.truncate(1);
    }
    let request = Request { cpus: None, targets: Some(targets), available, membind: Membind::Local };
    placement::plan(topology, &request).map_err(Fault::usage)
}

fn listed(
    args: &Sweep,
    topology: &Topology,
    kind: PlatformKind,
    plan: Plan,
    device: impl Fn(TargetId) -> Option<u64>,
) -> Result<sweep::Sweep, Fault> {
    let node = |node| topology.memory_bytes(node);
    let of = |rank: &placement::RankPlan| [node(rank.memory_node), device(rank.target.id)];
    let smallest = plan.ranks.iter().flat_map(of).flatten().min();
    sweep::Sweep::new(args, kind, plan, smallest)
}
