//! `numabench matrix`: rows of the machine against its GPUs, or where no GPU takes part against its memory nodes.

use device::PlatformKind;
use pingpong::device_bytes;
use placement::{Row, Target, TargetId, rows};
use topo::Topology;

use crate::args::matrix::Matrix;
use crate::backends::{self, Untouched};
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::read;
use crate::suite::document::name_of;
use crate::suite::gpu_matrix::GpuMatrix;
use crate::suite::memory_matrix::MemoryMatrix;
use crate::suite::{plan, run};

/// Runs the command.
pub fn run(args: &Matrix) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let topology = read()?;
    let rows = rows(&topology, args.rows);
    let named = args.measuring.gpus.is_some();
    if args.measuring.dry_run {
        return dry_run(args, &topology, rows, named);
    }
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = run::open(&args.measuring)?;
    let found = backends::find(args.measuring.backend, named, &topology)?;
    let targets = chosen(args.measuring.gpus.as_ref(), backends::targets(&*found.platform))?;
    let experiment = if found.platform.facts().kind == PlatformKind::Host {
        MemoryMatrix::new(args, &topology, rows, nodes(&targets))?.experiment(args, &topology)
    } else {
        let matrix = GpuMatrix::new(args, &topology, found.platform.facts().kind, rows, targets)?;
        matrix.budget(&topology, |target| device_bytes(&*found.platform, target))?;
        matrix.experiment(&topology, &found)
    };
    run::run(&args.measuring, &experiment, &topology, &found, sink.as_ref(), began)
}

fn dry_run(args: &Matrix, topology: &Topology, rows: Vec<Row>, named: bool) -> Result<Exit, Fault> {
    let Untouched { kind, targets, source } = backends::untouched(args.measuring.backend, named, topology)?;
    let targets = chosen(args.measuring.gpus.as_ref(), targets)?;
    let columns: Vec<String> = targets.iter().map(name_of).collect();
    if kind == PlatformKind::Host {
        let matrix = MemoryMatrix::new(args, topology, rows.clone(), nodes(&targets))?;
        return plan::show(&source, &rows, &columns, &matrix.said(), matrix.max_time());
    }
    let matrix = GpuMatrix::new(args, topology, kind, rows.clone(), targets)?;
    matrix.budget(topology, |_| None)?;
    plan::show(&source, &rows, &columns, &matrix.said(), matrix.max_time())
}

/// The nodes among targets, where no GPU takes part.
fn nodes(targets: &[Target]) -> Vec<u32> {
    let node = |target: &Target| match target.id {
        TargetId::Node(node) => Some(node),
        TargetId::Gpu(_) => None,
    };
    targets.iter().filter_map(node).collect()
}
