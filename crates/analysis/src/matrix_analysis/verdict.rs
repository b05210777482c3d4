//! What a matrix says, in sentences: how much it matters where memory lies, for each GPU (or each core's row)
//! which place is best, and whether that is what the platform declares.
//!
//! Every two places of a subject are compared, and what is claimed of all subjects of all such matrices of a
//! document is one family (`family`): chance chooses the best of equal places, and a comparison with the best
//! alone would find some of them worse. 1 % is no difference. Only what is certain is called faster; that
//! places are alike, or that the topology is right, is said only where it is certain too.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use report::matrix::{Compares, Matrix, MatrixColumn};
use report::settings::{CopyEngine, Direction};
use report::{Document, Figures};
use stats::alike::distinct;
use stats::alpha::ALPHA;

use super::absent;
use super::all_at_once;
use super::load;
use super::pairs;
use super::row_sweep;
use super::standings::{RankedPlace, Standing, figures, standings};
use super::words::{Estimate, nothing_beside, show, show_all, together, way};
use super::{CellFigure, MatrixFigures, Plane};
use crate::family::CaseFinding;
use crate::headline;
use crate::words::capital;

/// The sentences, the answer first; none where there is no matrix.
pub fn verdict(document: &Document) -> Vec<String> {
    let figures = figures(document);
    let standings = standings(&figures);
    let of = |(number, matrix): (usize, &Matrix)| match matrix.compares {
        // What rows lose at each size is said by `row_sweep`.
        Compares::Rows if row_sweep::matrix(document).is_some() => row_sweep::verdict(document),
        Compares::Rows | Compares::Columns => {
            let of_matrix: Vec<&Standing> = standings.iter().filter(|at| at.matrix == number).collect();
            let said = places(document, matrix, &of_matrix);
            by_engine(document, matrix, said, absent::sentences(document, matrix))
        }
        Compares::Load => load::sentences(document, matrix),
        Compares::Pairs => [pairs::sentences(document, matrix), absent::sentences(document, matrix)].concat(),
        Compares::Together => all_at_once::sentences(document, matrix),
        // What these say is said of all of them together (`groups`); so it is of GPUs at once that copy host
        // memory.
        Compares::Cores | Compares::Beside | Compares::LeaveOneOut | Compares::Newer => Vec::new(),
        // A curve's words are its own (`latency_curves`).
        Compares::Loaded => Vec::new(),
    };

    // Where kernels compute on CPUs there are no copies, and `kernels` says what there is to say.
    let may_have_none = matches!(document.figures(), Figures::Kernels(_));
    let has_figures = |matrix: &Matrix| !may_have_none || !matrix.planes(document).is_empty();
    let matrices = document.matrices.iter().enumerate().filter(|(_, matrix)| has_figures(matrix));

    // What is so of the GPUs whatever copies is said once.
    let mut said: BTreeSet<String> = BTreeSet::new();
    matrices.flat_map(of).filter(|sentence| said.insert(sentence.clone())).collect()
}

/// The sentences, of which the first and those of what is absent say what copies, where those of another
/// engine stand beside them.
fn by_engine(
    document: &Document,
    matrix: &Matrix,
    mut said: Vec<String>,
    mut absent: Vec<String>,
) -> Vec<String> {
    let engine = matrix.engine(&document.settings);
    if engine != CopyEngine::Ce {
        let by = crate::words::by(engine).trim_start_matches(", ");
        for sentence in said.iter_mut().take(1).chain(&mut absent) {
            let own = sentence.strip_suffix(nothing_beside(matrix)).unwrap_or(sentence).trim_end();
            *sentence = format!("Copies {by}: {own}");
        }
    }
    [said, absent].concat()
}

/// By how much worse a place is than the best, those after all others of which that is known.
fn by_ratio(one: &(&&Standing, &RankedPlace), other: &(&&Standing, &RankedPlace)) -> Ordering {
    let is_known = |(at, place): &(&&Standing, &RankedPlace)| headline::is_known(at.half_width(place));
    is_known(one).cmp(&is_known(other)).then(one.1.ratio.total_cmp(&other.1.ratio))
}

fn places(document: &Document, matrix: &Matrix, all: &[&Standing]) -> Vec<String> {
    let by_rows = matrix.compares == Compares::Rows;
    let flags = all.iter().any(|at| at.plane.direction == Direction::CoreToGpu);
    let what = match (by_rows, flags) {
        (_, true) => "which core asks",
        (true, _) => "where host memory lies",
        _ => "which memory a core uses",
    };
    let mut said = Vec::new();
    let Some(most) = all.iter().filter_map(|at| Some((at, at.worst()?))).max_by(by_ratio) else {
        let undecided: usize = all.iter().map(|at| at.undecided).sum();
        said.push(match (all.is_empty(), undecided) {
            (true, _) => only(document, matrix),
            (false, 0) => format!("No measurable difference: {what} changes no figure by more than 1 %."),
            (false, some) => {
                format!(
                    "No certain effect of {what}: {some} comparisons are undecided (a longer --max-time may \
                     decide them)."
                )
            }
        });
        if by_rows {
            said.extend(agreement(matrix, all));
        }
        return said;
    };

    let (subject, direction) = (most.0.subject, way(most.0.plane.direction));
    let ratio = headline::figure(format!("up to {}", times(most.1.ratio)), most.0.half_width(most.1));
    said.push(format!("{} matters: {ratio} ({subject}, {direction}).", capital(what)));

    for subject in distinct(all.iter().map(|at| at.subject)) {
        let of = || all.iter().filter(|at| at.subject == subject);
        // Of the rates and of the times the plane that shows most.
        let mut told = false;
        for time in [false, true] {
            let shown = of().filter(|at| at.plane.is_time() == time).filter_map(|at| Some((at, at.worst()?)));
            if let Some((at, worst)) = shown.max_by(by_ratio) {
                said.push(sentence(at, worst));
                told = true;
            }
        }
        if !told {
            said.push(match of().all(|at| at.undecided == 0) {
                true => format!("{subject}: no measurable difference."),
                false => format!("{subject}: undecided (a longer --max-time may decide)."),
            });
        }
    }

    if by_rows {
        said.extend(agreement(matrix, all));
    }
    said
}

/// The figures where there is nothing to compare them with: `H2D 53.6 to 54.0 GB/s per GPU (GPUs 0-1, NUMA
/// node 0). …`.
fn only(document: &Document, matrix: &Matrix) -> String {
    let mut figures = Vec::new();
    for plane in matrix.planes(document) {
        for (r, row) in matrix.rows.iter().enumerate() {
            let cell = |(c, column): (usize, &'_ MatrixColumn)| {
                Some((column.name.clone(), matrix.cell(document, &plane, r, c)?.ok()?))
            };
            let cells: Vec<(String, CellFigure)> =
                matrix.columns.iter().enumerate().filter_map(cell).collect();
            if cells.is_empty() {
                continue;
            }
            let figure = show_all(&plane, cells.iter().map(|(_, cell)| Estimate::of(cell)));
            let columns: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
            figures.push(lone(&plane, &row.name, &columns, &figure));
        }
    }

    match figures.is_empty() {
        true if document.matrices.len() > 1 => format!("No figure was measured of {}.", matrix.title),
        true => "No figure was measured.".to_owned(),
        false => format!("{}. {}", capital(&figures.join("; ")), nothing_beside(matrix)),
    }
}

/// A figure with its place: `H2D 53.6 GB/s per GPU (GPUs 0-1, NUMA node 0)`, `local read bandwidth, NUMA node
/// 0: 55.6 GB/s`.
fn lone(plane: &Plane, row: &str, columns: &[&str], figure: &str) -> String {
    let way = way(plane.direction);
    let what = if plane.is_time() { way.to_owned() } else { format!("{way} bandwidth") };
    match columns {
        [column] if *column == row => format!("local {what}, {}: {figure}", together(&[row])),
        [column] if column.starts_with("node ") => {
            format!("{what}, {row} to {}: {figure}", together(columns))
        }
        _ => {
            let each = if columns.len() > 1 { " per GPU" } else { "" };
            format!("{way} {figure}{each} ({}, {})", together(columns), together(&[row]))
        }
    }
}

/// `GPU 2: node 1 is 4.6x node 0 (H2D, 411.6 against 88.6 GB/s).`
fn sentence(at: &Standing, worst: &RankedPlace) -> String {
    let RankedPlace { name, ratio, .. } = worst;
    let half_width = at.half_width(worst);
    let (best, worst) = (show(&at.plane, at.best.cell), show(&at.plane, worst.cell));
    let like: Vec<&str> =
        at.others.iter().filter(|other| other.finding == CaseFinding::Same).map(|other| other.name).collect();
    let also = if like.is_empty() { String::new() } else { format!(" and {}", like.join(", ")) };
    let direction = way(at.plane.direction);

    if !headline::is_known(half_width) {
        let (subject, best, by) = (at.subject, at.best.name, headline::too_noisy(half_width));
        return format!(
            "{subject}: {best}{also} is faster than {name} ({direction}); {by} to say by how much."
        );
    }

    if at.plane.is_time() {
        let what = if at.plane.direction == Direction::CoreToGpu { "a flag round trip" } else { "a load" };
        return format!(
            "{}: {what} from {}{also} takes {best}, from {name} {worst} ({}).",
            at.subject,
            at.best.name,
            times(*ratio)
        );
    }

    format!(
        "{}: {}{also} is {} {name} ({direction}, {best} against {worst}).",
        at.subject,
        at.best.name,
        times(*ratio)
    )
}

/// Whether the fastest rows are those that the platform declares to be near.
fn agreement(matrix: &Matrix, all: &[&Standing]) -> Vec<String> {
    let (mut agree, mut undecided, mut open) = (Vec::new(), Vec::new(), Vec::new());
    let (mut unknown, mut said) = (Vec::new(), Vec::new());
    for column in &matrix.columns {
        let Some(nodes) = &column.declared_nodes.value else {
            unknown.push(column);
            continue;
        };
        let is_near = |place: &RankedPlace| {
            let row = matrix.rows.iter().find(|row| row.name == place.name);
            row.and_then(|row| row.memory_node).is_some_and(|node| nodes.contains(node))
        };
        let of = || all.iter().filter(|at| at.subject == column.name && !at.plane.is_time());
        let mut found: Vec<(&Standing, Near)> = of().map(|at| (*at, near(at, &is_near))).collect();
        found.retain(|(_, near)| *near != Near::NotCompared);
        if let Some((at, _)) = found.iter().find(|(_, near)| *near == Near::Slower) {
            said.push(format!(
                "{}: the topology declares node {nodes} near, but {} is faster ({}).",
                column.name,
                at.best.name,
                way(at.plane.direction)
            ));
        } else if found.iter().any(|(_, near)| *near == Near::Undecided) {
            undecided.push(column.name.as_str());
        } else if found.is_empty() {
            open.push(column.name.as_str());
        } else {
            agree.push(column.name.as_str());
        }
    }

    if !undecided.is_empty() {
        let rest = if !agree.is_empty() && open.is_empty() && said.is_empty() {
            "; it is right for the others"
        } else {
            ""
        };
        said.push(format!(
            "Undecided whether the topology is right for {} (a longer --max-time may decide){rest}.",
            undecided.join(", ")
        ));
    } else if !agree.is_empty() && said.is_empty() {
        said.push(agreed(&agree, &open));
    }

    if let Some(why) = unknown.first().and_then(|column| column.declared_nodes.reason.as_deref()) {
        let names: Vec<&str> = unknown.iter().map(|column: &&MatrixColumn| column.name.as_str()).collect();
        said.push(format!("NUMA node of {} unknown: {why}.", together(&names)));
    }
    said
}

/// That the topology is right, for these GPUs or for all; `open` are those of which nobody knows.
fn agreed(agree: &[&str], open: &[&str]) -> String {
    if open.is_empty() {
        return "The topology agrees: no GPU is faster from elsewhere than from the node that it declares to \
            be near."
            .to_owned();
    }
    format!(
        "The topology agrees for {}: not faster from elsewhere than from the node that it declares to be \
         near. Of {} nobody knows: it was not measured from that node, or from no other.",
        together(agree),
        together(open)
    )
}

/// How the places that are declared to be near compare with the others.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Near {
    /// One of them is surely no worse than any place elsewhere.
    Best,
    /// Each is surely slower than the best.
    Slower,
    Undecided,
    /// None of them was measured, or nothing else.
    NotCompared,
}

fn near(at: &Standing, is_near: &dyn Fn(&RankedPlace) -> bool) -> Near {
    let near: Vec<&RankedPlace> = at.places().filter(|place| is_near(place)).collect();
    let far = || at.places().filter(|place| !is_near(place));
    if near.is_empty() || far().next().is_none() {
        return Near::NotCompared;
    }
    if near.iter().all(|place| place.finding == CaseFinding::Worse) {
        return Near::Slower;
    }
    // One of several may be the one that is no worse: each has its part of the chance.
    let chance = ALPHA / near.len() as f64;
    let is_best =
        |place: &&RankedPlace| far().all(|other| at.compared.is_no_worse(place.number, other.number, chance));
    if near.iter().any(is_best) { Near::Best } else { Near::Undecided }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.*}x", if ratio < 1.995 { 2 } else { 1 })
}
