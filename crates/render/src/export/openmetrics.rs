//! OpenMetrics text, which Prometheus' own text format contains: node_exporter's textfile collector reads it, and so does GitLab.
//!
//! All metrics are gauges of one run. Labels say what was measured and where. No sample carries a time: node_exporter refuses files that do. When the run
//! was is a metric of its own.

use super::points::{Figure, Metric, Point, Points};

/// What of a figure is a metric: what the metric's name and its help end with, and the value.
type Part = (&'static str, &'static str, fn(&Figure) -> Option<f64>);

const MIDDLE: Part = ("", "", |figure| Some(figure.value));
const LOW: Part = ("_low", ", lower end of its 95 % interval", |figure| figure.low);
const HIGH: Part = ("_high", ", upper end of its 95 % interval", |figure| figure.high);

pub(super) fn openmetrics(points: &Points) -> String {
    let mut text = String::new();
    let labelled: Vec<(&Point, String)> = points.points.iter().map(|point| (point, labels(points, point))).collect();
    for metric in &points.metrics {
        let parts: &[Part] = if metric.has_ends { &[MIDDLE, LOW, HIGH] } else { &[MIDDLE] };
        for (suffix, of_what, part) in parts {
            // The unit must be the last part of the name.
            let unit = if metric.unit.is_empty() { String::new() } else { format!("_{}", metric.unit) };
            let name = format!("{}{suffix}{unit}", metric.name);
            head(&mut text, &name, metric.unit, &format!("{}{of_what}", metric.help));
            for (point, labels) in &labelled {
                for value in figures(point, metric).filter_map(part) {
                    text += &format!("{name}{{{labels}}} {:?}\n", value / metric.scale);
                }
            }
        }
    }
    for gauge in &points.gauges {
        head(&mut text, &gauge.name, gauge.unit, gauge.help);
        text += &gauge.value.map_or(String::new(), |value| format!("{} {value:?}\n", gauge.name));
    }
    text + "# EOF\n"
}

fn head(text: &mut String, name: &str, unit: &str, help: &str) {
    let unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
    *text += &format!("# TYPE {name} gauge\n{unit}# HELP {name} {help}.\n");
}

fn figures<'p>(point: &'p Point, metric: &'p Metric) -> impl Iterator<Item = &'p Figure> {
    point.figures.iter().filter(|figure| metric.measure.as_ref().is_none_or(|name| *name == figure.measure.name))
}

fn labels(points: &Points, point: &Point) -> String {
    // One without a value is the same as none.
    let known =
        points.labels.iter().map(|label| (label.name, point.word(label.word))).filter(|(_, value)| !value.is_empty());
    known.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

/// A label's value as OpenMetrics escapes it.
fn escaped(value: &str) -> String {
    stats::printable::lines(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
