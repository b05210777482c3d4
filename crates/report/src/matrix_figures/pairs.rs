//! What a matrix of GPUs against GPUs says: the rate between them, which pairs have less, and what a small copy takes.
//!
//! Of many pairs alike one is always the best and others look far behind it. So a pair is said to be behind only where pairs differ at all (Kruskal-Wallis,
//! Holm over all planes) and it is surely worse than the best (Holm over all pairs).

use stats::holm::holm;
use stats::kruskal_wallis::kruskal_wallis_p;

use super::finding::{ALPHA, Rival, surely_worse};
use super::words::{show, way};
use super::{Cell, Plane};
use crate::Document;
use crate::matrix::Matrix;

/// Pairs above this part of the best have its figure.
const ALIKE: f64 = 0.99;
/// Pairs below this part of the best are named.
const LESS: f64 = 0.9;

/// A pair's name and figure.
type Pair = (String, Cell);

/// The sentences, plane by plane.
pub(super) fn said(document: &Document, matrix: &Matrix) -> Vec<String> {
    let notes = matrix.rows.iter().filter_map(|row| Some(format!("{}: {}.", row.name, row.note.as_ref()?)));
    let planes: Vec<(Plane, Vec<Pair>)> =
        matrix.planes(document).into_iter().map(|plane| (plane, pairs(document, matrix, &plane))).collect();
    let p = |(_, pairs): &(Plane, Vec<Pair>)| {
        kruskal_wallis_p(&pairs.iter().map(|pair| &pair.1.blocks[..]).collect::<Vec<_>>()).unwrap_or(1.0)
    };
    let p_values = holm(&planes.iter().map(p).collect::<Vec<_>>());
    let one = |((plane, pairs), p): (&(Plane, Vec<Pair>), f64)| one(document, matrix, plane, pairs, p < ALPHA);
    planes.iter().zip(p_values).filter_map(one).chain(notes).collect()
}

/// The pairs of a plane, the best first.
fn pairs(document: &Document, matrix: &Matrix, plane: &Plane) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (r, row) in matrix.rows.iter().enumerate() {
        for (c, column) in matrix.columns.iter().enumerate() {
            if let Some(Ok(cell)) = matrix.cell(document, plane, r, c) {
                pairs.push((format!("{} {}", row.name, column.name), cell));
            }
        }
    }
    pairs.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    if !plane.is_time() {
        pairs.reverse();
    }
    pairs
}

fn one(document: &Document, matrix: &Matrix, plane: &Plane, pairs: &[Pair], differ: bool) -> Option<String> {
    let (best, worst) = (pairs.first()?, pairs.last()?);
    let title = &matrix.title;
    let size = stats::units::size(plane.range_bytes.unwrap_or(plane.bytes));
    let (first, last) = (show(plane, best.1.median), show(plane, worst.1.median));
    let part = |pair: &Pair| match plane.is_time() {
        true => best.1.median / pair.1.median,
        false => pair.1.median / best.1.median,
    };
    let figures = if part(worst) > ALIKE { first } else { format!("{first} to {last}") };
    let rival = |pair: &Pair| Rival { plane: *plane, with: best.1.clone(), cell: pair.1.clone() };
    let surely = surely_worse(&pairs[1..].iter().map(rival).collect::<Vec<_>>(), document.settings.seed);
    let seem: Vec<(&Pair, bool)> = pairs[1..].iter().zip(surely).filter(|(pair, _)| part(pair) < LESS).collect();
    let less: Vec<&Pair> = seem.iter().filter(|(_, surely)| *surely && differ).map(|(pair, _)| *pair).collect();
    let percent = (1.0 - LESS) * 100.0;
    let rest = match (&less[..], seem.len() - less.len()) {
        ([], 0) => format!("all {} pairs alike", pairs.len()),
        ([], some) => format!(
            "{some} of {} pairs are more than {percent:.0} % behind the best, which may be chance: a longer --max-time may tell",
            pairs.len()
        ),
        ([.., slowest], _) => format!(
            "{} of {} pairs are more than {percent:.0} % behind the best, the last is {}",
            less.len(),
            pairs.len(),
            slowest.0
        ),
    };
    Some(format!("{title} ({size}, {}): {figures}; {rest}.", way(plane.direction)))
}
