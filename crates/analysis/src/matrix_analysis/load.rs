//! What a matrix says whose rows are more and more at once: what ranks lose, which is the smallest set that
//! does, and what they share.

use std::collections::BTreeMap;

use report::Document;
use report::matrix::{Matrix, MatrixColumn, MatrixRow};
use stats::alpha::ALPHA;

use super::cell_family::{Rival, compare_rivals};
use super::words::{show, way};
use super::{CellFigure, MatrixFigures, Plane};
use crate::family::{CaseComparison, CaseFinding};
use crate::headline;
use crate::words::count;

/// Together less than this part of what they get alone: they share something.
pub(crate) const SHARED: f64 = 0.95;

/// What more at once costs: what each row's ranks get together against what they get alone, which is the
/// first row.
///
/// All comparisons of the matrix are one family: with so many rows and ranks one of them always looks like a
/// loss.
pub(super) fn sentences(document: &Document, matrix: &Matrix) -> Vec<String> {
    let mut at = Vec::new();
    let mut rivals = Vec::new();
    let planes = matrix.planes(document);
    for plane in &planes {
        for row in 1..matrix.rows.len() {
            for column in 0..matrix.columns.len() {
                if let Some(Held { with: Ok(with), cell: Ok(cell), .. }) =
                    held(document, matrix, plane, row, column)
                {
                    at.push((*plane, row, column));
                    rivals.push(Rival { plane: *plane, reference: with, cell });
                }
            }
        }
    }

    let found = Found(at.into_iter().zip(compare_rivals(&rivals)).collect());
    planes.iter().flat_map(|plane| load_of(document, matrix, plane, &found)).collect()
}

/// What figures are against those that their ranks get with less at once: by plane, row and column.
struct Found(BTreeMap<(Plane, usize, usize), CaseComparison>);

impl Found {
    /// Whether a rank surely loses.
    fn loses(&self, plane: &Plane, row: usize, column: usize) -> bool {
        self.0.get(&(*plane, row, column)).is_some_and(|found| found.finding == CaseFinding::Worse)
    }

    /// Whether it surely keeps [`SHARED`] of what it gets alone: a test of its own, for that no loss is found
    /// does not say so.
    fn keeps(&self, plane: &Plane, row: usize, column: usize) -> bool {
        self.0.get(&(*plane, row, column)).is_some_and(|found| found.keeps(SHARED, ALPHA))
    }
}

/// A figure and what it is held against; each may be missing, with the reason.
struct Held {
    cell: Result<CellFigure, String>,
    with: Result<CellFigure, String>,
    /// The row of what it is held against.
    base: usize,
}

/// A figure is held against the first row's of its ranks, or of the only rank there where ranks are alike and
/// one stands for all; else against the same ranks' in the first row that has them: what that row lacks is
/// not taken from another, which may be a loss itself. `None` where there was nothing to measure or to hold
/// it against.
fn held(document: &Document, matrix: &Matrix, plane: &Plane, row: usize, column: usize) -> Option<Held> {
    let at = |row: usize, column: usize| matrix.cell(document, plane, row, column);
    let of = |row: usize| matrix.rows[row].ranks.and(&matrix.columns[column].ranks);
    let cell = at(row, column).filter(|_| row > 0)?;
    let ranks = of(row);
    let first = at(0, column).or_else(|| at(0, 0)).map(|with| (0, with));
    let same =
        || (1..row).filter(|other| of(*other) == ranks).find_map(|other| Some((other, at(other, column)?)));
    let (base, with) = first.or_else(same)?;
    Some(Held { cell, with, base })
}

/// A rank of a row.
struct RankAtOnce<'a> {
    column: &'a str,
    together: CellFigure,
    alone: CellFigure,
    loses: bool,
    keeps: bool,
}

/// A row of ranks at once.
struct AtOnce<'a> {
    row: &'a MatrixRow,
    ranks: usize,
    sum: f64,
    alone: f64,
    /// How well these are known: the widest half of an interval, as a part of the figure.
    half_width: f64,
    /// How many of its ranks lose for certain.
    losers: usize,
    /// How many surely keep what they get alone.
    keepers: usize,
    worst: (&'a str, f64),
}

impl<'a> AtOnce<'a> {
    /// The row with the figures of its ranks, by column.
    fn of(row: &'a MatrixRow, figures: &[RankAtOnce<'a>]) -> Self {
        let mut found = AtOnce {
            row,
            ranks: 0,
            sum: 0.0,
            alone: 0.0,
            half_width: 0.0,
            losers: 0,
            keepers: 0,
            worst: ("", f64::MAX),
        };

        for RankAtOnce { column, together, alone, loses, keeps } in figures {
            found.ranks += 1;
            found.sum += together.median;
            found.alone += alone.median;
            found.half_width = found.half_width.max(together.half_width()).max(alone.half_width());
            let part = together.median / alone.median;
            found.losers += usize::from(*loses);
            found.keepers += usize::from(*keeps);
            if part < found.worst.1 {
                found.worst = (column, part);
            }
        }
        found
    }
}

/// The rows of several ranks at once, and how many there are of which a figure is missing: a sum of the
/// others would be another set's, and they had less company.
fn all_at_once<'a>(
    document: &Document,
    matrix: &'a Matrix,
    plane: &Plane,
    found: &Found,
) -> (Vec<AtOnce<'a>>, u64) {
    let (mut rows, mut without) = (Vec::new(), 0);
    for (r, row) in matrix.rows.iter().enumerate() {
        let columns = matrix.columns.iter().enumerate();
        let all: Vec<_> =
            columns.filter_map(|at| Some((at, held(document, matrix, plane, r, at.0)?))).collect();
        let figures = |((c, column), held): ((usize, &'a MatrixColumn), Held)| {
            let (together, alone) = (held.cell.ok()?, held.with.ok()?);
            let (loses, keeps) = (found.loses(plane, r, c), found.keeps(plane, r, c));
            Some(RankAtOnce { column: &column.name, together, alone, loses, keeps })
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

fn load_of(document: &Document, matrix: &Matrix, plane: &Plane, found: &Found) -> Vec<String> {
    let (rows, without) = all_at_once(document, matrix, plane, found);
    if rows.is_empty() {
        return beside(document, matrix, plane, found);
    }
    let mut said = together(plane, &rows);
    if without > 0 {
        said.push(not_compared(way(plane.direction), without));
    }
    said
}

/// What is said of rows of which a figure is missing.
fn not_compared(what: &str, rows: u64) -> String {
    format!(
        "{what}: {} {} no figure of all ranks (see the table).",
        count(rows, "row"),
        if rows == 1 { "has" } else { "have" }
    )
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
        let (ranks, keepers): (usize, usize) =
            rows.iter().fold((0, 0), |(ranks, keepers), row| (ranks + row.ranks, keepers + row.keepers));
        return vec![match ranks - keepers {
            0 => format!(
                "{direction}: no contention: every rank keeps its bandwidth alone, within {least:.0} %."
            ),
            some => format!(
                "{direction}: undecided: no rank surely loses, and {some} of {ranks} figures may be more \
                 than {least:.0} % below alone; try a longer --max-time."
            ),
        }];
    };

    let rate = |sum: f64| format!("{:.1} GB/s", sum / 1e9);
    let name = &all.row.name;
    let mut said = vec![match headline::is_known(all.half_width) {
        true => format!(
            "{direction}: {name} get {}{} together, {:.0} % of their bandwidth alone; a fair share is {} \
             each, {} keeps {:.0} % of its bandwidth alone.",
            rate(all.sum),
            headline::width(all.half_width),
            all.sum / all.alone * 100.0,
            rate(all.sum / all.ranks as f64),
            all.worst.0,
            all.worst.1 * 100.0
        ),
        false => format!("{direction}: what {name} get together is {}.", headline::too_noisy(all.half_width)),
    }];

    let unknown = || "the platform does not say what they share".to_owned();
    let what = first.row.note.clone().unwrap_or_else(unknown);
    let width = headline::width(first.half_width);
    let figures = format!("{} together and {} alone{width}", rate(first.sum), rate(first.alone));
    said.push(format!(
        "{direction}: the smallest set that loses is {}, {}; {what}.",
        first.row.name,
        headline::figure(figures, first.half_width)
    ));
    said
}

/// What the ranks of a column get in one row against what the same ranks get in an earlier one.
fn beside(document: &Document, matrix: &Matrix, plane: &Plane, found: &Found) -> Vec<String> {
    let mut said = Vec::new();
    let direction = way(plane.direction);
    for (c, column) in matrix.columns.iter().enumerate() {
        let mut worst: Option<(f64, String)> = None;
        let (mut compared, mut kept, mut without) = (0, 0, 0);
        for (r, row) in matrix.rows.iter().enumerate() {
            let Some(Held { cell, with, base }) = held(document, matrix, plane, r, c) else { continue };
            let (Ok(here), Ok(alone)) = (cell, with) else {
                without += 1;
                continue;
            };
            compared += 1;
            kept += u64::from(found.keeps(plane, r, c));
            let part = here.median / alone.median;
            if found.loses(plane, r, c) && worst.as_ref().is_none_or(|(most, _)| part < *most) {
                let (now, then) = (show(plane, &here), show(plane, &alone));
                let (row, base) = (&row.name, &matrix.rows[base].name);
                let (percent, half_width) = (part * 100.0, here.half_width().max(alone.half_width()));
                let loss = match headline::is_known(half_width) {
                    true => format!("{now} {row}, {percent:.0} % of the {then} {base}"),
                    false => {
                        format!("less {row} than {base}; {} to say how much", headline::too_noisy(half_width))
                    }
                };
                worst = Some((part, format!("{direction}, {}: {loss}.", column.name)));
            }
        }
        match worst {
            Some((_, sentence)) => said.push(sentence),
            None if kept < compared => said.push(format!(
                "{direction}, {}: undecided: no row surely loses, and {} of {compared} may be more than \
                 {:.0} % lower; try a longer --max-time.",
                column.name,
                compared - kept,
                (1.0 - SHARED) * 100.0
            )),
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
