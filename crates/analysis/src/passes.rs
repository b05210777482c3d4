//! The pass of each block. Cases take turns: each pass has one block of every case that goes on, and what the
//! machine does to a pass it does to all of them.
//!
//! Documents hold when a block began and not its pass. So blocks of one clock, by their time, are cut into
//! passes where a case comes again. A block that is missing (ranks that were not at once) shifts nothing but
//! the blocks between it and the next cut, to a pass beside theirs.

use std::collections::{BTreeMap, BTreeSet};

/// When the blocks of a case began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moments<'a> {
    /// The node by whose clock.
    pub node: u32,
    /// Nanoseconds, in the order measured; empty where that is not known: then blocks of one number are of
    /// one pass.
    pub ns: &'a [u64],
}

/// The pass of each block of these cases, each with the number of its blocks. The same case twice is one
/// case.
pub(crate) fn passes(cases: &[(Moments, usize)]) -> Vec<Vec<u32>> {
    let of_node = passes_by_node(cases.iter().map(|(began, _)| *began).filter(|began| !began.ns.is_empty()));
    let of_case = |(began, blocks): &(Moments, usize)| {
        of_node.get(began).cloned().unwrap_or_else(|| (0..*blocks as u32).collect())
    };
    cases.iter().map(of_case).collect()
}

fn passes_by_node<'a>(cases: impl Iterator<Item = Moments<'a>>) -> BTreeMap<Moments<'a>, Vec<u32>> {
    let cases: BTreeSet<Moments> = cases.collect();
    let mut by_node: BTreeMap<u32, Vec<(u64, usize, Moments)>> = BTreeMap::new();
    for case in cases {
        // Of blocks of one moment those of one number are of one pass.
        let blocks = case.ns.iter().enumerate().map(|(at, ns)| (*ns, at, case));
        by_node.entry(case.node).or_default().extend(blocks);
    }

    let mut passes: BTreeMap<Moments, Vec<u32>> = BTreeMap::new();
    for mut blocks in by_node.into_values() {
        blocks.sort_unstable();
        let (mut pass, mut seen) = (0, BTreeSet::new());
        for (_, _, case) in blocks {
            if !seen.insert(case) {
                pass += 1;
                seen = BTreeSet::from([case]);
            }
            passes.entry(case).or_default().push(pass);
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cases: &[&[u64]]) -> Vec<Vec<u32>> {
        passes(&cases.iter().map(|ns| (Moments { node: 0, ns }, 3)).collect::<Vec<_>>())
    }

    #[test]
    fn blocks_by_time_are_cut_where_a_case_comes_again() {
        assert_eq!(found(&[&[10, 50, 80], &[20, 40, 90], &[30, 60, 70]]), [[0, 1, 2]; 3]);
    }

    #[test]
    fn a_missing_block_leaves_the_others_in_their_passes() {
        assert_eq!(
            found(&[&[10, 50, 80], &[20, 90], &[30, 60, 70]]),
            [vec![0, 1, 2], vec![0, 2], vec![0, 1, 2]]
        );
    }

    #[test]
    fn the_same_case_twice_is_one_case_and_without_times_numbers_are_passes() {
        assert_eq!(found(&[&[10, 50, 80], &[10, 50, 80], &[20, 40, 90]]), [[0, 1, 2]; 3]);
        assert_eq!(found(&[&[], &[0, 0, 0], &[0, 0, 0]]), [[0, 1, 2]; 3]);
    }

    #[test]
    fn each_node_has_its_own_clock() {
        let of = |node: u32, ns| (Moments { node, ns }, 2);
        assert_eq!(passes(&[of(0, &[10, 20]), of(1, &[5_000, 5_010])]), [[0, 1], [0, 1]]);
    }
}
