//! What is said of copies between GPUs that are all at once, each row one GPU with all others: the sums, and
//! what each pair keeps of its rate alone.
//!
//! A pair's rate alone is that of the same pair in the document's matrix of pairs. A loss is one as where
//! ranks are at once (`load`): the row's sum is below [`SHARED`] of what its pairs get alone, and a pair of
//! it is lower for certain.

use std::collections::BTreeSet;

use report::Document;
use report::case::{Case, Order, Timing};
use report::matrix::{Compares, Matrix};
use report::settings::Direction;
use stats::alpha::ALPHA;
use stats::interval::range;

use super::cell_family::{Rival, compare_rivals};
use super::load::SHARED;
use super::words::{Estimate, show_all, way};
use super::{CellFigure, MatrixFigures, Plane};
use crate::family::CaseFinding;

/// Copies that the host times are compared with those that a device times from this time of a copy on,
/// nanoseconds. The host's time has its call and its wait in it, 13 µs for two copies of 4 B on an H200
/// (docs/measurements/one-gpu-beside-nvbandwidth.md): 1.3 % of this, where a loss is 5 %.
const LONG_ENOUGH: f64 = 500e3;

/// One pair of a row.
struct Pair {
    /// Its figure at once with the others.
    at_once: CellFigure,
    /// Its figure alone; `None` where that is not there or not to be compared.
    alone: Option<CellFigure>,
    /// Whether it surely gets less than alone.
    loses: bool,
    /// Whether it surely keeps [`SHARED`] of its rate alone.
    keeps: bool,
}

/// A row of copies at once.
struct AtOnce(Vec<Pair>);

impl AtOnce {
    fn sum(&self) -> f64 {
        self.0.iter().map(|pair| pair.at_once.median).sum()
    }

    /// Whether its pairs get less together than they get alone; `None` where that cannot be told.
    fn is_less(&self) -> Option<bool> {
        let alone: Option<f64> = self.0.iter().map(|pair| Some(pair.alone.as_ref()?.median)).sum();
        Some(self.sum() < alone? * SHARED)
    }
}

/// The sentences of a matrix of copies between GPUs; none of others.
pub(super) fn sentences(document: &Document, matrix: &Matrix) -> Vec<String> {
    let reasons: BTreeSet<&str> = matrix.rows.iter().filter_map(|row| row.reason.as_deref()).collect();
    let mut said: Vec<String> = Vec::new();
    for plane in matrix.planes(document).iter().filter(|plane| plane.direction == Direction::Peer) {
        said.extend(plane_sentences(document, matrix, plane));
    }
    if said.is_empty() && is_of_peers(document, matrix) {
        said.extend(reasons.into_iter().map(|why| format!("{}: not measured: {why}.", matrix.title)));
    }
    said
}

/// Whether a matrix without figures is one of GPUs that are in a matrix of pairs.
fn is_of_peers(document: &Document, matrix: &Matrix) -> bool {
    let gpus =
        |matrix: &Matrix| matrix.columns.iter().map(|column| column.device.clone()).collect::<Vec<_>>();
    let mut pairs = document.matrices.iter().filter(|other| other.compares == Compares::Pairs);
    pairs.any(|pairs| gpus(pairs) == gpus(matrix))
}

fn plane_sentences(document: &Document, matrix: &Matrix, plane: &Plane) -> Vec<String> {
    let (mut rows, mut without) = (Vec::new(), 0);
    for row in 0..matrix.rows.len() {
        let pairs = (0..matrix.columns.len()).filter_map(|column| {
            let cell = matrix.cell(document, plane, row, column)?;
            let pair = |at_once| Pair {
                at_once,
                alone: alone(document, matrix, plane, row, column),
                loses: false,
                keeps: false,
            };
            Some(cell.map(pair))
        });
        match pairs.collect::<Result<Vec<_>, _>>() {
            Ok(pairs) if pairs.is_empty() => {}
            Ok(pairs) => rows.push(AtOnce(pairs)),
            // A sum of the others would be another one.
            Err(_) => without += 1,
        }
    }

    let pairs: Vec<&mut Pair> =
        rows.iter_mut().flat_map(|row| &mut row.0).filter(|pair| pair.alone.is_some()).collect();
    let rival = |pair: &&mut Pair| {
        Some(Rival { plane: *plane, reference: pair.alone.clone()?, cell: pair.at_once.clone() })
    };
    let found = compare_rivals(&pairs.iter().filter_map(rival).collect::<Vec<_>>());
    for (pair, found) in pairs.into_iter().zip(found) {
        (pair.loses, pair.keeps) = (found.finding == CaseFinding::Worse, found.keeps(SHARED, ALPHA));
    }
    let mut said: Vec<String> = sentence(matrix, plane, &rows).into_iter().collect();

    if without > 0 {
        said.push(format!(
            "{}: {without} of {} GPUs have no sum; the table says why.",
            matrix.title,
            matrix.rows.len()
        ));
    }
    said
}

/// The same pair alone; `None` where it has no figure, and where its clock is another one and its copies are
/// short.
fn alone(
    document: &Document,
    matrix: &Matrix,
    plane: &Plane,
    row: usize,
    column: usize,
) -> Option<CellFigure> {
    let ends = [&matrix.rows[row].name, &matrix.columns[column].name];
    for pairs in document.matrices.iter().filter(|other| other.compares == Compares::Pairs) {
        let place = |of: [&String; 2]| {
            let row = pairs.rows.iter().position(|row| row.name == *of[0])?;
            Some((row, pairs.columns.iter().position(|column| column.name == *of[1])?))
        };
        let Some((r, c)) = place(ends).or_else(|| place([ends[1], ends[0]])) else { continue };
        let clock = |group: &Option<String>| {
            let is = |case: &&Case| case.group == *group && Plane::of(case) == *plane;
            document.cases.iter().find(is).map(|case| (case.order, case.timing))
        };
        let (Some((Order::Alone, own)), Some((_, at_once))) =
            (clock(&pairs.rows[r].group), clock(&matrix.rows[row].group))
        else {
            continue;
        };
        let cell = pairs.cell(document, plane, r, c)?.ok()?;
        let is_long = || plane.bytes as f64 / cell.median * 1e9 >= LONG_ENOUGH;
        return (own == at_once || (own, at_once) == (Timing::Device, Timing::Host) && is_long())
            .then_some(cell);
    }

    None
}

fn sentence(matrix: &Matrix, plane: &Plane, rows: &[AtOnce]) -> Option<String> {
    rows.first()?;
    let (title, size, way) = (&matrix.title, stats::units::size(plane.bytes), way(plane.direction));
    let sums =
        show_all(plane, rows.iter().map(|row| Estimate::sum_of(row.0.iter().map(|pair| &pair.at_once))));
    // `to`, as in `to GPU 3`.
    let word = matrix.rows.first().and_then(|row| row.name.split(' ').next()).unwrap_or("of");
    let kept = kept(rows).map_or_else(String::new, |kept| format!("; {kept}"));
    Some(format!("{title} ({size}, {way}): {sums} in all {word} each GPU{kept}."))
}

/// What the pairs keep of their rates alone; `None` where one has no such rate.
fn kept(rows: &[AtOnce]) -> Option<String> {
    let less: Vec<bool> = rows.iter().map(AtOnce::is_less).collect::<Option<_>>()?;
    let losing = rows.iter().zip(&less).filter(|(_, is_less)| **is_less).flat_map(|(row, _)| &row.0);
    let part = |pair: &Pair| Some(pair.at_once.median / pair.alone.as_ref()?.median * 100.0);
    let losers: Vec<f64> = losing.filter(|pair| pair.loses).filter_map(part).collect();
    let pairs: usize = rows.iter().map(|row| row.0.len()).sum();
    let Some((least, most)) = range(losers.iter().copied()) else {
        let all_keep = rows.iter().flat_map(|row| &row.0).all(|pair| pair.keeps);
        return Some(match all_keep {
            false => "undecided whether a pair gets less than alone; try a longer --max-time".to_owned(),
            true => format!("the pairs keep their rates alone, within {:.0} %", (1.0 - SHARED) * 100.0),
        });
    };

    let range = match (format!("{least:.0}"), format!("{most:.0}")) {
        (least, most) if least == most => most,
        (least, most) => format!("{least}–{most}"),
    };
    let who = match losers.len() == pairs {
        true => "each pair keeps".to_owned(),
        false => format!("{} of {pairs} pairs lose, and each of these keeps", losers.len()),
    };
    Some(format!("{who} {range} % of its rate alone"))
}
