//! What a matrix says whose rows are more and more at once: what ranks lose, which is the smallest set that does, and what they share.

use std::collections::BTreeSet;

use super::finding::{Rival, surely_worse};
use super::words::{show, way};
use super::{Cell, Matrix, MatrixRow, Plane};
use crate::Document;

/// Together less than this part of what they get alone: they share something.
const SHARED: f64 = 0.95;

/// What more at once costs: what each row's ranks get together against what they get alone, which is the first row.
///
/// All comparisons of the matrix are one family: with so many rows and ranks one of them always looks like a loss.
pub(super) fn said(document: &Document, matrix: &Matrix, seed: u64) -> Vec<String> {
    let mut at = Vec::new();
    let mut rivals = Vec::new();
    let planes = matrix.planes(document);
    for plane in &planes {
        for row in 1..matrix.rows.len() {
            for column in 0..matrix.columns.len() {
                let cell = |row: usize, column: usize| matrix.cell(document, plane, row, column)?.ok();
                if let Some((with, cell)) = base(document, matrix, plane, row, column).zip(cell(row, column)) {
                    at.push((*plane, row, column));
                    rivals.push(Rival { plane: *plane, with: with.1, cell });
                }
            }
        }
    }
    let surely = surely_worse(&rivals, seed);
    let lost: Lost = at.into_iter().zip(surely).filter(|(_, surely)| *surely).map(|(at, _)| at).collect();
    planes.iter().flat_map(|plane| load_of(document, matrix, plane, &lost)).collect()
}

/// The figures that are surely lower than what their ranks get with less at once: by plane, row and column.
type Lost = BTreeSet<(Plane, usize, usize)>;

/// What a figure is compared with, and of which row that is: the first row's of its ranks, or of the only rank there where ranks are alike and one stands for
/// all; else the same ranks' in an earlier row.
fn base(document: &Document, matrix: &Matrix, plane: &Plane, row: usize, column: usize) -> Option<(usize, Cell)> {
    let cell = |row: usize, column: usize| matrix.cell(document, plane, row, column)?.ok();
    let of = |row: usize| matrix.rows[row].ranks.and(&matrix.columns[column].ranks);
    let ranks = of(row);
    if row == 0 || ranks.is_empty() {
        return None;
    }
    let first = cell(0, column).or_else(|| cell(0, 0)).map(|cell| (0, cell));
    first.or_else(|| (0..row).filter(|other| of(*other) == ranks).find_map(|other| Some((other, cell(other, column)?))))
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

fn load_of(document: &Document, matrix: &Matrix, plane: &Plane, lost: &Lost) -> Vec<String> {
    let cell = |row: usize, column: usize| matrix.cell(document, plane, row, column)?.ok();
    let at_once = |row: usize| {
        let mut found =
            AtOnce { row: &matrix.rows[row], ranks: 0, sum: 0.0, alone: 0.0, losers: 0, worst: ("", f64::MAX) };
        for (at, column) in matrix.columns.iter().enumerate() {
            let Some(both) = cell(row, at) else { continue };
            let Some((_, alone)) = base(document, matrix, plane, row, at) else { continue };
            found.ranks += 1;
            found.sum += both.median;
            found.alone += alone.median;
            let part = both.median / alone.median;
            found.losers += usize::from(lost.contains(&(*plane, row, at)));
            if part < found.worst.1 {
                found.worst = (&column.name, part);
            }
        }
        (found.ranks > 1).then_some(found)
    };
    let rows: Vec<AtOnce> = (1..matrix.rows.len()).filter_map(at_once).collect();
    let direction = way(plane.direction);
    let shares = |row: &&AtOnce| row.sum < row.alone * SHARED && row.losers > 0;
    // The smallest that lose tell what is shared; the largest, what it comes to.
    if rows.is_empty() {
        return beside(document, matrix, plane, lost);
    }
    let (Some(first), Some(all)) =
        (rows.iter().filter(shares).min_by_key(|row| row.ranks), rows.iter().max_by_key(|row| row.ranks))
    else {
        let least = (1.0 - SHARED) * 100.0;
        if let Some(less) = rows.iter().find(|row| row.sum < row.alone * SHARED) {
            let percent = less.sum / less.alone * 100.0;
            let text = "which may be chance: a longer --max-time may tell";
            return vec![format!(
                "{direction}: undecided: {} get {percent:.0} % of what they get alone, {text}.",
                less.row.name
            )];
        }
        return vec![format!(
            "{direction}: nothing is lost at once: every rank gets what it gets alone, within {least:.0} %."
        )];
    };
    let rate = |sum: f64| format!("{:.1} GB/s", sum / 1e9);
    let mut said = vec![format!(
        "{direction}: {} get {} together, {:.0} % of what they get alone; a fair share is {} each, {} has {:.0} % of its own.",
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
            let Some((base, alone)) = base(document, matrix, plane, r, c) else { continue };
            let Some(here) = matrix.cell(document, plane, r, c).and_then(Result::ok) else {
                without += 1;
                continue;
            };
            compared += 1;
            let part = here.median / alone.median;
            let loses = lost.contains(&(*plane, r, c));
            if loses && found.as_ref().is_none_or(|(most, _)| part < *most) {
                let (now, then) = (show(plane, here.median), show(plane, alone.median));
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
            said.push(format!(
                "{direction}, {}: {without} rows have no figure, and may be the ones that lose; the table says why.",
                column.name
            ));
        }
    }
    said
}
