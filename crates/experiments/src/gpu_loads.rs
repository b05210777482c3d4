//! Rows against GPUs: how long a GPU's load of each row's memory takes, or a flag's way from each row's core to a GPU and back.
//!
//! A rank of the engine is a row: one thread on one PU, which places and pins the row's memory and launches the loads; its own speed does not
//! show in them.

use std::sync::Arc;
use std::time::Duration;

use engine::{EngineConfig, Helpers, Order, Suite, Worker};
use pingpong::{
    ANSWER_BYTES, AnswerCase, AnswerSuite, LOAD_LINE_BYTES, LOADS_A_KERNEL, LoadCase, LoadSuite, MOST_LOAD_LINES,
};
use placement::{Plan, RankPlan, Row, Target};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{CopyEngine, Direction, MemoryKind};
use stats::IdSet;
use topo::Topology;

use super::experiment::{Beforehand, CaseMapping, DocumentCase, Experiment, RequestedSettings, place};
use super::memory_range;
use crate::backends::FoundPlatform;
use crate::config;
use crate::document::of_experiment::{declared_nodes, name_of};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::options::{Between, LatencyOptions};

/// Larger than the L2 of an H200 (50 MB), so that each load goes to the memory.
const RANGE_BYTES: u64 = 64 << 20;

/// The range that is loaded from, bytes: what was asked for, in whole lines and not below the loads of one kernel.
///
/// # Errors
/// There cannot be such a range.
pub(super) fn range(asked: Option<u64>) -> Result<usize, Fault> {
    let range = asked.unwrap_or(RANGE_BYTES).max(u64::from(LOADS_A_KERNEL) * LOAD_LINE_BYTES as u64);
    memory_range::chase(range, LOAD_LINE_BYTES, MOST_LOAD_LINES)
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
    DocumentCase { direction: Direction::CoreToGpu, bytes: ANSWER_BYTES as u64, range_bytes: None, ..document_case(0) }
}

/// What is loaded from where, or what answers whom.
pub struct GpuLoads {
    engine: EngineConfig,
    huge_pages: bool,
    rows: Vec<Row>,
    targets: Vec<Target>,
    range: usize,
    /// Flags, and not loads.
    flags: bool,
    workers: Vec<Worker>,
    places: Vec<RankPlan>,
    cases: Vec<LoadCase>,
    mappings: Vec<CaseMapping>,
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
        targets: Vec<Target>,
    ) -> Result<Self, Fault> {
        let range = range(args.range)?;
        let measuring = config::measuring(&args.measuring);
        let mut loads = Self {
            engine: measuring.engine(),
            huge_pages: measuring.huge_pages,
            rows,
            targets,
            range,
            flags: args.between == Some(Between::Gpus),
            workers: Vec::new(),
            places: Vec::new(),
            cases: Vec::new(),
            mappings: Vec::new(),
        };
        let row_places: Vec<_> = loads.rows.iter().filter_map(|row| row.place.as_ref().ok()).collect();
        for (rank, row_place) in row_places.into_iter().enumerate() {
            loads.workers.push(Worker { rank, pu: row_place.pu() });
            for target in &loads.targets {
                let at = loads.cases.len();
                loads.cases.push(LoadCase { rank, target: target.id, node: row_place.node, bytes: range });
                loads.places.push(place(topology, at, row_place.pu(), row_place.node, target.clone()));
                loads.mappings.push(CaseMapping { at, case: 0, places: vec![(rank, at)] });
            }
        }
        if loads.cases.is_empty() {
            let why = "no row can be measured: this process may use no memory, or there is no device";
            return Err(Fault::new(Exit::NoResult, why));
        }
        loads.engine.max_time = config::time_for(&args.measuring, loads.cases.len());
        loads.budget(topology)?;
        Ok(loads)
    }

    fn budget(&self, topology: &Topology) -> Result<(), Fault> {
        for row in self.rows.iter().filter_map(|row| row.place.as_ref().ok()) {
            if let Some(has) = topology.memory_bytes(row.node).filter(|has| self.range as u64 > *has) {
                let size = stats::units::rounded_size;
                return Err(Fault::usage(format!(
                    "NUMA node {} has {}, and the range that is loaded from needs {}; ask for a smaller --range",
                    row.node,
                    size(has),
                    size(self.range as u64)
                )));
            }
        }
        Ok(())
    }

    /// How long measuring goes on at most.
    pub fn max_time(&self) -> Duration {
        self.engine.max_time
    }

    /// The figures to be taken, in words.
    pub fn figures_description(&self) -> String {
        if self.flags {
            return format!("CPU-GPU flag round trip; {} figures", self.cases.len());
        }
        format!("load latency over {}; {} figures", stats::units::size(self.range as u64), self.cases.len())
    }

    /// The experiment, on this platform.
    pub fn experiment(self, args: &LatencyOptions, topology: &Topology, found: &FoundPlatform) -> Experiment {
        let matrix = self.matrix(topology, found);
        let memory = (Helpers(topology.allowed.pus.clone()), topology.machine_has_one_node(), self.huge_pages);
        let Self { engine, huge_pages, range, flags, workers, places, cases, mappings, .. } = self;
        let (suite, case): (Arc<dyn Suite>, _) = if flags {
            let case = |LoadCase { rank, target, node, .. }: LoadCase| AnswerCase { rank, target, node };
            let cases = cases.into_iter().map(case).collect();
            let one_node = topology.machine_has_one_node();
            (Arc::new(AnswerSuite::new(cases, &workers, &found.platform, one_node)), flags_case())
        } else {
            let suite = LoadSuite::new(cases, workers.clone(), &found.platform, memory, args.measuring.seed);
            (Arc::new(suite), document_case(range))
        };
        let (sizes, directions) = (vec![case.bytes], vec![case.direction]);
        Experiment {
            known: Beforehand::default(),
            command: "latency",
            suite,
            workers,
            engine,
            places: Plan { ranks: places, notes: Vec::new() },
            cases: vec![case],
            mappings,
            matrices: vec![matrix],
            asked: RequestedSettings {
                sizes,
                directions,
                memory: vec![MemoryKind::Pinned],
                huge_pages,
                engine: CopyEngine::Ce,
                timing: None,
            },
        }
    }

    fn matrix(&self, topology: &Topology, found: &FoundPlatform) -> Matrix {
        let columns = self.targets.len() as u32;
        let mut next = 0;
        let row = |row: &Row| {
            let row_place = row.place.as_ref().ok();
            let ranks: IdSet = if row_place.is_some() { (next..next + columns).collect() } else { IdSet::default() };
            next += ranks.len() as u32;
            MatrixRow {
                name: row.name.clone(),
                pus: row_place.map(|row_place| row_place.pu()).into_iter().collect(),
                memory_node: row_place.map(|row_place| row_place.node),
                group: None,
                reason: row.place.as_ref().err().cloned(),
                note: row_place.and_then(|row_place| row_place.note.clone()),
                ranks,
            }
        };
        let rows = self.rows.iter().map(row).collect();
        let column = |(at, target): (u32, &Target)| MatrixColumn {
            name: name_of(target),
            device: target.id.to_string(),
            ranks: (0..self.places.len() as u32).filter(|place| place % columns == at).collect(),
            declared_nodes: declared_nodes(topology, found, target.id),
        };
        Matrix {
            title: if self.flags { "cores and GPUs" } else { "host memory and GPUs" }.to_owned(),
            compares: Compares::Rows,
            rows,
            columns: (0..).zip(&self.targets).map(column).collect(),
        }
    }
}
