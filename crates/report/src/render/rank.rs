//! One rank: where it sat, what it measured, what was seen of its placement, what is wrong with its data.

use std::collections::BTreeMap;

use stats::flag::Flag;
use stats::summary::Summary;

use super::grid::Grid;
use super::groups::groups;
use super::numbers::{self, RateDecimals, TimeUnit};
use super::page::{Page, Tone};
use super::shown::{Shown, shown};
use super::{groups, placement, remarks, sweep, words};
use crate::Document;
use crate::rank::Rank;
use crate::result::RankResult;

pub(super) fn draw(document: &Document, rank: &Rank, quiet: bool, page: &mut Page) {
    let alone = document.ranks.len() == 1;
    heading(document, rank, page);
    if alone {
        remarks::before_one(rank, page);
    }
    if groups::is_sweep(document) {
        sweep::draw(document, rank, page);
    } else {
        // The 99th percentile is the first to go where the terminal is narrow; it is in the document.
        let wide = numbers_grid(document, rank, true);
        let grid = if wide.width() <= page.width() { wide } else { numbers_grid(document, rank, false) };
        grid.draw(page);
    }
    let results = results(document, rank);
    placement::draw(document, rank, &results, quiet, page);
    verification(&results, page);
    if alone && !quiet {
        remarks::after_one(document, page);
    }
    page.blank();
}

fn results<'a>(document: &'a Document, rank: &Rank) -> Vec<&'a RankResult> {
    document.cases.iter().flat_map(|case| &case.ranks).filter(|result| result.rank == rank.rank).collect()
}

fn heading(document: &Document, rank: &Rank, page: &mut Page) {
    let asked = &rank.asked;
    let node = asked.memory_node.map_or("memory left to the kernel".into(), |node| format!("memory on node {node}"));
    let device = document.devices.iter().find(|device| device.id == asked.device);
    let device = device.map_or_else(|| asked.device.clone(), words::device);
    let locality = words::locality(rank.locality);
    page.words(
        Tone::Title,
        &format!("Rank {}: ", rank.rank),
        &format!("PU {}, {node}, {device}, {locality}", asked.pu),
    );
}

/// A line a direction, under a caption for each size, kind of memory, clock and order. The units are those of all ranks,
/// so that ranks can be compared.
fn numbers_grid(document: &Document, rank: &Rank, with_p99: bool) -> Grid {
    let measured: Vec<(&Summary, Option<f64>)> = measured(document).collect();
    let unit = TimeUnit::for_largest(measured.iter().map(|(summary, _)| summary.median_ns));
    let decimals = RateDecimals::for_smallest(measured.iter().map(|(summary, _)| summary.bytes_per_s));
    let bounded = measured.iter().any(|(_, percent)| percent.is_some());

    let median = format!("median {}", unit.name());
    let mut header = vec!["", &median, "± 95 %", "mean", "std", "min"];
    header.extend(with_p99.then_some("p99"));
    header.extend(["max", "GB/s"]);
    header.extend(bounded.then_some("of bound"));
    let mut grid = Grid::new(1, &header);
    let mut timed = Vec::new();
    for group in groups(document) {
        grid.caption(group.caption);
        for case in group.cases {
            let label = words::direction(case.direction).to_owned();
            match shown(case, rank.rank) {
                Shown::Words { tone, text } => grid.words(vec![label], tone, text),
                Shown::Numbers { summary, percent_of_bound, flags, blocks, .. } => {
                    timed.extend(blocks);
                    let mut cells = vec![label, unit.show(summary.median_ns), numbers::half_width(summary)];
                    cells.push(unit.show(summary.mean_ns));
                    cells.push(summary.std_ns.map_or("–".into(), |std| unit.show(std)));
                    cells.push(unit.show(summary.min_ns));
                    cells.extend(with_p99.then(|| unit.show(summary.p99_ns)));
                    cells.push(unit.show(summary.max_ns));
                    cells.push(decimals.show(summary.bytes_per_s));
                    let percent = || percent_of_bound.map_or("–".into(), |percent| format!("{percent:.1} %"));
                    cells.extend(bounded.then(percent));
                    grid.row(cells, flags_note(flags));
                }
            }
        }
    }
    if let Some(text) = numbers::per_copy(timed.into_iter()) {
        grid.foot(Tone::Faint, text);
    }
    grid
}

/// The numbers that are shown, of all ranks, with their percent of the bound.
fn measured(document: &Document) -> impl Iterator<Item = (&Summary, Option<f64>)> {
    let all = document.cases.iter().flat_map(|case| document.ranks.iter().map(move |rank| shown(case, rank.rank)));
    all.filter_map(|shown| match shown {
        Shown::Numbers { summary, percent_of_bound, .. } => Some((summary, percent_of_bound)),
        Shown::Words { .. } => None,
    })
}

/// The names of flags as a note to a row; the closing section says what they mean.
fn flags_note(flags: &[Flag]) -> Vec<(Tone, String)> {
    if flags.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = flags.iter().map(|flag| flag.name()).collect();
    vec![(Tone::Warning, names.join(", "))]
}

/// What is wrong with the data; that all is well is a remark.
fn verification(results: &[&RankResult], page: &mut Page) {
    let (checked, not): (Vec<_>, Vec<_>) =
        results.iter().map(|result| &result.verification).partition(|check| check.checked);
    let differ = checked.iter().filter(|check| check.mismatch.is_some()).count();
    if differ > 0 {
        let text = format!("DATA DIFFERED in {differ} of {}", words::count(checked.len() as u64, "result"));
        page.key(Tone::Bad, "data", &text);
    }
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for check in not {
        *reasons.entry(check.reason.as_deref().unwrap_or("no reason was recorded")).or_default() += 1;
    }
    for (reason, n) in reasons {
        page.key(Tone::Warning, "data", &format!("NOT VERIFIED in {n} of {}: {reason}", results.len()));
    }
}
