//! OpenMetrics text, which Prometheus' own text format contains: node_exporter's textfile collector reads it, and so does GitLab.
//!
//! All metrics are gauges of one run. Labels say what was measured and where; the host is left to the scraper (`instance`), unless the run
//! was on several nodes. No sample carries a time: node_exporter refuses files that do. When the run was is a metric of its own.

use report::Document;
use report::device::name_on_node;
use report::row::Row;
use report::timestamp::unix_ns;

use super::name::{Figure, Names, rate, time_ns};
use super::words::word;

pub(super) fn openmetrics<B>(document: &Document<B>) -> String {
    let mut text = String::new();
    let names = Names::of(document);
    let labelled: Vec<(&Row, String)> = document.rows.iter().map(|row| (row, labels(document, &names, row))).collect();
    let rows =
        |text: &mut String, name: &str, unit: &str, help: &str, scale: f64, figure: fn(&Row) -> Option<Figure>| {
            type End = fn(&Figure) -> Option<f64>;
            let ends: [(&str, &str, End); 3] = [
                ("", "", |figure| Some(figure.value)),
                ("_low", ", lower end of its 95 % interval", |figure| figure.low),
                ("_high", ", upper end of its 95 % interval", |figure| figure.high),
            ];
            for (suffix, of_what, end) in ends {
                // The unit must be the last part of the name.
                let name = format!("{name}{suffix}_{unit}");
                *text += &format!("# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {help}{of_what}.\n");
                for (row, labels) in &labelled {
                    if let Some(value) = figure(row).as_ref().and_then(end) {
                        *text += &format!("{name}{{{labels}}} {:?}\n", value / scale);
                    }
                }
            }
        };
    let of_round = "Median time of a round of copies";
    rows(&mut text, "numabench_copy_rate", "bytes_per_second", "Rate of the median block of copies", 1.0, rate);
    rows(&mut text, "numabench_copy_time", "seconds", of_round, 1e9, time_ns);
    single(&mut text, "numabench_run_started_seconds", "seconds", "When the run began, Unix time", || {
        unix_ns(&document.started_at).map(|ns| ns as f64 / 1e9)
    });
    single(&mut text, "numabench_run_elapsed_seconds", "seconds", "How long the run took", || Some(document.elapsed_s));
    let complete = document.status == report::document::Status::Complete;
    single(&mut text, "numabench_run_complete", "", "1 where every case planned was measured", || {
        Some(f64::from(u8::from(complete)))
    });
    text + "# EOF\n"
}

fn single(text: &mut String, name: &str, unit: &str, help: &str, value: impl Fn() -> Option<f64>) {
    let unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
    *text += &format!("# TYPE {name} gauge\n{unit}# HELP {name} {help}.\n");
    if let Some(value) = value() {
        *text += &format!("{name} {value:?}\n");
    }
}

/// A label's value as OpenMetrics escapes it.
pub(super) fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn labels<B>(document: &Document<B>, names: &Names, row: &Row) -> String {
    let mut labels = vec![
        ("order", word(&row.order)),
        ("memory", word(&row.memory)),
        ("direction", word(&row.direction)),
        ("bytes", row.bytes.to_string()),
        ("device", name_on_node(&row.device).to_owned()),
        ("model", row.device_name.clone().unwrap_or_default()),
        ("platform", word(&document.platform.kind)),
        ("pu", row.pu.to_string()),
        ("memory_node", row.memory_node.map_or(String::new(), |node| node.to_string())),
    ];
    if names.node(row).is_some() {
        labels.push(("host", row.host.clone()));
    }
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", label(value))).collect();
    labels.join(",")
}
