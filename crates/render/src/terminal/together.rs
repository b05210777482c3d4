//! Several ranks: their rates together, over all nodes.

use report::Document;
use report::case::{Case, CaseStatus, Order};
use stats::units;

use super::grid::TextGrid;
use super::groups::{groups, is_sweep};
use super::numbers::RateDecimals;
use super::page::{Page, Tone};
use super::words;
use crate::digits;

pub(super) fn draw(document: &Document, page: &mut Page) {
    if document.ranks.len() > 1 && document.cases.iter().any(|case| case.order == Order::Simultaneous) {
        page.line(Tone::Title, "Ranks together, GB/s");
        // The skew and then the mean are the first to go; they are in the document.
        aggregates(document).draw_fitting(&["start skew", "mean"], page);
        page.blank();
    }
}

fn aggregates(document: &Document) -> TextGrid {
    let sweep = is_sweep(document);
    let rates = document.cases.iter().filter_map(|case| case.aggregate.as_ref());
    let decimals = RateDecimals::for_smallest(rates.map(|aggregate| aggregate.min_bytes_per_s));
    let labels: &[&str] = if sweep { &["size", ""] } else { &[""] };
    let numbers = ["sum", "mean", "lowest", "slowest", "highest", "imbalance", "overlap", "start skew"];
    let mut grid = TextGrid::new(labels.len(), &[labels, &numbers].concat());

    for group in groups(document) {
        let mut cases: Vec<&Case> =
            group.cases.into_iter().filter(|case| case.order == Order::Simultaneous).collect();
        if cases.is_empty() {
            continue;
        }
        cases.sort_by_key(|case| case.bytes);
        grid.caption(group.caption);
        for case in cases {
            let mut labels = vec![words::direction_in(document, case.direction).to_owned()];
            if sweep {
                labels.insert(0, units::size(case.bytes));
            }
            aggregate_row(document, case, labels, decimals, &mut grid);
        }
    }
    grid
}

fn aggregate_row(
    document: &Document,
    case: &Case,
    labels: Vec<String>,
    decimals: RateDecimals,
    grid: &mut TextGrid,
) {
    let all = document.ranks.len();
    let Some(aggregate) = case.aggregate.as_ref().filter(|_| case.status != CaseStatus::Invalid) else {
        let measured = case.ranks.iter().filter(|result| result.summary().is_some()).count();
        let reason =
            case.reason.clone().unwrap_or_else(|| format!("{measured} of {all} ranks were measured"));
        return grid.text_row(labels, Tone::Warning, format!("no result: {reason}"));
    };
    let mut cells = labels;
    cells.push(decimals.show(aggregate.sum_bytes_per_s));
    cells.push(decimals.show(aggregate.mean_bytes_per_s));
    cells.extend([decimals.show(aggregate.min_bytes_per_s), format!("rank {}", aggregate.slowest_rank)]);
    cells.push(decimals.show(aggregate.max_bytes_per_s));
    cells.push(digits::percent(aggregate.imbalance));
    cells.push(case.overlap.map_or("–".into(), digits::percent));
    cells.push(case.start_skew_ns.map_or("–".into(), |ns| digits::time(ns, None)));
    let lacks = (aggregate.ranks as usize) < all;
    let note = lacks.then(|| (Tone::Warning, format!("{} of {all} ranks only", aggregate.ranks)));
    grid.row(cells, note.into_iter().collect());
}
