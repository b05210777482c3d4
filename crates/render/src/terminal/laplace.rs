//! Jacobi's iteration over the ranks of a launch: a row a way.

use report::Document;
use report::laplace::LaplaceWay;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use crate::digits::{half_width, percent};

/// Draws it, where the document has one.
pub(super) fn draw(document: &Document, page: &mut Page) {
    let Some(laplace) = &document.laplace else { return };
    let alone = document.ranks.len() == 1;
    let header: &[&str] = match alone {
        true => &["", "µs an iteration", "± 95 %", "Gcell/s", "GB/s", "residual"],
        false => &["", "µs an iteration", "± 95 %", "Gcell/s", "GB/s", "in halos", "residual"],
    };
    let mut grid = TextGrid::new(1, header);
    let precision = if laplace.cell_bytes == 4 { "single" } else { "double" };
    let after = laplace.ways.iter().find_map(|way| way.residual_after_iterations);
    let after = after.map_or(String::new(), |after| format!("; residual after {after} iterations"));
    grid.caption(format!("{}x{} cells of {precision} precision{after}", laplace.rows, laplace.columns));
    for way in &laplace.ways {
        grid.row(cells(way, alone), Vec::new());
    }
    grid.draw(page);
    page.blank();
    // A line a figure, for whoever reads it by a pattern.
    for way in &laplace.ways {
        if let Some(per_s) = way.cells_per_s {
            page.line(Tone::Faint, format!("{}: {:.4e} cells/s", way.name, per_s));
        }
    }
    page.blank();
}

fn cells(way: &LaplaceWay, alone: bool) -> Vec<String> {
    let none = || "–".to_owned();
    let giga = |rate: Option<f64>| rate.map_or_else(none, |rate| digits(rate / 1e9));
    let mut cells = vec![
        way.name.clone(),
        way.iteration_ns.map_or_else(none, |ns| digits(ns / 1e3)),
        way.iteration_ns.map_or_else(none, |ns| half_width(way.interval_ns.as_ref(), ns)),
        giga(way.cells_per_s),
        giga(way.bytes_per_s),
    ];
    if !alone {
        cells.push(way.halo_share.map_or_else(none, percent));
    }
    cells.push(way.residual.map_or_else(none, |residual| format!("{residual:.6e}")));
    cells
}

/// As many digits as say something.
fn digits(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.01 => format!("{value:.3}"),
        value => format!("{value:.1e}"),
    }
}
