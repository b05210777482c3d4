//! When the figures are looked at, and how much of the allowed error each look may spend.
//!
//! Who looks after every block at 5 % and stops at the first finding is wrong far more often than in 5 % of
//! trials. So there are few looks, each a quarter further than the one before, and look k spends its own part
//! of the error; the parts add up to the whole however long the trial goes on, and by the union bound so do
//! the chances of a false finding, whatever the noise (Lan and DeMets, "Discrete sequential boundaries for
//! clinical trials", 1983, spend in this manner; a bound that holds at any number of looks is what Howard,
//! Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", 2021,
//! call always valid). That costs some runs where differences are small and few where they are large: the
//! first look gets two thirds, and is as early as all signs alike can pass the test.

/// The chance of a false finding over the whole trial.
pub use stats::alpha::ALPHA;

/// The first look's part of it; the rest is shared by the others, the k-th of them getting 1/(k(k+1)).
const FIRST: f64 = 0.64;

/// Each look has this many times the blocks of the one before, at least two more.
const GROWTH: f64 = 1.25;

/// A look at the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduledLook {
    /// After so many blocks.
    pub blocks: usize,
    /// The error that it may spend, over all comparisons.
    pub alpha: f64,
}

/// The looks of a trial with so many comparisons, without end.
pub fn looks(comparisons: usize) -> impl Iterator<Item = ScheduledLook> {
    let first_alpha = ALPHA * FIRST;
    // All of n signs alike have p = 2^(1-n); Holm asks the first of m comparisons for an m-th of the level.
    let pass = |blocks: &usize| 0.5_f64.powi(*blocks as i32 - 1) * comparisons.max(1) as f64 <= first_alpha;
    let first = (2..).find(pass).unwrap_or(2);
    let blocks = std::iter::successors(Some(first), |before| {
        let grown = (*before as f64 * GROWTH).ceil() as usize;
        Some(grown.max(before.saturating_add(2)))
    });
    blocks.enumerate().map(move |(k, blocks)| {
        let alpha = if k == 0 { first_alpha } else { ALPHA * (1.0 - FIRST) / (k as f64 * (k + 1) as f64) };
        ScheduledLook { blocks, alpha }
    })
}

/// After how many blocks so many variants are first looked at.
pub fn first_look(variants: usize) -> usize {
    looks(variants.saturating_sub(1)).next().map_or(0, |look| look.blocks)
}

/// The last look within so many blocks; `None` where they are too few for one.
pub fn last_within(comparisons: usize, blocks: usize) -> Option<ScheduledLook> {
    looks(comparisons).take_while(|look| look.blocks <= blocks).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_no_more_than_is_allowed() {
        for comparisons in [1, 2, 3, 10] {
            let spent: f64 = looks(comparisons).take(100_000).map(|look| look.alpha).sum();
            assert!(spent <= ALPHA && spent > 0.99 * ALPHA, "{comparisons}: {spent}");
        }
    }

    #[test]
    fn the_first_look_can_find_something_and_each_is_further_than_the_one_before() {
        let first = |comparisons| looks(comparisons).next().map(|look| look.blocks);
        assert_eq!([first(1), first(2), first(3), first(7)], [Some(6), Some(7), Some(8), Some(9)]);
        let blocks: Vec<usize> = looks(3).take(8).map(|look| look.blocks).collect();
        assert_eq!(blocks, [8, 10, 13, 17, 22, 28, 35, 44]);
    }

    #[test]
    fn a_trial_that_is_too_short_has_no_look() {
        assert_eq!(last_within(3, 7), None);
        assert_eq!(last_within(3, 30).map(|look| look.blocks), Some(28));
    }
}
