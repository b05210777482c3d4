//! Rates and times over sizes, of copies, small pieces, touches and messages alike: the axes, and a point
//! with its interval and its value under the pointer.

use stats::interval::Interval;
use stats::units::size;

use crate::charts::plot::{Axis, Plot, PlotPoint, Series};
use crate::charts::scale::AxisUnit;
use crate::digits;

/// A plot over the sizes of such a thing: of rates, or of times.
pub(super) fn over_sizes(thing: &str, series: Vec<Series>, is_rate: bool) -> Plot {
    Plot {
        x: Axis { title: format!("size of {thing}"), unit: AxisUnit::Size, log: true },
        y: match is_rate {
            true => Axis { title: "GB/s".to_owned(), unit: AxisUnit::Number, log: true },
            false => Axis { title: format!("time of {thing}"), unit: AxisUnit::Time, log: true },
        },
        series,
        references: Vec::new(),
        range: None,
    }
}

/// What takes a time, ns, at a rate, bytes/s, for so many bytes; `ends` is the interval of the time.
pub(super) fn point(
    name: &str,
    bytes: u64,
    [ns, rate]: [f64; 2],
    ends: Option<Interval>,
    is_rate: bool,
) -> PlotPoint {
    let of_rate = ends.map(|ends| ends.rate_of(rate * ns)).map(|ends| (ends.low / 1e9, ends.high / 1e9));
    PlotPoint {
        x: bytes as f64,
        y: if is_rate { rate / 1e9 } else { ns },
        interval: if is_rate { of_rate } else { ends.map(|ends| (ends.low, ends.high)) },
        value: format!(
            "{name}, {}: {}, {}",
            size(bytes),
            digits::rate(rate, None),
            digits::time(ns, ends.as_ref())
        ),
        marked: false,
    }
}

/// The largest sizes' figures, for those who cannot see the picture.
pub(super) fn described(plot: &Plot) -> String {
    let last = |series: &Series| series.points.last().map(|point| point.value.clone());
    plot.series.iter().filter_map(last).collect::<Vec<_>>().join("; ")
}
