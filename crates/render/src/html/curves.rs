//! Time and rate over sizes, where a run has several: a line a direction (of several ranks a line a rank),
//! with the band of the median's 95 % interval, the line of latency and rate that was fitted, and the sizes
//! that are slower than their neighbours; of small pieces the rate over their size, a line a way.

use std::collections::{BTreeMap, BTreeSet};

use analysis::matrix_analysis::row_sweep;
use analysis::words::{capital, direction, memory};
use report::Document;
use report::case::Order;
use report::pieces::Way;
use report::row::Row;
use report::settings::{Direction, MemoryKind};
use report::sweep_fit::SweepFit;
use stats::touch::Touch;
use stats::units::size;

use super::over_sizes::{described, over_sizes, point};
use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::plot::{Plot, PlotPoint, Reference, Series};
use crate::{digits, names};

/// From so many sizes on a line says more than a table.
const LEAST_SIZES: usize = 3;
/// Lines that a reader can tell apart.
const LINES: usize = 8;

/// A sweep: the rows of one rank and direction, by size.
type Sweep<'d> = ((Direction, u32), Vec<&'d Row>);
/// All sweeps, by direction and rank.
type Sweeps<'d> = BTreeMap<(Direction, u32), Vec<&'d Row>>;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    pieces(document, page);
    moving(document, page);
    let mut all: BTreeMap<(Order, MemoryKind), Sweeps<'_>> = BTreeMap::new();
    let grouped: BTreeSet<&str> =
        document.cases.iter().filter(|case| case.group.is_some()).map(|case| &case.id[..]).collect();

    for row in document.rows.iter().filter(|row| row.median_ns.is_some() && !grouped.contains(&row.case[..]))
    {
        all.entry((row.order, row.memory))
            .or_default()
            .entry((row.direction, row.rank))
            .or_default()
            .push(row);
    }

    for ((order, memory), sweeps) in all {
        let sizes = |rows: &[&Row]| rows.iter().map(|row| row.bytes).collect::<BTreeSet<_>>().len();
        let sweeps: Vec<Sweep<'_>> =
            sweeps.into_iter().filter(|(_, rows)| sizes(rows) >= LEAST_SIZES).collect();
        match sweeps.len() {
            0 => {}
            // Near and far are told apart in a picture for each direction.
            few if few <= LINES && row_sweep::matrix(document).is_none() => {
                both(document, order, memory, None, &sweeps, page)
            }
            _ => {
                let directions: BTreeSet<Direction> = sweeps.iter().map(|((way, _), _)| *way).collect();
                for way in directions {
                    let of_way: Vec<Sweep<'_>> =
                        sweeps.iter().filter(|((other, _), _)| *other == way).cloned().collect();
                    both(document, order, memory, Some(way), &of_way, page);
                }
            }
        }
    }
}

/// The rate over the size of a piece: a picture for each rank and direction, a line a way of sending them.
fn pieces(document: &Document, page: &mut HtmlPage) {
    let Some(pieces) = &document.pieces else { return };
    let ways: BTreeMap<&str, Way> =
        document.cases.iter().filter_map(|case| Some((&case.id[..], analysis::pieces::way(case)?))).collect();
    let mut sending: BTreeMap<(u32, Direction), BTreeMap<Way, Vec<&Row>>> = BTreeMap::new();

    for row in &document.rows {
        if let Some(way) = ways.get(&row.case[..]) {
            sending.entry((row.rank, row.direction)).or_default().entry(*way).or_default().push(row);
        }
    }

    for ((rank, way), by_way) in sending {
        let lines = by_way.iter().map(|(way, rows)| (analysis::pieces::way_name(*way), rows));
        let Some(plot) = rates("a piece", lines) else { continue };
        let who = if document.ranks.len() > 1 {
            format!("{}, ", names::rank(document, rank))
        } else {
            String::new()
        };
        let (way, lie) = (direction(way), analysis::pieces::lie(pieces.scattered));
        let title = format!("{who}{way}: rate of {} in pieces {lie}", size(pieces.total_bytes));
        page.picture(&title, &described(&plot), |wide| plot.drawn(wide));
    }
}

/// The rate over the size of what is touched: a picture for each rank, kind of memory and side, a line a
/// touch.
fn moving(document: &Document, page: &mut HtmlPage) {
    let touches: BTreeMap<&str, Touch> =
        document.cases.iter().filter_map(|case| Some((&case.id[..], case.touch()?))).collect();
    let mut touched: BTreeMap<(u32, MemoryKind, bool), BTreeMap<Touch, Vec<&Row>>> = BTreeMap::new();

    for row in &document.rows {
        if let Some(touch) = touches.get(&row.case[..]) {
            let by_core = row.direction == Direction::D2h;
            touched.entry((row.rank, row.memory, by_core)).or_default().entry(*touch).or_default().push(row);
        }
    }

    for ((rank, kind, by_core), by_touch) in touched {
        let side = if by_core { Direction::D2h } else { Direction::H2d };
        let series = by_touch.iter().map(|(touch, rows)| (analysis::moving::touch_name(*touch, side), rows));
        let Some(plot) = rates("what is touched", series) else { continue };
        let who = if document.ranks.len() > 1 {
            format!("{}, ", names::rank(document, rank))
        } else {
            String::new()
        };
        let title = format!(
            "{who}{} memory touched by the {}: rate over its size",
            memory(kind),
            analysis::moving::who(side)
        );
        page.picture(&capital(&title), &described(&plot), |wide| plot.drawn(wide));
    }
}

/// Rates over sizes, a line each; `None` where there is none.
fn rates<'d>(thing: &str, lines: impl Iterator<Item = (&'d str, &'d Vec<&'d Row>)>) -> Option<Plot> {
    let line = |(at, (name, rows)): (usize, (&str, &Vec<&Row>))| {
        let points = rows.iter().filter_map(|row| sweep_point(name, row, None, true)).collect();
        Series { name: name.to_owned(), colour: series(at), points, fit: Vec::new() }
    };
    let series: Vec<Series> =
        lines.enumerate().map(line).filter(|series| !series.points.is_empty()).collect();
    (!series.is_empty()).then(|| over_sizes(thing, series, true))
}

fn both(
    document: &Document,
    order: Order,
    kind: MemoryKind,
    way: Option<Direction>,
    sweeps: &[Sweep<'_>],
    page: &mut HtmlPage,
) {
    let ranks = sweeps.iter().map(|((_, rank), _)| *rank).collect::<BTreeSet<_>>().len();
    let who = names::together(document, order, ranks.max(document.ranks.len()))
        .map_or(String::new(), |who| format!(", {who}"));
    let way = way.map_or(String::new(), |way| format!("{}, ", direction(way)));
    let left_out = sweeps.len().saturating_sub(LINES);
    let shown = &sweeps[..sweeps.len() - left_out];
    let what = format!("{way}{} memory{who}", memory(kind));

    for is_rate in [true, false] {
        let (name, plot) =
            (if is_rate { "Rate" } else { "Time" }, plot(document, order, kind, shown, ranks > 1, is_rate));
        page.picture(&format!("{name} over the size of a copy: {what}"), &described(&plot), |wide| {
            plot.drawn(wide)
        });
    }

    if left_out > 0 {
        page.element("p", &format!("{left_out} more ranks have sweeps in the document."));
    }
}

fn plot(
    document: &Document,
    order: Order,
    kind: MemoryKind,
    sweeps: &[Sweep<'_>],
    several_ranks: bool,
    is_rate: bool,
) -> Plot {
    let of = |(at, ((way, rank), rows)): (usize, &Sweep<'_>)| {
        let same =
            |fit: &&SweepFit| (fit.order, fit.memory, fit.direction, fit.rank) == (order, kind, *way, *rank);
        let fit = document.fits.iter().find(same);
        let mut rows = rows.clone();
        rows.sort_by_key(|row| row.bytes);
        let who = if several_ranks { format!("{} ", names::rank(document, *rank)) } else { String::new() };
        let name = format!("{who}{}", direction(*way));
        let points = rows.iter().filter_map(|row| sweep_point(&name, row, fit, is_rate)).collect();
        let fitted = fit.map_or(String::new(), |fit| {
            format!(
                ": latency {}, peak {}, half of it at {}",
                digits::time(fit.latency_ns, Some(&fit.latency_interval_ns)),
                digits::rate(fit.bytes_per_s, Some(&fit.interval_bytes_per_s)),
                digits::size(fit.half_rate_bytes)
            )
        });
        let lines = fit.map_or(Vec::new(), |fit| fitted_line(fit, &rows, is_rate));
        Series { name: format!("{name}{fitted}"), colour: series(at), points, fit: lines }
    };

    let ends = || sweeps.iter().flat_map(|(_, rows)| rows.iter().map(|row| row.bytes as f64));
    let ends = (ends().fold(f64::MAX, f64::min), ends().fold(1.0, f64::max));
    let limits = if is_rate { link_limits(document, sweeps) } else { Vec::new() };
    let is_one = limits.iter().all(|limit| limit.one_way == limits[0].one_way);
    let references = limits.iter().map(|limit| Reference {
        name: limit.name(is_one),
        points: vec![(ends.0, limit.bytes_per_s() / 1e9), (ends.1, limit.bytes_per_s() / 1e9)],
    });
    let plot = over_sizes("a copy", sweeps.iter().enumerate().map(of).collect(), is_rate);
    Plot { references: references.collect(), ..plot }
}

/// The limit of the links of some GPUs.
struct LinkLimit {
    /// In one direction, bytes/s.
    one_way: f64,
    /// Both directions at once, whose rates are added up.
    is_bidirectional: bool,
    gpus: BTreeSet<String>,
}

impl LinkLimit {
    fn bytes_per_s(&self) -> f64 {
        if self.is_bidirectional { 2.0 * self.one_way } else { self.one_way }
    }

    /// Its name, with the GPUs where others have another limit.
    fn name(&self, is_one: bool) -> String {
        let gpus: Vec<&str> = self.gpus.iter().map(String::as_str).collect();
        let of = if is_one { String::new() } else { format!(" of {}", gpus.join(", ")) };
        let both = if self.is_bidirectional { " in both directions" } else { "" };
        format!("limit of the link{of}{both}, {}", digits::rate(self.bytes_per_s(), None))
    }
}

/// The limits of the links that the sweeps go over, each once.
fn link_limits(document: &Document, sweeps: &[Sweep<'_>]) -> Vec<LinkLimit> {
    let mut limits: Vec<LinkLimit> = Vec::new();
    for ((way, _), rows) in sweeps.iter().filter(|((way, _), _)| *way != Direction::Kernel) {
        let is_used = |id: &str| rows.iter().any(|row| row.device == id);
        let is_bidirectional = *way == Direction::Bidirectional;

        for device in document.devices.iter().filter(|device| is_used(&device.id)) {
            let Some(one_way) = device.bound_bytes_per_s.value else { continue };
            let is_same = |limit: &&mut LinkLimit| {
                (limit.one_way, limit.is_bidirectional) == (one_way, is_bidirectional)
            };
            let name = names::device(device);
            match limits.iter_mut().find(is_same) {
                Some(limit) => limit.gpus.extend([name]),
                None => limits.push(LinkLimit { one_way, is_bidirectional, gpus: [name].into() }),
            }
        }
    }
    limits
}

fn sweep_point(name: &str, row: &Row, fit: Option<&SweepFit>, is_rate: bool) -> Option<PlotPoint> {
    let (ns, ends) = (row.median_ns?, digits::time_interval(row));
    let mut point = point(name, row.bytes, [ns, row.median_bytes_per_s?], ends, is_rate);
    if let Some(ends) = ends {
        point.value += &format!(" ± {}", digits::percent(ends.relative_half_width(ns)));
    }
    if let Some(dip) = fit.and_then(|fit| fit.dips.iter().find(|dip| dip.bytes == row.bytes)) {
        point.value += &format!("; {:.0} % slower than its neighbours", (1.0 - dip.ratio) * 100.0);
        point.marked = true;
    }
    Some(point)
}

/// t = α + n/β over the sizes, of two lines each over its own.
fn fitted_line(fit: &SweepFit, rows: &[&Row], is_rate: bool) -> Vec<(f64, f64)> {
    let at = |row: &&Row| {
        let of_size = fit.lines.iter().rev().find(|line| line.from_bytes <= row.bytes).or(fit.lines.first());
        let (latency_ns, rate) =
            of_size.map_or((fit.latency_ns, fit.bytes_per_s), |line| (line.latency_ns, line.bytes_per_s));
        // A round of a sweep moves its bytes once: what a round that moves twice as many reaches is in its
        // rate.
        let moved = row.median_bytes_per_s? * row.median_ns? / 1e9;
        let ns = latency_ns + moved / rate * 1e9;
        Some((row.bytes as f64, if is_rate { moved / ns } else { ns }))
    };
    rows.iter().filter_map(at).collect()
}
