//! `numabench peer`: copies from each GPU's memory to each other's and to its own, one way, both ways at once, all at once, and how long the smallest
//! takes.

use device::PlatformKind;
use placement::Target;
use topo::Topology;

use crate::args::peer::Peer;
use crate::backends::{self, Untouched};
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::read;
use crate::suite::document::name_of;
use crate::suite::peers::Peers;
use crate::suite::{plan, run};

/// Runs the command.
pub fn run(args: &Peer) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let topology = read()?;
    let named = args.measuring.gpus.is_some();
    if args.measuring.dry_run {
        return dry_run(args, &topology, named);
    }
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = run::open(&args.measuring)?;
    let found = backends::find(args.measuring.backend, named, &topology)?;
    let available = backends::targets(&*found.platform);
    let targets = gpus(args, found.platform.facts().kind, available.clone())?;
    let mut peers = Peers::new(args, &topology, targets, available)?;
    // Open until the end: the ranks' contexts are then there already.
    let opened = peers.look(&*found.platform)?;
    let experiment = peers.experiment(args, &topology, &found);
    let ended = run::run(&args.measuring, &experiment, &topology, &found, sink.as_ref(), began);
    drop(opened);
    ended
}

fn dry_run(args: &Peer, topology: &Topology, named: bool) -> Result<Exit, Fault> {
    let Untouched { kind, targets: available, source } = backends::untouched(args.measuring.backend, named, topology)?;
    let targets = gpus(args, kind, available.clone())?;
    let columns: Vec<String> = targets.iter().map(name_of).collect();
    let peers = Peers::new(args, topology, targets, available)?;
    plan::show(&source, &[], &columns, &peers.said(), peers.max_time())
}

/// The GPUs asked for, each once.
fn gpus(args: &Peer, kind: PlatformKind, available: Vec<Target>) -> Result<Vec<Target>, Fault> {
    let mut targets: Vec<Target> = Vec::new();
    for target in chosen(args.measuring.gpus.as_ref(), available)? {
        if !targets.iter().any(|other| other.id == target.id) {
            targets.push(target);
        }
    }
    if kind == PlatformKind::Host || targets.is_empty() {
        let what = "there is no GPU here; `numabench matrix` measures memory between NUMA nodes";
        return Err(Fault::new(Exit::Absent, anyhow::anyhow!(what)));
    }
    Ok(targets)
}
