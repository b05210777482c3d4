//! The figures of a matrix, found in a document's cases, and what they say.
//!
//! [`Matrix::planes`] and [`Matrix::cell`] find them; `verdict` says in sentences what they show, `penalties`
//! what each rank loses, `row_sweep` what far rows lose at each size of a sweep; `near_far` which places are
//! compared as near and far. Left out: how they are drawn (render).

mod absent;
mod all_at_once;
mod cell_family;
mod load;
pub(crate) mod near_far;
mod pairs;
mod penalties;
pub mod row_sweep;
mod standings;
mod verdict;
mod words;

use stats::alike::distinct;
use stats::alpha::CONFIDENCE;
use stats::block_interval::{BlockValue, block_interval};
use stats::interval::{Interval, median};

pub(crate) use load::SHARED;
pub use penalties::penalties;
pub use verdict::verdict;
pub(crate) use words::nothing_beside;

use report::Document;
use report::case::{Case, CaseStatus};
use report::matrix::Matrix;
use report::rank::Rank;
use report::result::{BlockSample, Outcome, RankResult};
use report::settings::{Direction, MemoryKind};

use crate::headline;
use crate::passes::Moments;

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
        matches!(self.direction, Direction::Load | Direction::CoreToCore | Direction::CoreToGpu)
            || (self.direction == Direction::Peer && self.bytes < LEAST_FOR_RATES)
    }
}

/// The figure of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFigure {
    /// Its value in each block, in the order measured: bytes/s, all its ranks together, or nanoseconds a
    /// load.
    pub blocks: Vec<BlockValue>,
    /// The median of the blocks; of ranks together the sum of each one's.
    pub median: f64,
    /// Its interval; `None` with fewer than 6 blocks.
    pub interval: Option<Interval>,
    /// When each block began, by the clock of the node.
    pub began_ns: Vec<u64>,
    /// The node.
    pub node: u32,
}

impl CellFigure {
    fn of(blocks: Vec<BlockValue>, node: u32, began_ns: Vec<u64>) -> Option<Self> {
        let median = median(&blocks.iter().map(|block| block.value).collect::<Vec<_>>())?;
        let interval = block_interval(&blocks, CONFIDENCE);
        Some(Self { blocks, median, interval, began_ns, node })
    }

    /// The same with this as its rate, which is another middle of the same blocks: the interval keeps its
    /// width.
    fn with_rate(self, rate: f64) -> Self {
        let scale = rate / self.median;
        let interval =
            self.interval.map(|ends| Interval { low: ends.low * scale, high: ends.high * scale, ..ends });
        Self { median: rate, interval, ..self }
    }

    /// Half of its interval, as a part of it; 0 where it has none.
    pub(crate) fn half_width(&self) -> f64 {
        headline::half_width(self.median, self.interval.as_ref())
    }

    /// Whether it is known well enough to be an answer.
    pub(crate) fn is_known(&self) -> bool {
        headline::is_known(self.half_width())
    }

    /// When its blocks began.
    pub(crate) fn began(&self) -> Moments<'_> {
        Moments { node: self.node, ns: &self.began_ns }
    }
}

/// A matrix's figures, of which its document holds the ranks' blocks.
pub trait MatrixFigures {
    /// Its rows and columns, row by row.
    fn places(&self) -> impl Iterator<Item = (usize, usize)>;

    /// The planes of its figures, in the order of the document's cases.
    fn planes(&self, document: &Document) -> Vec<Plane>;

    /// Why no cell of a plane has a figure; `None` where one has, and where they have different reasons.
    fn why_none(&self, document: &Document, plane: &Plane) -> Option<String>;

    /// The figure of a row and a column in a plane, or why there is none; `None` where nothing was to be
    /// measured.
    fn cell(
        &self,
        document: &Document,
        plane: &Plane,
        row: usize,
        column: usize,
    ) -> Option<Result<CellFigure, String>>;
}

impl MatrixFigures for Matrix {
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.columns.len();
        (0..self.rows.len()).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    }

    fn planes(&self, document: &Document) -> Vec<Plane> {
        let has = |case: &&Case| {
            let mine = |result: &RankResult| self.rows.iter().any(|row| row.ranks.contains(result.rank));
            case.ranks.iter().any(mine)
                && self.rows.iter().any(|row| row.group.is_none() || row.group == case.group)
        };
        distinct(document.cases.iter().filter(has).map(Plane::of))
    }

    fn why_none(&self, document: &Document, plane: &Plane) -> Option<String> {
        let mut cells = self.places().filter_map(|(row, column)| self.cell(document, plane, row, column));
        let why = cells.next()?.err()?;
        cells.all(|cell| cell.as_ref().err() == Some(&why)).then_some(why)
    }

    fn cell(
        &self,
        document: &Document,
        plane: &Plane,
        row: usize,
        column: usize,
    ) -> Option<Result<CellFigure, String>> {
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

        let is_first = |rank: &&Rank| results.first().is_some_and(|result| result.rank == rank.rank);
        let node = document.ranks.iter().find(is_first).map_or(0, |rank| rank.node);
        Some(figure(plane, case, &results, node))
    }
}

/// The blocks of ranks that were at it at once are added up; a rank alone is a sum of one.
fn figure(plane: &Plane, case: &Case, results: &[&RankResult], node: u32) -> Result<CellFigure, String> {
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
    let sum = |at: usize| {
        let allocation = results.first().map_or(0, |result| result.blocks[at].allocation);
        BlockValue { value: results.iter().map(|result| value(&result.blocks[at])).sum(), allocation }
    };
    let began =
        results.first().map(|result| result.blocks[..blocks].iter().map(|block| block.start_ns).collect());
    let figure = CellFigure::of((0..blocks).map(sum).collect(), node, began.unwrap_or_default())
        .ok_or_else(|| "no block was measured".to_owned())?;

    // One figure has one value: rows, aggregates and fleets add the ranks' own rates up.
    let rates: Option<f64> = results.iter().map(|result| Some(result.summary()?.median_bytes_per_s)).sum();

    Ok(match rates.filter(|_| results.len() > 1 && !plane.is_time()) {
        Some(rates) => figure.with_rate(rates),
        None => figure,
    })
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
