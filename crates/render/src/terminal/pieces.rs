//! Small pieces sent in several ways: for each rank and direction the rate and the time of a piece by its
//! size, and the part of that time in which the host is busy.

use analysis::pieces::{lie, way};
use report::Document;
use report::case::Case;
use report::pieces::Way;
use report::rank::Rank;
use report::result::RankResult;
use report::settings::Direction;
use stats::alike::distinct;
use stats::interval::median;
use stats::units::size;

use super::grid::TextGrid;
use super::numbers::TimeUnit;
use super::page::{Page, Tone};
use super::visible_cells::{Shown, shown};
use super::words;
use crate::{digits, names};

/// So many sizes have a row on a screen, so that two directions have room there.
const SIZES: usize = 5;

/// The tables of all ranks, with the host's part.
pub(super) fn draw(document: &Document, page: &mut Page) {
    let sizes = &document.settings.sizes_bytes;
    for (rank, direction) in places(document) {
        rates(document, (rank, direction), sizes, page);
        busy(document, (rank, direction), page);
    }
}

/// Each rank and direction.
pub(super) fn places(document: &Document) -> impl Iterator<Item = (&Rank, Direction)> {
    document
        .ranks
        .iter()
        .flat_map(|rank| document.settings.directions.iter().map(move |direction| (rank, *direction)))
}

/// The rates of a few sizes of one of them, from the smallest to the largest.
pub(super) fn some_sizes(document: &Document, place: (&Rank, Direction), page: &mut Page) {
    let sizes = &document.settings.sizes_bytes;
    let rows = sizes.len().min(SIZES);
    let some: Vec<u64> = (0..rows).map(|at| sizes[at * (sizes.len() - 1) / (rows - 1).max(1)]).collect();
    rates(document, place, &some, page);
}

/// The ways that were asked for.
fn ways(document: &Document) -> Vec<Way> {
    let has = |asked: &Way| document.cases.iter().any(|case| way(case) == Some(*asked));
    Way::ALL.into_iter().filter(has).collect()
}

fn case(document: &Document, (direction, bytes): (Direction, u64), asked: Way) -> Option<&Case> {
    document
        .cases
        .iter()
        .find(|case| (case.direction, case.bytes, way(case)) == (direction, bytes, Some(asked)))
}

fn who(document: &Document, rank: &Rank) -> String {
    let node = rank.asked.memory_node.map_or(String::new(), |node| format!(", memory of NUMA node {node}"));
    if document.ranks.len() > 1 {
        format!("{}{node}, ", names::rank(document, rank.rank))
    } else {
        String::new()
    }
}

fn rates(document: &Document, (rank, direction): (&Rank, Direction), sizes: &[u64], page: &mut Page) {
    let Some(pieces) = &document.pieces else { return };
    let ways = ways(document);
    let mut header = vec!["piece"];
    for way in &ways {
        header.extend([way.name(), "µs"]);
    }
    let mut grid = TextGrid::new(1, &header);
    let all = document.settings.sizes_bytes.len();
    let part = if sizes.len() < all { format!(", {} of {all} sizes", sizes.len()) } else { String::new() };
    grid.caption(format!(
        "{}{}, {} in pieces {}: GB/s, and µs a piece{part}",
        who(document, rank),
        words::direction(direction),
        size(pieces.total_bytes),
        lie(pieces.scattered)
    ));

    let mut missing: Vec<(Way, String)> = Vec::new();

    for bytes in sizes {
        let mut cells = vec![size(*bytes)];
        for way in &ways {
            match case(document, (direction, *bytes), *way).map(|case| shown(case, rank.rank)) {
                Some(Shown::Numbers { summary, .. }) => {
                    cells.extend([digits::median_rate(summary), TimeUnit::US.show(summary.median_ns)]);
                }
                other => {
                    cells.extend(["–".to_owned(), "–".to_owned()]);
                    if let Some(Shown::Words { text, .. }) = other {
                        missing.push((*way, text));
                    }
                }
            }
        }
        grid.row(cells, Vec::new());
    }

    for (way, why) in distinct(missing) {
        grid.foot(Tone::Warning, format!("{}: {why}", way.name()));
    }
    grid.draw(page);
    page.blank();
}

/// The part of the time in which the host is busy, per cent.
fn busy(document: &Document, (rank, direction): (&Rank, Direction), page: &mut Page) {
    let ways = ways(document);
    let header: Vec<&str> = std::iter::once("piece").chain(ways.iter().map(|way| way.name())).collect();
    let mut grid = TextGrid::new(1, &header);
    let who = who(document, rank);
    grid.caption(format!(
        "{who}{}: % of the time in which the host is in calls or packs",
        words::direction(direction)
    ));
    let part = |result: &RankResult| {
        let round = median(
            &result
                .blocks
                .iter()
                .map(|block| block.elapsed_ns / block.rounds.max(1) as f64)
                .collect::<Vec<f64>>(),
        )?;
        Some(median(&result.host_round_ns)? / round * 100.0)
    };

    for bytes in &document.settings.sizes_bytes {
        let cell = |way: &Way| {
            let case = case(document, (direction, *bytes), *way)?;
            case.ranks.iter().find(|result| result.rank == rank.rank).and_then(part)
        };
        let cells = ways
            .iter()
            .map(|way| cell(way).map_or("–".to_owned(), |part| format!("{:.0}", part.min(100.0))));
        grid.row(std::iter::once(size(*bytes)).chain(cells).collect(), Vec::new());
    }

    grid.draw(page);
    page.blank();
}
