//! In which order blocks are measured: one block of every unfinished case a pass, in seeded random order, on memory that is
//! allocated anew several times.
//!
//! Interleaving spreads whatever drifts (clocks, other users, page cache) over all cases alike; fresh allocations make the
//! luck of physical pages part of the spread that the interval shows. Pure: every rank computes the same schedule.

use device::MemoryKind;
use stats::random::SplitMix64;

use crate::case::Case;

/// Fresh memory at these passes, and at every tenth after them: three allocations in the first ten blocks.
const FRESH_AT: [u64; 3] = [0, 4, 7];

/// The number of the allocation that a pass uses.
pub(crate) fn allocation(pass: u64) -> u32 {
    let early = FRESH_AT.iter().filter(|first| **first <= pass).count() as u64;
    (early + pass / 10 - 1) as u32
}

/// The blocks of one pass: kinds of memory one after the other (only one is allocated at a time), cases shuffled within each.
pub(crate) fn pass(cases: &[Case], finished: &[bool], seed: u64, pass: u64) -> Vec<(MemoryKind, Vec<Case>)> {
    let mut random = SplitMix64::new(seed ^ pass.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let open: Vec<Case> =
        cases.iter().copied().filter(|case| !finished.get(case.index).copied().unwrap_or(false)).collect();
    let mut kinds: Vec<MemoryKind> = open.iter().map(|case| case.memory).collect();
    kinds.sort_unstable();
    kinds.dedup();
    random.shuffle(&mut kinds);
    let groups = kinds.into_iter().map(|kind| {
        let mut group: Vec<Case> = open.iter().copied().filter(|case| case.memory == kind).collect();
        random.shuffle(&mut group);
        (kind, group)
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use device::Direction;

    use super::*;
    use crate::config::Order;

    fn cases() -> Vec<Case> {
        let kinds = [MemoryKind::Pinned, MemoryKind::Pageable];
        let all = kinds.into_iter().flat_map(|memory| [4, 8, 16, 32].map(|bytes| (memory, bytes)));
        let case =
            |(index, (memory, bytes))| Case { index, order: Order::Alone, memory, direction: Direction::H2d, bytes };
        all.enumerate().map(case).collect()
    }

    fn order(groups: &[(MemoryKind, Vec<Case>)]) -> Vec<usize> {
        groups.iter().flat_map(|(_, cases)| cases.iter().map(|case| case.index)).collect()
    }

    #[test]
    fn ten_blocks_use_three_allocations_and_later_ones_are_renewed() {
        let numbers: Vec<u32> = (0..10).map(allocation).collect();
        assert_eq!(numbers, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!((allocation(10), allocation(19), allocation(20)), (3, 3, 4));
    }

    #[test]
    fn a_pass_has_every_unfinished_case_once() {
        let mut finished = vec![false; 8];
        finished[3] = true;
        let mut seen = order(&pass(&cases(), &finished, 1, 0));
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 4, 5, 6, 7]);
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_passes_differ() {
        let at = |seed, number| order(&pass(&cases(), &[], seed, number));
        assert_eq!(at(7, 3), at(7, 3));
        assert!((0..8).any(|number| at(7, number) != at(7, number + 1)));
        assert!((0..8).any(|seed| at(seed, 0) != at(seed + 1, 0)));
    }

    #[test]
    fn one_kind_of_memory_is_finished_before_the_next_begins() {
        let groups = pass(&cases(), &[], 3, 5);
        assert_eq!(groups.len(), 2);
        groups.iter().for_each(|(kind, cases)| assert!(cases.iter().all(|case| case.memory == *kind)));
    }
}
