//! A matrix: a table for each direction, size and kind of memory, rows as measured and those that were not,
//! each with the reason.
//!
//! Behind each figure stands how far it is from the best of the table, by shades: a reader sees the pattern
//! before the numbers, also without colour. A GPU's own memory among pairs of GPUs has none: no pair is to
//! come near it.

use analysis::matrix_analysis::{CellFigure, MatrixFigures, Plane};
use report::Document;
use report::matrix::{Compares, Matrix};
use stats::alike::grouped;

use super::bands;
use super::grid::TextGrid;
use super::loaded;
use super::page::{Page, Tone};
use super::plane::{LEGEND, caption, interval, shade, show};

pub(super) fn draw(document: &Document, matrix: &Matrix, page: &mut Page) {
    let planes = matrix.planes(document);
    if document.matrices.len() > 1 && matrix.compares != Compares::Loaded {
        page.paragraph(Tone::Title, "", &matrix.title);
    }
    if loaded::draw(document, matrix, page) {
        notes(matrix, page);
        return;
    }
    for one in &planes {
        plane(document, matrix, one, "", page);
        page.blank();
    }

    let cells = matrix.rows.len() * matrix.columns.len();
    if !planes.is_empty() && cells > 1 {
        page.paragraph(Tone::Faint, "    ", LEGEND);
    }
    notes(matrix, page);
}

/// One plane, with a beginning of its caption.
pub(super) fn plane(document: &Document, matrix: &Matrix, plane: &Plane, before: &str, page: &mut Page) {
    if matrix.compares == Compares::Cores && matrix.rows.len() > bands::MOST {
        bands::draw(document, matrix, plane, page);
    } else {
        table(document, matrix, plane, before, page);
    }
}

/// What is to be known of rows, and those that were not measured.
pub(super) fn notes(matrix: &Matrix, page: &mut Page) {
    for row in &matrix.rows {
        if let Some(note) = &row.note {
            page.paragraph(Tone::Faint, "    ", &format!("{}: {note}", row.name));
        }
    }
    missing(matrix, page);
    page.blank();
}

/// The figures of one plane: rows and columns that have something to do with it.
fn table(document: &Document, matrix: &Matrix, plane: &Plane, before: &str, page: &mut Page) {
    let cells = |row: usize| -> Vec<Option<Result<CellFigure, String>>> {
        (0..matrix.columns.len()).map(|column| matrix.cell(document, plane, row, column)).collect()
    };
    let all: Vec<(usize, &str, Vec<_>)> = matrix
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.reason.is_none())
        .map(|(at, row)| (at, row.name.as_str(), cells(at)))
        .filter(|(_, _, cells)| cells.iter().any(Option::is_some))
        .collect();
    let is_used = |column: &usize| all.iter().any(|(_, _, cells)| cells[*column].is_some());
    let columns: Vec<usize> = (0..matrix.columns.len()).filter(is_used).collect();
    let pairs = all
        .iter()
        .flat_map(|(at, _, cells)| cells.iter().enumerate().filter(|(to, _)| !matrix.is_own(*at, *to)));
    let medians: Vec<f64> =
        pairs.filter_map(|(_, cell)| Some(cell.as_ref()?.as_ref().ok()?.median)).collect();
    let medians = || medians.iter().copied();
    let best = if plane.is_time() { medians().reduce(f64::min) } else { medians().reduce(f64::max) };
    let with_sum = matches!(matrix.compares, Compares::Load | Compares::Together) && columns.len() > 1;
    let figures =
        all.iter().flat_map(|(_, _, cells)| cells.iter().flatten().filter_map(|cell| cell.as_ref().ok()));
    let caption =
        format!("{before}{}{}", caption(plane, matrix.engine(&document.settings)), interval(plane, figures));
    let why_none = matrix.why_none(document, plane).filter(|_| all.len() > 1);
    let last_column = columns.last();
    let grid_of = |columns: &[usize], names: ColumnNames| {
        let last = columns.last() == last_column;
        let names = columns.iter().map(|column| names.of(&matrix.columns[*column].name));
        let mut grid = TextGrid::of_marked(names, (with_sum && last).then_some("sum"));
        grid.caption(caption.clone());
        if let Some(why) = &why_none {
            grid.text_row(vec!["every cell".to_owned()], Tone::Bad, why.clone());
            return grid;
        }
        for (at, name, cells) in &all {
            let (mut shown, notes) = shown_cells(matrix, plane, (*at, cells), columns, best);
            shown.insert(0, (*name).to_owned());
            if with_sum && last {
                // A sum in which a figure is missing would be another one.
                let figures: Result<Vec<&CellFigure>, &String> =
                    cells.iter().flatten().map(Result::as_ref).collect();
                let sum = |cells: Vec<&CellFigure>| show(plane, cells.iter().map(|cell| cell.median).sum());
                shown.push(figures.map_or_else(|_| "–".to_owned(), sum));
            }
            grid.row(shown, notes);
        }
        grid
    };

    // Where the page has no room for all, shorter names, then a part of the columns below the others.
    let wide = page.width();
    let fits = |grid: &TextGrid| grid.width() <= wide;
    let whole = [ColumnNames::Whole, ColumnNames::Short].map(|names| grid_of(&columns, names));
    if let Some(grid) = whole.into_iter().find(fits) {
        return grid.draw(page);
    }
    let most = (1..columns.len()).rev();
    let most = most
        .into_iter()
        .find(|most| columns.chunks(*most).all(|part| fits(&grid_of(part, ColumnNames::Short))));
    for part in columns.chunks(most.unwrap_or(1)) {
        grid_of(part, ColumnNames::Short).draw(page);
    }
}

/// How columns are called.
#[derive(Clone, Copy, Debug)]
enum ColumnNames {
    /// `rank 0 (GPU 0)`.
    Whole,
    /// `rank 0`.
    Short,
}

impl ColumnNames {
    fn of(self, name: &str) -> &str {
        match self {
            Self::Whole => name,
            Self::Short => name.split(" (").next().unwrap_or(name),
        }
    }
}

/// The cells of a row in these columns, each a figure and its shade, and why figures are missing.
fn shown_cells(
    matrix: &Matrix,
    plane: &Plane,
    (row, cells): (usize, &[Option<Result<CellFigure, String>>]),
    columns: &[usize],
    best: Option<f64>,
) -> (Vec<String>, Vec<(Tone, String)>) {
    let (mut shown, mut notes) = (Vec::new(), Vec::new());

    for column in columns {
        match &cells[*column] {
            Some(Ok(cell)) => {
                let best = best.filter(|_| !matrix.is_own(row, *column));
                shown.extend([show(plane, cell.median), shade(plane, cell.median, best).to_owned()]);
            }
            Some(Err(why)) => {
                shown.extend(["–".to_owned(), String::new()]);
                if !notes.iter().any(|(_, other): &(Tone, String)| other.ends_with(why)) {
                    notes.push((Tone::Bad, format!("{}: {why}", matrix.columns[*column].name)));
                }
            }
            None => shown.extend([String::new(), String::new()]),
        }
    }

    (shown, notes)
}

/// The rows that were not measured, those with one reason together.
fn missing(matrix: &Matrix, page: &mut Page) {
    let reasons = matrix.rows.iter().filter_map(|row| Some((row.reason.as_deref()?, &row.name[..])));
    let told: Vec<(&str, Vec<&str>)> = grouped(reasons);
    for (reason, names) in told {
        page.paragraph(Tone::Warning, "    not measured: ", &format!("{} ({reason})", names.join(", ")));
    }
}
