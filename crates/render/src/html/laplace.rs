//! Jacobi's iteration: the rate of each way, and over numbers of ranks with the rate of perfect scaling
//! beside it.

use std::collections::BTreeSet;

use report::Document;
use report::laplace::{Laplace, LaplaceWay};

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::plot::{Axis, Plot, PlotPoint, Reference, Series};
use crate::charts::rows::{Mark, Row, Rows};
use crate::charts::scale::AxisUnit;
use crate::digits;

/// Draws each way's rate, and curves where several numbers of ranks were measured.
pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    let Some(laplace) = &document.laplace else { return };
    ways(laplace, page);
    let plot = plot(laplace);
    if plot.series.is_empty() {
        return;
    }
    let described: Vec<&str> =
        plot.series.iter().flat_map(|series| &series.points).map(|point| &point.value[..]).collect();
    page.picture("Jacobi's iteration by ranks", &described.join(", "), |wide| plot.drawn(wide));
}

/// The cells a second of each way of halos.
fn ways(laplace: &Laplace, page: &mut HtmlPage) {
    let row = |(at, way): (usize, &LaplaceWay)| {
        let Some((rate, ns)) = way.cells_per_s.zip(way.iteration_ns) else {
            let why = way.reason.clone().unwrap_or_default();
            let said = format!("no figure: {why}");
            return Row { name: way.name.clone(), said, colour: series(at), marks: Vec::new() };
        };
        let giga = |at: f64| rate / 1e9 * ns / at;
        let ends = way.interval_ns.map(|ends| (giga(ends.high), giga(ends.low)));
        let number = digits::shown(rate / 1e9, ends.map(|(low, high)| (high - low) / 2.0));
        let halos =
            way.halo_share.map_or(String::new(), |share| format!(", {:.0} % in halos", share * 100.0));
        let value = format!(
            "{}: {number} Gcell/s, {} an iteration{halos}",
            way.name,
            digits::time(ns, way.interval_ns.as_ref())
        );
        let mut marks = vec![(Mark::Bar(rate / 1e9), value.clone())];
        marks.extend(ends.map(|(low, high)| (Mark::Span(low, high), value)));
        Row { name: way.name.clone(), said: format!("{number}{halos}"), colour: series(at), marks }
    };

    let rows: Vec<Row> = laplace.ways.iter().enumerate().map(row).collect();
    let each = if laplace.rows_are_each_ranks { " of each rank" } else { "" };
    let title = format!("{} by {} cells{each} by each way of halos", laplace.rows, laplace.columns);
    let rows = Rows { title: "Gcell/s".to_owned(), rows, from_zero: true, ..Rows::default() };
    page.rows(&title, &rows);
}

fn plot(laplace: &Laplace) -> Plot {
    let measured = || laplace.ways.iter().filter(|way| way.ranks.is_some() && way.cells_per_s.is_some());
    // A rank alone has no halos: it is where the ways of its processors begin.
    let family = |way: &LaplaceWay| (way.way.clone(), way.overlap);
    let families: BTreeSet<(String, bool)> =
        measured().filter(|way| way.ranks > Some(1)).map(family).collect();
    let is_of = |(name, overlap): &(String, bool), way: &LaplaceWay| match way.ranks {
        Some(1) => (way.way == "cpu") == (name == "cpu"),
        _ => way.way == *name && way.overlap == *overlap,
    };
    let curve = |(at, family): (usize, &(String, bool))| Series {
        name: format!("{}{}", family.0, if family.1 { ", overlapped" } else { "" }),
        colour: series(at),
        points: measured().filter(|way| is_of(family, way)).filter_map(point).collect(),
        fit: Vec::new(),
    };
    let curves: Vec<Series> =
        families.iter().enumerate().map(curve).filter(|curve| curve.points.len() > 1).collect();

    let perfect = curves.iter().filter_map(|curve| {
        let (first, last) = (curve.points.first()?, curve.points.last()?);
        Some((first.y / first.x, first.x, last.x))
    });
    let perfect =
        perfect.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(a_rank, from, to)| Reference {
            name: "perfect scaling of the fastest".to_owned(),
            points: vec![(from, a_rank * from), (to, a_rank * to)],
        });
    Plot {
        x: Axis { title: "ranks".to_owned(), unit: AxisUnit::Count, log: false },
        y: Axis { title: "Gcell/s".to_owned(), unit: AxisUnit::Number, log: false },
        series: curves,
        references: perfect.into_iter().collect(),
        range: None,
    }
}

fn point(way: &LaplaceWay) -> Option<PlotPoint> {
    let (ranks, rate, ns) = (way.ranks?, way.cells_per_s? / 1e9, way.iteration_ns?);
    let interval = way.interval_ns.as_ref();
    let efficiency = way
        .scaling
        .as_ref()
        .map_or(String::new(), |scaling| format!(", {:.0} % of perfect scaling", scaling.efficiency * 100.0));
    Some(PlotPoint {
        x: f64::from(ranks),
        y: rate,
        interval: interval.map(|interval| (rate * ns / interval.high, rate * ns / interval.low)),
        value: format!("{}: {rate:.3} Gcell/s{efficiency}", way.name),
        marked: false,
    })
}
