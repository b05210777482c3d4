//! Nodes, and ranks of nodes, whose rate in a case is far from that of the others: what an administrator
//! looks for who runs over a partition.
//!
//! Nodes are compared by the mean rate of their measured ranks, whether these ran at once or alone. One bad
//! link of eight hardly moves that mean, so ranks are compared too: each with the ranks of the same number on
//! the other nodes, which sit alike. The rule is [`stats::peer_outlier`]'s.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::peer_outlier::{LEAST_VALUES, a_fifth, peer_outliers};

use crate::Known;
use crate::contention::{NodeAggregate, rates_by_node};
use crate::rank::Rank;
use crate::result::RankResult;

/// A node, or one rank of it, whose rate is far from that of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutlierNode {
    /// The node's `index`.
    pub node: u32,
    /// The rank whose rate it is; null when it is the mean of the node's ranks.
    pub rank: Option<u32>,
    /// The rate.
    pub bytes_per_s: f64,
    /// The median over all nodes: of their means, or of their ranks with the same `node_rank`.
    pub median_bytes_per_s: f64,
    /// The modified z-score, negative below the median.
    pub score: f64,
}

/// Who says so.
const SOURCE: &str = "generalized ESD test (Rosner 1983) at 5 % for all cases together, and more than 5 % \
    from the median over nodes";

/// The outlier nodes and ranks of a case, nodes first; unknown where fewer than five nodes have a rate.
/// `nodes` are the case's aggregates: a node that has none did not run as the others did, and is left out.
/// The document has so many `cases`, which share the chance of a false one.
pub fn outlier_nodes(
    ranks: &[Rank],
    results: &[RankResult],
    nodes: &[NodeAggregate],
    cases: usize,
) -> Known<Vec<OutlierNode>> {
    let otherwise: BTreeSet<u32> =
        nodes.iter().filter(|node| node.aggregate.is_none()).map(|node| node.node).collect();
    let mut rates = rates_by_node(ranks, results);
    rates.retain(|node, _| !otherwise.contains(node));
    let mean = |rates: &[(u32, f64)]| rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64;
    let measured = rates.iter().filter(|(_, rates)| !rates.is_empty());
    let means: Vec<(u32, Option<u32>, f64)> =
        measured.map(|(node, rates)| (*node, None, mean(rates))).collect();
    let place: BTreeMap<u32, u32> = ranks.iter().map(|rank| (rank.rank, rank.node_rank)).collect();
    let mut alike: BTreeMap<u32, Vec<(u32, Option<u32>, f64)>> = BTreeMap::new();

    for (node, rates) in &rates {
        for (rank, rate) in rates {
            let node_rank = place.get(rank).copied().unwrap_or_default();
            alike.entry(node_rank).or_default().push((*node, Some(*rank), *rate));
        }
    }

    let sets = cases * (1 + alike.len());
    let mut outliers = match judged(&means, sets) {
        Ok(outliers) => outliers,
        Err(reason) => return Known::unknown(SOURCE, reason),
    };

    // Fewer than five of a number are not judged; there may be as many of the others.
    outliers.extend(alike.values().filter_map(|same| judged(same, sets).ok()).flatten());
    Known::value(outliers, SOURCE)
}

fn judged(rates: &[(u32, Option<u32>, f64)], sets: usize) -> Result<Vec<OutlierNode>, String> {
    let values: Vec<f64> = rates.iter().map(|(_, _, rate)| *rate).collect();
    let judged = peer_outliers(&values, sets, a_fifth(values.len()))
        .map_err(|reason| format!("of the nodes {reason}"))?;
    let named = |one: &stats::peer_outlier::PeerOutlier| {
        let (node, rank, bytes_per_s) = rates[one.index];
        OutlierNode { node, rank, bytes_per_s, median_bytes_per_s: judged.median, score: one.score }
    };
    Ok(judged.outliers.iter().map(named).collect())
}

/// What a document of schema 1.0 says of them, whose ranks were all on one node.
pub fn not_judged() -> Known<Vec<OutlierNode>> {
    Known::unknown(
        SOURCE,
        format!("the run was on one node, and {LEAST_VALUES} are needed to tell which is unlike the others"),
    )
}
