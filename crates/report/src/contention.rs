//! Several ranks at once: their rates together, over all and node by node, and what each lost against running
//! alone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::compare::TwoSampleComparison;

use crate::rank::Rank;
use crate::result::RankResult;
use crate::settings::{Direction, MemoryKind};

/// The rates of ranks that ran at once, each the median over its blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// How many ranks these are: those that were measured.
    pub ranks: u32,
    /// Their rates added up.
    pub sum_bytes_per_s: f64,
    /// The lowest rate.
    pub min_bytes_per_s: f64,
    /// The mean rate.
    pub mean_bytes_per_s: f64,
    /// The highest rate.
    pub max_bytes_per_s: f64,
    /// The rank with the lowest rate.
    pub slowest_rank: u32,
    /// (highest − lowest) / mean, a fraction.
    pub imbalance: f64,
}

impl Aggregate {
    /// The aggregate of (rank, bytes/s); `None` without ranks or with a rate that is not a positive number.
    pub fn of_rates(rates: &[(u32, f64)]) -> Option<Self> {
        if !rates.iter().all(|(_, rate)| rate.is_finite() && *rate > 0.0) {
            return None;
        }
        let (slowest_rank, min) = rates.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let max = rates.iter().map(|(_, rate)| *rate).fold(min, f64::max);
        let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let mean = sum / rates.len() as f64;

        Some(Self {
            ranks: rates.len() as u32,
            sum_bytes_per_s: sum,
            min_bytes_per_s: min,
            mean_bytes_per_s: mean,
            max_bytes_per_s: max,
            slowest_rank,
            imbalance: (max - min) / mean,
        })
    }
}

/// The rates of one node's ranks that ran at once. Each node has its own clock, so that its window, and with
/// it the overlap, is of its own ranks only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeAggregate {
    /// The node's `index`.
    pub node: u32,
    /// The rates of its measured ranks together; null when they are not to be taken together.
    pub aggregate: Option<Aggregate>,
    /// Why there is no aggregate; null when there is one.
    pub reason: Option<String>,
    /// The part of the case in which all its ranks were copying, 0..1; null when that is not known.
    pub overlap: Option<f64>,
    /// The largest distance between the starts of two of its ranks in one block, ns; null when that is not
    /// known.
    pub start_skew_ns: Option<f64>,
}

/// How far the ranks of one node ran at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Together {
    /// The part of the case in which all of them were copying, 0..1.
    pub overlap: Option<f64>,
    /// The largest distance between the starts of two of them in one block, ns.
    pub start_skew_ns: Option<f64>,
    /// Why their rates are not those of ranks at once, where they are not.
    pub invalid: Option<String>,
}

impl NodeAggregate {
    /// The aggregate of every node that has ranks, in order; `together` says of each node (by its index) how
    /// far they ran at once. A node of which a rank is missing has none: the others had less company than was
    /// asked.
    pub fn of_nodes(ranks: &[Rank], results: &[RankResult], together: impl Fn(u32) -> Together) -> Vec<Self> {
        let of_node = |(node, rates): (u32, Vec<(u32, f64)>)| {
            let Together { overlap, start_skew_ns, invalid } = together(node);
            let (measured, all) = (rates.len(), ranks.iter().filter(|rank| rank.node == node).count());
            let few = || format!("{measured} of its {all} ranks were measured");
            let reason = invalid.or_else(|| (measured < all).then(few));
            let aggregate = if reason.is_none() { Aggregate::of_rates(&rates) } else { None };
            let reason =
                reason.or_else(|| aggregate.is_none().then(|| "a rate is not a positive number".to_owned()));
            Self { node, aggregate, reason, overlap, start_skew_ns }
        };
        rates_by_node(ranks, results).into_iter().map(of_node).collect()
    }
}

/// The rates (rank, bytes/s) of each node's measured ranks; a node without any has an empty list.
pub fn rates_by_node(ranks: &[Rank], results: &[RankResult]) -> BTreeMap<u32, Vec<(u32, f64)>> {
    let rates: BTreeMap<u32, f64> = results
        .iter()
        .filter_map(|result| Some((result.rank, result.summary()?.median_bytes_per_s)))
        .collect();
    let mut by_node: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    for rank in ranks {
        by_node.entry(rank.node).or_default().extend(rates.get(&rank.rank).map(|rate| (rank.rank, *rate)));
    }
    by_node
}

/// What sharing the machine cost one rank in one direction, size and kind of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Penalty {
    /// The rank.
    pub rank: u32,
    /// The direction.
    pub direction: Direction,
    /// The size of one copy, bytes.
    pub bytes: u64,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The `id` of the case it ran alone in.
    pub alone_case: String,
    /// The `id` of the case it ran in with the others.
    pub simultaneous_case: String,
    /// Its rate alone, the median over blocks.
    pub alone_bytes_per_s: f64,
    /// Its rate with the others, the median over blocks.
    pub simultaneous_bytes_per_s: f64,
    /// Simultaneous against alone, over the blocks' rates: a ratio of 0.9 is a loss of 10 %. Null with too
    /// few blocks.
    pub comparison: Option<TwoSampleComparison>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aggregate_names_the_slowest_rank_and_the_imbalance() {
        let aggregate = Aggregate::of_rates(&[(0, 30.0), (1, 10.0), (2, 20.0)]);
        let want = Aggregate {
            ranks: 3,
            sum_bytes_per_s: 60.0,
            min_bytes_per_s: 10.0,
            mean_bytes_per_s: 20.0,
            max_bytes_per_s: 30.0,
            slowest_rank: 1,
            imbalance: 1.0,
        };
        assert_eq!(aggregate, Some(want));
    }

    #[test]
    fn rates_that_are_no_rates_have_no_aggregate() {
        assert_eq!(Aggregate::of_rates(&[]), None);
        assert_eq!(Aggregate::of_rates(&[(0, f64::NAN)]), None);
        assert_eq!(Aggregate::of_rates(&[(0, 1.0), (1, 0.0)]), None);
    }
}
