//! The rates of ranks on a screen: a row a rank, a column a direction, with the digits that the intervals
//! carry. Of many ranks the slowest.

use std::collections::BTreeSet;

use report::Document;
use report::case::Case;

use super::grid::TextGrid;
use super::groups::groups;
use super::page::{Page, Tone};
use super::visible_cells::{Shown, shown};
use super::words;
use crate::{digits, names};

/// So many ranks have a row.
const MOST: usize = 16;

pub(super) fn draw(document: &Document, page: &mut Page) {
    for group in groups(document) {
        let mut columns: Vec<&Case> = group.cases.clone();
        columns.sort_by_key(|case| case.bytes);
        let sizes: BTreeSet<u64> = columns.iter().map(|case| case.bytes).collect();
        let name = |case: &&Case| match sizes.len() {
            1 => words::direction_in(document, case.direction).to_owned(),
            _ => format!(
                "{} {}",
                words::direction_in(document, case.direction),
                stats::units::size(case.bytes)
            ),
        };
        let header: Vec<String> = [String::new()].into_iter().chain(columns.iter().map(name)).collect();
        let mut grid = TextGrid::new(1, &header);
        let mut ranks: Vec<u32> = document.ranks.iter().map(|rank| rank.rank).collect();
        let all = ranks.len();
        if all > MOST {
            let rate = |rank: &u32| match columns.first().map(|case| shown(case, *rank)) {
                Some(Shown::Numbers { summary, .. }) => summary.median_bytes_per_s,
                // What has no figure comes first.
                _ => 0.0,
            };
            ranks.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
            ranks.truncate(MOST);
        }
        let picked = if all > MOST { format!(", the slowest {MOST} of {all} ranks") } else { String::new() };
        grid.caption(format!("{}, GB/s{picked}", group.caption));
        for rank in ranks {
            let (mut cells, mut notes) = (vec![names::rank(document, rank)], Vec::new());
            for case in &columns {
                cells.push(match shown(case, rank) {
                    Shown::Numbers { summary, .. } => digits::median_rate(summary),
                    Shown::Words { tone, text } => {
                        notes.push((
                            tone,
                            format!("{}: {text}", words::direction_in(document, case.direction)),
                        ));
                        "–".to_owned()
                    }
                });
            }
            notes.dedup();
            grid.row(cells, notes);
        }
        grid.draw(page);
    }

    let flags: BTreeSet<stats::flag::Flag> = super::ranks::all_flags(document).collect();

    if !flags.is_empty() {
        let named: Vec<&str> = flags.iter().map(|flag| flag.name()).collect();
        page.paragraph(Tone::Warning, "    ", &format!("flags: {}", named.join(", ")));
    }
}
