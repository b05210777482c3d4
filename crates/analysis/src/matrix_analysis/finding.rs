//! The figures of a matrix as members of a family (`family`), and which of many are worse for certain.

use super::{CellFigure, Plane};
use crate::family::{CaseFamily, CaseFinding, FamilyCase};

/// The family of these figures, each of its plane.
pub(super) fn family<'a>(cells: impl IntoIterator<Item = (Plane, &'a CellFigure)>) -> CaseFamily {
    let mut planes: Vec<Plane> = Vec::new();
    let member = |(plane, cell): (Plane, &'a CellFigure)| {
        let kind = planes.iter().position(|other| *other == plane).unwrap_or_else(|| {
            planes.push(plane);
            planes.len() - 1
        });
        FamilyCase { kind, is_time: plane.is_time(), blocks: &cell.blocks }
    };
    CaseFamily::of(&cells.into_iter().map(member).collect::<Vec<_>>())
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

/// Which of these are worse for certain, each than its own other one.
pub(super) fn surely_worse(rivals: &[Rival]) -> Vec<bool> {
    let family = family(rivals.iter().flat_map(|rival| [(rival.plane, &rival.with), (rival.plane, &rival.cell)]));
    family.in_twos().into_iter().map(|finding| finding == CaseFinding::Worse).collect()
}
