//! Latency over the traffic beside it: a line through the points of each place, each with the interval of its latency.

use report::Document;
use report::loaded_latency::{LoadedLatency, LoadedPoint};

use super::scale::{Scale, number, rates};
use super::write::{COLOURS, Page, label, line};

const LEFT: f64 = 60.0;
const RIGHT: f64 = 660.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 300.0;

pub(super) fn draw(document: &Document, page: &mut Page) {
    let drawn = || document.loaded_latency.iter().filter(|curve| curve.points.len() > 1);
    if drawn().next().is_none() {
        return;
    }
    page.heading(0, "Latency over traffic");
    drawn().for_each(|curve| one(curve, page));
}

fn one(curve: &LoadedLatency, page: &mut Page) {
    let gb = |point: &LoadedPoint| point.bytes_per_s / 1e9;
    let most = |of: &dyn Fn(&LoadedPoint) -> f64| curve.points.iter().map(of).fold(0.0, f64::max);
    let high = |point: &LoadedPoint| point.interval_ns.map_or(point.latency_ns, |interval| interval.high);
    let x = Scale::linear(0.0, most(&gb) * 1.02, LEFT, RIGHT);
    let y = Scale::linear(0.0, most(&high) * 1.05, BOTTOM, TOP);
    let mut svg = rates(y, LEFT, RIGHT);
    for mark in x.marks(6) {
        svg += &label(x.at(mark), BOTTOM + 18.0, "middle", &number(mark));
    }
    let at = |point: &LoadedPoint| (x.at(gb(point)), y.at(point.latency_ns));
    let mut previous: Option<(f64, f64)> = None;
    for point in &curve.points {
        let here = at(point);
        if let Some(previous) = previous {
            svg += &line(previous, here, &format!("stroke=\"{}\" stroke-width=\"2\"", COLOURS[0]));
        }
        if let Some(interval) = point.interval_ns {
            let ends = ((here.0, y.at(interval.low)), (here.0, y.at(interval.high)));
            svg +=
                &line(ends.0, ends.1, &format!("stroke=\"{}\" stroke-width=\"6\" stroke-opacity=\"0.4\"", COLOURS[0]));
        }
        previous = Some(here);
    }
    let said: Vec<String> = curve
        .points
        .iter()
        .map(|point| format!("{}: {:.1} ns at {:.1} GB/s", point.name, point.latency_ns, gb(point)))
        .collect();
    let title = format!("{}: ns a load by PU {} over GB/s of traffic", curve.place, curve.pu);
    page.picture(&title, &said.join(", "), RIGHT + 40.0, BOTTOM + 30.0, &svg);
}
