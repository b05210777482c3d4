//! Everything that is sensible on this machine in a time given, as one experiment: for the acceptance of a
//! node.
//!
//! Memory against cores always; with GPUs every NUMA node against every GPU (copies and loads), every GPU's
//! memory against every GPU's, and with several GPUs what they lose at once. Left out: sizes (`sweep`) and
//! copies by a kernel, which say more of the driver than of the node.

use std::time::Duration;

use device::PlatformKind;
use hostmem::Access;
use pingpong::device_bytes;
use placement::{Membind, Request, RowsBy, Target, TargetId, rows};
use topo::Survey;

use crate::backends::{self, FoundPlatform, Untouched};
use crate::budget::budget;
use crate::columns::name_of;
use crate::contend;
use crate::driver::{Making, Measurement, chosen};
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::gpu_matrix::GpuMatrix;
use crate::memory_matrix::MemoryMatrix;
use crate::merged::merged;
use crate::options::{ContendOptions, MatrixOptions, Measuring, PeerOptions, SuiteOptions};
use crate::outline::Outline;
use crate::peer_plan::PeerPlan;
use crate::reach::{Reach, Reached};
use crate::row_threads::most_cores;

/// The size of a copy: large enough for the link's rate, small enough for many GPUs in a short time.
const SIZE: u64 = 64 << 20;
/// Threads of a row that read at once at most: a node's memory is then at its limit on the CPUs of today, and
/// a block is not longer than it must be.
const THREADS: usize = 8;
/// The part of the time that is for measuring: the rest is for opening devices, the pass under way when it is
/// over, and the document.
const MEASURING: f64 = 0.8;

/// What opening the first GPU takes and each of them, how quickly memory is had and laid out, and what the
/// first block of a case takes with its warm-up: for the
/// least time.
const OPENING: Duration = Duration::from_secs(2);
const OPENING_A_GPU: Duration = Duration::from_millis(750);
const LAID_OUT_BYTES_PER_S: f64 = 0.5e9;
const FIRST_BLOCK: Duration = Duration::from_millis(80);

/// What is to be measured, not yet bound to a platform.
struct Parts {
    gpus: Option<GpuMatrix>,
    peers: Option<(PeerOptions, PeerPlan)>,
    contend: Option<contend::Contend>,
    memory: MemoryMatrix,
}

impl Measurement for SuiteOptions {
    fn command(&self) -> &'static str {
        "suite"
    }

    fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    fn outline(&self, survey: &Survey, untouched: Untouched) -> Result<Outline, Fault> {
        let Untouched { kind, targets, source } = untouched;
        let targets = chosen(self.measuring.gpus.as_ref(), targets)?;
        let parts = self.parts(survey, kind, &targets, &|_| None)?;
        let columns = targets.iter().map(name_of).collect();
        let rows = rows(&survey.topology, RowsBy::Node);
        Ok(Outline {
            source,
            rows,
            columns,
            figures: parts.figures_description(),
            max_time: Some(self.measuring_time()),
            how: Vec::new(),
        })
    }

    fn experiment(
        &self,
        survey: &Survey,
        found: &FoundPlatform,
        making: Making,
    ) -> Result<Experiment, Fault> {
        let parts = self.parts_on(survey, found)?;
        let (gpus, bytes) = (parts.gpus(), parts.memory.bytes_a_thread());
        let mut experiment = parts.experiment(survey, found, making.reached)?;
        // What devices take that are made up is not known.
        if found.platform.facts().simulated.is_none() {
            self.refuse_too_short(least(gpus, bytes, experiment.suite.cases().len()))?;
        }
        experiment.engine.max_time = Some(self.measuring_time());
        Ok(experiment)
    }

    fn within(&self) -> Option<Duration> {
        Some(self.within)
    }

    fn reach(&self, survey: &Survey, found: &FoundPlatform) -> Result<Option<Reach>, Fault> {
        Ok(self.parts_on(survey, found)?.peers.map(|(_, peers)| peers.reach()))
    }
}

/// The least time that a suite takes: its start, memory that is laid out, and a block of each case after its
/// warm-up. Of four H200s it took 9.5 to 25 s
/// where less was asked for.
fn least(gpus: usize, bytes_a_thread: u64, cases: usize) -> Duration {
    let start = if gpus > 0 { OPENING } else { Duration::ZERO };
    let laying_out = Duration::from_secs_f64(bytes_a_thread as f64 / LAID_OUT_BYTES_PER_S);
    let of = |each: Duration, count: usize| each * u32::try_from(count).unwrap_or(u32::MAX);
    start + of(OPENING_A_GPU, gpus) + laying_out + of(FIRST_BLOCK, cases)
}

impl SuiteOptions {
    /// Refuses less time than the plan takes.
    fn refuse_too_short(&self, least: Duration) -> Result<(), Fault> {
        // Whole seconds: the number that is said is one that is taken.
        let seconds = least.as_secs_f64().ceil();
        if self.within.as_secs_f64() >= seconds {
            return Ok(());
        }
        let text = format!(
            "--within {}: this suite takes {seconds} s at least on this machine (one block of every case); \
             ask for --within {seconds}s or more",
            stats::units::spoken_seconds(self.within.as_secs_f64())
        );
        Err(Fault::usage(text))
    }

    fn measuring_time(&self) -> Duration {
        self.within.mul_f64(MEASURING)
    }

    fn parts_on(&self, survey: &Survey, found: &FoundPlatform) -> Result<Parts, Fault> {
        let platform = &*found.platform;
        let targets = chosen(self.measuring.gpus.as_ref(), backends::targets(platform))?;
        self.parts(survey, platform.facts().kind, &targets, &|target| device_bytes(platform, target))
    }

    fn parts(
        &self,
        survey: &Survey,
        kind: PlatformKind,
        targets: &[Target],
        device: &dyn Fn(TargetId) -> Option<u64>,
    ) -> Result<Parts, Fault> {
        let topology = &survey.topology;
        let own = || self.measuring.clone();
        let access = match kind {
            PlatformKind::Host => vec![Access::Read, Access::Write, Access::Copy, Access::Load],
            PlatformKind::Cuda | PlatformKind::Hip => vec![Access::Read, Access::Load],
        };
        let threads = THREADS.min(most_cores(&rows(topology, RowsBy::Node)));
        let cores =
            MatrixOptions { threads: Some(threads), access, measuring: own(), ..MatrixOptions::default() };
        let of_nodes = Target::nodes_of(topology);
        let measured = if kind == PlatformKind::Host { targets } else { &of_nodes };
        let nodes: Vec<u32> = measured.iter().map(|target| target.index).collect();
        let memory = MemoryMatrix::new(&cores, topology, rows(topology, RowsBy::Node), nodes)?;
        if kind == PlatformKind::Host {
            return Ok(Parts { gpus: None, peers: None, contend: None, memory });
        }
        let matrix =
            MatrixOptions { size: SIZE, latency: true, measuring: own(), ..MatrixOptions::default() };
        let gpus = GpuMatrix::new(&matrix, topology, kind, rows(topology, RowsBy::Node), targets.to_vec())?;
        gpus.budget(topology, device)?;
        let peer = PeerOptions { size: Some(SIZE), measuring: own(), ..PeerOptions::default() };
        let peers = PeerPlan::new(&peer, topology, targets.to_vec(), targets.to_vec())?;
        let contend = if targets.len() > 1 {
            let request = Request {
                cpus: None,
                targets: Some(targets.to_vec()),
                available: targets.to_vec(),
                membind: Membind::Local,
            };
            let plan = placement::plan(topology, &request).map_err(Fault::usage)?;
            let contend = ContendOptions { size: Some(SIZE), measuring: own(), ..ContendOptions::default() };
            Some(contend::Contend::new(&contend, kind, survey, plan)?)
        } else {
            None
        };

        Ok(Parts { gpus: Some(gpus), peers: Some((peer, peers)), contend, memory })
    }
}

impl Parts {
    /// How many GPUs take part.
    fn gpus(&self) -> usize {
        self.gpus.as_ref().map_or(0, GpuMatrix::gpus)
    }

    fn figures_description(&self) -> String {
        let gpus = self.gpus.as_ref().map(|gpus| format!("nodes and GPUs: {}", gpus.figures_description()));
        let peers =
            self.peers.as_ref().map(|(_, peers)| format!("GPUs and GPUs: {}", peers.figures_description()));
        let contend =
            self.contend.as_ref().map(|contend| format!("at once: {}", contend.figures_description()));
        let memory = Some(format!("cores and memory: {}", self.memory.figures_description()));
        [gpus, peers, contend, memory].into_iter().flatten().collect::<Vec<_>>().join("\n          ")
    }

    fn experiment(
        self,
        survey: &Survey,
        found: &FoundPlatform,
        reached: &Reached,
    ) -> Result<Experiment, Fault> {
        let topology = &survey.topology;
        if let Some(contend) = &self.contend {
            budget(&contend.config, contend.plan(), topology, found)?;
        }
        let mut parts = Vec::new();
        parts.extend(self.gpus.map(|gpus| gpus.experiment(topology, found)));
        parts.extend(self.peers.map(|(options, peers)| peers.experiment(&options, survey, found, reached)));
        parts.extend(self.contend.map(|contend| contend.experiment(topology, found)));
        parts.push(self.memory.experiment(topology));
        merged("suite", parts).ok_or_else(|| Fault::new(Exit::NoResult, "there is nothing to measure"))
    }
}
