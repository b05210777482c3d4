//! A matrix of more cores than fit a page: neighbours together in bands, each figure the median over the
//! pairs of two bands. Every pair is in the document.

use analysis::matrix_analysis::{CellFigure, MatrixFigures, Plane};
use report::Document;
use report::matrix::Matrix;
use stats::interval::median;

use super::grid::TextGrid;
use super::page::Page;
use super::plane::{caption, interval, shade, show};

/// More cores than these are put in so many bands at most.
pub(super) const MOST: usize = 10;

pub(super) fn draw(document: &Document, matrix: &Matrix, plane: &Plane, page: &mut Page) {
    let items = matrix.rows.len();
    let band = items.div_ceil(MOST);
    let mut cells: Vec<Vec<Vec<CellFigure>>> = Vec::new();
    for row in 0..items {
        for column in 0..row {
            let Some(Ok(cell)) = matrix.cell(document, plane, row, column) else { continue };
            let (row, column) = (row / band, column / band);
            cells.resize(cells.len().max(row + 1), Vec::new());
            let columns = cells[row].len().max(column + 1);
            cells[row].resize(columns, Vec::new());
            cells[row][column].push(cell);
        }
    }

    let medians: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|row| {
            row.iter()
                .map(|pairs| median(&pairs.iter().map(|cell| cell.median).collect::<Vec<_>>()))
                .collect()
        })
        .collect();

    let best = medians.iter().flatten().flatten().copied().reduce(f64::min);
    let name = |at: usize| {
        let first = matrix.rows.get(at * band).map_or("", |row| row.name.as_str());
        format!("{first}…")
    };
    let names: Vec<String> = (0..medians.len()).map(name).collect();
    let mut grid = TextGrid::of_marked(names.iter().map(String::as_str), None);
    let all = cells.iter().flatten().flatten();
    let how = format!("{band} cores a band, the median of their pairs; every pair is in the document");
    grid.caption(format!(
        "{}{}; {how}",
        caption(plane, matrix.engine(&document.settings)),
        interval(plane, all)
    ));

    for (at, row) in medians.iter().enumerate() {
        let mut shown = vec![name(at)];
        for column in 0..medians.len() {
            match row.get(column).copied().flatten() {
                Some(value) => shown.extend([show(plane, value), shade(plane, value, best).to_owned()]),
                None => shown.extend([String::new(), String::new()]),
            }
        }
        grid.row(shown, Vec::new());
    }
    grid.draw(page);
}
