//! Bencher Metric Format (bencher.dev, bmf.json): benchmarks by name, each with a measure: `bandwidth` in
//! bytes/s, or `latency` in ns for small copies. Bounds are the median's 95 % interval.

use std::collections::BTreeMap;

use report::json::{JsonError, json_value};
use serde::Serialize;

use super::points::Points;

/// A figure with the ends of its interval.
#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

pub(super) fn bmf(points: &Points) -> Result<Vec<u8>, JsonError> {
    let mut benchmarks: BTreeMap<&str, BTreeMap<&str, Metric>> = BTreeMap::new();
    for point in &points.points {
        for figure in point.figures.iter().filter(|figure| figure.is_main) {
            let metric = Metric { value: figure.value, lower_value: figure.low, upper_value: figure.high };
            benchmarks.entry(&point.benchmark).or_default().insert(&figure.measure.name, metric);
        }
    }
    json_value(&benchmarks)
}
