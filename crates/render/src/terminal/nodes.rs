//! Several nodes: each node's rates, which of them are outliers, and what nodes have otherwise than most.
//!
//! A sweep has its largest size here only; that of the other sizes is in the document.

use std::collections::BTreeMap;

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::contention::NodeAggregate;
use report::node::Difference;
use report::outlier_node::OutlierNode;
use stats::alike::grouped;
use stats::{IdSet, units};

use super::grid::TextGrid;
use super::groups::{groups, is_sweep};
use super::numbers::RateDecimals;
use super::page::{Page, Tone};
use super::{hosts, rank_selection, words};
use crate::digits;

/// More different outliers, or values of a fact, than this are not all named.
const MOST_NAMED: usize = 12;

pub(super) fn draw(document: &Document, quiet: bool, page: &mut Page) {
    if !hosts::are_several(document) {
        return;
    }
    if !document.cases.is_empty() {
        let largest =
            if is_sweep(document) { " (the largest size; the others are in the document)" } else { "" };
        page.line(Tone::Title, format!("Node by node, GB/s{largest}"));
        rates(document).draw_fitting(&["ranks", "imbalance", "overlap"], page);
        page.blank();
        outliers(document, quiet, page);
    }
    differences(document, page);
}

fn rates(document: &Document) -> TextGrid {
    let mut cases: Vec<(String, &Case)> = Vec::new();
    for group in groups(document) {
        let largest = group.cases.iter().map(|case| case.bytes).max();
        for case in group.cases.into_iter().filter(|case| !is_sweep(document) || Some(case.bytes) == largest)
        {
            let size =
                if is_sweep(document) { format!(", {}", units::size(case.bytes)) } else { String::new() };
            cases.push((format!("{}{size}, {}", words::direction(case.direction), group.caption), case));
        }
    }
    // Ranks that ran alone have rates too, but what a node gives is what its ranks give at once.
    if cases.iter().any(|(_, case)| case.order == Order::Simultaneous) {
        cases.retain(|(_, case)| case.order == Order::Simultaneous);
    }
    let lowest = cases.iter().flat_map(|(_, case)| &case.nodes).filter_map(|node| node.aggregate.as_ref());
    let decimals = RateDecimals::for_smallest(lowest.map(|aggregate| aggregate.min_bytes_per_s));

    let header = ["node", "host", "ranks", "sum", "min", "mean", "max", "slowest", "imbalance", "overlap"];
    let mut grid = TextGrid::new(3, &header);
    for (caption, case) in cases {
        grid.caption(caption);
        let picked = rank_selection::nodes(document, case);
        for row in
            rank_selection::node_rows(document, case).iter().filter(|row| picked.rows.contains(&row.node))
        {
            node_row(document, case, row, decimals, &mut grid);
        }
        if let Some(more) = picked.more("node", "mean ") {
            grid.text_row(vec!["…".into()], Tone::Faint, more);
        }
    }
    grid
}

fn node_row(
    document: &Document,
    case: &Case,
    row: &NodeAggregate,
    decimals: RateDecimals,
    grid: &mut TextGrid,
) {
    let mut cells = vec![row.node.to_string(), hosts::name(document, row.node).to_owned()];
    let ranks = document.ranks.iter().filter(|rank| rank.node == row.node).map(|rank| rank.rank);
    cells.push(ranks.collect::<IdSet>().to_string());
    let Some(aggregate) = row.aggregate.as_ref().filter(|_| case.status != CaseStatus::Invalid) else {
        let reason = row.reason.as_deref().or(case.reason.as_deref()).unwrap_or("no reason was recorded");
        return grid.text_row(cells, Tone::Warning, format!("no result: {reason}"));
    };
    let sum = match case.order {
        Order::Alone => "–".into(),
        _ => decimals.show(aggregate.sum_bytes_per_s),
    };

    cells.extend([sum, decimals.show(aggregate.min_bytes_per_s), decimals.show(aggregate.mean_bytes_per_s)]);
    cells.extend([decimals.show(aggregate.max_bytes_per_s), format!("rank {}", aggregate.slowest_rank)]);
    cells.push(digits::percent(aggregate.imbalance));
    cells.push(row.overlap.map_or("–".into(), digits::percent));
    let is_outlier = case.outlier_nodes.value.iter().flatten().any(|one| one.node == row.node);
    let differs = document
        .nodes
        .iter()
        .any(|node| node.index == row.node && node.differs.iter().any(|d| d.most.is_some()));
    let marks: Vec<&str> =
        is_outlier.then_some("OUTLIER").into_iter().chain(differs.then_some("differs")).collect();
    let mark = (!marks.is_empty()).then(|| (Tone::Warning, marks.join(", ")));
    grid.row(cells, mark.into_iter().collect());
}

/// A node and, where it is not the mean of all, a rank of it.
type Who = (u32, Option<u32>);

/// Each outlier once, with how far it is off over the cases, the worst first.
fn outliers(document: &Document, quiet: bool, page: &mut Page) {
    let mut off: BTreeMap<Who, Vec<f64>> = BTreeMap::new();
    for OutlierNode { node, rank, bytes_per_s, median_bytes_per_s, .. } in
        document.cases.iter().flat_map(rank_selection::outliers)
    {
        off.entry((*node, *rank)).or_default().push(bytes_per_s / median_bytes_per_s);
    }

    let unjudged = document.cases.iter().find_map(|case| case.outlier_nodes.reason.as_deref());

    if off.is_empty() {
        match unjudged {
            Some(reason) if !quiet => {
                page.paragraph(Tone::Faint, "  ", &format!("Outliers are not known: {reason}"))
            }
            None if !quiet => page.paragraph(Tone::Plain, "  ", "No node or rank is an outlier."),
            _ => return,
        }
        return page.blank();
    }

    let least = |ratios: &[f64]| ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let mut off: Vec<(Who, Vec<f64>)> = off.into_iter().collect();
    off.sort_by(|a, b| least(&a.1).total_cmp(&least(&b.1)));
    page.line(Tone::Title, "Outliers: more than 5 % from the median over nodes; no verdict, measure again");

    for ((node, rank), ratios) in off.iter().take(MOST_NAMED) {
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (least, most) = (digits::signed_change(least(ratios)), digits::signed_change(most));
        let by = if least == most { least } else { format!("{least} to {most}") };
        let cases = format!("in {} of {}", ratios.len(), words::count(document.cases.len() as u64, "case"));
        let who = match rank {
            Some(rank) => {
                format!("{}, against the ranks in its place on other nodes", rank_named(document, *rank))
            }
            None => format!("{}, mean of its ranks", hosts::named(document, &IdSet::from_iter([*node]))),
        };
        page.paragraph(Tone::Warning, "    ", &format!("{who}: {by} {cases}"));
    }

    if off.len() > MOST_NAMED {
        page.line(Tone::Warning, format!("    {} more are in the document", off.len() - MOST_NAMED));
    }
    page.blank();
}

/// `rank 29 on nid001004, GPU 5 (nid001004/0000:d6:00.0)`.
fn rank_named(document: &Document, rank: u32) -> String {
    let Some(known) = document.ranks.iter().find(|one| one.rank == rank) else {
        return format!("rank {rank}");
    };
    let device = document.devices.iter().find(|device| device.id == known.asked.device);
    let device = device.map_or_else(|| known.asked.device.clone(), words::device);
    format!("rank {rank}, PU {}, {device}", known.asked.pu)
}

/// Each fact that not all nodes have alike, and which node has what.
fn differences(document: &Document, page: &mut Page) {
    let all =
        document.nodes.iter().flat_map(|node| node.differs.iter().map(move |found| (found, node.index)));
    let facts: Vec<(&str, Vec<(&Difference, u32)>)> =
        grouped(all.map(|(found, node)| (&found.fact[..], (found, node))));
    if facts.is_empty() {
        return;
    }
    page.line(Tone::Title, "Nodes differ");

    for (fact, found) in facts {
        let most = found.first().and_then(|(found, _)| found.most.as_ref());
        let values: Vec<(&str, IdSet)> = grouped(found.iter().map(|(found, node)| (&found.this[..], *node)));
        let mut parts: Vec<String> = most.map(|most| format!("{most} on most")).into_iter().collect();
        let named = |(this, nodes): &(&str, IdSet)| format!("{this} on {}", hosts::named(document, nodes));
        parts.extend(values.iter().take(MOST_NAMED).map(named));
        let more = values.len().saturating_sub(MOST_NAMED);
        parts.extend((more > 0).then(|| format!("{more} more values in the document")));
        page.paragraph(Tone::Warning, &format!("  {fact:<16}"), &parts.join("; "));
    }
    page.blank();
}
