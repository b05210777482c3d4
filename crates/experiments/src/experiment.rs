//! An experiment: a suite of the engine, and where each of its figures stands in the document.
//!
//! In the engine a rank is a thread on a PU; in the document it is a place: PU, memory node and device. One
//! thread can measure several places, one after the other, so each engine case says which document case it is
//! part of, and which place each of its ranks is.

use std::sync::Arc;

use engine::{EngineConfig, Joined, Order, Suite, Worker};
use pingpong::{CopyCase, RunConfig};
use placement::{ChosenBy, Plan, RankPlan, Target, TargetId, verdict};
use report::kernels::KernelFigures;
use report::matrix::Matrix;
use report::pair_sample::PairSample;
use report::pieces::Pieces;
use report::settings::{CopyEngine, Direction, Membind, MemoryKind, OrderAsked, Settings, TimingAsked};
use topo::Topology;

use crate::config::unique;
use crate::declared_groups::DeclaredGroups;
use crate::options::Measuring;
use crate::settings;

/// Everything that is to be measured.
pub struct Experiment {
    /// The command, as documents name it.
    pub command: &'static str,
    /// The engine's cases.
    pub suite: Arc<dyn Suite>,
    /// The engine's ranks.
    pub workers: Vec<Worker>,
    /// How it is measured.
    pub engine: EngineConfig,
    /// The document's ranks: places, by number.
    pub places: Plan,
    /// The document's cases, and where the figures of engine cases stand in them.
    pub figures: CaseMap,
    /// How figures stand in rows and columns.
    pub matrices: Vec<Matrix>,
    /// What of its document is known before the run, beside the cases.
    pub known: Beforehand,
    /// What is asked for, as documents have it.
    pub asked: RequestedSettings,
}

impl Experiment {
    /// What is asked for by these options, with the defaults filled in, as documents have it.
    pub fn settings(&self, args: &Measuring) -> Settings {
        let Self { engine, asked, .. } = self;
        let has = |order| self.figures.cases.iter().any(|case| case.order == order);

        Settings {
            cpus_asked: None,
            gpus_asked: args.gpus.as_ref().map(ToString::to_string),
            backend_asked: args.backend.name().to_owned(),
            sizes_bytes: asked.sizes.clone(),
            floats: None,
            directions: asked.directions.clone(),
            memory: asked.memory.clone(),
            membind: Membind::Local,
            huge_pages: engine.huge_pages,
            timing: asked.timing.unwrap_or(TimingAsked::Auto),
            engine: asked.engine,
            order: match (has(Order::Simultaneous), has(Order::Alone)) {
                (true, true) => OrderAsked::Both,
                (true, false) => OrderAsked::Simultaneous,
                _ => OrderAsked::Alone,
            },
            repetition: settings::repetition(engine.amount, engine.max_time),
            seed: engine.seed,
            verify: engine.verify,
        }
    }

    /// The same with loads by a second rank on the PU of each rank, whose suite numbers its ranks alike: each
    /// of its cases is `case` of the document, by a rank at a place, (rank, place).
    pub fn with_loads(
        mut self,
        loads: Arc<dyn Suite>,
        case: &DocumentCase,
        places: &[(usize, usize)],
    ) -> Self {
        let ranks = self.workers.len();
        let joined = Joined::new(vec![(self.suite, ranks), (loads, ranks)]);
        let first = joined.first_rank(1);
        for (number, (rank, place)) in places.iter().enumerate() {
            let Some(at) = joined.number((1, number)) else { continue };
            self.figures.add(at, case.clone(), vec![(first + rank, *place)]);
        }
        let loaders: Vec<Worker> =
            self.workers.iter().map(|worker| Worker { rank: first + worker.rank, ..*worker }).collect();
        self.workers.extend(loaders);
        self.asked.sizes.push(case.bytes);
        self.asked.sizes.sort_unstable();
        self.asked.directions.push(case.direction);
        Self { suite: Arc::new(joined), ..self }
    }
}

/// What of a document is known before the run, where it is of such a kind.
#[derive(Clone, Debug, Default)]
pub struct Beforehand {
    /// Kernels that compute.
    pub kernels: Vec<KernelFigures>,
    /// Small pieces.
    pub pieces: Option<Pieces>,
    /// The pairs that stand for all.
    pub pair_sample: Option<PairSample>,
    /// What the topology declares of cores that are grouped.
    pub declared: DeclaredGroups,
}

/// What is asked for, as documents have it.
#[derive(Clone, Debug, Default)]
pub struct RequestedSettings {
    /// Sizes of one copy, bytes.
    pub sizes: Vec<u64>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// Kinds of host memory.
    pub memory: Vec<MemoryKind>,
    /// What moves the bytes of copies.
    pub engine: CopyEngine,
    /// The clock; `None` for auto.
    pub timing: Option<TimingAsked>,
}

impl RequestedSettings {
    /// Of a run of copies.
    pub fn of_copies(config: &RunConfig) -> Self {
        Self {
            sizes: config.sizes.iter().map(|size| *size as u64).collect(),
            directions: config.directions.iter().map(|way| settings::direction(*way)).collect(),
            memory: config.memory.iter().map(|kind| settings::memory(*kind)).collect(),
            engine: settings::engine(config.by),
            timing: Some(settings::timing(config.timing)),
        }
    }

    /// What these cases have.
    pub fn of_cases(cases: &[DocumentCase]) -> Self {
        let mut sizes: Vec<u64> = cases.iter().map(|case| case.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let directions = unique(&cases.iter().map(|case| case.direction).collect::<Vec<_>>());
        let memory = unique(&cases.iter().map(|case| case.memory).collect::<Vec<_>>());
        Self { sizes, directions, memory, ..Self::default() }
    }
}

/// A case of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentCase {
    /// Whether its ranks are at it at once.
    pub order: Order,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The direction.
    pub direction: Direction,
    /// The size of one copy, bytes.
    pub bytes: u64,
    /// The range of the CPU's accesses, bytes.
    pub range_bytes: Option<u64>,
    /// Who takes part, where that is not everyone in its own place.
    pub group: Option<String>,
}

impl DocumentCase {
    /// Of copies, by those who are in `group`.
    pub fn of_copies(copy: &CopyCase, group: Option<String>) -> Self {
        Self {
            order: copy.order,
            memory: settings::memory(copy.memory),
            direction: settings::direction(copy.direction),
            bytes: copy.bytes as u64,
            range_bytes: None,
            group,
        }
    }
}

/// The document's cases, and where the figures of engine cases stand in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseMap {
    /// The document's cases, each once.
    pub cases: Vec<DocumentCase>,
    /// Where the figures of engine cases stand.
    pub mappings: Vec<CaseMapping>,
}

impl CaseMap {
    /// Of copies by ranks, each of which is its own place.
    pub fn of_ranks(config: &RunConfig, ranks: usize) -> Self {
        let mut figures = Self::default();
        for copy in CopyCase::all(config) {
            let places = (0..ranks).map(|rank| (rank, rank)).collect();
            figures.add(copy.index, DocumentCase::of_copies(&copy, None), places);
        }
        figures
    }

    /// The number of a case of the document, which is new if there is none like it.
    pub fn numbered(&mut self, case: DocumentCase) -> usize {
        self.cases.iter().position(|other| *other == case).unwrap_or_else(|| {
            self.cases.push(case);
            self.cases.len() - 1
        })
    }

    /// The figures of the engine's case `at` stand in this case of the document, at the place of each engine
    /// rank: (rank, place).
    pub fn add(&mut self, at: usize, case: DocumentCase, places: Vec<(usize, usize)>) {
        let case = self.numbered(case);
        self.mappings.push(CaseMapping { at, case, places });
    }
}

/// Where figures of one engine case stand: all of them, or those of some of its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseMapping {
    /// The engine's case.
    pub at: usize,
    /// The document's case.
    pub case: usize,
    /// The place of each engine rank that takes part: (rank, place).
    pub places: Vec<(usize, usize)>,
}

/// A place as the document's ranks have it.
pub fn place(topology: &Topology, number: usize, pu: u32, memory_node: u32, target: Target) -> RankPlan {
    let verdict = verdict(topology, pu, target.id);
    RankPlan { rank: number, pu, chosen_by: ChosenBy::Asked, memory_node, spread: None, target, verdict }
}

/// A NUMA node's memory as a target.
pub fn memory_of(node: u32) -> Target {
    Target { index: node, id: TargetId::Node(node), uuid: None }
}
