//! Each case with several ranks as bars, a bar a rank, with the median's 95 % interval.

use report::Document;
use report::row::Row;

use super::scale::{Scale, number};
use super::write::{COLOURS, Page, label, line};

/// Cases and ranks shown at most.
const CASES: usize = 24;
const RANKS: usize = 64;

const LEFT: f64 = 90.0;
const RIGHT: f64 = 640.0;
const WIDTH: f64 = 760.0;
const BAR: f64 = 20.0;

pub(super) fn draw(document: &Document, page: &mut Page) {
    let cases: Vec<_> = document.cases.iter().filter(|case| case.bytes >= 1 << 20 && case.ranks.len() > 1).collect();
    if cases.is_empty() {
        return;
    }
    page.heading(0, "Rank by rank");
    for case in cases.iter().take(CASES) {
        let rows: Vec<&Row> = document.rows.iter().filter(|row| row.case == case.id).take(RANKS).collect();
        one(&case.id, &rows, page);
    }
    if cases.len() > CASES {
        page.element("p", &format!("{} more cases are in the table.", cases.len() - CASES));
    }
}

fn one(case: &str, rows: &[&Row], page: &mut Page) {
    let most = rows.iter().filter_map(|row| row.median_bytes_per_s).fold(0.0, f64::max) / 1e9;
    if most <= 0.0 {
        return;
    }
    let bottom = BAR * rows.len() as f64 + 4.0;
    let scale = Scale::linear(0.0, most * 1.05, LEFT, RIGHT);
    let mut svg = String::new();
    for mark in scale.marks(5) {
        let x = scale.at(mark);
        svg += &line((x, 0.0), (x, bottom), "stroke=\"currentColor\" stroke-opacity=\"0.2\"");
        svg += &label(x, bottom + 16.0, "middle", &number(mark));
    }
    svg += &label(RIGHT + 12.0, bottom + 16.0, "start", "GB/s");
    for (at, row) in rows.iter().enumerate() {
        let y = BAR * at as f64 + 3.0;
        svg += &label(LEFT - 8.0, y + 12.0, "end", &format!("rank {}", row.rank));
        let Some(rate) = row.median_bytes_per_s else {
            svg += &label(LEFT + 4.0, y + 12.0, "start", "no figure");
            continue;
        };
        let (end, middle) = (scale.at(rate / 1e9), y + 7.0);
        svg += &format!(
            "<rect x=\"{LEFT:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"14\" fill=\"{}\"/>\n",
            end - LEFT,
            COLOURS[0]
        );
        if let (Some(ns), Some(low), Some(high)) = (row.median_ns, row.median_low_ns, row.median_high_ns) {
            let at = |end_ns: f64| scale.at(rate * ns / end_ns / 1e9);
            svg += &line((at(high), middle), (at(low), middle), "stroke=\"currentColor\" stroke-width=\"2\"");
        }
        svg += &label(end.max(LEFT) + 8.0, y + 12.0, "start", &format!("{:.2}", rate / 1e9));
    }
    let figures: Vec<String> = rows
        .iter()
        .map(|row| match row.median_bytes_per_s {
            Some(rate) => format!("rank {}: {:.2} GB/s", row.rank, rate / 1e9),
            None => format!("rank {}: no figure", row.rank),
        })
        .collect();
    page.picture(&format!("{case}, GB/s"), &figures.join(", "), WIDTH, bottom + 24.0, &svg);
}
