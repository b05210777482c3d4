//! The figures as a table, a row a rank and case.

use analysis::figure::said;
use report::Document;
use report::row::Row;

use super::write::Page;

/// Rows shown at most; the rest is in the document.
const ROWS: usize = 400;

pub(super) fn draw(document: &Document, page: &mut Page) {
    page.heading(0, "Figures");
    let header = ["case", "rank ", "device", "median µs ", "± 95 % ", "GB/s ", "of bound ", "blocks ", "status"];
    page.table("Figures of each case on each rank", &header, document.rows.iter().take(ROWS).map(cells));
    if document.rows.len() > ROWS {
        page.element("p", &format!("{} more figures are in the document.", document.rows.len() - ROWS));
    }
}

fn cells(row: &Row) -> Vec<String> {
    let number =
        |value: Option<f64>, scale: f64| value.map_or("–".to_owned(), |value| format!("{:.3}", value / scale));
    let half = row.median_ns.zip(row.median_low_ns.zip(row.median_high_ns));
    let half = half.map(|(ns, (low, high))| format!("{:.2} %", (high - low) / 2.0 / ns * 100.0));
    vec![
        row.case.clone(),
        row.rank.to_string(),
        row.device.clone(),
        number(row.median_ns, 1e3),
        half.unwrap_or("–".to_owned()),
        number(row.median_bytes_per_s, 1e9),
        row.percent_of_bound.map_or("–".to_owned(), |percent| format!("{percent:.1} %")),
        row.blocks.map_or("–".to_owned(), |blocks| blocks.to_string()),
        match &row.reason {
            None => said(row.status).to_owned(),
            Some(reason) => format!("{}: {reason}", said(row.status)),
        },
    ]
}
