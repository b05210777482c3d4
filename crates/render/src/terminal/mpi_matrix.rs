//! Messages by place: a table for each path, pattern and size, with the shades of a matrix.

use analysis::mpi_figure::mpi_figure;
use analysis::mpi_matrix::{MpiMatrixFigures, MpiPlane};
use report::MpiDocument;
use report::mpi::MpiMatrix;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::plane::{LEGEND, part_shade};

pub(super) fn draw(document: &MpiDocument, matrix: &MpiMatrix, page: &mut Page) {
    let planes = matrix.planes(document);
    for plane in &planes {
        table(document, matrix, plane, page);
        page.blank();
    }
    if !planes.is_empty() && document.pairs.len() > 1 {
        page.paragraph(Tone::Faint, "    ", LEGEND);
    }
    for place in matrix.rows.iter().filter(|place| !place.nics.is_empty()) {
        page.paragraph(Tone::Faint, "    ", &format!("near {}: {}", place.name, place.nics.join(", ")));
    }
    for place in &matrix.missing {
        let line = format!("{} of {} ({})", place.name, place.host, place.reason);
        page.paragraph(Tone::Warning, "    not measured: ", &line);
    }
}

fn table(document: &MpiDocument, matrix: &MpiMatrix, plane: &MpiPlane, page: &mut Page) {
    let grid = numbers(document, matrix, plane);
    if grid.width() <= page.width() {
        return grid.draw(page);
    }

    // Too many places for their figures, which the document has: the pattern alone.
    let mut grid = TextGrid::new(1, &["", ""]);
    grid.marks(vec![2]);
    grid.caption(format!("{}; columns in the order of the rows", plane.name()));
    if matrix.rows != matrix.columns {
        let names: Vec<&str> = matrix.columns.iter().map(|place| place.name.as_str()).collect();
        grid.foot(Tone::Faint, format!("columns: {}", names.join(", ")));
    }

    for (row, place) in matrix.rows.iter().enumerate() {
        let shade = |column| cell(document, matrix, plane, [row, column]).map_or(" ", |(_, shade)| shade);
        let shades: Vec<&str> = (0..matrix.columns.len()).map(shade).collect();
        grid.row(vec![place.name.clone(), shades.join(" ")], Vec::new());
    }
    grid.draw(page);
}

/// A row for each place, a column for each place, and what stands between them.
fn numbers(document: &MpiDocument, matrix: &MpiMatrix, plane: &MpiPlane) -> TextGrid {
    let mut grid = TextGrid::of_marked(matrix.columns.iter().map(|column| &column.name[..]), None);
    grid.caption(plane.name());
    for (row, place) in matrix.rows.iter().enumerate() {
        let mut shown = vec![place.name.clone()];
        for column in 0..matrix.columns.len() {
            let (figure, shade) = cell(document, matrix, plane, [row, column]).unwrap_or_default();
            shown.extend([figure, shade.to_owned()]);
        }
        grid.row(shown, Vec::new());
    }
    grid
}

/// The figure of a cell and its shade; `None` where nothing was to be measured.
fn cell(
    document: &MpiDocument,
    matrix: &MpiMatrix,
    plane: &MpiPlane,
    [row, column]: [usize; 2],
) -> Option<(String, &'static str)> {
    let case = matrix.cell(document, plane, row, column)?;
    let part = matrix.best_ns(document, plane).zip(case.counted_ns()).map(|(best, ns)| best / ns);
    Some((mpi_figure(case), part.map_or("", part_shade)))
}
