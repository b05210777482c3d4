//! The figures of several ranks, a row a rank, under a caption for each case: ranks are compared line by
//! line.
//!
//! Words that several ranks have to say in place of their numbers are said once, with the ranks. On several
//! nodes only the outliers and the slowest have rows.

use std::collections::BTreeSet;

use report::Document;
use report::case::Case;
use report::device::DeviceKind;
use stats::IdSet;
use stats::alike::grouped;
use stats::flag::Flag;

use super::figures::{self, Figures};
use super::grid::TextGrid;
use super::groups::groups;
use super::page::{Page, Tone};
use super::visible_cells::{Shown, shown};
use super::{hosts, numbers, rank_selection, words};

pub(super) fn draw(document: &Document, page: &mut Page) {
    if document.cases.is_empty() {
        return;
    }
    page.line(Tone::Title, "Rank by rank");
    grid(document).draw_fitting(&figures::DISPENSABLE, page);
    page.blank();
}

/// The labels before a row's figures.
struct Labels {
    node: bool,
    gpu: bool,
    /// Whether there is a column of flags behind them.
    flags: bool,
}

/// A longer list of ranks stands with the words, not before them.
const WIDEST_LIST: usize = 9;

fn grid(document: &Document) -> TextGrid {
    let figures = Figures::of(document);
    let several = hosts::are_several(document);
    let gpu = several && document.devices.iter().any(|device| device.kind == DeviceKind::Gpu);
    let flags: BTreeSet<Flag> = all_flags(document).collect();
    let labels = Labels { node: several, gpu, flags: !flags.is_empty() };

    let mut header = vec!["rank".to_owned()];
    header.extend(labels.node.then(|| "node".into()));
    header.extend(labels.gpu.then(|| "GPU".into()));
    let count = header.len();
    header.extend(figures.header());
    let mark = header.len();
    header.extend(labels.flags.then(String::new));
    let mut grid = TextGrid::new(count, &header);
    grid.marks(labels.flags.then_some(mark).into_iter().collect());

    let mut timed = Vec::new();
    for group in groups(document) {
        for case in &group.cases {
            grid.caption(format!("{}, {}", words::direction_in(document, case.direction), group.caption));
            timed.extend(rows(document, case, &figures, &labels, &mut grid));
        }
    }
    if labels.flags {
        grid.foot(Tone::Warning, words::flag_letters(&flags));
    }
    if let Some(text) = numbers::per_copy(timed.into_iter()) {
        grid.foot(Tone::Faint, text);
    }
    grid
}

/// Adds a case's rows, and gives the blocks whose figures they are.
fn rows<'a>(
    document: &'a Document,
    case: &'a Case,
    figures: &Figures,
    labels: &Labels,
    grid: &mut TextGrid,
) -> Vec<&'a report::result::BlockSample> {
    let picked = rank_selection::ranks(document, case);
    let mut said: Vec<((Tone, String), u32)> = Vec::new();
    let mut timed = Vec::new();
    for rank in &document.ranks {
        match shown(case, rank.rank) {
            Shown::Numbers { summary, percent_of_bound, flags, blocks, .. } => {
                timed.extend(blocks);
                if !picked.rows.contains(&rank.rank) {
                    continue;
                }
                let mut cells = vec![rank.rank.to_string()];
                cells.extend(labels.node.then(|| rank.node.to_string()));
                let device = || document.devices.iter().find(|device| device.id == rank.asked.device);
                cells.extend(
                    labels.gpu.then(|| device().map_or("?".into(), |device| device.index.to_string())),
                );
                cells.extend(figures.cells(summary, percent_of_bound));
                cells.extend(
                    labels.flags.then(|| flags.iter().map(|&flag| words::flag_letter(flag)).collect()),
                );
                grid.row(cells, Vec::new());
            }
            Shown::Words { tone, text } => said.push(((tone, text), rank.rank)),
        }
    }

    let said: Vec<(_, IdSet)> = grouped(said);

    for ((tone, text), ranks) in said {
        match ranks.to_string() {
            list if list.len() <= WIDEST_LIST => grid.text_row(vec![list], tone, text),
            _ => grid.text_row(vec!["…".into()], tone, format!("{}: {text}", words::ranks(&ranks))),
        }
    }

    if let Some(more) = picked.more("rank", "") {
        grid.text_row(vec!["…".into()], Tone::Faint, format!("{more} GB/s"));
    }
    timed
}

pub(super) fn all_flags(document: &Document) -> impl Iterator<Item = Flag> + '_ {
    let shown = document
        .cases
        .iter()
        .flat_map(|case| case.ranks.iter().map(|result| super::visible_cells::of_result(case, result)));
    shown.flat_map(|shown| match shown {
        Shown::Numbers { flags, .. } => flags.to_vec(),
        Shown::Words { .. } => Vec::new(),
    })
}
