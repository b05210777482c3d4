//! The list of accesses to measure, as the engine takes it: cases of the same ranks, node and range share
//! memory.

use std::collections::BTreeMap;

use engine::{PlacingRules, Worker};

use crate::case::{Access, TrafficCase};

/// What the cases of one setup need on each rank that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    pub ranks: Vec<usize>,
    pub node: u32,
    pub bytes: usize,
    /// Whether the range is a chain of lines to load, which is kept from pass to pass: making it takes longer
    /// than loading it.
    pub chain: bool,
    /// Whether copies need a second range.
    pub second: bool,
}

/// Memory accesses as a suite.
pub struct MemorySuite {
    pub(crate) cases: Vec<TrafficCase>,
    pub(crate) setups: Vec<Setup>,
    pub(crate) setup_of: Vec<usize>,
    pub(crate) pus: BTreeMap<usize, u32>,
    pub(crate) seed: u64,
    pub(crate) rules: PlacingRules,
}

impl MemorySuite {
    /// These cases by these ranks.
    pub fn new(cases: Vec<TrafficCase>, workers: &[Worker], seed: u64, rules: PlacingRules) -> Self {
        let mut setups: Vec<Setup> = Vec::new();
        let mut setup_of = Vec::new();
        for case in &cases {
            let chain = case.access == Access::Load;
            let second = case.access == Access::Copy;
            let like = |setup: &Setup| {
                (&setup.ranks, setup.node, setup.bytes, setup.chain)
                    == (&case.ranks, case.node, case.bytes, chain)
            };
            let at = setups.iter().position(like).unwrap_or_else(|| {
                let TrafficCase { node, bytes, .. } = *case;
                setups.push(Setup { ranks: case.ranks.clone(), node, bytes, chain, second: false });
                setups.len() - 1
            });
            setups[at].second |= second;
            setup_of.push(at);
        }

        let pus = workers.iter().map(|worker| (worker.rank, worker.pu)).collect();
        Self { cases, setups, setup_of, pus, seed, rules }
    }

    /// The most memory that `node` must have at one time, bytes: ranges of ranks at once, and the chains,
    /// which are kept.
    pub fn bytes_on(&self, node: u32) -> u64 {
        let here = || self.setups.iter().filter(|setup| setup.node == node);
        let ranges =
            |setup: &Setup| setup.bytes as u64 * setup.ranks.len() as u64 * (1 + u64::from(setup.second));
        let kept: u64 = here().filter(|setup| setup.chain).map(ranges).sum();
        // A rank keeps its last ranges until it gets others, so that each rank's largest can be there at
        // once.
        let mut largest: BTreeMap<usize, u64> = BTreeMap::new();
        for setup in here().filter(|setup| !setup.chain) {
            for rank in &setup.ranks {
                let mine = largest.entry(*rank).or_default();
                *mine = (*mine).max(ranges(setup) / setup.ranks.len().max(1) as u64);
            }
        }
        kept + largest.values().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use engine::Order;

    use super::*;

    fn case(access: Access, node: u32, ranks: &[usize], bytes: usize) -> TrafficCase {
        TrafficCase { access, bytes, node, order: Order::Alone, ranks: ranks.to_vec(), pace: None }
    }

    #[test]
    fn a_node_needs_each_ranks_largest_ranges_and_every_chain() {
        let cases = vec![
            case(Access::Read, 0, &[0, 1], 10),
            case(Access::Copy, 0, &[0, 1], 10),
            case(Access::Read, 0, &[2], 100),
            case(Access::Load, 0, &[0], 1000),
            case(Access::Load, 0, &[2], 1000),
            case(Access::Read, 1, &[0], 7),
        ];
        let suite = MemorySuite::new(cases, &[], 1, PlacingRules::default());
        assert_eq!(suite.setups.len(), 5, "read and copy of the same ranks share their ranges");
        assert_eq!((suite.bytes_on(0), suite.bytes_on(1), suite.bytes_on(2)), (2 * 20 + 100 + 2000, 7, 0));
    }
}
