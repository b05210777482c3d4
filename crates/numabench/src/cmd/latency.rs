//! `numabench latency`: how long one load of host memory takes, from each GPU to the memory of each row; where no GPU takes part, from each row's
//! core to the memory of each node.

use device::PlatformKind;
use placement::rows;
use topo::Topology;

use crate::args::latency::Latency;
use crate::args::matrix::{Access, Matrix};
use crate::backends::{self, Untouched};
use crate::began::Began;
use crate::cmd::matrix;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::read;
use crate::suite::document::name_of;
use crate::suite::gpu_loads::GpuLoads;
use crate::suite::{defaults, plan, run};

/// Runs the command.
pub fn run(args: &Latency) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let topology = read()?;
    let named = args.measuring.gpus.is_some();
    if args.measuring.dry_run {
        return dry_run(args, &topology, named);
    }
    let found = backends::find(args.measuring.backend, named, &topology)?;
    if found.platform.facts().kind == PlatformKind::Host {
        return matrix::run(&by_cores(args)?);
    }
    let targets = chosen(args.measuring.gpus.as_ref(), backends::targets(&*found.platform))?;
    let loads = GpuLoads::new(args, &topology, rows(&topology, args.rows), targets)?;
    // Before anything is measured: a run whose result cannot be kept must not begin.
    let sink = run::open(&args.measuring)?;
    run::run(&args.measuring, &loads.experiment(args, &topology, &found), &topology, &found, sink.as_ref(), began)
}

fn dry_run(args: &Latency, topology: &Topology, named: bool) -> Result<Exit, Fault> {
    let Untouched { kind, targets, source } = backends::untouched(args.measuring.backend, named, topology)?;
    if kind == PlatformKind::Host {
        return matrix::run(&by_cores(args)?);
    }
    let (rows, targets) = (rows(topology, args.rows), chosen(args.measuring.gpus.as_ref(), targets)?);
    let columns: Vec<String> = targets.iter().map(name_of).collect();
    let loads = GpuLoads::new(args, topology, rows.clone(), targets)?;
    plan::show(&source, &rows, &columns, &loads.said(), loads.max_time())
}

/// The matrix of cores and memory that `numabench matrix --access load` is.
fn by_cores(args: &Latency) -> Result<Matrix, Fault> {
    defaults(&[], |matrix: &mut Matrix| {
        matrix.rows = args.rows;
        matrix.range = args.range;
        matrix.access = vec![Access::Load];
        matrix.measuring = args.measuring.clone();
    })
}
