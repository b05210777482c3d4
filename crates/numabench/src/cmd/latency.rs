//! `numabench latency`: how long one load of host memory takes, from each GPU to the memory of each row; where no GPU takes part, from each row's
//! core to the memory of each node; how long a load takes beside the traffic of other cores; or how long a flag takes from each core to each other one.

use device::PlatformKind;
use placement::{RowsBy, rows};
use topo::Topology;

use crate::args::Backend;
use crate::args::contend::Beside;
use crate::args::latency::{Between, Latency};
use crate::args::matrix::{Access, Matrix};
use crate::backends::{self, Found, Untouched};
use crate::began::Began;
use crate::cmd::matrix;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::read;
use crate::signals::Signals;
use crate::suite::core_pairs::CorePairs;
use crate::suite::document::name_of;
use crate::suite::gpu_loads::GpuLoads;
use crate::suite::loaded::Loaded;
use crate::suite::{defaults, plan, run};

/// Runs the command.
pub fn run(args: &Latency) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let topology = read()?;
    refuse_mixed(args)?;
    if args.between == Some(Between::Cores) {
        return between_cores(args, &topology, began);
    }
    if let Some(traffic) = args.loaded {
        return loaded(args, traffic, &topology, began);
    }
    let named = args.measuring.gpus.is_some();
    if args.measuring.dry_run {
        return dry_run(args, &topology, named);
    }
    let found = backends::find(args.measuring.backend, named, &topology)?;
    if found.platform.facts().kind == PlatformKind::Host {
        return without_gpu(args);
    }
    let targets = chosen(args.measuring.gpus.as_ref(), backends::targets(&*found.platform))?;
    let loads = GpuLoads::new(args, &topology, rows(&topology, args.rows), targets)?;
    // Before anything is measured: a run whose result cannot be kept must not begin.
    let sink = run::open(&args.measuring)?;
    run::run(&args.measuring, &loads.experiment(args, &topology, &found), &topology, &found, sink.as_ref(), began)
}

fn between_cores(args: &Latency, topology: &Topology, began: Began) -> Result<Exit, Fault> {
    let pairs = CorePairs::new(&args.measuring, topology, args.cpus.as_ref(), None)?;
    if args.measuring.dry_run {
        let source = "this machine's cores: no GPU takes part";
        return plan::show(source, &[], &pairs.names(), &pairs.said(), pairs.max_time());
    }
    let sink = run::open(&args.measuring)?;
    let found = backends::find(Backend::Host, false, topology)?;
    let found = Found { why_host: Some("cores were asked for: --between cores".to_owned()), ..found };
    run::run(&args.measuring, &pairs.experiment("latency", topology), topology, &found, sink.as_ref(), began)
}

fn loaded(args: &Latency, traffic: Beside, topology: &Topology, began: Began) -> Result<Exit, Fault> {
    let loaded = Loaded::new(args, traffic, topology, rows(topology, args.rows))?;
    if args.measuring.dry_run {
        let source = "this machine's cores: no GPU takes part";
        return plan::show(source, &loaded.rows, &loaded.columns(), &loaded.said(), loaded.max_time());
    }
    let sink = run::open(&args.measuring)?;
    let found = backends::find(Backend::Host, false, topology)?;
    let found = Found { why_host: Some("cores were asked for: --loaded".to_owned()), ..found };
    let signals = Signals::catch()?;
    let full = loaded.full(&run::ahead(loaded.ahead(), &signals));
    let experiment = loaded.experiment(topology, &full);
    run::run_until(&args.measuring, &experiment, topology, &found, sink.as_ref(), &signals, began)
}

fn dry_run(args: &Latency, topology: &Topology, named: bool) -> Result<Exit, Fault> {
    let Untouched { kind, targets, source } = backends::untouched(args.measuring.backend, named, topology)?;
    if kind == PlatformKind::Host {
        return without_gpu(args);
    }
    let (rows, targets) = (rows(topology, args.rows), chosen(args.measuring.gpus.as_ref(), targets)?);
    let columns: Vec<String> = targets.iter().map(name_of).collect();
    let loads = GpuLoads::new(args, topology, rows.clone(), targets)?;
    plan::show(&source, &rows, &columns, &loads.said(), loads.max_time())
}

/// What is measured where no GPU takes part.
fn without_gpu(args: &Latency) -> Result<Exit, Fault> {
    if args.between == Some(Between::Gpus) {
        let text = "there is no GPU here; `numabench latency --between cores` measures flags between cores";
        return Err(Fault::new(Exit::Absent, anyhow::anyhow!(text)));
    }
    matrix::run(&by_cores(args)?)
}

/// Refuses options of one kind of flags with the other.
fn refuse_mixed(args: &Latency) -> Result<(), Fault> {
    let measuring = &args.measuring;
    let text = match args.between {
        Some(Between::Cores) if args.rows != RowsBy::Node => {
            "--rows goes with --between gpus; --cpus chooses the PUs of --between cores"
        }
        Some(Between::Cores) if measuring.gpus.is_some() || measuring.backend != Backend::Auto => {
            "--gpus and --backend go with --between gpus: between cores no GPU takes part"
        }
        Some(Between::Gpus) if args.cpus.is_some() => "--cpus goes with --between cores; --rows core takes every core",
        _ => return Ok(()),
    };
    Err(Fault::usage(anyhow::anyhow!(text)))
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
