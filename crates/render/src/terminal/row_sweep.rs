//! A sweep from near and far rows: at each size the rate from both, and what the far one loses.

use analysis::matrix_analysis::row_sweep::{FarRow, SizeLoss, far_rows};
use report::Document;
use stats::compare::TwoSampleVerdict;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::words;
use crate::digits;

/// The losses of so many sizes of each far row, from the smallest to the largest.
pub(super) fn draw(document: &Document, most_sizes: usize, page: &mut Page) {
    for row in far_rows(document) {
        table(document, &row, most_sizes, page);
        page.blank();
    }
}

fn table(document: &Document, row: &FarRow<'_>, most_sizes: usize, page: &mut Page) {
    let header = ["size", row.near, row.far, "change", "95 % interval"];
    let mut grid = TextGrid::new(1, &header);
    let (way, memory) = (words::direction_in(document, row.direction), words::memory(row.memory));
    grid.caption(format!(
        "{}, {way}, {memory} memory: GB/s from {} and from {}",
        row.column, row.near, row.far
    ));
    let sizes = row.losses.len().min(most_sizes);
    for at in 0..sizes {
        let loss = &row.losses[at * (row.losses.len() - 1) / (sizes - 1).max(1)];
        let undecided = loss.verdict() == TwoSampleVerdict::Undecided;
        let notes = if undecided { vec![(Tone::Faint, "not significant".to_owned())] } else { Vec::new() };
        grid.row(cells(loss), notes);
    }
    grid.draw(page);
}

fn cells(loss: &SizeLoss) -> Vec<String> {
    let [near, far] =
        [&loss.near, &loss.far].map(|cell| digits::rate_number(cell.median, cell.interval.as_ref()));
    let interval = loss.comparison.as_ref().map(|found| &found.ratio_interval);
    let interval = interval.map_or("–".to_owned(), |ends| {
        format!("{} to {}", digits::signed_change(ends.low), digits::signed_change(ends.high))
    });
    vec![stats::units::size(loss.bytes()), near, far, digits::signed_change(loss.ratio()), interval]
}
