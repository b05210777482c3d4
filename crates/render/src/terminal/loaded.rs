//! The curve of loaded latency: a line a point, the traffic as measured beside the latency, and how many
//! times the idle latency that is.

use analysis::latency_curves::{CurveFigures, figures};
use analysis::matrix_analysis::CellFigure;
use report::Document;
use report::matrix::Matrix;
use stats::IdSet;
use stats::units;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::{plane, words};
use crate::digits;

/// Draws the matrix, where it is one of loaded latency; whether it is.
pub(super) fn draw(document: &Document, matrix: &Matrix, page: &mut Page) -> bool {
    let Some(CurveFigures { time, rate, rows }) = figures(document, matrix) else { return false };
    let mut grid = TextGrid::new(1, &["", "traffic GB/s", "± 95 %", "latency ns", "± 95 %", "of idle"]);
    let pus = |row: usize| matrix.rows.get(row).map(|row| row.pus.clone()).unwrap_or_default();
    let loader = pus(0);
    let others: IdSet =
        pus(matrix.rows.len().saturating_sub(1)).iter().filter(|pu| !loader.contains(*pu)).collect();
    let size = |bytes: Option<u64>| units::size(bytes.unwrap_or(0));
    grid.caption(format!(
        "{}: loads by PU {loader} in random order over {}, beside {} traffic by PU {others} over {} each",
        matrix.title,
        size(time.range_bytes),
        words::direction(rate.direction),
        size(rate.range_bytes),
    ));

    let idle = match rows.first() {
        Some((Some(Ok(idle)), _)) => Some(idle.median),
        _ => None,
    };
    let width = |cell: &CellFigure| digits::half_width(cell.interval.as_ref(), cell.median);

    for (row, (latency, traffic)) in matrix.rows.iter().zip(&rows) {
        let why = [latency, traffic].into_iter().find_map(|found| found.as_ref()?.as_ref().err());
        if let Some(why) = why.or(row.reason.as_ref()) {
            grid.text_row(vec![row.name.clone()], Tone::Bad, why.clone());
            continue;
        }
        let Some(Ok(latency)) = latency else { continue };
        let of = |cell: &CellFigure| [plane::show(&rate, cell.median), width(cell)];
        let [made, known] = match traffic {
            Some(Ok(cell)) => of(cell),
            _ => ["0".to_owned(), String::new()],
        };
        let times = idle.map_or("–".to_owned(), |idle| format!("{:.2}x", latency.median / idle));
        grid.row(
            vec![row.name.clone(), made, known, plane::show(&time, latency.median), width(latency), times],
            Vec::new(),
        );
    }

    grid.draw(page);
    page.blank();
    true
}
