//! InfluxDB line protocol: a point a row, at the moment the run began; what was measured and where are tags, figures are fields.

use report::Document;
use report::device::name_on_node;
use report::row::Row;
use report::timestamp::unix_ns;

use super::words::word;

pub(super) fn influx<B>(document: &Document<B>) -> String {
    let at = unix_ns(&document.started_at);
    let line = |row: &Row| {
        let fields = [
            ("median_ns", row.median_ns),
            ("median_low_ns", row.median_low_ns),
            ("median_high_ns", row.median_high_ns),
            ("median_bytes_per_s", row.median_bytes_per_s),
            ("bytes_per_s", row.bytes_per_s),
            ("percent_of_bound", row.percent_of_bound),
        ];
        let fields: Vec<String> =
            fields.iter().filter_map(|(name, value)| Some(format!("{name}={:?}", (*value)?))).collect();
        // A point must have a field: what was not measured has none.
        let at = at.map_or(String::new(), |at| format!(" {at}"));
        (!fields.is_empty()).then(|| format!("numabench,{} {}{at}\n", tags(document, row), fields.join(",")))
    };
    document.rows.iter().filter_map(line).collect()
}

fn tags<B>(document: &Document<B>, row: &Row) -> String {
    let tags = [
        ("host", row.host.clone()),
        ("platform", word(&document.platform.kind)),
        ("order", word(&row.order)),
        ("memory", word(&row.memory)),
        ("direction", word(&row.direction)),
        ("bytes", row.bytes.to_string()),
        ("device", name_on_node(&row.device).to_owned()),
        ("model", row.device_name.clone().unwrap_or_default()),
        ("pu", row.pu.to_string()),
        ("memory_node", row.memory_node.map_or(String::new(), |node| node.to_string())),
    ];
    // An empty tag value is not allowed.
    let tags = tags.iter().filter(|(_, value)| !value.is_empty());
    tags.map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join(",")
}

/// Tag values: commas, equals signs and spaces are escaped; a line break or a backslash at the end has no spelling.
pub(super) fn escaped(value: &str) -> String {
    let mut escaped = String::new();
    for c in value.chars() {
        match c {
            ',' | '=' | ' ' => escaped.extend(['\\', c]),
            '\\' => escaped.push('/'),
            c if c.is_control() => escaped.push_str("\\ "),
            c => escaped.push(c),
        }
    }
    escaped
}
