//! Latency over the traffic beside it: a curve a place, each point with its interval, and the level of twice
//! the idle latency.

use report::Document;
use report::loaded_latency::{LoadedLatency, LoadedPoint};

use super::write::HtmlPage;
use crate::charts::colours::series;
use crate::charts::plot::{Axis, Plot, PlotPoint, Reference, Series};
use crate::charts::scale::AxisUnit;
use crate::digits;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    let curves: Vec<&LoadedLatency> =
        document.loaded_latency.iter().filter(|curve| curve.points.len() > 1).collect();
    if curves.is_empty() {
        return;
    }
    let idle =
        curves.iter().filter_map(|curve| Some(curve.points.first()?.latency_ns)).fold(f64::MAX, f64::min);
    let most =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.bytes_per_s).fold(0.0, f64::max);
    let highest =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.latency_ns).fold(0.0, f64::max);
    let twice = Reference {
        name: format!("twice the idle latency, {}", digits::time(2.0 * idle, None)),
        points: vec![(0.0, 2.0 * idle), (most / 1e9, 2.0 * idle)],
    };
    let plot = Plot {
        x: Axis { title: "traffic, GB/s".to_owned(), unit: AxisUnit::Number, log: false },
        y: Axis { title: "latency of a load, ns".to_owned(), unit: AxisUnit::Number, log: false },
        series: curves.iter().enumerate().map(|(at, curve)| plot_series(at, curve)).collect(),
        // Far above everything it would only make the curve flat.
        references: if highest > 1.5 * idle { vec![twice] } else { Vec::new() },
        range: None,
    };

    let described: Vec<String> =
        plot.series.iter().flat_map(|series| &series.points).map(|point| point.value.clone()).collect();
    page.picture("Latency of a load beside traffic on the same memory", &described.join(", "), |wide| {
        plot.drawn(wide)
    });
}

fn plot_series(at: usize, curve: &LoadedLatency) -> Series {
    let point = |point: &LoadedPoint| PlotPoint {
        x: point.bytes_per_s / 1e9,
        y: point.latency_ns,
        interval: point.interval_ns.map(|interval| (interval.low, interval.high)),
        value: format!(
            "{}, {}: {} at {}",
            curve.place,
            point.name,
            digits::time(point.latency_ns, point.interval_ns.as_ref()),
            digits::rate(point.bytes_per_s, point.interval_bytes_per_s.as_ref())
        ),
        marked: false,
    };

    Series {
        name: format!("{}, loads by PU {}", curve.place, curve.pu),
        colour: series(at),
        points: curve.points.iter().map(point).collect(),
        fit: Vec::new(),
    }
}
