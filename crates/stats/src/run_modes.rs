//! Runs in two modes: a host whose runs each fall into one of two levels, by where memory came to lie or how
//! a boot went.
//!
//! If the runs of the base all fall into one mode and the new ones into the other, the figures look like a
//! change and are none. With two modes and a probability p of the first, so many against so many runs are
//! sorted so in pⁿ(1 − p)ᵐ + (1 − p)ⁿpᵐ of all comparisons; the largest of that over p is what a finding from
//! so many runs risks for one case with modes. Three against three come to 1/32, two against three to 8 %.
//!
//! A case whose own runs show both modes, all of one side in one but for a stray, is sorted so by chance more
//! often, and that counts: five against five with a stray in 2 % of comparisons.
//!
//! Two modes of *other* cases show: nearly all of them have both modes on one side. Each case that shows a
//! jump as large as the difference in question may be sorted by chance as well, so that the risk counts once
//! for each (Bonferroni).

use crate::alpha::ALPHA;
use crate::interval::median;

/// A jump within a side that is this part of a difference could be the difference.
const AS_LARGE: f64 = 0.9;

/// A jump of so many deviations of the blocks within a run is more than noise: noisy runs have noisy blocks,
/// and modes of whole runs do not show in blocks.
const BEYOND_BLOCKS: f64 = 4.0;

/// The chance that runs in two modes are sorted by side, but for so many at most that lie in the other side's
/// mode; for the probability of the modes that makes it largest.
pub fn sorted_by_chance(base: usize, new: usize, strays: usize) -> f64 {
    let chance = |part: f64| {
        // So many of the base are not in the first mode, and so many new ones are.
        let (of_base, of_new) = (binomial(base, 1.0 - part, strays), binomial(new, part, strays));
        let few = |(at, of_base): (usize, &f64)| of_base * of_new.iter().take(strays + 1 - at).sum::<f64>();
        of_base.iter().enumerate().map(few).sum::<f64>()
    };
    (1..200)
        .map(|step| chance(f64::from(step) / 200.0) + chance(1.0 - f64::from(step) / 200.0))
        .fold(0.0, f64::max)
}

/// The probabilities of 0, 1, … and at most `most` hits among so many runs.
fn binomial(runs: usize, part: f64, most: usize) -> Vec<f64> {
    let mut of_this_many = (1.0 - part).powi(runs as i32);
    let next = |hits: usize| {
        let this = of_this_many;
        of_this_many *= (runs - hits) as f64 / (hits + 1) as f64 * part / (1.0 - part);
        this
    };
    (0..=most.min(runs)).map(next).collect()
}

/// How many runs lie nearer to the other side's middle than to their own side's; 0 where the `blocks` of
/// single runs scatter so much that this is no more than noise.
pub fn strays(sides: [&[f64]; 2], blocks: Option<f64>) -> usize {
    let [Some(base), Some(new)] = sides.map(median) else { return 0 };
    if unexplained_jump(sides, blocks) == 0.0 {
        return 0;
    }
    let count = |side: &[f64], own: f64, other: f64| {
        side.iter().filter(|log| (*log - other).abs() < (*log - own).abs()).count()
    };
    count(sides[0], base, new) + count(sides[1], new, base)
}

/// The widest jump within a side of a case: the distance of its outermost values, as a logarithm. 0 where the
/// `blocks` of single runs scatter so much that the jump is no more than noise; unknown blocks explain
/// nothing.
pub fn unexplained_jump(sides: [&[f64]; 2], blocks: Option<f64>) -> f64 {
    let range = |side: &[f64]| {
        let (low, high) =
            side.iter().fold((f64::MAX, f64::MIN), |(low, high), log| (low.min(*log), high.max(*log)));
        (high - low).max(0.0)
    };
    let widest = sides.into_iter().map(range).fold(0.0, f64::max);
    if widest > BEYOND_BLOCKS * blocks.unwrap_or(0.0) { widest } else { 0.0 }
}

/// Of the jumps of other cases, how many could be a difference of this size.
pub fn as_large(jumps: impl Iterator<Item = f64>, difference: f64) -> usize {
    jumps.filter(|jump| *jump >= AS_LARGE * difference.abs()).count()
}

/// The difference from which on jumps of other cases do not hide a change from so many runs; `None` where so
/// few find none.
pub fn least_found(jumps: impl Iterator<Item = f64>, sorted_by_chance: f64) -> Option<f64> {
    if sorted_by_chance >= ALPHA {
        return None;
    }
    let mut jumps: Vec<f64> = jumps.collect();
    jumps.sort_unstable_by(|a, b| b.total_cmp(a));
    // So many jumps as large leave the risk below 5 %: (1 + them) times the chance.
    let allowed = ((ALPHA / sorted_by_chance).ceil() as usize).saturating_sub(2);
    Some(jumps.get(allowed).map_or(0.0, |jump| jump / AS_LARGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modes_seldom_sort_six_runs_in_all() {
        assert!(
            (sorted_by_chance(3, 3, 0) - 1.0 / 32.0).abs() < 1e-12
                && (sorted_by_chance(2, 2, 0) - 0.125).abs() < 1e-12
        );

        for (base, new, is_enough) in [
            (1, 1, false),
            (2, 2, false),
            (2, 3, false),
            (1, 5, false),
            (1, 6, false),
            (2, 4, true),
            (3, 3, true),
            (1, 7, true),
            (7, 1, true),
        ] {
            assert_eq!(sorted_by_chance(base, new, 0) < ALPHA, is_enough, "{base} against {new}");
        }
    }

    #[test]
    fn a_stray_makes_sorting_by_chance_likelier_and_noise_is_none() {
        // With one stray of ten: 2 (1 + 10) / 2^10, at a half.
        assert!((sorted_by_chance(5, 5, 1) - 22.0 / 1024.0).abs() < 1e-12);
        assert!(sorted_by_chance(3, 3, 6) > 1.0 - 1e-12, "any arrangement at all, and so is the other way");
        let (base, new) = ([0.0, 0.001, 0.002, 0.1, 0.0], [0.1, 0.101, 0.099, 0.1, 0.1]);
        assert_eq!(strays([&base, &new], Some(0.001)), 1);
        assert_eq!(strays([&base, &new], Some(0.05)), 0, "blocks scatter as much");
        assert_eq!(strays([&[0.0, 0.001], &[0.1, 0.101]], None), 0);
    }

    #[test]
    fn a_jump_counts_where_it_could_be_the_difference_and_blocks_do_not_explain_it() {
        let sides: [&[f64]; 2] = [&[0.0, 0.1, 0.05], &[0.0, 0.3]];
        assert!((unexplained_jump(sides, None) - 0.3).abs() < 1e-12);
        assert!(unexplained_jump(sides, Some(0.07)) > 0.29);
        assert_eq!(unexplained_jump(sides, Some(0.08)), 0.0, "four deviations of blocks are noise");
        assert_eq!(unexplained_jump([&[0.2], &[0.5]], None), 0.0);
        assert_eq!(as_large([0.0, 0.089, 0.091, 0.4].into_iter(), -0.1), 2);
    }

    #[test]
    fn a_change_is_found_above_the_jumps_that_could_hide_it() {
        // Three against three risk 1/32: no other jump may be as large. Four against four risk 1/128: five
        // may.
        let jumps = [0.09, 0.18, 0.27, 0.36, 0.45, 0.54, 0.63];
        for (base, new, least) in [(2, 2, None), (3, 3, Some(0.7)), (4, 4, Some(0.2)), (5, 5, Some(0.0))] {
            let found = least_found(jumps.into_iter(), sorted_by_chance(base, new, 0));
            assert_eq!(
                found.map(|found| (found * 1e6).round()),
                least.map(|least: f64| least * 1e6),
                "{base}, {new}"
            );
            let Some(found) = found else { continue };
            let risk = |difference| {
                (1 + as_large(jumps.into_iter(), difference)) as f64 * sorted_by_chance(base, new, 0)
            };
            assert!(
                risk(found + 1e-9) < ALPHA && (found == 0.0 || risk(found - 1e-9) >= ALPHA),
                "{base}, {new}"
            );
        }
    }
}
