//! The nodes that memory is taken from, how it is taken from them, and how many pages of it each then has.
//!
//! The kernel interleaves a mapping by the place of a page in it, not by who touches it first, so that the
//! count of each node is known to a page (`interleave_nid` and `weighted_interleave_nid` in mm/mempolicy.c).
//! It does so by whole huge pages where it makes those.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::RangeInclusive;

use stats::IdSet;

/// linux/mempolicy.h.
const MPOL_BIND: libc::c_long = 2;
const MPOL_INTERLEAVE: libc::c_long = 3;
const MPOL_WEIGHTED_INTERLEAVE: libc::c_long = 6;

/// Where the kernel has the weight of each node (Linux 6.9 and later).
const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

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

impl NodeUse {
    pub(crate) fn mode(self) -> libc::c_long {
        match self {
            Self::Bind => MPOL_BIND,
            Self::Interleave => MPOL_INTERLEAVE,
            Self::WeightedInterleave => MPOL_WEIGHTED_INTERLEAVE,
        }
    }
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
    /// These nodes by the kernel's weights of them, or one page of each in turn.
    ///
    /// # Errors
    /// The kernel has no weights: it is older than Linux 6.9.
    pub fn spread(nodes: &IdSet, node_use: NodeUse) -> io::Result<Self> {
        let in_turn = |node: u32| match node_use {
            NodeUse::WeightedInterleave => weight(WEIGHTS, node),
            NodeUse::Bind | NodeUse::Interleave => Ok(1),
        };
        let in_turn = nodes.iter().map(|node| Ok((node, in_turn(node)?))).collect::<io::Result<_>>()?;
        Ok(Self { node_use, in_turn })
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

/// The kernel's weight of a node.
fn weight(folder: &str, node: u32) -> io::Result<u32> {
    let text = fs::read_to_string(format!("{folder}/node{node}"))?;
    // Where it was never set, the kernel takes one page.
    text.trim().parse().map(|weight: u32| weight.max(1)).map_err(io::Error::other)
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
        let nodes = MemoryNodes::spread(&IdSet::from_iter([0, 1]), NodeUse::Interleave).expect("no weights");
        assert_eq!(nodes.share(0, 5 * 512, 512), 1024..=1536);
        assert_eq!(nodes.share(0, 4 * 512 + 1, 512), 1024..=1536);
        assert_eq!(nodes.share(0, 4 * 512, 512), 1024..=1024);
        assert_eq!(nodes.share(2, 4 * 512, 512), 0..=0);
    }

    #[test]
    fn weights_are_the_kernels_and_a_kernel_without_has_none() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().to_str().unwrap_or_default();
        fs::write(folder.path().join("node0"), "5\n")?;
        fs::write(folder.path().join("node1"), "0\n")?;
        assert_eq!((weight(path, 0)?, weight(path, 1)?), (5, 1));
        assert_eq!(weight(path, 2).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
        Ok(())
    }
}
