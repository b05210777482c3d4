//! In which order blocks are measured: one block of every unfinished case a pass, in seeded random order, on
//! memory that is allocated anew several times.
//!
//! Interleaving spreads whatever drifts (clocks, other users, page cache) over all cases alike; fresh
//! allocations make the luck of physical pages part of the spread that the interval shows. Cases of a later
//! phase follow when all of an earlier one are done: what they do to a driver must not show in the others'
//! figures. Pure: every rank computes the same schedule.

use stats::random::SplitMix64;

use crate::case::Case;

/// Fresh memory at these passes: three allocations in the first ten blocks.
const FRESH_AT: [u64; 3] = [0, 4, 7];
/// After ten blocks at every fifth pass: a case that needs more of them needs more allocations too, or its
/// interval stays as wide as what is known of three (`stats::block_interval`).
const THEN_EVERY: u64 = 5;

/// The number of the allocation that a pass uses.
pub fn allocation(pass: u64) -> u32 {
    let early = FRESH_AT.iter().filter(|first| **first <= pass).count() as u64;
    let later = pass.checked_sub(10).map_or(0, |after| 1 + after / THEN_EVERY);
    (early + later - 1) as u32
}

/// The blocks of one pass: setups one after the other, cases shuffled within each. Only cases of the first
/// phase that has an unfinished one.
pub(crate) fn pass(cases: &[Case], finished: &[bool], seed: u64, pass: u64) -> Vec<(usize, Vec<Case>)> {
    let mut random = SplitMix64::new(seed ^ pass.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let is_open = |case: &&Case| !finished.get(case.index).copied().unwrap_or(false);
    let phase = cases.iter().filter(is_open).map(|case| case.phase).min();
    let open: Vec<&Case> = cases.iter().filter(is_open).filter(|case| Some(case.phase) == phase).collect();
    let mut setups: Vec<usize> = open.iter().map(|case| case.setup).collect();
    setups.sort_unstable();
    setups.dedup();
    random.shuffle(&mut setups);
    let groups = setups.into_iter().map(|setup| {
        let mut group: Vec<Case> =
            open.iter().filter(|case| case.setup == setup).map(|case| (*case).clone()).collect();
        random.shuffle(&mut group);
        (setup, group)
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Order;

    /// Eight cases on two setups.
    fn cases() -> Vec<Case> {
        (0..8)
            .map(|index| Case {
                index,
                order: Order::Alone,
                setup: index / 4,
                phase: 0,
                members: None,
                most_blocks: None,
            })
            .collect()
    }

    fn order(groups: &[(usize, Vec<Case>)]) -> Vec<usize> {
        groups.iter().flat_map(|(_, cases)| cases.iter().map(|case| case.index)).collect()
    }

    #[test]
    fn ten_blocks_use_three_allocations_and_later_ones_are_renewed() {
        let numbers: Vec<u32> = (0..10).map(allocation).collect();
        assert_eq!(numbers, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!([10, 14, 15, 20].map(allocation), [3, 3, 4, 5]);
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
    fn one_setup_is_finished_before_the_next_begins() {
        let groups = pass(&cases(), &[], 3, 5);
        assert_eq!(groups.len(), 2);
        groups.iter().for_each(|(setup, cases)| assert!(cases.iter().all(|case| case.setup == *setup)));
    }

    #[test]
    fn a_later_phase_waits_for_every_case_of_an_earlier_one() {
        let mut cases = cases();
        cases[2].phase = 1;
        let mut finished = vec![false; 8];
        assert!(!order(&pass(&cases, &finished, 1, 0)).contains(&2));
        finished[..2].fill(true);
        finished[3..].fill(true);
        assert_eq!(order(&pass(&cases, &finished, 1, 9)), [2]);
    }
}
