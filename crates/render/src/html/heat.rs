//! Rates of all ranks in all cases, as colours: where a node is slow shows as a row, where a case is, as a column.

use std::collections::BTreeMap;

use report::Document;
use stats::IdSet;

use super::write::{COLOURS, Page, label};

/// More ranks or cases than these are not shown: nobody reads them, and the table has them.
const RANKS: usize = 64;
const CASES: usize = 24;

const LEFT: f64 = 60.0;
const CELL: (f64, f64) = (72.0, 22.0);

pub(super) fn draw(document: &Document, page: &mut Page) {
    let cases: Vec<_> = document.cases.iter().filter(|case| case.bytes >= 1 << 20).take(CASES).collect();
    let ranks: Vec<u32> = document.ranks.iter().map(|rank| rank.rank).take(RANKS).collect();
    let rates: BTreeMap<(&str, u32), f64> =
        document.rows.iter().filter_map(|row| Some(((&row.case[..], row.rank), row.median_bytes_per_s?))).collect();
    if cases.is_empty() || ranks.len() < 2 || rates.is_empty() {
        return;
    }
    // What a GPU copies within its own memory is no measure of pairs.
    let within: IdSet = document.matrices.iter().flat_map(|matrix| matrix.own().iter().collect::<Vec<u32>>()).collect();
    page.heading(0, "Rates by rank and case");
    let top = 24.0;
    let mut svg = String::new();
    for (column, case) in cases.iter().enumerate() {
        let x = LEFT + CELL.0 * column as f64;
        svg += &label(x + CELL.0 / 2.0, 16.0, "middle", &format!("case {}", column + 1));
        let best = |own: bool| {
            let alike = ranks.iter().filter(|rank| within.contains(**rank) == own);
            alike.filter_map(|rank| rates.get(&(&case.id[..], *rank))).copied().fold(0.0, f64::max)
        };
        for (at, rank) in ranks.iter().enumerate() {
            let y = top + CELL.1 * at as f64;
            let Some(rate) = rates.get(&(&case.id[..], *rank)) else { continue };
            // Paler is slower: half the best rate has no colour left.
            let part = ((rate / best(within.contains(*rank)) - 0.5) * 2.0).clamp(0.0, 1.0);
            svg += &format!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" fill-opacity=\"{:.2}\"/>\n",
                CELL.0 - 2.0,
                CELL.1 - 2.0,
                COLOURS[0],
                0.05 + 0.4 * part
            );
            svg += &label(x + CELL.0 / 2.0 - 1.0, y + 15.0, "middle", &format!("{:.1}", rate / 1e9));
        }
    }
    for (at, rank) in ranks.iter().enumerate() {
        svg += &label(LEFT - 8.0, top + CELL.1 * at as f64 + 15.0, "end", &format!("rank {rank}"));
    }
    let (width, height) = (LEFT + CELL.0 * cases.len() as f64, top + CELL.1 * ranks.len() as f64);
    let description = "GB/s of each rank in each case; paler is slower than the best rank of that case. The figures are in the table above.";
    page.picture("Rates by rank and case, GB/s", description, width.max(480.0), height, &svg);
    let list: String = cases.iter().map(|case| format!("<li>{}</li>\n", crate::xml::escaped(&case.id))).collect();
    page.raw(&format!("<ol>\n{list}</ol>\n"));
}
