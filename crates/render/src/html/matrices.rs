//! Matrices as tables whose cells have the colour of their figure: one scale a direction, the value in the
//! cell and, with its interval, under the pointer; what the platform declares near has a frame. Ranks that
//! are at once, more and more, are curves (`contention`), and latency beside traffic is one too (`loaded`).

use analysis::matrix_analysis::{CellFigure, MatrixFigures, Plane, row_sweep};
use report::Document;
use report::matrix::{Compares, Matrix};
use stats::IdSet;

use super::write::HtmlPage;
use super::{contention, heat};
use crate::digits;
use crate::terminal::plane_caption;

/// Larger ones are drawn without numbers.
const NUMBERED: usize = 24;
/// Of larger ones nobody sees a cell.
const MOST: usize = 256;
/// Notes of rows that stand open.
const NOTES: usize = 8;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    for matrix in &document.matrices {
        match matrix.compares {
            Compares::Loaded => continue,
            Compares::Load => contention::draw(document, matrix, page),
            _ => {}
        }

        let several = if document.matrices.len() > 1 { format!("{}: ", matrix.title) } else { String::new() };
        // Of a sweep each size would be a table; its curves and losses say the same.
        let is_sweep = row_sweep::matrix(document).is_some();
        for plane in matrix.planes(document).into_iter().filter(|_| !is_sweep) {
            let title = format!("{several}{}", plane_caption(&plane, matrix.engine(&document.settings)));
            let table = table(document, matrix, &plane);
            if table.rows.len() * table.columns.len() < 2 {
                continue;
            }
            match matrix.why_none(document, &plane) {
                Some(why) => page.element("p", &format!("{title}: no figure ({why})")),
                None if !table.has_figures() => {
                    page.element("p", &format!("{title}: no figure (the table of all figures says why)"))
                }
                None if table.rows.len() > MOST => {}
                None if table.columns.len() > NUMBERED => {
                    page.picture(&title, &table.described(), |wide| table.drawn(wide));
                }
                // Contention's table says what its curve shows.
                None if matrix.compares == Compares::Load => {
                    page.folded(&title, |page| table.written(&title, page))
                }
                None => table.written(&title, page),
            }
        }

        let notes = matrix.rows.iter().filter_map(|row| {
            let why =
                row.reason.as_ref().map(|reason| format!("not measured: {reason}")).or(row.note.clone())?;
            Some(format!("{}: {why}", row.name))
        });
        page.list_open(&notes.collect::<Vec<_>>(), NOTES, "more row");
    }
}

/// A row with what stands in its places.
type Found = (usize, Vec<Option<Result<CellFigure, String>>>);

/// The rows and columns that have to do with a plane.
fn table(document: &Document, matrix: &Matrix, plane: &Plane) -> heat::Table {
    let all: Vec<Found> = (0..matrix.rows.len())
        .map(|row| {
            (row, (0..matrix.columns.len()).map(|column| matrix.cell(document, plane, row, column)).collect())
        })
        .filter(|(_, cells): &Found| cells.iter().any(Option::is_some))
        .collect();
    let columns: Vec<usize> =
        (0..matrix.columns.len()).filter(|at| all.iter().any(|(_, cells)| cells[*at].is_some())).collect();
    let shown = |(row, cells): &Found| {
        let of = |column: &usize| {
            let (place, other) = (&matrix.rows[*row], &matrix.columns[*column]);
            let name = format!("{}, {}", place.name, other.name);
            match &cells[*column] {
                None => heat::Cell::Empty,
                Some(Err(why)) => heat::Cell::None(format!("{name}: {why}")),
                Some(Ok(cell)) => {
                    let half = cell.interval.map(|interval| (interval.high - interval.low) / 2.0);
                    let said = digits::figure(plane.is_time(), cell.median, cell.interval.as_ref());
                    let known =
                        half.map_or(String::new(), |half| format!(" ± {:.1} %", half / cell.median * 100.0));
                    let is_near = |node| {
                        other.declared_nodes.value.as_ref().is_some_and(|near: &IdSet| near.contains(node))
                    };
                    heat::Cell::Figure {
                        value: cell.median,
                        half_width: half,
                        said: format!("{name}: {said}{known}"),
                        is_near: place.memory_node.is_some_and(is_near) && matrix.compares != Compares::Cores,
                        is_own: matrix.is_own(*row, *column),
                    }
                }
            }
        };
        (matrix.rows[*row].name.clone(), columns.iter().map(of).collect())
    };

    heat::Table {
        is_time: plane.is_time(),
        columns: columns.iter().map(|at| matrix.columns[*at].name.clone()).collect(),
        rows: all.iter().map(shown).collect(),
    }
}
