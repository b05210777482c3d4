//! A rank's sweep over sizes: a line a size, columns by direction, a table for each kind of memory, clock and
//! order.
//!
//! Directions that do not fit beside each other get a table of their own; no column is left out for lack of
//! room. Flags are letters behind the rate they belong to, so that a noisy machine's sweep is still a line a
//! size; the line under the table names the letters it has.

use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::rank::Rank;
use report::result::BlockSample;
use report::settings::Direction;
use stats::alike::{distinct, grouped};
use stats::flag::Flag;
use stats::summary::Summary;
use stats::units;

use super::grid::TextGrid;
use super::groups::{Group, groups};
use super::numbers::{self, RateDecimals, TimeUnit};
use super::page::{Page, Tone};
use super::visible_cells::{Shown, shown};
use super::words;

pub(super) fn draw(document: &Document, rank: &Rank, page: &mut Page) {
    for group in groups(document) {
        let directions: Vec<Direction> = distinct(group.cases.iter().map(|case| case.direction));
        let mut rest = &directions[..];
        while !rest.is_empty() {
            // As many directions as fit, but at least one.
            let fitting = (2..=rest.len())
                .rev()
                .find(|&n| grid(document, &group, rank, &rest[..n]).width() <= page.width());
            let (now, later) = rest.split_at(fitting.unwrap_or(1));
            grid(document, &group, rank, now).draw(page);
            page.blank();
            rest = later;
        }
    }
}

fn grid(document: &Document, group: &Group<'_>, rank: &Rank, directions: &[Direction]) -> TextGrid {
    let columns: Vec<Column> =
        directions.iter().map(|&direction| Column::of(group, rank, direction)).collect();
    let summaries = || columns.iter().flat_map(Column::summaries);
    let unit = TimeUnit::for_sweep(summaries().map(|summary| summary.median_ns));
    let decimals = RateDecimals::for_smallest(summaries().map(|summary| summary.median_bytes_per_s));
    let flags: BTreeSet<Flag> = columns.iter().flat_map(Column::flags).collect();

    let (mut header, mut marks) = (vec!["size".to_owned()], Vec::new());
    for column in &columns {
        header.push(format!("{} {}", words::direction_in(document, column.direction), unit.name));
        header.extend(["± 95 %", "GB/s"].map(String::from));
        if column.flags().next().is_some() {
            marks.push(header.len());
            header.push(String::new());
        }
    }
    let mut grid = TextGrid::new(1, &header);
    grid.marks(marks);
    grid.caption(group.caption.clone());
    let sizes: BTreeSet<u64> = columns.iter().flat_map(|column| column.by_size.keys().copied()).collect();
    for bytes in sizes {
        row(document, &columns, bytes, unit, decimals, &mut grid);
    }
    if !flags.is_empty() {
        grid.foot(Tone::Warning, words::flag_letters(&flags));
    }
    if let Some(text) = numbers::per_copy(columns.iter().flat_map(Column::blocks)) {
        grid.foot(Tone::Faint, text);
    }
    grid
}

/// One direction's results in a group, on one rank.
struct Column<'a> {
    direction: Direction,
    by_size: BTreeMap<u64, Shown<'a>>,
}

impl<'a> Column<'a> {
    fn of(group: &Group<'a>, rank: &Rank, direction: Direction) -> Self {
        let cases = group.cases.iter().copied().filter(|case| case.direction == direction);
        Self { direction, by_size: cases.map(|case| (case.bytes, shown(case, rank.rank))).collect() }
    }

    fn summaries(&self) -> impl Iterator<Item = &'a Summary> {
        self.numbers().map(|(summary, _, _)| summary)
    }

    fn flags(&self) -> impl Iterator<Item = Flag> {
        self.numbers().flat_map(|(_, flags, _)| flags).copied()
    }

    fn blocks(&self) -> impl Iterator<Item = &'a BlockSample> {
        self.numbers().flat_map(|(_, _, blocks)| blocks)
    }

    fn numbers(&self) -> impl Iterator<Item = (&'a Summary, &'a [Flag], &'a [BlockSample])> {
        self.by_size.values().filter_map(|shown| match shown {
            Shown::Numbers { summary, flags, blocks, .. } => Some((*summary, *flags, *blocks)),
            Shown::Words { .. } => None,
        })
    }
}

/// The line of a size. Words that stand for all its directions take the place of its numbers; others follow
/// it, each with the directions they are said of.
fn row(
    document: &Document,
    columns: &[Column<'_>],
    bytes: u64,
    unit: TimeUnit,
    decimals: RateDecimals,
    grid: &mut TextGrid,
) {
    let mut cells = vec![units::size(bytes)];
    let mut said: Vec<((Tone, &str), &str)> = Vec::new();
    for column in columns {
        let (three, letters) = match column.by_size.get(&bytes) {
            Some(Shown::Numbers { summary, flags, .. }) => {
                let (median, rate) =
                    (unit.show(summary.median_ns), decimals.show(summary.median_bytes_per_s));
                let letters = flags.iter().map(|&flag| words::flag_letter(flag)).collect();
                ([median, numbers::half_width(summary), rate], letters)
            }
            Some(Shown::Words { tone, text }) => {
                said.push(((*tone, text), words::direction_in(document, column.direction)));
                (DASHES.map(String::from), String::new())
            }
            // Timed by another clock: it is in another table.
            None => (DASHES.map(String::from), String::new()),
        };
        cells.extend(three);
        cells.extend(column.flags().next().map(|_| letters));
    }

    let said: Vec<(_, Vec<&str>)> = grouped(said);

    match &said[..] {
        [((tone, text), directions)] if directions.len() == columns.len() => {
            cells.truncate(1);
            grid.text_row(cells, *tone, (*text).to_owned());
        }
        _ => {
            let note = |((tone, text), directions): ((Tone, &str), Vec<&str>)| {
                (tone, format!("{}: {text}", directions.join(", ")))
            };
            grid.row(cells, said.into_iter().map(note).collect());
        }
    }
}

const DASHES: [&str; 3] = ["–"; 3];
