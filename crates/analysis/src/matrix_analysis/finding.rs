//! The figures of a matrix as members of a family (`family`), and what many come to, each against its own
//! other one.

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
    /// What it is compared with.
    pub with: CellFigure,
    /// The figure.
    pub cell: CellFigure,
}

/// What each of these is against its own other one.
pub(super) fn compared(rivals: &[Rival]) -> Vec<CaseComparison> {
    let family =
        family(rivals.iter().flat_map(|rival| [(rival.plane, &rival.with), (rival.plane, &rival.cell)]));
    family.in_twos()
}
