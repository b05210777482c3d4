//! A rank's sweep over sizes: a line a size, columns by direction, a table for each kind of memory, clock and order.
//!
//! Directions that do not fit beside each other get a table of their own; no column is left out for lack of room.

use stats::units;

use super::grid::Grid;
use super::groups::{Group, groups};
use super::numbers::{self, RateDecimals, TimeUnit};
use super::page::{Page, Tone};
use super::rank::flags_note;
use super::shown::{Shown, shown};
use super::words;
use crate::Document;
use crate::case::Case;
use crate::rank::Rank;
use crate::settings::Direction;

pub(super) fn draw(document: &Document, rank: &Rank, page: &mut Page) {
    for group in groups(document) {
        let mut directions: Vec<Direction> = Vec::new();
        for case in &group.cases {
            if !directions.contains(&case.direction) {
                directions.push(case.direction);
            }
        }
        let mut rest = &directions[..];
        while !rest.is_empty() {
            // As many directions as fit, but at least one.
            let fitting = (2..=rest.len()).rev().find(|&n| grid(&group, rank, &rest[..n]).width() <= page.width());
            let (now, later) = rest.split_at(fitting.unwrap_or(1));
            grid(&group, rank, now).draw(page);
            page.blank();
            rest = later;
        }
    }
}

fn grid(group: &Group<'_>, rank: &Rank, directions: &[Direction]) -> Grid {
    let cases = || group.cases.iter().copied().filter(|case| directions.contains(&case.direction));
    let summaries: Vec<_> = cases()
        .filter_map(|case| match shown(case, rank.rank) {
            Shown::Numbers { summary, .. } => Some(summary),
            Shown::Words { .. } => None,
        })
        .collect();
    let unit = TimeUnit::for_sweep(summaries.iter().map(|summary| summary.median_ns));
    let decimals = RateDecimals::for_smallest(summaries.iter().map(|summary| summary.bytes_per_s));

    let medians: Vec<String> = directions.iter().map(|&d| format!("{} {}", words::direction(d), unit.name())).collect();
    let mut header = vec!["size"];
    for median in &medians {
        header.extend([median.as_str(), "± 95 %", "GB/s"]);
    }
    let mut grid = Grid::new(1, &header);
    grid.caption(group.caption.clone());

    let mut sizes: Vec<u64> = cases().map(|case| case.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for bytes in sizes {
        let (mut cells, mut notes) = (vec![units::size(bytes)], Vec::new());
        for &direction in directions {
            let case = cases().find(|case| case.bytes == bytes && case.direction == direction);
            let (three, said) = cell(case, rank, direction, unit, decimals);
            cells.extend(three);
            notes.extend(said);
        }
        grid.row(cells, notes);
    }
    grid
}

/// Median, interval and rate of one case, and what is to be said of it.
fn cell(
    case: Option<&Case>,
    rank: &Rank,
    direction: Direction,
    unit: TimeUnit,
    decimals: RateDecimals,
) -> ([String; 3], Vec<(Tone, String)>) {
    let dashes = || ["–", "–", "–"].map(String::from);
    let lead = format!("{}: ", words::direction(direction));
    match case.map(|case| shown(case, rank.rank)) {
        // Timed by another clock: it is in another table.
        None => (dashes(), Vec::new()),
        Some(Shown::Words { tone, text }) => (dashes(), vec![(tone, format!("{lead}{text}"))]),
        Some(Shown::Numbers { summary, flags, .. }) => {
            let cells =
                [unit.show(summary.median_ns), numbers::half_width(summary), decimals.show(summary.bytes_per_s)];
            (cells, flags_note(&lead, flags))
        }
    }
}
