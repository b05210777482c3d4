//! What a matrix says whose rows are more and more at once: what ranks lose, which is the smallest set that does, and what they share.

use std::collections::BTreeSet;

use report::Document;
use report::matrix::{Matrix, MatrixColumn, MatrixRow};

use super::finding::{Rival, surely_worse};
use super::words::{show, way};
use super::{CellFigure, MatrixFigures, Plane};
use crate::words::count;

/// Together less than this part of what they get alone: they share something.
pub(super) const SHARED: f64 = 0.95;

/// What more at once costs: what each row's ranks get together against what they get alone, which is the first row.
///
/// All comparisons of the matrix are one family: with so many rows and ranks one of them always looks like a loss.
pub(super) fn sentences(document: &Document, matrix: &Matrix) -> Vec<String> {
    let mut at = Vec::new();
    let mut rivals = Vec::new();
    let planes = matrix.planes(document);
    for plane in &planes {
        for row in 1..matrix.rows.len() {
            for column in 0..matrix.columns.len() {
                if let Some(Held { with: Ok(with), cell: Ok(cell), .. }) = held(document, matrix, plane, row, column) {
                    at.push((*plane, row, column));
                    rivals.push(Rival { plane: *plane, with, cell });
                }
            }
        }
    }
    let surely = surely_worse(&rivals);
    let lost: Lost = at.into_iter().zip(surely).filter(|(_, surely)| *surely).map(|(at, _)| at).collect();
    planes.iter().flat_map(|plane| load_of(document, matrix, plane, &lost)).collect()
}

/// The figures that are surely lower than what their ranks get with less at once: by plane, row and column.
type Lost = BTreeSet<(Plane, usize, usize)>;

/// A figure and what it is held against; each may be missing, with the reason.
struct Held {
    cell: Result<CellFigure, String>,
    with: Result<CellFigure, String>,
    /// The row of what it is held against.
    base: usize,
}

/// A figure is held against the first row's of its ranks, or of the only rank there where ranks are alike and one stands for all; else against the same ranks' in the
/// first row that has them: what that row lacks is not taken from another, which may be a loss itself. `None` where there was nothing to measure or to hold it against.
fn held(document: &Document, matrix: &Matrix, plane: &Plane, row: usize, column: usize) -> Option<Held> {
    let at = |row: usize, column: usize| matrix.cell(document, plane, row, column);
    let of = |row: usize| matrix.rows[row].ranks.and(&matrix.columns[column].ranks);
    let cell = at(row, column).filter(|_| row > 0)?;
    let ranks = of(row);
    let first = at(0, column).or_else(|| at(0, 0)).map(|with| (0, with));
    let same = || (1..row).filter(|other| of(*other) == ranks).find_map(|other| Some((other, at(other, column)?)));
    let (base, with) = first.or_else(same)?;
    Some(Held { cell, with, base })
}

/// A row of ranks at once.
struct AtOnce<'a> {
    row: &'a MatrixRow,
    ranks: usize,
    sum: f64,
    alone: f64,
    /// How many of its ranks lose for certain.
    losers: usize,
    worst: (&'a str, f64),
}

impl<'a> AtOnce<'a> {
    /// The row with the figures of its ranks, by column.
    fn of(row: &'a MatrixRow, figures: &[(&'a str, CellFigure, CellFigure, bool)]) -> Self {
        let mut found = AtOnce { row, ranks: 0, sum: 0.0, alone: 0.0, losers: 0, worst: ("", f64::MAX) };
        for (column, both, alone, loses) in figures {
            found.ranks += 1;
            found.sum += both.median;
            found.alone += alone.median;
            let part = both.median / alone.median;
            found.losers += usize::from(*loses);
            if part < found.worst.1 {
                found.worst = (column, part);
            }
        }
        found
    }
}

/// The rows of several ranks at once, and how many there are of which a figure is missing: a sum of the others would be another set's, and they had less company.
fn all_at_once<'a>(document: &Document, matrix: &'a Matrix, plane: &Plane, lost: &Lost) -> (Vec<AtOnce<'a>>, u64) {
    let (mut rows, mut without) = (Vec::new(), 0);
    for (r, row) in matrix.rows.iter().enumerate() {
        let columns = matrix.columns.iter().enumerate();
        let all: Vec<_> = columns.filter_map(|at| Some((at, held(document, matrix, plane, r, at.0)?))).collect();
        let figures = |((c, column), held): ((usize, &'a MatrixColumn), Held)| {
            Some((column.name.as_str(), held.cell.ok()?, held.with.ok()?, lost.contains(&(*plane, r, c))))
        };
        if all.len() > 1 {
            match all.into_iter().map(figures).collect::<Option<Vec<_>>>() {
                Some(figures) => rows.push(AtOnce::of(row, &figures)),
                None => without += 1,
            }
        }
    }
    (rows, without)
}

fn load_of(document: &Document, matrix: &Matrix, plane: &Plane, lost: &Lost) -> Vec<String> {
    let (rows, without) = all_at_once(document, matrix, plane, lost);
    if rows.is_empty() {
        return beside(document, matrix, plane, lost);
    }
    let mut said = together(plane, &rows);
    if without > 0 {
        said.push(not_compared(way(plane.direction), without));
    }
    said
}

/// What is said of rows of which a figure is missing.
fn not_compared(what: &str, rows: u64) -> String {
    format!("{what}: {} {} invalid (see the table).", count(rows, "row"), if rows == 1 { "is" } else { "are" })
}

/// What the rows of ranks at once come to.
fn together(plane: &Plane, rows: &[AtOnce]) -> Vec<String> {
    let direction = way(plane.direction);
    let shares = |row: &&AtOnce| row.sum < row.alone * SHARED && row.losers > 0;
    // The smallest that lose tell what is shared; the largest, what it comes to.
    let (Some(first), Some(all)) =
        (rows.iter().filter(shares).min_by_key(|row| row.ranks), rows.iter().max_by_key(|row| row.ranks))
    else {
        let least = (1.0 - SHARED) * 100.0;
        if let Some(less) = rows.iter().find(|row| row.sum < row.alone * SHARED) {
            let percent = less.sum / less.alone * 100.0;
            let text = "not significant; try a longer --max-time";
            return vec![format!(
                "{direction}: undecided: {} get {percent:.0} % of their bandwidth alone, {text}.",
                less.row.name
            )];
        }
        return vec![format!("{direction}: no contention: every rank keeps its bandwidth alone, within {least:.0} %.")];
    };
    let rate = |sum: f64| format!("{:.1} GB/s", sum / 1e9);
    let mut said = vec![format!(
        "{direction}: {} get {} together, {:.0} % of their bandwidth alone; a fair share is {} each, {} keeps {:.0} % of its bandwidth alone.",
        all.row.name,
        rate(all.sum),
        all.sum / all.alone * 100.0,
        rate(all.sum / all.ranks as f64),
        all.worst.0,
        all.worst.1 * 100.0
    )];
    let unknown = || "the platform does not say what they share".to_owned();
    let what = first.row.note.clone().unwrap_or_else(unknown);
    said.push(format!(
        "{direction}: the smallest set that loses is {}, {} together and {} alone; {what}.",
        first.row.name,
        rate(first.sum),
        rate(first.alone)
    ));
    said
}

/// What the ranks of a column get in one row against what the same ranks get in an earlier one.
fn beside(document: &Document, matrix: &Matrix, plane: &Plane, lost: &Lost) -> Vec<String> {
    let mut said = Vec::new();
    let direction = way(plane.direction);
    for (c, column) in matrix.columns.iter().enumerate() {
        let mut found: Option<(f64, String)> = None;
        let (mut compared, mut without) = (0, 0);
        for (r, row) in matrix.rows.iter().enumerate() {
            let Some(Held { cell, with, base }) = held(document, matrix, plane, r, c) else { continue };
            let (Ok(here), Ok(alone)) = (cell, with) else {
                without += 1;
                continue;
            };
            compared += 1;
            let part = here.median / alone.median;
            let loses = lost.contains(&(*plane, r, c));
            if loses && found.as_ref().is_none_or(|(most, _)| part < *most) {
                let (now, then) = (show(plane, &here), show(plane, &alone));
                let (row, base) = (&row.name, &matrix.rows[base].name);
                let percent = part * 100.0;
                found = Some((
                    part,
                    format!("{direction}, {}: {now} {row}, {percent:.0} % of the {then} {base}.", column.name),
                ));
            }
        }
        match found {
            Some((_, sentence)) => said.push(sentence),
            None if compared > 0 && without == 0 => {
                said.push(format!("{direction}, {}: no measurable loss.", column.name));
            }
            None if compared > 0 => {
                said.push(format!(
                    "{direction}, {}: no measurable loss in {compared} of {} rows.",
                    column.name,
                    compared + without
                ));
            }
            None => {}
        }
        if without > 0 {
            said.push(not_compared(&format!("{direction}, {}", column.name), without));
        }
    }
    said
}
