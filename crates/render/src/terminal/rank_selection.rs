//! Which ranks and nodes of a large run have rows of their own: on one node all ranks, on several the
//! outliers and the slowest. The others are in the document, and a line says how many they are and between
//! which rates they lie.

use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::case::Case;
use report::contention::{Aggregate, NodeAggregate, rates_by_node};
use report::outlier_node::OutlierNode;
use stats::interval::range;
use stats::units::range as range_of;

use super::hosts;

/// As many rows are read as one table.
const MOST_ROWS: usize = 16;

/// Ranks and nodes that are shown for being the slowest, where not all are.
const SLOWEST: usize = 4;

/// Sweeps are as many tables, one below the other.
const MOST_SWEEPS: usize = 4;

/// What has a row, and what has none.
pub(super) struct Picked {
    /// Ranks or nodes, in order.
    pub(super) rows: BTreeSet<u32>,
    /// How many have no row.
    pub(super) left_out: usize,
    /// The least and the greatest rate among those, bytes/s.
    between: Option<(f64, f64)>,
}

impl Picked {
    /// The first `most` of `wanted` (which may repeat itself), of all that have rates.
    fn of(all: &BTreeMap<u32, f64>, wanted: impl Iterator<Item = u32>, most: usize) -> Self {
        let mut rows = BTreeSet::new();
        for one in wanted.filter(|one| all.contains_key(one)) {
            if rows.len() < most {
                rows.insert(one);
            }
        }
        let rest: Vec<f64> =
            all.iter().filter(|(one, _)| !rows.contains(one)).map(|(_, rate)| *rate).collect();
        Self { rows, left_out: rest.len(), between: range(rest) }
    }

    /// `496 more ranks, 20.0–27.1`; `None` when all have rows. `figure` says of what the rates are.
    pub(super) fn more(&self, noun: &str, figure: &str) -> Option<String> {
        let (least, most) = self.between?;
        let s = if self.left_out == 1 { "" } else { "s" };
        Some(format!("{} more {noun}{s}, {figure}{}", self.left_out, range_of(least / 1e9, most / 1e9)))
    }
}

/// The ranks of a case that have rows.
pub(super) fn ranks(document: &Document, case: &Case) -> Picked {
    if !hosts::are_several(document) || document.ranks.len() <= MOST_ROWS {
        return Picked {
            rows: document.ranks.iter().map(|rank| rank.rank).collect(),
            left_out: 0,
            between: None,
        };
    }
    worst_ranks(document, case, MOST_ROWS)
}

/// The outliers among a case's ranks, the slowest, and the ranks of outlier nodes, in this order, as many as
/// fit.
fn worst_ranks(document: &Document, case: &Case, most: usize) -> Picked {
    let measured =
        case.ranks.iter().filter_map(|result| Some((result.rank, result.summary()?.median_bytes_per_s)));
    let rates: BTreeMap<u32, f64> = measured.collect();
    let slowest = slowest_first(&rates);
    let outliers = outliers(case);
    let named = outliers.iter().filter_map(|one| one.rank);
    let of_nodes: BTreeSet<u32> =
        outliers.iter().filter(|one| one.rank.is_none()).map(|one| one.node).collect();
    let theirs = document.ranks.iter().filter(|rank| of_nodes.contains(&rank.node)).map(|rank| rank.rank);
    Picked::of(&rates, named.chain(slowest.into_iter().take(SLOWEST)).chain(theirs), most)
}

/// The ranks whose sweeps are shown: on several nodes the outliers and the slowest of its largest case.
pub(super) fn sweeps(document: &Document) -> Picked {
    let largest =
        document.cases.iter().filter(|case| case.ranks.iter().any(|result| result.summary().is_some()));
    match largest.max_by_key(|case| (case.bytes, std::cmp::Reverse(case.direction))) {
        Some(case) if hosts::are_several(document) => worst_ranks(document, case, MOST_SWEEPS),
        _ => {
            Picked { rows: document.ranks.iter().map(|rank| rank.rank).collect(), left_out: 0, between: None }
        }
    }
}

/// The nodes of a case that have rows: all if they are few, else outliers, those without an aggregate, with
/// missing ranks or with differences, and the slowest.
pub(super) fn nodes(document: &Document, case: &Case) -> Picked {
    let means: BTreeMap<u32, f64> = node_rows(document, case)
        .iter()
        .map(|row| (row.node, row.aggregate.as_ref().map_or(0.0, |aggregate| aggregate.mean_bytes_per_s)))
        .collect();
    let outliers = outliers(case).into_iter().map(|one| one.node);
    let without = means.iter().filter(|(_, mean)| **mean <= 0.0).map(|(node, _)| *node);
    let missing: BTreeSet<u32> = document.missing.iter().map(|missing| missing.rank).collect();
    let bereft = document.ranks.iter().filter(|rank| missing.contains(&rank.rank)).map(|rank| rank.node);
    // A partition of two kinds of node is no news on each of them: with its majority, if it has one.
    let odd = document.nodes.iter().filter(|node| node.differs.iter().any(|one| one.most.is_some()));
    let wanted = outliers.chain(without).chain(bereft).chain(odd.map(|node| node.index));
    let slowest = if means.len() > MOST_ROWS { SLOWEST } else { means.len() };
    Picked::of(&means, wanted.chain(slowest_first(&means).into_iter().take(slowest)), MOST_ROWS)
}

/// Each node's aggregate in a case; for ranks that ran alone, that of their rates, which were not reached
/// together.
pub(super) fn node_rows(document: &Document, case: &Case) -> Vec<NodeAggregate> {
    if !case.nodes.is_empty() {
        return case.nodes.clone();
    }
    let alone = |(node, rates): (u32, Vec<(u32, f64)>)| {
        let aggregate = Aggregate::of_rates(&rates);
        let reason = aggregate.is_none().then(|| "none of its ranks was measured".to_owned());
        NodeAggregate { node, aggregate, reason, overlap: None, start_skew_ns: None }
    };
    rates_by_node(&document.ranks, &case.ranks).into_iter().map(alone).collect()
}

/// A case's outliers, the worst first.
pub(super) fn outliers(case: &Case) -> Vec<&OutlierNode> {
    let mut outliers: Vec<&OutlierNode> = case.outlier_nodes.value.iter().flatten().collect();
    outliers.sort_by(|a, b| {
        (a.bytes_per_s / a.median_bytes_per_s).total_cmp(&(b.bytes_per_s / b.median_bytes_per_s))
    });
    outliers
}

fn slowest_first(rates: &BTreeMap<u32, f64>) -> Vec<u32> {
    let mut order: Vec<(u32, f64)> = rates.iter().map(|(one, rate)| (*one, *rate)).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    order.into_iter().map(|(one, _)| one).collect()
}
