//! Jacobi's iteration over the ranks of a launch: a row a way.

use report::Document;
use report::laplace::{LaplaceScaling, LaplaceWay};

use super::grid::TextGrid;
use super::page::{Page, Tone};
use crate::digits::{half_width, percent};

/// Draws it, where the document has one.
pub(super) fn draw(document: &Document, page: &mut Page) {
    let Some(laplace) = &document.laplace else { return };
    let alone = document.ranks.len() == 1;
    // What all ways share, and the first lines say, makes room for what differs.
    let scales = laplace.ways.iter().any(|way| way.ranks.is_some());
    let mut header = vec!["", "µs an iteration", "± 95 %", "Gcell/s", "GB/s"];
    if scales {
        header.extend(["speed-up", "efficiency"]);
    }
    if !alone {
        header.push("in halos");
    }
    if !scales {
        header.push("residual");
    }
    let mut grid = TextGrid::new(1, &header);
    let precision = if laplace.cell_bytes == 4 { "single" } else { "double" };
    let after = laplace.ways.iter().find_map(|way| way.residual_after_iterations).filter(|_| !scales);
    let after = after.map_or(String::new(), |after| format!("; residual after {after} iterations"));
    let each = if laplace.rows_are_each_ranks { " a rank" } else { "" };
    let plane = format!("{}x{} cells{each}", laplace.rows, laplace.columns);
    grid.caption(format!("{plane} of {precision} precision{after}"));
    for way in &laplace.ways {
        grid.row(cells(way, scales, alone), Vec::new());
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

fn cells(way: &LaplaceWay, scales: bool, alone: bool) -> Vec<String> {
    let none = || "–".to_owned();
    let giga = |rate: Option<f64>| rate.map_or_else(none, |rate| digits(rate / 1e9));
    let mut cells = vec![
        way.name.clone(),
        way.iteration_ns.map_or_else(none, |ns| digits(ns / 1e3)),
        way.iteration_ns.map_or_else(none, |ns| half_width(way.interval_ns.as_ref(), ns)),
        giga(way.cells_per_s),
        giga(way.bytes_per_s),
    ];

    if scales {
        let of = |figure: &dyn Fn(&LaplaceScaling) -> String| way.scaling.as_ref().map_or_else(none, figure);
        cells.push(of(&|found| digits(found.speed_up)));
        cells.push(of(&|found| percent(found.efficiency)));
    }

    if !alone {
        cells.push(way.halo_share.map_or_else(none, percent));
    }
    if !scales {
        cells.push(way.residual.map_or_else(none, |residual| format!("{residual:.6e}")));
    }
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
