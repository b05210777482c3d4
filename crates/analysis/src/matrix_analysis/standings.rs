//! The places of each subject of a matrix, best first, and how every two of them compare.

use report::Document;
use report::matrix::Compares;

use super::cell_family::family;
use super::row_sweep;
use super::{CellFigure, MatrixFigures, Plane};
use crate::family::{CaseFinding, ComparedSet};

/// A place of a subject, and its figure there.
pub struct RankedPlace<'a> {
    pub name: &'a str,
    pub cell: &'a CellFigure,
    /// Its number among those it is compared with.
    pub number: usize,
    /// How many times worse than the best it is, and what that comes to.
    pub ratio: f64,
    pub finding: CaseFinding,
}

/// Of a subject (a GPU, a row) in one plane: its best place and how the others compare.
pub struct Standing<'a> {
    /// The number of its matrix.
    pub matrix: usize,
    pub subject: &'a str,
    pub plane: Plane,
    pub best: RankedPlace<'a>,
    /// The others, as they compare with the best.
    pub others: Vec<RankedPlace<'a>>,
    /// How every two of them compare.
    pub compared: ComparedSet,
    /// How many comparisons of two of its places are not decided.
    pub undecided: usize,
}

impl Standing<'_> {
    /// The worst of those that are worse for certain.
    pub fn worst(&self) -> Option<&RankedPlace<'_>> {
        let worse = self.others.iter().filter(|place| place.finding == CaseFinding::Worse);
        worse.max_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }

    /// How well it is known how this place compares with the best: the wider one of both intervals.
    pub fn half_width(&self, place: &RankedPlace) -> f64 {
        self.best.cell.half_width().max(place.cell.half_width())
    }

    pub fn places(&self) -> impl Iterator<Item = &RankedPlace<'_>> {
        std::iter::once(&self.best).chain(&self.others)
    }
}

/// A figure of a matrix whose places are compared.
pub struct SubjectFigure<'a> {
    pub matrix: usize,
    pub subject: &'a str,
    pub plane: Plane,
    pub place: &'a str,
    pub cell: CellFigure,
}

/// The figures of all matrices whose places are compared, those of one subject and plane after each other.
pub fn figures(document: &Document) -> Vec<SubjectFigure<'_>> {
    let mut all = Vec::new();
    for (number, matrix) in document.matrices.iter().enumerate() {
        let by_rows = match matrix.compares {
            Compares::Rows if row_sweep::matrix(document).is_none() => true,
            Compares::Columns => false,
            _ => continue,
        };
        let rows: Vec<&str> = matrix.rows.iter().map(|row| row.name.as_str()).collect();
        let columns: Vec<&str> = matrix.columns.iter().map(|column| column.name.as_str()).collect();
        let (subjects, places) = if by_rows { (&columns, &rows) } else { (&rows, &columns) };
        for plane in matrix.planes(document) {
            for (s, subject) in subjects.iter().enumerate() {
                for (p, place) in places.iter().enumerate() {
                    let (row, column) = if by_rows { (p, s) } else { (s, p) };
                    if let Some(Ok(cell)) = matrix.cell(document, &plane, row, column) {
                        all.push(SubjectFigure { matrix: number, subject, plane, place, cell });
                    }
                }
            }
        }
    }

    all
}

/// How the places of each subject compare, where it has several.
pub fn standings<'a>(figures: &'a [SubjectFigure<'a>]) -> Vec<Standing<'a>> {
    let family = family(figures.iter().map(|figure| (figure.plane, &figure.cell)));
    let is_same = |a: &SubjectFigure, b: &SubjectFigure| {
        (a.matrix, a.subject, a.plane) == (b.matrix, b.subject, b.plane)
    };
    let sets = || figures.chunk_by(is_same);
    let standing = |(set, compared): (&'a [SubjectFigure<'a>], ComparedSet)| {
        let sign = if set[0].plane.is_time() { 1.0 } else { -1.0 };
        let best = (0..set.len())
            .min_by(|a, b| (sign * set[*a].cell.median).total_cmp(&(sign * set[*b].cell.median)))?;
        let place = |at: usize| {
            let SubjectFigure { plane, place, cell, .. } = &set[at];
            let (own, least) = (cell.median, set[best].cell.median);
            let ratio = if plane.is_time() { own / least } else { least / own };
            RankedPlace { name: place, cell, number: at, ratio, finding: compared.finding(at, best) }
        };
        let others: Vec<RankedPlace> = (0..set.len()).filter(|at| *at != best).map(place).collect();
        let undecided = compared.findings().filter(|finding| *finding == CaseFinding::Undecided).count();
        let SubjectFigure { matrix, subject, plane, .. } = set[0];
        let best = place(best);
        (!others.is_empty()).then_some(Standing { matrix, subject, plane, best, others, compared, undecided })
    };

    sets().zip(family.within_sets(sets().map(<[SubjectFigure]>::len))).filter_map(standing).collect()
}
