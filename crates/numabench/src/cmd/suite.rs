//! `numabench suite`: everything that is sensible on this machine in a time given, as one document: for the acceptance of a node.
//!
//! Memory against cores always; with GPUs every NUMA node against every GPU (copies and loads), every GPU's memory against every GPU's, and with several
//! GPUs what they lose at once. Left out: sizes (`sweep`) and copies by a kernel, which say more of the driver than of the node.

use std::time::Duration;

use device::{Device, Platform, PlatformKind};
use pingpong::device_bytes;
use placement::{Membind, Request, RowsBy, Target, TargetId, rows};
use topo::Survey;

use crate::args::contend::Contend;
use crate::args::matrix::Matrix;
use crate::args::measuring::Measuring;
use crate::args::peer::Peer;
use crate::args::suite::Suite;
use crate::backends::{self, Found, Untouched};
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::plan::chosen;
use crate::run_setup::budget;
use crate::suite::experiment::Experiment;
use crate::suite::gpu_matrix::GpuMatrix;
use crate::suite::memory_matrix::MemoryMatrix;
use crate::suite::merged::merged;
use crate::suite::peers::Peers;
use crate::suite::{contend, defaults, plan, run};

/// The size of a copy: large enough for the link's rate, small enough for many GPUs in a short time.
const SIZE: &str = "64MiB";
/// Threads of a row that read at once at most: a node's memory is then at its limit on the CPUs of today, and a block is not longer than it must be.
const THREADS: &str = "8";
/// The part of the time that is for measuring: the rest is for opening devices, the pass under way when it is over, and the document.
const MEASURING: f64 = 0.8;

/// What is to be measured, not yet bound to a platform.
struct Parts {
    gpus: Option<GpuMatrix>,
    peers: Option<(Peer, Peers)>,
    contend: Option<contend::Contend>,
    memory: (Matrix, MemoryMatrix),
}

/// Runs the command.
pub fn run(args: &Suite) -> Result<Exit, Fault> {
    let began = Began::now();
    run::one_process()?;
    let survey: Survey = topo::survey().map_err(|error| Fault::new(Exit::NoResult, error))?;
    let topology = &survey.topology;
    let named = args.measuring.gpus.is_some();
    let time = measuring_time(args.within);
    if args.measuring.dry_run {
        let Untouched { kind, targets, source } = backends::untouched(args.measuring.backend, named, topology)?;
        let targets = chosen(args.measuring.gpus.as_ref(), targets)?;
        let parts = parts(args, &survey, kind, &targets, &|_| None)?;
        let columns: Vec<String> = targets.iter().map(crate::suite::document::name_of).collect();
        return plan::show(&source, &rows(topology, RowsBy::Node), &columns, &parts.said(), time);
    }
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = run::open(&args.measuring)?;
    let found = backends::find(args.measuring.backend, named, topology)?;
    let targets = chosen(args.measuring.gpus.as_ref(), backends::targets(&*found.platform))?;
    let kind = found.platform.facts().kind;
    let mut parts = parts(args, &survey, kind, &targets, &|target| device_bytes(&*found.platform, target))?;
    // Open until the end: the ranks' contexts are then there already.
    let opened = parts.look(&*found.platform)?;
    let mut experiment = parts.experiment(&survey, &found)?;
    experiment.engine.max_time = time;
    let ended = run::run(&args.measuring, &experiment, topology, &found, sink.as_ref(), began);
    drop(opened);
    ended
}

fn measuring_time(within: Duration) -> Duration {
    within.mul_f64(MEASURING)
}

fn parts(
    args: &Suite,
    survey: &Survey,
    kind: PlatformKind,
    targets: &[Target],
    device: &dyn Fn(TargetId) -> Option<u64>,
) -> Result<Parts, Fault> {
    let topology = &survey.topology;
    let own = |measuring: &mut Measuring| *measuring = args.measuring.clone();
    let access = if kind == PlatformKind::Host { "read,write,copy,load" } else { "read,load" };
    let typed = ["--threads", THREADS, "--access", access];
    let memory: Matrix = defaults(&typed, |args: &mut Matrix| own(&mut args.measuring))?;
    let nodes: Vec<u32> = Target::nodes_of(topology).iter().map(|target| target.index).collect();
    let on_nodes = MemoryMatrix::new(&memory, topology, rows(topology, RowsBy::Node), nodes)?;
    if kind == PlatformKind::Host {
        return Ok(Parts { gpus: None, peers: None, contend: None, memory: (memory, on_nodes) });
    }
    let matrix: Matrix = defaults(&["--size", SIZE, "--latency"], |args: &mut Matrix| own(&mut args.measuring))?;
    let gpus = GpuMatrix::new(&matrix, topology, kind, rows(topology, RowsBy::Node), targets.to_vec())?;
    gpus.budget(topology, device)?;
    let typed: Peer = defaults(&["--size", SIZE], |args: &mut Peer| own(&mut args.measuring))?;
    let peers = Peers::new(&typed, topology, targets.to_vec(), targets.to_vec())?;
    let peers = Some((typed, peers));
    let contend = if targets.len() > 1 {
        let typed: Contend = defaults(&["--size", SIZE], |args: &mut Contend| own(&mut args.measuring))?;
        let request = Request {
            cpus: None,
            targets: Some(targets.to_vec()),
            available: targets.to_vec(),
            membind: Membind::Local,
        };
        let plan = placement::plan(topology, &request).map_err(Fault::usage)?;
        Some(contend::Contend::new(&typed, kind, survey, plan)?)
    } else {
        None
    };
    Ok(Parts { gpus: Some(gpus), peers, contend, memory: (memory, on_nodes) })
}

impl Parts {
    /// Opens the GPUs, and sees which reach each other.
    fn look(&mut self, platform: &dyn Platform) -> Result<Vec<Box<dyn Device>>, Fault> {
        self.peers.as_mut().map_or(Ok(Vec::new()), |(_, peers)| peers.look(platform))
    }

    fn said(&self) -> String {
        let gpus = self.gpus.as_ref().map(|gpus| format!("nodes and GPUs: {}", gpus.said()));
        let peers = self.peers.as_ref().map(|(_, peers)| format!("GPUs and GPUs: {}", peers.said()));
        let contend = self.contend.as_ref().map(|contend| format!("at once: {}", contend.said()));
        let memory = Some(format!("cores and memory: {}", self.memory.1.said()));
        [gpus, peers, contend, memory].into_iter().flatten().collect::<Vec<_>>().join("\n          ")
    }

    fn experiment(self, survey: &Survey, found: &Found) -> Result<Experiment, Fault> {
        let topology = &survey.topology;
        if let Some(contend) = &self.contend {
            budget(&contend.config, contend.plan(), topology, found)?;
        }
        let mut parts = Vec::new();
        parts.extend(self.gpus.map(|gpus| gpus.experiment(topology, found)));
        parts.extend(self.peers.map(|(typed, peers)| peers.experiment(&typed, topology, found)));
        parts.extend(self.contend.map(|contend| contend.experiment(topology, found)));
        parts.push(self.memory.1.experiment(&self.memory.0, topology));
        let nothing = || Fault::new(Exit::NoResult, anyhow::anyhow!("there is nothing to measure"));
        merged("suite", parts).ok_or_else(nothing)
    }
}
