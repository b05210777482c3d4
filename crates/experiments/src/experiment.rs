//! An experiment: a suite of the engine, and where each of its figures stands in the document.
//!
//! In the engine a rank is a thread on a PU; in the document it is a place: PU, memory node and device. One thread can measure several places,
//! one after the other, so each engine case says which document case it is part of, and which place each of its ranks is.

use std::sync::Arc;

use engine::{EngineConfig, Order, Suite, Worker};
use placement::{ChosenBy, Plan, RankPlan, Target, TargetId, verdict};
use report::kernels::KernelFigures;
use report::matrix::Matrix;
use report::pieces::Pieces;
use report::settings::{CopyEngine, Direction, MemoryKind, TimingAsked};
use topo::Topology;

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
    /// The document's cases.
    pub cases: Vec<DocumentCase>,
    /// Where the figures of engine cases stand.
    pub mappings: Vec<CaseMapping>,
    /// How figures stand in rows and columns.
    pub matrices: Vec<Matrix>,
    /// What of its document is known before the run, beside the cases.
    pub known: Beforehand,
    /// What is asked for, as documents have it.
    pub asked: RequestedSettings,
}

/// What of a document is known before the run, where it is of such a kind.
#[derive(Clone, Debug, Default)]
pub struct Beforehand {
    /// Kernels that compute.
    pub kernels: Vec<KernelFigures>,
    /// Small pieces.
    pub pieces: Option<Pieces>,
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
    /// Whether host memory may use huge pages.
    pub huge_pages: bool,
    /// What moves the bytes of copies.
    pub engine: CopyEngine,
    /// The clock; `None` for auto.
    pub timing: Option<TimingAsked>,
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
    RankPlan { rank: number, pu, chosen_by: ChosenBy::Asked, memory_node, target, verdict }
}

/// A NUMA node's memory as a target.
pub fn memory_of(node: u32) -> Target {
    Target { index: node, id: TargetId::Node(node), uuid: None }
}

/// The number of an equal case in the list, which it is added to if there is none.
pub fn numbered(cases: &mut Vec<DocumentCase>, case: DocumentCase) -> usize {
    cases.iter().position(|other| *other == case).unwrap_or_else(|| {
        cases.push(case);
        cases.len() - 1
    })
}
