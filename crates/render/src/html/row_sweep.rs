//! A sweep from near and far rows: a table for each GPU and direction, the rates of both at each size and
//! what the far one loses, below the curves.

use analysis::matrix_analysis::row_sweep::{FarRow, SizeLoss, far_rows};
use analysis::words::{direction, memory};
use report::Document;
use stats::compare::TwoSampleVerdict;
use stats::units::size;

use super::write::HtmlPage;
use crate::digits;

pub(super) fn draw(document: &Document, page: &mut HtmlPage) {
    for row in far_rows(document) {
        table(&row, page);
    }
}

fn table(row: &FarRow<'_>, page: &mut HtmlPage) {
    let caption = format!(
        "{}, {}, {} memory: {} instead of {} at each size",
        row.column,
        direction(row.direction),
        memory(row.memory),
        row.far,
        row.near
    );
    let [near, far] = [row.near, row.far].map(|name| format!("{name} GB/s "));
    let header = ["size", &near, &far, "change ", "95 % interval ", ""];
    page.table(&caption, &header, row.losses.iter().map(cells));
}

fn cells(loss: &SizeLoss) -> Vec<String> {
    let [near, far] =
        [&loss.near, &loss.far].map(|cell| digits::rate_number(cell.median, cell.interval.as_ref()));
    let interval = loss.comparison.as_ref().map(|found| digits::changes(&found.ratio_interval));
    let note = if loss.verdict() == TwoSampleVerdict::Undecided { "not significant" } else { "" };
    vec![
        size(loss.bytes()),
        near,
        far,
        digits::change(loss.ratio()),
        interval.unwrap_or_else(|| "–".to_owned()),
        note.to_owned(),
    ]
}
