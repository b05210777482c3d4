//! What a matrix of GPUs against GPUs says: the rate between them, which pairs have less, and what a small copy takes.

use super::words::{show, way};
use super::{Cell, Matrix, Plane};
use crate::Document;

/// Pairs above this part of the best have its figure.
const ALIKE: f64 = 0.99;
/// Pairs below this part of the best are named.
const LESS: f64 = 0.9;

/// A pair's name and figure.
type Pair = (String, Cell);

/// The sentences, plane by plane.
pub(super) fn said(document: &Document, matrix: &Matrix) -> Vec<String> {
    let notes = matrix.rows.iter().filter_map(|row| Some(format!("{}: {}.", row.name, row.note.as_ref()?)));
    let planes = matrix.planes(document);
    planes.iter().filter_map(|plane| one(document, matrix, plane)).chain(notes).collect()
}

fn one(document: &Document, matrix: &Matrix, plane: &Plane) -> Option<String> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (r, row) in matrix.rows.iter().enumerate() {
        for (c, column) in matrix.columns.iter().enumerate() {
            if let Some(Ok(cell)) = matrix.cell(document, plane, r, c) {
                pairs.push((format!("{} {}", row.name, column.name), cell));
            }
        }
    }
    // The best first.
    pairs.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    if !plane.is_time() {
        pairs.reverse();
    }
    let (best, worst) = (pairs.first()?, pairs.last()?);
    let title = &matrix.title;
    let size = stats::units::size(plane.range_bytes.unwrap_or(plane.bytes));
    let (first, last) = (show(plane, best.1.median), show(plane, worst.1.median));
    let part = |pair: &Pair| match plane.is_time() {
        true => best.1.median / pair.1.median,
        false => pair.1.median / best.1.median,
    };
    let figures = if part(worst) > ALIKE { first } else { format!("{first} to {last}") };
    let less: Vec<&Pair> = pairs.iter().filter(|pair| part(pair) < LESS).collect();
    let rest = match &less[..] {
        [] => format!("all {} pairs alike", pairs.len()),
        [.., slowest] => format!(
            "{} of {} pairs are more than {:.0} % behind the best, the last is {}",
            less.len(),
            pairs.len(),
            (1.0 - LESS) * 100.0,
            slowest.0
        ),
    };
    Some(format!("{title} ({size}, {}): {figures}; {rest}.", way(plane.direction)))
}
