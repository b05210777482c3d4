//! What a matrix says, in sentences: how much it matters where memory lies, for each GPU (or each core's row) which place is best, and whether
//! that is what the platform declares.
//!
//! Places are compared by blocks: first whether those of a subject differ at all (Kruskal-Wallis, Holm over all subjects), then each with the best: the ratio of
//! medians with its interval and the rank test, and 1 % is no difference. Only what is certain is called faster.

use stats::compare::{Comparison, Verdict, compare};
use stats::holm::holm;
use stats::kruskal_wallis::kruskal_wallis_p;

use super::absent;
use super::pairs;
use super::words::{show, way};
use super::{Cell, Compares, Matrix, MatrixColumn, MatrixRow, Plane};
use crate::Document;

/// Of a subject (a GPU, a row) in one plane: its best place and how the others compare.
struct Standing<'a> {
    subject: &'a str,
    plane: Plane,
    best: (&'a str, Cell),
    /// The others, and how many times worse than the best each is.
    others: Vec<(&'a str, Cell, f64, Finding)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Finding {
    Same,
    Worse,
    Undecided,
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
        Compares::Rows | Compares::Columns => [places(document, matrix, seed), absent::said(document, matrix)].concat(),
        Compares::Load => load(document, matrix, seed),
        Compares::Pairs => [pairs::said(document, matrix), absent::said(document, matrix)].concat(),
        // What these say is said of all of them together (`groups`).
        Compares::Cores | Compares::Beside | Compares::ButOne | Compares::Together | Compares::Newer => Vec::new(),
        // A curve's words are its own (`latency_curves`).
        Compares::Loaded => Vec::new(),
    };
    document.matrices.iter().flat_map(of).collect()
}

fn places(document: &Document, matrix: &Matrix, seed: u64) -> Vec<String> {
    let mut all: Vec<Standing> =
        matrix.planes(document).iter().flat_map(|plane| standings(document, matrix, plane, seed)).collect();
    doubt(&mut all);
    let by_rows = matrix.compares == Compares::Rows;
    let what = if by_rows { "where host memory lies" } else { "which memory a core uses" };
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
        false => format!("{}. There is one place only, and nothing to compare it with.", figures.join("; ")),
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
        return format!(
            "{}: a load from {}{also} takes {best}, from {name} {worst} ({}).",
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

/// Together less than this part of what they get alone: they share something.
const SHARED: f64 = 0.95;

/// What more at once costs: what each row's ranks get together against what they get alone, which is the first row.
fn load(document: &Document, matrix: &Matrix, seed: u64) -> Vec<String> {
    matrix.planes(document).iter().flat_map(|plane| load_of(document, matrix, plane, seed)).collect()
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

fn load_of(document: &Document, matrix: &Matrix, plane: &Plane, seed: u64) -> Vec<String> {
    let cell = |row: usize, column: usize| matrix.cell(document, plane, row, column)?.ok();
    let at_once = |row: usize| {
        let mut found =
            AtOnce { row: &matrix.rows[row], ranks: 0, sum: 0.0, alone: 0.0, losers: 0, worst: ("", f64::MAX) };
        for (at, column) in matrix.columns.iter().enumerate() {
            let Some(both) = cell(row, at) else { continue };
            // Ranks that are alike are measured alone once.
            let Some(alone) = cell(0, at).or_else(|| cell(0, 0)) else { continue };
            found.ranks += 1;
            found.sum += both.median;
            found.alone += alone.median;
            let part = both.median / alone.median;
            let loses =
                compare(&alone.blocks, &both.blocks, seed).is_some_and(|found| worse(plane, &found) == Finding::Worse);
            found.losers += usize::from(loses);
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
        return beside(document, matrix, plane, seed);
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
fn beside(document: &Document, matrix: &Matrix, plane: &Plane, seed: u64) -> Vec<String> {
    let mut said = Vec::new();
    let direction = way(plane.direction);
    for (c, column) in matrix.columns.iter().enumerate() {
        let mut found: Option<(f64, String)> = None;
        let (mut compared, mut without) = (0, 0);
        for (r, row) in matrix.rows.iter().enumerate() {
            let ranks = row.ranks.and(&column.ranks);
            let is_base = |other: &usize| matrix.rows[*other].ranks.and(&column.ranks) == ranks;
            let cell = |row: usize| matrix.cell(document, plane, row, c)?.ok();
            let Some((base, alone)) = (0..r).filter(is_base).find_map(|other| Some((other, cell(other)?))) else {
                continue;
            };
            let Some(here) = cell(r) else {
                without += 1;
                continue;
            };
            compared += 1;
            let part = here.median / alone.median;
            let loses =
                compare(&alone.blocks, &here.blocks, seed).is_some_and(|found| worse(plane, &found) == Finding::Worse);
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
            let finding = found.as_ref().map_or(Finding::Undecided, |found| worse(plane, found));
            let ratio = if plane.is_time() { cell.median / best.1.median } else { best.1.median / cell.median };
            (name, cell, ratio, finding)
        };
        let others: Vec<_> = cells.into_iter().map(other).collect();
        (!others.is_empty()).then_some(Standing { subject, plane: *plane, best, others })
    };
    subjects.iter().enumerate().filter_map(standing).collect()
}

/// The chance that places alike are said to differ, over all that a matrix says.
const ALPHA: f64 = 0.05;

/// Where the places of a subject do not surely differ at all, none is worse than its best: of several alike one always is the best, and would be found better than some.
fn doubt(all: &mut [Standing]) {
    let p_of = |at: &Standing| {
        let sets: Vec<&[f64]> = std::iter::once(&at.best.1)
            .chain(at.others.iter().map(|other| &other.1))
            .map(|cell| &cell.blocks[..])
            .collect();
        kruskal_wallis_p(&sets).unwrap_or(1.0)
    };
    let p_values: Vec<f64> = all.iter().map(p_of).collect();
    for (at, p) in all.iter_mut().zip(holm(&p_values)) {
        let worse = at.others.iter_mut().filter(|other| other.3 == Finding::Worse);
        worse.filter(|_| p >= ALPHA).for_each(|other| other.3 = Finding::Undecided);
    }
}

/// What a comparison of the better with another comes to.
fn worse(plane: &Plane, found: &Comparison) -> Finding {
    match (found.verdict, plane.is_time()) {
        (Verdict::Lower, false) | (Verdict::Higher, true) => Finding::Worse,
        (Verdict::Undecided, _) => Finding::Undecided,
        _ => Finding::Same,
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.*}x", if ratio < 1.995 { 2 } else { 1 })
}
