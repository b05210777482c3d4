//! Jacobi's iteration over numbers of ranks: the rate of each way, with the rate of perfect scaling beside it.

use std::collections::BTreeSet;

use report::Document;
use report::laplace::{Laplace, LaplaceWay};

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::plot::{Axis, Plot, PlotPoint, Reference, Series};
use crate::charts::scale::AxisUnit;

/// Draws the curves, where several numbers of ranks were measured.
pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    let Some(laplace) = &document.laplace else { return };
    let plot = plot(laplace);
    if plot.series.is_empty() {
        return;
    }
    let described: Vec<&str> =
        plot.series.iter().flat_map(|series| &series.points).map(|point| &point.value[..]).collect();
    page.picture("Jacobi's iteration by ranks", &described.join(", "), |wide| plot.drawn(wide));
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
