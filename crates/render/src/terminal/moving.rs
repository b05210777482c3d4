//! Memory whose pages go to whoever touches them: for each side the rate of each touch, by size and place,
//! and where pages lie afterwards.

use analysis::moving::{case, part_away, touch_name, who};
use report::Document;
use report::rank::Rank;
use report::settings::{Direction, MemoryKind};
use stats::alike::distinct;
use stats::touch::Touch;
use stats::units::size;

use super::grid::TextGrid;
use super::page::{Page, Tone};
use super::visible_cells::{Shown, shown};
use super::words;
use crate::{digits, names};

/// All tables.
pub(super) fn draw(document: &Document, page: &mut Page) {
    sides(document).for_each(|side| rates(document, side, page));
}

/// Each kind of memory, with each side that touched it: a table.
pub(super) fn sides(document: &Document) -> impl Iterator<Item = (MemoryKind, Direction)> {
    let kinds = document.settings.memory.iter().filter(|kind| kind.moves());
    let sides = kinds.flat_map(|kind| [Direction::H2d, Direction::D2h].map(|side| (*kind, side)));
    sides.filter(|(kind, side)| {
        document.cases.iter().any(|case| (case.memory, case.direction) == (*kind, *side))
    })
}

/// The touches of a side, in the order of the columns, with the direction of their cases: the two in turns
/// stand with the GPU's.
fn touches(document: &Document, direction: Direction) -> Vec<(Touch, Direction)> {
    let of = |touch| match (touch, direction) {
        (Touch::InTurns, Direction::H2d) => Some((touch, Direction::RoundTrip)),
        (Touch::InTurns, _) => None,
        _ => Some((touch, direction)),
    };
    let has = |asked: &(Touch, Direction)| {
        document.cases.iter().any(|case| case.touch() == Some(asked.0) && case.direction == asked.1)
    };
    Touch::ALL.into_iter().filter_map(of).filter(has).collect()
}

/// Each place and size, as rows begin.
fn rows(document: &Document) -> impl Iterator<Item = (&Rank, u64, Vec<String>)> {
    let row = move |rank: &Rank, bytes: u64| {
        let node = rank.asked.memory_node.map_or(String::new(), |node| format!("node {node}, "));
        let place = format!("{node}PU {}, {}", rank.asked.pu, gpu(document, rank));
        if document.ranks.len() > 1 { vec![place, size(bytes)] } else { vec![size(bytes)] }
    };
    let sizes = &document.settings.sizes_bytes;
    document
        .ranks
        .iter()
        .flat_map(move |rank| sizes.iter().map(move |bytes| (rank, *bytes, row(rank, *bytes))))
}

fn gpu(document: &Document, rank: &Rank) -> String {
    let device = document.devices.iter().find(|device| device.id == rank.asked.device);
    device.map_or_else(|| names::rank(document, rank.rank), names::device)
}

fn head(document: &Document) -> Vec<&'static str> {
    if document.ranks.len() > 1 { vec!["place", "size"] } else { vec!["size"] }
}

/// The rates of one side's touches, and which part of the pages lies with the GPU after each.
pub(super) fn rates(document: &Document, (memory, direction): (MemoryKind, Direction), page: &mut Page) {
    let touches = touches(document, direction);
    let columns = touches.iter().flat_map(|(touch, _)| [touch_name(*touch, direction), "%"]);
    let header: Vec<&str> = head(document).into_iter().chain(columns).collect();
    let mut grid = TextGrid::new(head(document).len(), &header);
    grid.caption(format!(
        "{} memory touched by the {}: GB/s, and % of its pages that lie with the GPU afterwards",
        words::memory(memory),
        who(direction)
    ));
    let mut missing: Vec<String> = Vec::new();

    for (rank, bytes, mut cells) in rows(document) {
        for (touch, direction) in touches.iter().copied() {
            let found = case(document, (memory, bytes), direction, touch);
            let result = found.and_then(|case| case.ranks.iter().find(|result| result.rank == rank.rank));
            let part = result.and_then(part_away);
            let part = part.map_or("–".to_owned(), |part| format!("{:.0}", part * 100.0));
            match found.map(|case| shown(case, rank.rank)) {
                Some(Shown::Numbers { summary, .. }) => cells.extend([digits::median_rate(summary), part]),
                other => {
                    if let Some(Shown::Words { text, .. }) = other {
                        missing.push(text);
                    }
                    cells.extend(["–".to_owned(), "–".to_owned()]);
                }
            }
        }
        grid.row(cells, Vec::new());
    }

    distinct(missing).into_iter().for_each(|why| grid.foot(Tone::Warning, why));
    grid.draw(page);
    page.blank();
}
