//! Bencher Metric Format (bencher.dev, bmf.json): benchmarks by name, each with a measure: `bandwidth` in bytes/s, or `latency` in ns for
//! small copies. Bounds are the median's 95 % interval.

use std::collections::BTreeMap;

use analysis::figure::Unit;
use report::Document;
use serde::Serialize;

use super::name::{Figure, Names, rate, time_ns};
use report::json::{JsonError, json_value};

/// A figure with the ends of its interval.
#[derive(Serialize)]
pub(super) struct Metric {
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_value: Option<f64>,
}

pub(super) fn bmf<B>(document: &Document<B>) -> Result<Vec<u8>, JsonError> {
    let names = Names::of(document);
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Metric>> = BTreeMap::new();
    for row in &document.rows {
        let (measure, figure) = match Unit::of(row.bytes) {
            Unit::Ns => ("latency", time_ns(row)),
            _ => ("bandwidth", rate(row)),
        };
        let Some(Figure { value, low, high }) = figure else { continue };
        let metric = Metric { value, lower_value: low, upper_value: high };
        benchmarks.entry(names.name(row)).or_default().insert(measure, metric);
    }
    json_value(&benchmarks)
}
