//! What a matrix says, in sentences: how much it matters where memory lies, for each GPU (or each core's row) which place is best, and whether
//! that is what the platform declares.
//!
//! Places are compared by blocks: first whether those of a subject differ at all (Kruskal-Wallis, and the analysis of variance of what their allocations
//! of memory gave; Holm over all subjects), then each with the best: the ratio of
//! medians with its interval, the rank test, and the medians of allocations; 1 % is no difference. Only what is certain is called faster.

use report::Document;
use report::matrix::{Compares, Matrix, MatrixColumn};
use report::settings::Direction;
use stats::compare::compare;
use stats::f_test::f_test_p;
use stats::holm::holm;
use stats::kruskal_wallis::kruskal_wallis_p;

use super::absent;
use super::all_at_once;
use super::finding::{ALPHA, Finding, allocations_differ, worse};
use super::load;
use super::pairs;
use super::words::{show, way};
use super::{Cell, MatrixFigures, Plane};

/// What is added where a matrix has one place only.
const NOTHING_BESIDE: &str = " There is one place only, and nothing to compare it with.";

/// Of a subject (a GPU, a row) in one plane: its best place and how the others compare.
struct Standing<'a> {
    subject: &'a str,
    plane: Plane,
    best: (&'a str, Cell),
    /// The others, and how many times worse than the best each is.
    others: Vec<(&'a str, Cell, f64, Finding)>,
}

impl Standing<'_> {
    /// The worst of those that are worse for certain.
    fn worst(&self) -> Option<&(&str, Cell, f64, Finding)> {
        let worse = self.others.iter().filter(|(_, _, _, finding)| *finding == Finding::Worse);
        worse.max_by(|a, b| a.2.total_cmp(&b.2))
    }

    fn is_best_or_same(&self, name: &str) -> bool {
        self.best.0 == name
            || self.others.iter().any(|(other, _, _, finding)| *other == name && *finding != Finding::Worse)
    }
}

/// The sentences, the answer first; none where there is no matrix.
pub fn verdict(document: &Document) -> Vec<String> {
    let seed = document.settings.seed;
    let of = |matrix: &Matrix| match matrix.compares {
        Compares::Rows | Compares::Columns => {
            by_kernel(document, matrix, [places(document, matrix, seed), absent::said(document, matrix)].concat())
        }
        Compares::Load => load::said(document, matrix, seed),
        Compares::Pairs => [pairs::said(document, matrix), absent::said(document, matrix)].concat(),
        Compares::Together => all_at_once::said(document, matrix),
        // What these say is said of all of them together (`groups`); so it is of GPUs at once that copy host memory.
        Compares::Cores | Compares::Beside | Compares::ButOne | Compares::Newer => Vec::new(),
        // A curve's words are its own (`latency_curves`).
        Compares::Loaded => Vec::new(),
    };
    document.matrices.iter().flat_map(of).collect()
}

/// The sentences, the first of which says so where they are of copies by a kernel beside others.
fn by_kernel(document: &Document, matrix: &Matrix, mut said: Vec<String>) -> Vec<String> {
    if let Some(first) = said.first_mut().filter(|_| matrix.engine(&document.settings) != document.settings.engine) {
        *first = format!("Copies by a kernel: {}", first.strip_suffix(NOTHING_BESIDE).unwrap_or(first));
    }
    said
}

fn places(document: &Document, matrix: &Matrix, seed: u64) -> Vec<String> {
    let mut all: Vec<Standing> =
        matrix.planes(document).iter().flat_map(|plane| standings(document, matrix, plane, seed)).collect();
    doubt(&mut all);
    let by_rows = matrix.compares == Compares::Rows;
    let flags = all.iter().any(|at| at.plane.direction == Direction::CoreToGpu);
    let what = match (by_rows, flags) {
        (_, true) => "which core asks",
        (true, _) => "where host memory lies",
        _ => "which memory a core uses",
    };
    let mut said = Vec::new();
    let Some(most) = all.iter().filter_map(|at| Some((at, at.worst()?))).max_by(|a, b| a.1.2.total_cmp(&b.1.2)) else {
        let undecided = all.iter().flat_map(|at| &at.others).filter(|other| other.3 == Finding::Undecided).count();
        said.push(match (all.is_empty(), undecided) {
            (true, _) => only(document, matrix),
            (false, 0) => format!("No measurable difference: {what} changes no figure by more than 1 %."),
            (false, some) => {
                format!("No certain effect of {what}: {some} comparisons are undecided (a longer --max-time may decide them).")
            }
        });
        if by_rows {
            said.extend(agreement(matrix, &all));
        }
        return said;
    };
    let ratio = most.1.2;
    let mut head = what.to_owned();
    head.replace_range(..1, &what[..1].to_uppercase());
    said.push(format!("{head} matters: up to {} ({}, {}).", times(ratio), most.0.subject, way(most.0.plane.direction)));
    let mut subjects: Vec<&str> = Vec::new();
    for at in &all {
        if !subjects.contains(&at.subject) {
            subjects.push(at.subject);
        }
    }
    for subject in subjects {
        let of = || all.iter().filter(|at| at.subject == subject);
        // Of the rates and of the times the plane that shows most.
        let mut told = false;
        for time in [false, true] {
            let shown = of().filter(|at| at.plane.is_time() == time).filter_map(|at| Some((at, at.worst()?)));
            if let Some((at, worst)) = shown.max_by(|a, b| a.1.2.total_cmp(&b.1.2)) {
                said.push(sentence(at, worst));
                told = true;
            }
        }
        if !told {
            said.push(format!("{subject}: no measurable difference."));
        }
    }
    if by_rows {
        said.extend(agreement(matrix, &all));
    }
    said
}

/// The figures where there is nothing to compare them with: `H2D 53.6 to 54.0 GB/s (node 0 and GPU 0, GPU 1). …`.
fn only(document: &Document, matrix: &Matrix) -> String {
    let mut figures = Vec::new();
    for plane in matrix.planes(document) {
        for (r, row) in matrix.rows.iter().enumerate() {
            let cell = |(c, column): (usize, &'_ MatrixColumn)| {
                Some((column.name.clone(), matrix.cell(document, &plane, r, c)?.ok()?.median))
            };
            let cells: Vec<(String, f64)> = matrix.columns.iter().enumerate().filter_map(cell).collect();
            let medians = || cells.iter().map(|(_, median)| *median);
            let (Some(least), Some(most)) = (medians().reduce(f64::min), medians().reduce(f64::max)) else { continue };
            let (least, most) = (show(&plane, least), show(&plane, most));
            let figure = match least.split_once(' ') {
                Some((number, _)) if least != most => format!("{number} to {most}"),
                _ => most,
            };
            let columns: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
            figures.push(format!("{} {figure} ({} and {})", way(plane.direction), row.name, columns.join(", ")));
        }
    }
    match figures.is_empty() {
        true => "No figure was measured.".to_owned(),
        false => format!("{}.{NOTHING_BESIDE}", figures.join("; ")),
    }
}

/// `GPU 2: node 1 is 4.6x node 0 (H2D, 411.6 against 88.6 GB/s).`
fn sentence(at: &Standing, worst: &(&str, Cell, f64, Finding)) -> String {
    let (name, cell, ratio, _) = worst;
    let (best, worst) = (show(&at.plane, at.best.1.median), show(&at.plane, cell.median));
    let like: Vec<&str> = at.others.iter().filter(|other| other.3 == Finding::Same).map(|other| other.0).collect();
    let also = if like.is_empty() { String::new() } else { format!(" and {}", like.join(", ")) };
    let direction = way(at.plane.direction);
    if at.plane.is_time() {
        let what = if at.plane.direction == Direction::CoreToGpu { "a flag to the GPU and back" } else { "a load" };
        return format!(
            "{}: {what} from {}{also} takes {best}, from {name} {worst} ({}).",
            at.subject,
            at.best.0,
            times(*ratio)
        );
    }
    format!("{}: {}{also} is {} {name} ({direction}, {best} against {worst}).", at.subject, at.best.0, times(*ratio))
}

/// Whether the fastest rows are those that the platform declares to be near.
fn agreement(matrix: &Matrix, all: &[Standing]) -> Vec<String> {
    let (mut agree, mut unknown, mut said) = (0, Vec::new(), Vec::new());
    for column in &matrix.columns {
        let Some(nodes) = &column.declared_nodes.value else {
            unknown.push(column);
            continue;
        };
        let near: Vec<&str> = matrix
            .rows
            .iter()
            .filter(|row| row.reason.is_none() && row.memory_node.is_some_and(|node| nodes.contains(node)))
            .map(|row| row.name.as_str())
            .collect();
        let of = || all.iter().filter(|at| at.subject == column.name && !at.plane.is_time());
        let contradicts = of().find(|at| !near.is_empty() && !near.iter().any(|name| at.is_best_or_same(name)));
        match contradicts {
            Some(at) => said.push(format!(
                "{}: the topology says that node {nodes} is near, and {} is faster ({}).",
                column.name,
                at.best.0,
                way(at.plane.direction)
            )),
            None if !near.is_empty() && of().next().is_some() => agree += 1,
            None => {}
        }
    }
    if agree > 0 && said.is_empty() {
        said.push(
            "The topology agrees: no GPU is faster from elsewhere than from the node that it declares to be near."
                .to_owned(),
        );
    }
    if let Some(why) = unknown.first().and_then(|column| column.declared_nodes.reason.as_deref()) {
        let names: Vec<&str> = unknown.iter().map(|column: &&MatrixColumn| column.name.as_str()).collect();
        said.push(format!("The topology does not say where {} is: {why}.", names.join(", ")));
    }
    said
}

fn standings<'a>(document: &Document, matrix: &'a Matrix, plane: &Plane, seed: u64) -> Vec<Standing<'a>> {
    let by_rows = matrix.compares == Compares::Rows;
    let rows: Vec<&str> = matrix.rows.iter().map(|row| row.name.as_str()).collect();
    let columns: Vec<&str> = matrix.columns.iter().map(|column| column.name.as_str()).collect();
    let (subjects, places) = if by_rows { (&columns, &rows) } else { (&rows, &columns) };
    let standing = |(s, subject): (usize, &&'a str)| {
        let cell = |p: usize| {
            let (row, column) = if by_rows { (p, s) } else { (s, p) };
            matrix.cell(document, plane, row, column)?.ok()
        };
        let mut cells: Vec<(&str, Cell)> =
            places.iter().enumerate().filter_map(|(p, name)| Some((*name, cell(p)?))).collect();
        let sign = if plane.is_time() { 1.0 } else { -1.0 };
        let best =
            (0..cells.len()).min_by(|a, b| (sign * cells[*a].1.median).total_cmp(&(sign * cells[*b].1.median)))?;
        let best = cells.remove(best);
        let other = |(name, cell): (&'a str, Cell)| {
            let found = compare(&best.1.blocks, &cell.blocks, seed);
            let finding = match found.as_ref().map_or(Finding::Undecided, |found| worse(plane, found)) {
                Finding::Worse if !allocations_differ(&best.1, &cell) => Finding::Undecided,
                other => other,
            };
            let ratio = if plane.is_time() { cell.median / best.1.median } else { best.1.median / cell.median };
            (name, cell, ratio, finding)
        };
        let others: Vec<_> = cells.into_iter().map(other).collect();
        (!others.is_empty()).then_some(Standing { subject, plane: *plane, best, others })
    };
    subjects.iter().enumerate().filter_map(standing).collect()
}

/// Where the places of a subject do not surely differ at all, none is worse than its best: of several alike one always is the best, and would be found better than some.
fn doubt(all: &mut [Standing]) {
    let p_of = |at: &Standing| {
        let sets: Vec<&[f64]> = std::iter::once(&at.best.1)
            .chain(at.others.iter().map(|other| &other.1))
            .map(|cell| &cell.blocks[..])
            .collect();
        let cells = std::iter::once(&at.best.1).chain(at.others.iter().map(|other| &other.1));
        let allocations: Vec<&[f64]> = cells.map(|cell| &cell.allocations[..]).collect();
        // Where allocations say nothing, blocks decide alone.
        kruskal_wallis_p(&sets).unwrap_or(1.0).max(f_test_p(&allocations).unwrap_or(0.0))
    };
    let p_values: Vec<f64> = all.iter().map(p_of).collect();
    for (at, p) in all.iter_mut().zip(holm(&p_values)) {
        let worse = at.others.iter_mut().filter(|other| other.3 == Finding::Worse);
        worse.filter(|_| p >= ALPHA).for_each(|other| other.3 = Finding::Undecided);
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.*}x", if ratio < 1.995 { 2 } else { 1 })
}
