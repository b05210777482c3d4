//! Messages by place: a table for each path, pattern and size, with the shades of a matrix.

use super::grid::Grid;
use super::matrix::{LEGEND, part_shade};
use super::mpi_figure::mpi_figure;
use super::page::{Page, Tone};
use crate::MpiDocument;
use crate::mpi::MpiMatrix;
use crate::mpi_matrix::MpiPlane;

pub(super) fn draw(document: &MpiDocument, matrix: &MpiMatrix, page: &mut Page) {
    let planes = matrix.planes(document);
    for plane in &planes {
        table(document, matrix, plane, page);
        page.blank();
    }
    if !planes.is_empty() && document.pairs.len() > 1 {
        page.words(Tone::Faint, "    ", LEGEND);
    }
    for place in matrix.rows.iter().filter(|place| !place.nics.is_empty()) {
        page.words(Tone::Faint, "    ", &format!("near {}: {}", place.name, place.nics.join(", ")));
    }
    for place in &matrix.missing {
        let line = format!("{} of {} ({})", place.name, place.host, place.reason);
        page.words(Tone::Warning, "    not measured: ", &line);
    }
}

fn table(document: &MpiDocument, matrix: &MpiMatrix, plane: &MpiPlane, page: &mut Page) {
    let cell = |row: usize, column: usize| matrix.cell(document, plane, row, column);
    let all = || (0..matrix.rows.len()).flat_map(|row| (0..matrix.columns.len()).map(move |column| (row, column)));
    let best = all().filter_map(|(row, column)| cell(row, column)?.counted_ns()).reduce(f64::min);
    let mut header = vec![String::new()];
    let mut marks = Vec::new();
    for column in &matrix.columns {
        header.push(column.name.clone());
        marks.push(header.len());
        header.push(String::new());
    }
    let mut grid = Grid::new(1, &header.iter().map(String::as_str).collect::<Vec<_>>());
    grid.marks(marks);
    grid.caption(plane.name());
    for (row, place) in matrix.rows.iter().enumerate() {
        let mut shown = vec![place.name.clone()];
        for column in 0..matrix.columns.len() {
            shown.extend(match cell(row, column) {
                Some(case) => {
                    let part = best.zip(case.counted_ns()).map(|(best, ns)| best / ns);
                    [mpi_figure(case, &plane.pattern), part.map_or("", part_shade).to_owned()]
                }
                None => [String::new(), String::new()],
            });
        }
        grid.row(shown, Vec::new());
    }
    grid.draw(page);
}
