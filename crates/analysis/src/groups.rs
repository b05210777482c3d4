//! Which GPUs and which cores belong together by measurement, where nobody declares it: from a document's
//! matrices, and the sentences that say it.
//!
//! GPUs are asked twice: each beside one other, and each with all others but one at it. The first finds
//! limits that two can fill, the second those that it takes more to fill; the one that leaves fewest GPUs
//! without a group is told first. Cores are told apart by how long a handover takes. How items are grouped,
//! and how sure that is, is decided in `stats::grouping`.

use report::Document;
use report::matrix::{Compares, Matrix};
use report::measured_groups::{GroupedBy, MeasuredGroups};
use stats::alpha::ALPHA;
use stats::block_interval::BlockValue;
use stats::grouping::{GroupingFinding, GroupingRule, LEAST_ITEMS, PairFigures, group};
use stats::{IdSet, PciAddress};

use crate::matrix_analysis::{CellFigure, MatrixFigures, Plane};

mod words;

pub use words::verdict;

/// Less than this is no difference between pairs of GPUs: 5 % of a rate.
const GPU_MARGIN: f64 = 1.05;
/// Handovers within one cache differ by as much as this with the distance on the die.
const CORE_MARGIN: f64 = 1.25;

/// The groups that the document's matrices show; what is declared is for the writer to add.
pub fn groups(document: &Document) -> Vec<MeasuredGroups> {
    let by = |matrix: &Matrix| match matrix.compares {
        Compares::Beside => Some(GroupedBy::GpuPairs),
        Compares::LeaveOneOut => Some(GroupedBy::GpusLeaveOneOut),
        Compares::Cores => Some(GroupedBy::Handovers),
        _ => None,
    };

    let asking = || document.matrices.iter().filter(|matrix| asks(document, matrix));
    let asked = || asking().filter_map(|matrix| Some((by(matrix)?, matrix)));
    let of_gpus = asked().filter(|(by, _)| *by != GroupedBy::Handovers).count();
    let found = |(by, matrix): (GroupedBy, &Matrix)| {
        let plane = matrix.planes(document).into_iter().next()?;
        let table = Table { document, matrix, plane };
        let rule = match by {
            GroupedBy::Handovers => GroupingRule { margin: CORE_MARGIN, questions: 1 },
            _ => GroupingRule { margin: GPU_MARGIN, questions: of_gpus },
        };
        let found = group(&table.pairs(by)?, &rule)?;
        let ids = |items: &Vec<usize>| items.iter().filter_map(|item| table.id(*item)).collect::<IdSet>();
        Some(MeasuredGroups {
            by,
            finding: found.finding,
            groups: found.groups.iter().map(ids).collect(),
            rest: ids(&found.rest),
            margin: found.margin,
            p_value: found.p_value,
            false_alarm_rate: ALPHA,
            declared: None,
        })
    };

    asked().filter_map(found).collect()
}

/// The GPUs that share their way to the host by measurement, a list a group: those of which each loses
/// bandwidth beside one other.
///
/// Groups that only all GPUs together show are left out: what they share (a NUMA node's memory, a package's
/// link) is wider than one GPU's link.
///
/// # Errors
/// In words: the document has no such groups.
pub fn shared_ways(document: &Document) -> Result<Vec<Vec<PciAddress>>, String> {
    if document.groups.is_empty() {
        return Err("it has no measured groups: give a document of topo --measure".to_owned());
    }
    let of_pairs = document.groups.iter().find(|groups| groups.by == GroupedBy::GpuPairs);
    let found = of_pairs.filter(|groups| groups.finding == GroupingFinding::Groups);
    let found = found.ok_or("no two GPUs were found to share their way to the host (GPUs in pairs)")?;

    let address = |index: u32| {
        let device = document.devices.iter().find(|device| device.index == index)?;
        device.pci_address
    };
    let addresses = |group: &IdSet| group.iter().map(address).collect::<Option<Vec<PciAddress>>>();
    let all: Option<Vec<_>> = found.groups.iter().map(addresses).collect();
    all.ok_or_else(|| "it does not say the PCI address of each GPU".to_owned())
}

/// In the place of what is declared: nothing is left to decide of an undecided question.
pub const ONE_OF_EACH: &str = "one L3 and one NUMA node";

/// Whether the figures of any question do not decide it, or were not had; a question of which the topology
/// leaves nothing to decide is none.
pub fn is_undecided(document: &Document) -> bool {
    let asked = document.matrices.iter().filter(|matrix| asks(document, matrix)).count();
    asked > document.groups.len() || document.groups.iter().any(is_open)
}

/// Whether a matrix asks who belongs to whom: it is square, of enough items, and has what two of them came
/// to. Of many GPUs each is measured alone, and no two beside each other.
fn asks(document: &Document, matrix: &Matrix) -> bool {
    let is_square = matches!(matrix.compares, Compares::Beside | Compares::LeaveOneOut | Compares::Cores);
    let of_two = |plane: &Plane| {
        let mut pairs = matrix.places().filter(|(row, column)| row != column);
        pairs.any(|(row, column)| matrix.cell(document, plane, row, column).is_some())
    };
    is_square && matrix.rows.len() >= LEAST_ITEMS && matrix.planes(document).first().is_some_and(of_two)
}

/// Whether figures that do not decide leave a question open.
fn is_open(found: &MeasuredGroups) -> bool {
    found.finding == GroupingFinding::Undecided && found.declared.as_deref() != Some(ONE_OF_EACH)
}

/// A square matrix of items against themselves.
struct Table<'a> {
    document: &'a Document,
    matrix: &'a Matrix,
    plane: Plane,
}

impl Table<'_> {
    fn cell(&self, row: usize, column: usize) -> Option<CellFigure> {
        self.matrix.cell(self.document, &self.plane, row, column)?.ok()
    }

    /// The value of a cell that is known well enough.
    fn known(&self, row: usize, column: usize) -> Option<f64> {
        self.cell(row, column).filter(CellFigure::is_known).map(|cell| cell.median)
    }

    /// All of them.
    fn cells(&self) -> Vec<CellFigure> {
        self.matrix.places().filter_map(|(row, column)| self.cell(row, column)).collect()
    }

    /// A GPU's index, or a core's PU.
    fn id(&self, item: usize) -> Option<u32> {
        if self.matrix.compares == Compares::Cores {
            return self.matrix.rows.get(item)?.pus.first();
        }
        let id = &self.matrix.columns.get(item)?.device;
        self.document.devices.iter().find(|device| device.id == *id).map(|device| device.index)
    }

    /// The figures as the decision takes them, lower being closer; `None` where one is missing.
    fn pairs(&self, by: GroupedBy) -> Option<PairFigures> {
        let items = self.matrix.rows.len();
        // Who leaves a group leaves more for its members, who then take less time.
        let time = |cell: CellFigure| {
            cell.blocks.into_iter().map(|block| BlockValue { value: 1.0 / block.value, ..block }).collect()
        };
        let of = |i: usize, j: usize| -> Option<Vec<BlockValue>> {
            let cell = self.cell(i, j)?;
            Some(if by == GroupedBy::GpusLeaveOneOut { time(cell) } else { cell.blocks })
        };

        let blocks = |i: usize, j: usize| match by {
            _ if i == j => Some(Vec::new()),
            // A handover has no direction: each two are measured once.
            GroupedBy::Handovers if i < j => Some(Vec::new()),
            _ => of(i, j),
        };
        let alone = match by {
            GroupedBy::Handovers => Vec::new(),
            _ => (0..items).map(|item| of(item, item)).collect::<Option<_>>()?,
        };

        Some(PairFigures {
            blocks: (0..items).map(|i| (0..items).map(|j| blocks(i, j)).collect()).collect::<Option<_>>()?,
            alone,
        })
    }
}
