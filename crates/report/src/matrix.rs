//! Figures that stand in rows and columns: where host memory and the threads that use it are (rows) against GPUs or memory nodes (columns).
//!
//! The figures themselves are the cases' (each cell is a rank, or the ranks of several threads): this says which rank stands where, which rows
//! could not be measured and why, and where each column is by what the platform declares. [`Matrix::planes`] and [`Matrix::cell`] put them together;
//! `verdict` says in sentences what they show, `penalties` what each rank loses. Left out: how it is drawn (render).

mod absent;
mod finding;
mod load;
mod pairs;
mod penalties;
mod verdict;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::IdSet;
use stats::interval::{Interval, median, median_interval};
use stats::summary::CONFIDENCE;

pub use penalties::penalties;
pub use verdict::verdict;

use crate::case::{Case, CaseStatus};
use crate::result::{BlockSample, Outcome, RankResult};
use crate::settings::{Direction, MemoryKind};
use crate::{Document, Known};

/// How figures stand in rows and columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// What it is of: `host memory and GPUs`.
    pub title: String,
    /// What its sentences compare.
    pub compares: Compares,
    /// The rows, those that could not be measured too.
    pub rows: Vec<MatrixRow>,
    /// The columns.
    pub columns: Vec<MatrixColumn>,
}

/// What a matrix's sentences compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compares {
    /// The rows of each column: from where a GPU is reached best.
    Rows,
    /// The columns of each row: which memory a core reaches best.
    Columns,
    /// Each row's ranks with the same in the first row that has them: what more at once costs.
    Load,
    /// All cells with each other: GPUs against GPUs.
    Pairs,
    /// Cores with each other: each row's core asks, each column's answers.
    Cores,
    /// Each row's GPU beside each column's; with itself, alone.
    Beside,
    /// Each row's GPU with all others at it but the column's; with itself, with all others.
    ButOne,
    /// The GPUs of each row at once.
    Together,
    /// Each row's loads (the first column) beside each row's traffic (the second); the first row is idle, the last all traffic that is made.
    Loaded,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixRow {
    /// What it is called: `node 0`, `core of PU 3`, `2 GPUs at once`.
    pub name: String,
    /// The PUs that measured it, OS indices; empty where it was not.
    pub pus: IdSet,
    /// The NUMA node of its memory, OS index; null where it has none of its own.
    pub memory_node: Option<u32>,
    /// Its ranks.
    pub ranks: IdSet,
    /// The `group` of the cases that it is of; null for cases of any.
    pub group: Option<String>,
    /// Why it was not measured; null where it was.
    pub reason: Option<String>,
    /// What is to be known of it.
    pub note: Option<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixColumn {
    /// What it is called: `GPU 0`, `node 1`.
    pub name: String,
    /// The device's `id`, or `node N`.
    pub device: String,
    /// Its ranks.
    pub ranks: IdSet,
    /// The NUMA nodes that the platform says are local to it.
    pub declared_nodes: Known<IdSet>,
}

/// Below this size a copy between GPUs is told by its time, bytes.
const LEAST_FOR_RATES: u64 = 64 << 10;

/// Figures that are compared with each other: of one direction, size and kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plane {
    /// The direction.
    pub direction: Direction,
    /// The size of one copy, bytes.
    pub bytes: u64,
    /// The range of the CPU's accesses, bytes.
    pub range_bytes: Option<u64>,
    /// The kind of host memory.
    pub memory: MemoryKind,
}

impl Plane {
    /// The plane that a case's figures are in.
    pub fn of(case: &Case) -> Self {
        let Case { direction, bytes, range_bytes, memory, .. } = *case;
        Self { direction, bytes, range_bytes, memory }
    }

    /// Whether its figures are times, of which less is better, and not rates.
    pub fn is_time(&self) -> bool {
        matches!(self.direction, Direction::Load | Direction::CoreToCore)
            || (self.direction == Direction::Peer && self.bytes < LEAST_FOR_RATES)
    }
}

/// The figure of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its value in each block: bytes/s, all its ranks together, or nanoseconds a load.
    pub blocks: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// Its interval; `None` with fewer than 6 blocks.
    pub interval: Option<Interval>,
}

impl Cell {
    fn of(blocks: Vec<f64>) -> Option<Self> {
        let median = median(&blocks)?;
        let interval = median_interval(&blocks, CONFIDENCE);
        Some(Self { blocks, median, interval })
    }
}

impl Matrix {
    /// The planes of its figures, in the order of the document's cases.
    pub fn planes(&self, document: &Document) -> Vec<Plane> {
        let has = |case: &&Case| {
            let mine = |result: &RankResult| self.rows.iter().any(|row| row.ranks.contains(result.rank));
            case.ranks.iter().any(mine) && self.rows.iter().any(|row| row.group.is_none() || row.group == case.group)
        };
        let mut planes = Vec::new();
        for plane in document.cases.iter().filter(has).map(Plane::of) {
            if !planes.contains(&plane) {
                planes.push(plane);
            }
        }
        planes
    }

    /// Why no cell of a plane has a figure; `None` where one has, and where they have different reasons.
    pub fn why_none(&self, document: &Document, plane: &Plane) -> Option<String> {
        let places = (0..self.rows.len()).flat_map(|row| (0..self.columns.len()).map(move |column| (row, column)));
        let mut cells = places.filter_map(|(row, column)| self.cell(document, plane, row, column));
        let why = cells.next()?.err()?;
        cells.all(|cell| cell.as_ref().err() == Some(&why)).then_some(why)
    }

    /// The figure of a row and a column in a plane, or why there is none; `None` where nothing was to be measured.
    pub fn cell(&self, document: &Document, plane: &Plane, row: usize, column: usize) -> Option<Result<Cell, String>> {
        let (row, column) = (self.rows.get(row)?, self.columns.get(column)?);
        let ranks = row.ranks.and(&column.ranks);
        let in_row = |case: &&Case| row.group.is_none() || row.group == case.group;
        let here = |result: &&RankResult| ranks.contains(result.rank);
        let of_plane = document.cases.iter().filter(|case| Plane::of(case) == *plane).filter(in_row);
        let with_results = |case| {
            let case: &Case = case;
            let results: Vec<&RankResult> = case.ranks.iter().filter(here).collect();
            (!results.is_empty()).then_some((case, results))
        };
        let (case, results) = of_plane.into_iter().find_map(with_results)?;
        Some(figure(plane, case, &results))
    }
}

/// The blocks of ranks that were at it at once are added up; a rank alone is a sum of one.
fn figure(plane: &Plane, case: &Case, results: &[&RankResult]) -> Result<Cell, String> {
    if case.status == CaseStatus::Invalid {
        return Err(case.reason.clone().unwrap_or_else(|| "invalid".to_owned()));
    }
    if let Some(why) = results.iter().find_map(|result| why_not(&result.outcome)) {
        return Err(why);
    }
    let value = |block: &BlockSample| match plane.is_time() {
        true => block.elapsed_ns / (block.rounds as f64 * f64::from(block.copies_per_round.max(1))),
        false => block.bytes as f64 / block.elapsed_ns * 1e9,
    };
    let blocks = results.iter().map(|result| result.blocks.len()).min().unwrap_or(0);
    let sum = |at: usize| results.iter().map(|result| value(&result.blocks[at])).sum::<f64>();
    Cell::of((0..blocks).map(sum).collect()).ok_or_else(|| "no block was measured".to_owned())
}

fn why_not(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Measured { .. } => None,
        Outcome::Skipped { reason } => Some(format!("skipped: {reason}")),
        Outcome::Failed { message, .. } => Some(format!("FAILED: {message}")),
        Outcome::Invalid { reason } => Some(format!("INVALID: {reason}")),
        Outcome::Corrupt { reason } => Some(format!("DATA CORRUPT: {reason}")),
        Outcome::Newer => Some("known to a newer numabench".to_owned()),
    }
}
