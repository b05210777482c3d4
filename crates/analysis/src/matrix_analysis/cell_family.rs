//! Cells of a matrix as one family of comparisons (`family`).

use super::{CellFigure, Plane};
use crate::family::{CaseComparison, CaseFamily, FamilyCase};

/// The family of these figures, each of its plane.
pub(super) fn family<'a>(cells: impl IntoIterator<Item = (Plane, &'a CellFigure)>) -> CaseFamily<'a> {
    let mut planes: Vec<Plane> = Vec::new();
    let member = |(plane, cell): (Plane, &'a CellFigure)| {
        let kind = planes.iter().position(|other| *other == plane).unwrap_or_else(|| {
            planes.push(plane);
            planes.len() - 1
        });
        FamilyCase { kind, is_time: plane.is_time(), blocks: &cell.blocks, began: cell.began() }
    };
    CaseFamily::of(cells.into_iter().map(member).collect())
}

/// A figure that may be worse than another of its plane.
pub(super) struct Rival {
    /// The plane.
    pub plane: Plane,
    /// The figure that it is compared with.
    pub reference: CellFigure,
    /// The figure.
    pub cell: CellFigure,
}

/// Compares each of these with its reference.
pub(super) fn compare_rivals(rivals: &[Rival]) -> Vec<CaseComparison> {
    let family =
        family(rivals.iter().flat_map(|rival| [(rival.plane, &rival.reference), (rival.plane, &rival.cell)]));
    family.in_twos()
}
