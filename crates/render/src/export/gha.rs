//! The input of github-action-benchmark's `customBiggerIsBetter` and `customSmallerIsBetter`: a list of named
//! values. A file of one kind holds one direction of goodness, so what more is better of and what less is
//! better of are two forms.

use report::json::{JsonError, json_value};
use serde::Serialize;

use super::points::{Estimate, Points};

/// A named value.
#[derive(Serialize)]
struct Benchmark<'p> {
    name: &'p str,
    unit: &'p str,
    value: f64,
    /// What the action shows behind the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    /// What it shows when one points at the value.
    extra: &'p str,
}

pub(super) fn gha(points: &Points, bigger: bool) -> Result<Vec<u8>, JsonError> {
    let figures =
        points.points.iter().flat_map(|point| point.figures.iter().map(move |figure| (point, figure)));
    let benchmarks =
        figures.filter(|(_, figure)| figure.measure.more_is_better == bigger).map(|(point, figure)| {
            let unit = &figure.measure.unit[..];
            Benchmark {
                name: &point.name,
                unit,
                value: figure.value / figure.measure.scale,
                range: range(figure),
                extra: &point.origin,
            }
        });
    json_value(&benchmarks.collect::<Vec<_>>())
}

/// Half the interval.
fn range(figure: &Estimate) -> Option<String> {
    let half = (figure.high? - figure.low?) / 2.0;
    Some(match figure.measure.is_relative {
        true => format!("± {:.2} %", half / figure.value * 100.0),
        false => format!("± {half:.4}"),
    })
}
