//! A sweep on a screen: a small curve of its rates in letters, and a few of its sizes as numbers.
//!
//! rasciigraph draws the curve: it has no dependency of its own. Braille would be finer, but textplots brings
//! code under MPL, and ratatui twenty crates.

use std::collections::{BTreeMap, BTreeSet};

use rasciigraph::{Config, plot_many};
use report::Document;
use report::case::Order;
use report::row::{Row, RowStatus};
use report::settings::{Direction, MemoryKind};
use stats::interval::Interval;
use stats::units::size;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::{groups, words};
use crate::{digits, names};

/// Lines of a curve.
const TALL: u32 = 8;
/// Columns of one.
const WIDEST: usize = 72;
/// Sizes that have a row of numbers.
const SIZES: usize = 8;
/// More curves cannot be told apart: of more ranks the slowest and the fastest have one.
const CURVES: usize = 4;
/// Before the curve stand the numbers of its axis.
const AXIS: usize = 10;

/// The rates of a rank in a direction, by size.
struct Sweep {
    name: String,
    rates: BTreeMap<u64, (f64, Option<Interval>)>,
}

impl Sweep {
    fn last(&self) -> f64 {
        self.rates.last_key_value().map_or(0.0, |(_, (rate, _))| *rate)
    }

    /// The rate at a size: linear in the logarithm of the size, constant beyond the sizes that were measured.
    fn at(&self, bytes: f64) -> f64 {
        let known = |(bytes, (rate, _)): (&u64, &(f64, Option<Interval>))| ((*bytes as f64).ln(), *rate);
        let below = self.rates.iter().map(known).take_while(|(at, _)| *at <= bytes.ln() + 1e-9).last();
        let above = self.rates.iter().map(known).find(|(at, _)| *at >= bytes.ln());
        match (below, above) {
            (Some((from, low)), Some((to, high))) if to > from => {
                low + (high - low) * (bytes.ln() - from) / (to - from)
            }
            (Some((_, rate)), _) | (_, Some((_, rate))) => rate,
            (None, None) => 0.0,
        }
    }
}

/// The rows of each direction and rank.
type ByRank<'r> = BTreeMap<(Direction, u32), Vec<&'r Row>>;

/// The rows of the document, made where it has none.
fn rows_of(document: &Document) -> Vec<Row> {
    if document.rows.is_empty() { report::rows::rows(document) } else { document.rows.clone() }
}

/// The sweeps of the first order and kind of memory that a screen has room for.
#[derive(Default)]
struct Sweeps {
    /// Of more than [`CURVES`] the fastest and the slowest.
    shown: Vec<Sweep>,
    /// How many of this order and kind are not among them.
    left_out: usize,
    /// Of which order and kind of memory these are, where the document has others: `, pageable memory`.
    of: String,
}

/// Which of several orders and kinds of memory is shown; the others are in the whole table.
fn of_several(all: &BTreeMap<(Order, MemoryKind), ByRank<'_>>) -> String {
    let Some((order, memory)) = all.keys().next().copied() else { return String::new() };
    let kind = || format!("{} memory", words::memory(memory));
    let kinds = all.keys().any(|(_, other)| *other != memory).then(kind);
    let orders = all.keys().any(|(other, _)| *other != order).then(|| words::order(order).to_owned());

    let named: Vec<String> = kinds.into_iter().chain(orders).collect();
    match named.is_empty() {
        true => String::new(),
        false => format!(", {}", named.join(", ")),
    }
}

/// Those of a document with these rows.
fn sweeps(document: &Document, all_rows: &[Row]) -> Sweeps {
    let mut all: BTreeMap<(Order, MemoryKind), ByRank<'_>> = BTreeMap::new();
    for row in all_rows.iter().filter(|row| row.median_bytes_per_s.is_some()) {
        all.entry((row.order, row.memory))
            .or_default()
            .entry((row.direction, row.rank))
            .or_default()
            .push(row);
    }

    let named = of_several(&all);
    let Some((_, first)) = all.into_iter().next() else { return Sweeps::default() };
    let several = document.ranks.len() > 1;
    let of = |((way, rank), rows): ((Direction, u32), Vec<&Row>)| {
        let who = if several { format!("{} ", names::rank(document, rank)) } else { String::new() };
        let rate = |row: &&Row| {
            let (rate, ns) = (row.median_bytes_per_s?, row.median_ns?);
            Some((row.bytes, (rate, digits::time_interval(row).map(|ends| ends.rate_of(rate * ns)))))
        };
        Sweep {
            name: format!("{who}{}", words::direction_in(document, way)),
            rates: rows.iter().filter_map(rate).collect(),
        }
    };

    let mut shown: Vec<Sweep> = first.into_iter().map(of).filter(|sweep| sweep.rates.len() > 2).collect();
    shown.sort_by(|a, b| b.last().total_cmp(&a.last()));
    let left_out = shown.len().saturating_sub(CURVES);
    if left_out > 0 {
        shown.drain(CURVES / 2..CURVES / 2 + left_out);
    }
    Sweeps { shown, left_out, of: named }
}

/// The curve; nothing of documents that are no sweep.
pub(super) fn draw(document: &Document, page: &mut Page) {
    if !groups::is_sweep(document) {
        return;
    }
    let Sweeps { shown: sweeps, of, .. } = sweeps(document, &rows_of(document));
    let sizes: BTreeSet<u64> = sweeps.iter().flat_map(|sweep| sweep.rates.keys().copied()).collect();
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return };
    let wide = page.width().saturating_sub(AXIS + 4).min(WIDEST);
    let step = (*last as f64 / *first as f64).powf(1.0 / (wide - 1) as f64);
    let points = |sweep: &Sweep| -> Vec<f64> {
        (0..wide).map(|at| sweep.at(*first as f64 * step.powi(at as i32)) / 1e9).collect()
    };
    let all: Vec<Vec<f64>> = sweeps.iter().map(points).collect();
    let highest = all.iter().flatten().copied().fold(0.0, f64::max);
    if !highest.is_finite() || highest <= 0.0 {
        return;
    }

    let names: Vec<&str> = sweeps.iter().map(|sweep| &sweep.name[..]).collect();
    let from_top = if names.len() > 1 { "; at the right, from the top: " } else { ": " };
    let over = if of.is_empty() { "the size of a copy" } else { "size" };
    let title = format!("GB/s over {over}{of}{from_top}{}", names.join(", "));
    page.paragraph(Tone::Title, "  ", &title);
    let drawn = plot_many(all, Config::default().with_height(TALL).with_offset(AXIS as u32));
    drawn.lines().for_each(|line| page.line(Tone::Plain, format!("  {line}")));
    let (first, last) = (size(*first), size(*last));
    let between = wide.saturating_sub(first.len() + last.len());
    page.line(Tone::Plain, format!("{:>indent$}{first}{:between$}{last}", "", "", indent = AXIS + 2));
}

/// The rates of a few sizes, from the smallest to the largest.
pub(super) fn some_sizes(document: &Document, page: &mut Page) {
    let all_rows = rows_of(document);
    let Sweeps { shown: sweeps, left_out, of } = sweeps(document, &all_rows);
    let sizes: Vec<u64> = sweeps
        .iter()
        .flat_map(|sweep| sweep.rates.keys().copied())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if sizes.is_empty() {
        return;
    }
    let header: Vec<String> =
        ["size".to_owned()].into_iter().chain(sweeps.iter().map(|sweep| sweep.name.clone())).collect();
    let mut grid = TextGrid::new(1, &header);
    let rows = sizes.len().min(SIZES);
    let left = if left_out > 0 {
        format!(", the slowest and the fastest of {}", sweeps.len() + left_out)
    } else {
        String::new()
    };
    grid.caption(format!("GB/s of {rows} of {} sizes{left}{of}", sizes.len()));

    for at in 0..rows {
        let bytes = sizes[at * (sizes.len() - 1) / (rows - 1).max(1)];
        let cell = |sweep: &Sweep| {
            let known = sweep.rates.get(&bytes);
            known.map_or("–".to_owned(), |(rate, ends)| digits::rate_number(*rate, ends.as_ref()))
        };
        grid.row([size(bytes)].into_iter().chain(sweeps.iter().map(cell)).collect(), Vec::new());
    }

    let without: Vec<&Row> = all_rows.iter().filter(|row| row.status != RowStatus::Measured).collect();

    if let Some(first) = without.first() {
        let why = first.reason.clone().unwrap_or_default();
        grid.foot(
            Tone::Bad,
            format!("{} of {} figures are missing; the first: {why}", without.len(), all_rows.len()),
        );
    }
    grid.draw(page);
}
