//! A rank's own block: where it sat and what it measured, and, where it is the only one, what was seen of its
//! placement and what is wrong with its data (`remarks` says that of several).

use report::Document;
use report::rank::Rank;
use stats::flag::Flag;

use super::figures::{self, Figures};
use super::grid::TextGrid;
use super::groups::groups;
use super::page::{Page, Tone};
use super::visible_cells::{Shown, shown};
use super::{groups, numbers, remarks, sweep, words};

pub(super) fn draw(document: &Document, rank: &Rank, quiet: bool, page: &mut Page) {
    let alone = document.ranks.len() == 1;
    heading(document, rank, page);
    if alone {
        remarks::before_one(rank, page);
    }
    if groups::is_sweep(document) {
        sweep::draw(document, rank, page);
    } else {
        grid(document, rank).draw_fitting(&figures::DISPENSABLE, page);
    }
    if alone {
        remarks::after_one(document, rank, quiet, page);
    }
    page.blank();
}

fn heading(document: &Document, rank: &Rank, page: &mut Page) {
    let asked = &rank.asked;
    let node = match asked.memory_nodes() {
        None => "memory left to the kernel".to_owned(),
        Some(nodes) if nodes.len() > 1 => format!("memory spread over nodes {nodes}"),
        Some(node) => format!("memory on node {node}"),
    };
    let device = document.devices.iter().find(|device| device.id == asked.device);
    let device = device.map_or_else(|| asked.device.clone(), words::device);
    let locality = words::locality(rank.locality);
    page.paragraph(
        Tone::Title,
        &format!("Rank {}: ", rank.rank),
        &format!("PU {}, {node}, {device}, {locality}", asked.pu),
    );
}

/// A line a direction, under a caption for each size, kind of memory, clock and order.
fn grid(document: &Document, rank: &Rank) -> TextGrid {
    let figures = Figures::of(document);
    let header = [vec![String::new()], figures.header()].concat();
    let mut grid = TextGrid::new(1, &header);
    let mut timed = Vec::new();

    for group in groups(document) {
        grid.caption(group.caption);
        for case in group.cases {
            let label = words::direction_in(document, case.direction).to_owned();
            match shown(case, rank.rank) {
                Shown::Words { tone, text } => grid.text_row(vec![label], tone, text),
                Shown::Numbers { summary, percent_of_bound, flags, blocks, .. } => {
                    timed.extend(blocks);
                    let cells = [vec![label], figures.cells(summary, percent_of_bound)].concat();
                    grid.row(cells, flags_note(flags));
                }
            }
        }
    }

    if let Some(text) = numbers::per_copy(timed.into_iter()) {
        grid.foot(Tone::Faint, text);
    }
    grid
}

/// The names of flags as a note to a row; the closing section says what they mean.
fn flags_note(flags: &[Flag]) -> Vec<(Tone, String)> {
    let names: Vec<&str> = flags.iter().map(|flag| flag.name()).collect();
    (!names.is_empty()).then(|| (Tone::Warning, names.join(", "))).into_iter().collect()
}
