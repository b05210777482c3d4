//! One rank: where it sat, what it measured, what was seen of its placement and of its data.

use std::collections::BTreeMap;

use stats::flag::Flag;
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
        numbers_grid(document, rank).draw(page);
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

/// A line a direction, under a caption for each size, kind of memory, clock and order.
fn numbers_grid(document: &Document, rank: &Rank) -> Grid {
    let results: Vec<_> = document.cases.iter().map(|case| shown(case, rank.rank)).collect();
    let summaries = || {
        results.iter().filter_map(|shown| match shown {
            Shown::Numbers { summary, .. } => Some(*summary),
            Shown::Words { .. } => None,
        })
    };
    let unit = TimeUnit::for_largest(summaries().map(|summary| summary.median_ns));
    let decimals = RateDecimals::for_smallest(summaries().map(|summary| summary.bytes_per_s));
    let bounded = results.iter().any(|shown| matches!(shown, Shown::Numbers { percent_of_bound: Some(_), .. }));
    let median = format!("median {}", unit.name());
    let mut header = vec!["", &median, "95 %", "mean", "std", "min", "max", "GB/s"];
    if bounded {
        header.push("of bound");
    }
    let mut grid = Grid::new(1, &header);
    for group in groups(document) {
        grid.caption(group.caption);
        for case in group.cases {
            let label = words::direction(case.direction).to_owned();
            match shown(case, rank.rank) {
                Shown::Words { tone, text } => grid.words(vec![label], tone, text),
                Shown::Numbers { summary, percent_of_bound, flags, .. } => {
                    let mut cells = vec![label, unit.show(summary.median_ns), numbers::half_width(summary)];
                    cells.push(unit.show(summary.mean_ns));
                    cells.push(summary.std_ns.map_or("–".into(), |std| unit.show(std)));
                    cells.extend([unit.show(summary.min_ns), unit.show(summary.max_ns)]);
                    cells.push(decimals.show(summary.bytes_per_s));
                    if bounded {
                        cells.push(percent_of_bound.map_or("–".into(), |percent| format!("{percent:.1} %")));
                    }
                    grid.row(cells, flags_note("", flags));
                }
            }
        }
    }
    grid
}

/// The names of flags as a note to a row; the closing section says what they mean.
pub(super) fn flags_note(lead: &str, flags: &[Flag]) -> Vec<(Tone, String)> {
    if flags.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = flags.iter().map(|flag| flag.name()).collect();
    vec![(Tone::Warning, format!("{lead}{}", names.join(", ")))]
}

fn verification(results: &[&RankResult], quiet: bool, page: &mut Page) {
    let checked: Vec<_> = results.iter().map(|result| &result.verification).filter(|check| check.checked).collect();
    let mut reasons: Vec<&str> = Vec::new();
    for check in results.iter().map(|result| &result.verification).filter(|check| !check.checked) {
        let reason = check.reason.as_deref().unwrap_or("no reason was recorded");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
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
    for reason in reasons {
        page.key(Tone::Warning, "data", &format!("NOT VERIFIED in some results: {reason}"));
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
    let far_out = format!("{outliers} of them far out (counted, not dropped)");
    page.key(Tone::Plain, "counted", &format!("{blocks}, {rounds}, {far_out}; cases ended by: {}", ended.join(", ")));
}
