//! Rows against GPUs: how long a GPU's load of each row's memory takes, or a flag's way from each row's core
//! to a GPU and back.
//!
//! A rank of the engine is a row: one thread on one PU, which places and pins the row's memory and launches
//! the loads; its own speed does not show in them.

use std::sync::Arc;
use std::time::Duration;

use engine::{EngineConfig, Order, PlacingRules, Suite};
use kernels::RankPlace;
use pingpong::{ANSWER_BYTES, AnswerCase, AnswerSuite, LOAD_LINE_BYTES, LOADS_A_KERNEL, LoadCase, LoadSuite};
use placement::{Row, Target};
use report::settings::{Direction, MemoryKind};
use stats::units::counted;
use topo::Topology;

use super::experiment::{Beforehand, DocumentCase, Experiment, RequestedSettings};
use super::memory_range;
use crate::backends::FoundPlatform;
use crate::budget::fits_on;
use crate::config;
use crate::fault::Fault;
use crate::gpu_places::GpuPlaces;
use crate::options::{Between, LatencyOptions};

/// Larger than the L2 of an H100 or H200 (50 MB), so that each load goes to the memory there; not larger than
/// the caches of a B200 (126 MB) and an MI300X (256 MB).
const RANGE_BYTES: u64 = 64 << 20;

/// The range that is loaded from, bytes: what was asked for, in whole lines and not below the loads of one
/// kernel.
///
/// # Errors
/// There cannot be such a range.
pub(super) fn range(asked: Option<u64>) -> Result<usize, Fault> {
    let range = asked.unwrap_or(RANGE_BYTES).max(u64::from(LOADS_A_KERNEL) * LOAD_LINE_BYTES as u64);
    memory_range::chase(range, LOAD_LINE_BYTES)
}

/// The case of the document that loads over such a range are.
pub(super) fn document_case(range: usize) -> DocumentCase {
    DocumentCase {
        order: Order::Alone,
        memory: MemoryKind::Pinned,
        direction: Direction::Load,
        bytes: LOAD_LINE_BYTES as u64,
        range_bytes: Some(range as u64),
        group: None,
    }
}

/// The case of the document that flags are.
fn flags_case() -> DocumentCase {
    DocumentCase {
        direction: Direction::CoreToGpu,
        bytes: ANSWER_BYTES as u64,
        range_bytes: None,
        ..document_case(0)
    }
}

/// What is loaded from where, or what answers whom.
pub struct GpuLoads {
    engine: EngineConfig,
    places: GpuPlaces,
    range: usize,
    /// Flags, and not loads.
    flags: bool,
}

impl GpuLoads {
    /// The loads that `args` ask for between these rows and targets.
    ///
    /// # Errors
    /// Nothing can be measured, or there is too little memory.
    pub fn new(
        args: &LatencyOptions,
        topology: &Topology,
        rows: Vec<Row>,
        targets: &[Target],
    ) -> Result<Self, Fault> {
        let range = range(args.range)?;
        let places = GpuPlaces::of_rows(rows, targets).unless_none()?;
        let max_time = config::time_for(&args.measuring, places.count());
        let engine = EngineConfig { max_time, ..args.measuring.engine };
        let flags = args.between == Some(Between::Gpus);
        let loads = Self { engine, places, range, flags };
        loads.budget(topology)?;
        Ok(loads)
    }

    fn budget(&self, topology: &Topology) -> Result<(), Fault> {
        let nodes = self.places.ranks().into_iter().map(|RankPlace { node, .. }| (node, self.range as u64));
        fits_on(topology, nodes, |bytes| {
            format!("the range that is loaded from needs {bytes}; ask for a smaller --range")
        })
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Option<Duration> {
        self.engine.max_time
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        let figures = counted(self.places.count(), "figure");
        if self.flags {
            return format!("CPU-GPU flag round trip; {figures}");
        }
        format!("load latency over {}; {figures}", stats::units::size(self.range as u64))
    }

    /// The experiment, on this platform.
    pub fn experiment(self, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let Self { engine, places, range, flags } = self;
        let (workers, rules) = (places.workers(), PlacingRules::on(topology, engine.huge_pages));
        let (suite, case): (Arc<dyn Suite>, _) = if flags {
            let case = |(place, target): (RankPlace, &Target)| AnswerCase {
                rank: place.rank,
                target: target.id,
                node: place.node,
            };
            let cases = places.each().map(case).collect();
            (Arc::new(AnswerSuite::new(cases, &workers, &found.platform, &rules)), flags_case())
        } else {
            let case = |(place, target): (RankPlace, &Target)| LoadCase {
                rank: place.rank,
                target: target.id,
                node: place.node,
                bytes: range,
            };
            let cases = places.each().map(case).collect();
            let suite = LoadSuite::new(cases, workers.clone(), &found.platform, rules, engine.seed);
            (Arc::new(suite), document_case(range))
        };

        let title = if flags { "cores and GPUs" } else { "host memory and GPUs" };
        let figures = places.figures([case]);

        Experiment {
            known: Beforehand::default(),
            command: "latency",
            suite,
            workers,
            engine,
            places: places.plan(topology),
            asked: RequestedSettings::of_cases(&figures.cases),
            figures,
            matrices: vec![places.matrix(title, None, topology, found)],
        }
    }
}
