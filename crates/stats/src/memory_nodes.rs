//! The nodes that memory is taken from, how it is taken from them, and how many pages of it each then has.
//!
//! The kernel interleaves a mapping by the place of a page in it, not by who touches it first, so that the
//! count of each node is known to a page (`interleave_nid` and `weighted_interleave_nid` in mm/mempolicy.c).
//! It does so by whole huge pages where it makes those.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::IdSet;

/// How memory is taken from several nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeUse {
    /// From the nearest, then the others, and from no other node.
    #[default]
    Bind,
    /// Page by page, over one after the other.
    Interleave,
    /// The same, as many pages in a row as the kernel's weight of a node (Linux 6.9 and later;
    /// `/sys/kernel/mm/mempolicy/weighted_interleave`).
    WeightedInterleave,
}

/// The nodes that memory is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNodes {
    /// How it is taken from them.
    pub node_use: NodeUse,
    /// The pages in a row that each node gives in its turn; 1 without weights.
    pub in_turn: BTreeMap<u32, u32>,
}

impl From<u32> for MemoryNodes {
    fn from(node: u32) -> Self {
        Self { node_use: NodeUse::Bind, in_turn: BTreeMap::from([(node, 1)]) }
    }
}

impl MemoryNodes {
    /// These nodes, one page of each in turn.
    pub fn even(nodes: &IdSet, node_use: NodeUse) -> Self {
        Self { node_use, in_turn: nodes.iter().map(|node| (node, 1)).collect() }
    }

    /// The nodes.
    pub fn nodes(&self) -> IdSet {
        self.in_turn.keys().copied().collect()
    }

    /// The pages after which it is the first node's turn again.
    pub fn cycle(&self) -> u64 {
        self.in_turn.values().map(|pages| u64::from(*pages)).sum()
    }

    /// How many of so many pages in a row a node has, whichever of them is the first: the least and the most.
    /// The kernel takes `granule` pages at once.
    pub fn share(&self, node: u32, pages: u64, granule: u64) -> RangeInclusive<u64> {
        let (own, cycle) = (self.in_turn.get(&node).map_or(0, |own| u64::from(*own)), self.cycle().max(1));
        let granule = granule.max(1);
        let least = |taken: u64| taken / cycle * own + (taken % cycle).saturating_sub(cycle - own);
        let most = |taken: u64| taken / cycle * own + (taken % cycle).min(own);
        least(pages / granule) * granule..=most(pages.div_ceil(granule)) * granule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted(in_turn: &[(u32, u32)]) -> MemoryNodes {
        MemoryNodes { node_use: NodeUse::WeightedInterleave, in_turn: in_turn.iter().copied().collect() }
    }

    #[test]
    fn the_share_of_a_node_holds_whatever_page_is_the_first_and_no_other_count() {
        let nodes = weighted(&[(0, 3), (1, 1), (4, 2)]);
        let turn = [0, 0, 0, 1, 4, 4];
        for node in [0, 1, 4, 7] {
            for pages in 0..20 {
                let counts = (0..6).map(|first| {
                    (first..first + pages).filter(|page| turn.get(page % 6) == Some(&node)).count() as u64
                });
                let counts: Vec<u64> = counts.collect();
                let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
                let share = nodes.share(node, pages as u64, 1);
                assert_eq!((Some(*share.start()), Some(*share.end())), (least, most), "{node} {pages}");
            }
        }
    }

    #[test]
    fn huge_pages_are_taken_whole_and_the_last_may_be_begun() {
        let nodes = MemoryNodes::even(&IdSet::from_iter([0, 1]), NodeUse::Interleave);
        assert_eq!(nodes.share(0, 5 * 512, 512), 1024..=1536);
        assert_eq!(nodes.share(0, 4 * 512 + 1, 512), 1024..=1536);
        assert_eq!(nodes.share(0, 4 * 512, 512), 1024..=1024);
        assert_eq!(nodes.share(2, 4 * 512, 512), 0..=0);
    }
}
