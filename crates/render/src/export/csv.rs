//! Comma-separated values: tidy, a row a rank and case, a header of names with units; what is not known is an empty field.

use report::Document;
use report::row::Row;

use super::words::word;

const HEADER: [&str; 29] = [
    "started_at",
    "numabench",
    "platform",
    "simulated",
    "driver_version",
    "run_status",
    "case",
    "order",
    "direction",
    "bytes",
    "memory",
    "timing",
    "rank",
    "host",
    "pu",
    "memory_node",
    "device",
    "device_name",
    "locality",
    "status",
    "reason",
    "median_ns",
    "median_low_ns",
    "median_high_ns",
    "median_bytes_per_s",
    "bytes_per_s",
    "percent_of_bound",
    "blocks",
    "link",
];

pub(super) fn csv<B>(document: &Document<B>) -> String {
    let mut text = format!("{}\r\n", HEADER.join(","));
    for row in &document.rows {
        let fields: Vec<String> = fields(document, row).into_iter().map(|field| quoted(&field)).collect();
        text += &format!("{}\r\n", fields.join(","));
    }
    text
}

fn fields<B>(document: &Document<B>, row: &Row) -> [String; HEADER.len()] {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let link =
        document.devices.iter().find(|device| device.id == row.device).and_then(|device| device.link.value.as_ref());
    let part = |value: Option<u8>| value.map_or("?".to_owned(), |value| value.to_string());
    [
        document.started_at.clone(),
        document.tool.version.clone(),
        word(&document.platform.kind),
        document.platform.simulated.is_some().to_string(),
        document.platform.driver_version.clone().unwrap_or_default(),
        word(&document.status),
        row.case.clone(),
        word(&row.order),
        word(&row.direction),
        row.bytes.to_string(),
        word(&row.memory),
        word(&row.timing),
        row.rank.to_string(),
        row.host.clone(),
        row.pu.to_string(),
        row.memory_node.map_or(String::new(), |node| node.to_string()),
        row.device.clone(),
        row.device_name.clone().unwrap_or_default(),
        word(&row.locality),
        word(&row.status),
        row.reason.clone().unwrap_or_default(),
        number(row.median_ns),
        number(row.median_low_ns),
        number(row.median_high_ns),
        number(row.median_bytes_per_s),
        number(row.bytes_per_s),
        number(row.percent_of_bound),
        row.blocks.map_or(String::new(), |blocks| blocks.to_string()),
        link.map_or(String::new(), |link| format!("PCIe {} x{}", part(link.generation), part(link.width))),
    ]
}

/// RFC 4180: quotes where a comma, a quote or a line break needs them.
pub(super) fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}
