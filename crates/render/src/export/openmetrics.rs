//! OpenMetrics text, of that part which Prometheus' own text format takes too (`# UNIT` and `# EOF` are
//! comments there): node_exporter's textfile collector reads it, and so does GitLab.
//!
//! All metrics are gauges of one run. Labels say what was measured and where. No sample carries a time:
//! node_exporter refuses files that do. When the run was is a metric of its own.

use super::points::{Estimate, Label, MetricFamily, Point, Points};

/// A part of a figure that is a metric of its own: the end of the metric's name, that of its help, and the
/// value.
type Part = (&'static str, &'static str, fn(&Estimate) -> Option<f64>);

const MIDDLE: Part = ("", "", |figure| Some(figure.value));
const LOW: Part = ("_low", ", lower end of its 95 % interval", |figure| figure.low);
const HIGH: Part = ("_high", ", upper end of its 95 % interval", |figure| figure.high);

pub(super) fn openmetrics(points: &Points) -> String {
    let mut text = String::new();
    // The samples of a family have the same labels: those that some point has a value for.
    let has_values = |label: &&Label| points.points.iter().any(|point| !point.word(label.word).is_empty());
    let known: Vec<&Label> = points.labels.iter().filter(has_values).collect();
    let labelled: Vec<(&Point, String)> =
        points.points.iter().map(|point| (point, labels(&known, point))).collect();

    for metric in &points.metrics {
        let parts: &[Part] = if metric.has_ends { &[MIDDLE, LOW, HIGH] } else { &[MIDDLE] };
        for (suffix, of_what, part) in parts {
            // The unit must be the last part of the name.
            let unit = if metric.unit.is_empty() { String::new() } else { format!("_{}", metric.unit) };
            let name = format!("{}{suffix}{unit}", metric.name);
            let samples: String = labelled
                .iter()
                .flat_map(|(point, labels)| {
                    figures(point, metric).filter_map(part).map(move |value| (labels, value))
                })
                .map(|(labels, value)| format!("{name}{{{labels}}} {:?}\n", value / metric.scale))
                .collect();
            family(&mut text, &name, metric.unit, &format!("{}{of_what}", metric.help), &samples);
        }
    }

    for gauge in &points.gauges {
        let sample = gauge.value.map_or(String::new(), |value| format!("{} {value:?}\n", gauge.name));
        family(&mut text, &gauge.name, gauge.unit, gauge.help, &sample);
    }
    text + "# EOF\n"
}

/// A family with its samples; nothing where it has none, which not every reader takes.
fn family(text: &mut String, name: &str, unit: &str, help: &str, samples: &str) {
    if samples.is_empty() {
        return;
    }
    let unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
    *text += &format!("# TYPE {name} gauge\n{unit}# HELP {name} {help}.\n{samples}");
}

fn figures<'p>(point: &'p Point, metric: &'p MetricFamily) -> impl Iterator<Item = &'p Estimate> {
    point
        .figures
        .iter()
        .filter(|figure| metric.measure.as_ref().is_none_or(|name| *name == figure.measure.name))
}

fn labels(known: &[&Label], point: &Point) -> String {
    let labels = known.iter().map(|label| format!("{}=\"{}\"", label.name, escaped(point.word(label.word))));
    labels.collect::<Vec<_>>().join(",")
}

/// A label's value as OpenMetrics escapes it.
fn escaped(value: &str) -> String {
    stats::printable::lines(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
