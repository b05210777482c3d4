//! One rank: where it sat, what it measured, what was seen of its placement and of its data.

use std::collections::BTreeMap;

use stats::flag::Flag;
use stats::summary::Summary;
use stats::units;

use super::grid::Grid;
use super::groups::groups;
use super::numbers::{self, RateDecimals, TimeUnit};
use super::page::{Page, Tone};
use super::shown::{Shown, shown};
use super::{groups, placement, sweep, words};
use crate::Document;
use crate::rank::{ChosenBy, Locality, Rank};
use crate::result::RankResult;

pub(super) fn draw(document: &Document, rank: &Rank, quiet: bool, page: &mut Page) {
    heading(document, rank, page);
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
    verification(&results, quiet, page);
    if !quiet {
        counts(document, rank, page);
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
    let (tone, said) = match rank.locality {
        Locality::Remote | Locality::SamePackage => (Tone::Warning, true),
        Locality::Unknown => (Tone::Faint, true),
        Locality::L3Local | Locality::NumaLocal | Locality::Newer => (Tone::Plain, false),
    };
    if said {
        page.key(tone, "locality", &rank.locality_reason);
    }
    if let ChosenBy::Automatic { rule } = &rank.chosen_by {
        page.key(Tone::Plain, "PU chosen", rule);
    }
    for note in &rank.notes {
        page.key(Tone::Warning, "note", note);
    }
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

fn verification(results: &[&RankResult], quiet: bool, page: &mut Page) {
    let checked: Vec<_> = results.iter().map(|result| &result.verification).filter(|check| check.checked).collect();
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for check in results.iter().map(|result| &result.verification).filter(|check| !check.checked) {
        *reasons.entry(check.reason.as_deref().unwrap_or("no reason was recorded")).or_default() += 1;
    }
    let differ = checked.iter().filter(|check| check.mismatch.is_some()).count();
    let bytes = checked.iter().map(|check| check.bytes_checked).sum();
    let blocks = checked.iter().map(|check| check.blocks_checked).sum();
    if differ > 0 {
        let text = format!("DATA DIFFERED in {differ} of {}", words::count(checked.len() as u64, "result"));
        page.key(Tone::Bad, "data", &text);
    } else if !checked.is_empty() && !quiet {
        let (blocks, bytes) = (words::count(blocks, "block"), units::rounded_size(bytes));
        page.key(Tone::Plain, "data", &format!("verified after {blocks}, {bytes} compared, no byte differed"));
    }
    for (reason, n) in reasons {
        page.key(Tone::Warning, "data", &format!("NOT VERIFIED in {n} of {}: {reason}", results.len()));
    }
}

/// How much was measured and why it ended.
fn counts(document: &Document, rank: &Rank, page: &mut Page) {
    let (mut blocks, mut rounds, mut outliers) = (0, 0, 0);
    let mut stops: BTreeMap<&str, u64> = BTreeMap::new();
    for case in &document.cases {
        if let Shown::Numbers { summary, stop_reason, .. } = shown(case, rank.rank) {
            blocks += summary.blocks;
            rounds += summary.rounds;
            outliers += summary.outliers;
            *stops.entry(stop_reason.name()).or_default() += 1;
        }
    }
    if blocks == 0 {
        return;
    }
    let ended: Vec<String> = stops.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let (blocks, rounds) = (words::count(blocks, "block"), words::count(rounds, "round"));
    let far_out = format!("{outliers} far out (counted, not dropped)");
    page.key(Tone::Plain, "counted", &format!("{blocks}, {rounds}, {far_out}; ended by: {}", ended.join(", ")));
}
