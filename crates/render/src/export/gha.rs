//! The input of github-action-benchmark's `customBiggerIsBetter` and `customSmallerIsBetter`: a list of named values. A file of one kind
//! holds one direction of goodness, so rates and times are two forms.

use report::Document;
use serde::Serialize;

use super::name::{Figure, Names, rate, time_ns};
use report::json::{JsonError, json_value};

/// A named value.
#[derive(Serialize)]
pub(super) struct Benchmark<'u> {
    pub name: String,
    pub unit: &'u str,
    pub value: f64,
    /// What the action shows behind the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// What it shows when one points at the value.
    pub extra: String,
}

/// Rates, GB/s.
pub(super) fn bigger<B>(document: &Document<B>) -> Result<Vec<u8>, JsonError> {
    listed(document, "GB/s", 1e9, rate)
}

/// Times, µs.
pub(super) fn smaller<B>(document: &Document<B>) -> Result<Vec<u8>, JsonError> {
    listed(document, "µs", 1e3, time_ns)
}

fn listed<B>(
    document: &Document<B>,
    unit: &'static str,
    scale: f64,
    figure: fn(&report::row::Row) -> Option<Figure>,
) -> Result<Vec<u8>, JsonError> {
    let names = Names::of(document);
    let benchmark = |row: &report::row::Row| {
        let Figure { value, low, high } = figure(row)?;
        let range = low.zip(high).map(|(low, high)| format!("± {:.2} %", (high - low) / 2.0 / value * 100.0));
        let device = row.device_name.as_deref().unwrap_or("unknown device");
        let extra = format!("{device} on {}, {}", row.host, document.started_at);
        Some(Benchmark { name: names.name(row), unit, value: value / scale, range, extra })
    };
    json_value(&document.rows.iter().filter_map(benchmark).collect::<Vec<_>>())
}
