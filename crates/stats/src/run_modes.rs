//! Runs in two modes: a host whose runs each fall into one of two levels, by where memory came to lie or how
//! a boot went.
//!
//! If the runs of the base all fall into one mode and the new ones into the other, the figures look like a
//! change and are none. With two modes and a probability p of the first, so many against so many runs are
//! sorted so in pⁿ(1 − p)ᵐ + (1 − p)ⁿpᵐ of all comparisons; the largest of that over p is what a finding from
//! so many runs risks for one case with modes. Three against three come to 1/32, two against three to 1/16.
//!
//! A case whose own runs show both modes, all of one side in one but for a stray, is sorted so by chance more
//! often, and that counts: five against five with a stray in 2 % of comparisons.
//!
//! Two modes of *other* cases show: nearly all of them have both modes on one side. Each case that shows
//! modes as far apart as the difference in question may be sorted by chance as well, so its risk is added
//! (Bonferroni). It is less where few runs are in the smaller mode: one run of six in a mode makes three
//! against three sorted by side in one comparison of 190, not of 32. Cases whose modes divide the runs alike
//! share a mode of whole runs, and count once.
//!
//! A case shows modes where its runs fall into two groups and the gap between them is wider than either. What
//! scatters more evenly is noise, which the t-test knows.

use std::collections::BTreeMap;

use crate::alpha::ALPHA;
use crate::interval::median;

/// A jump within a side that is this part of a difference could be the difference.
const AS_LARGE: f64 = 0.9;

/// A jump of so many deviations of the blocks within a run is more than noise: noisy runs have noisy blocks,
/// and modes of whole runs do not show in blocks.
const BEYOND_BLOCKS: f64 = 4.0;

/// Two modes of the runs of a case, both of them on one side at least.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoModes {
    /// The runs in the smaller mode, by their place among all: the base's, then the new ones.
    smaller: Vec<usize>,
    /// How far the outermost runs of a side are apart, as a logarithm.
    jump: f64,
    /// The risk of being sorted by side, over that of a case whose modes are as likely as makes it largest.
    share: f64,
}

impl TwoModes {
    /// The modes of a case. `None` where its runs are in one, are sorted by side, or where the `blocks` of
    /// single runs scatter so much that the modes are no more than noise.
    pub fn of(sides: [&[f64]; 2], blocks: Option<f64>) -> Option<Self> {
        let jump = unexplained_jump(sides, blocks);
        let mut runs: Vec<(usize, f64)> = sides.concat().into_iter().enumerate().collect();
        runs.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let gap = |at: &usize| runs[*at].1 - runs[at - 1].1;
        let cut = (1..runs.len()).max_by(|one, other| gap(one).total_cmp(&gap(other)))?;
        let (low, high) = runs.split_at(cut);
        let width = |group: &[(usize, f64)]| group[group.len() - 1].1 - group[0].1;
        if jump < gap(&cut) || gap(&cut) <= width(low).max(width(high)) {
            return None;
        }

        let group =
            if low.len() < high.len() || (low.len() == high.len() && low[0].0 == 0) { low } else { high };
        let mut smaller: Vec<usize> = group.iter().map(|(run, _)| *run).collect();
        smaller.sort_unstable();
        let [base, new] = sides.map(<[f64]>::len);
        let part = smaller.len() as f64 / (base + new) as f64;
        let as_seen = chance(base, new, 0, part) / sorted_by_chance(base, new, 0);
        Some(Self { smaller, jump, share: rounded(as_seen) })
    }
}

/// The risk of a case over the largest there is, given the same for a probability of its modes as seen: few
/// runs tell that probability badly. By exact enumeration of up to 40 cases with modes of any probability:
/// the risk of all of them stays below 4.5 % with three a side, and at 5.5 % at most where the sides are of
/// unequal length. Rounded, not always up: 2 of 6 runs count for 0.5, by themselves 0.7.
fn rounded(as_seen: f64) -> f64 {
    match as_seen {
        part if part <= 0.25 => 0.125,
        part if part <= 0.75 => 0.5,
        _ => 1.0,
    }
}

/// The modes that the cases of a comparison show, the largest first.
#[derive(Clone, Debug, Default)]
pub struct ModesSeen {
    /// Of cases whose modes divide the runs alike, the one with the largest jump.
    distinct: Vec<TwoModes>,
}

impl ModesSeen {
    /// Gathers the modes of all cases.
    pub fn of(all: impl IntoIterator<Item = TwoModes>) -> Self {
        let mut largest: BTreeMap<Vec<usize>, TwoModes> = BTreeMap::new();
        for modes in all {
            match largest.get(&modes.smaller) {
                Some(known) if known.jump >= modes.jump => {}
                _ => drop(largest.insert(modes.smaller.clone(), modes)),
            }
        }
        let mut distinct: Vec<TwoModes> = largest.into_values().collect();
        distinct.sort_by(|one, other| other.jump.total_cmp(&one.jump));
        Self { distinct }
    }

    /// The modes other than those that a case shares with `own`.
    fn others<'m>(&'m self, own: Option<&'m TwoModes>) -> impl Iterator<Item = &'m TwoModes> {
        self.distinct.iter().filter(move |modes| own.is_none_or(|own| own.smaller != modes.smaller))
    }

    /// The chance that modes made a difference of this size in some case, if each case with modes is sorted
    /// by side with a chance of `sorted_by_chance` at most.
    pub fn risk(&self, own: Option<&TwoModes>, difference: f64, sorted_by_chance: f64) -> f64 {
        let as_large = self.others(own).take_while(|modes| modes.jump >= AS_LARGE * difference.abs());
        (sorted_by_chance * (1.0 + as_large.map(|modes| modes.share).sum::<f64>())).min(1.0)
    }

    /// The difference from which on modes of other cases do not hide a change; `None` where so few runs find
    /// none.
    pub fn least_found(&self, own: Option<&TwoModes>, sorted_by_chance: f64) -> Option<f64> {
        if sorted_by_chance >= ALPHA {
            return None;
        }
        let mut risk = sorted_by_chance;
        let hides = |modes: &&TwoModes| {
            risk += sorted_by_chance * modes.share;
            risk >= ALPHA
        };
        Some(self.others(own).find(hides).map_or(0.0, |modes| modes.jump / AS_LARGE))
    }
}

/// The chance that runs in two modes are sorted by side, but for so many at most that lie in the other side's
/// mode; for the probability of the modes that makes it largest.
pub fn sorted_by_chance(base: usize, new: usize, strays: usize) -> f64 {
    (1..200).map(|step| chance(base, new, strays, f64::from(step) / 200.0)).fold(0.0, f64::max)
}

/// The same where this part of all runs is in the first mode.
fn chance(base: usize, new: usize, strays: usize, part: f64) -> f64 {
    let one_way = |part: f64| {
        // So many of the base are not in the first mode, and so many new ones are.
        let (of_base, of_new) = (binomial(base, 1.0 - part, strays), binomial(new, part, strays));
        let few = |(at, of_base): (usize, &f64)| of_base * of_new.iter().take(strays + 1 - at).sum::<f64>();
        of_base.iter().enumerate().map(few).sum::<f64>()
    };
    one_way(part) + one_way(1.0 - part)
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
fn unexplained_jump(sides: [&[f64]; 2], blocks: Option<f64>) -> f64 {
    let range = |side: &[f64]| {
        let (low, high) =
            side.iter().fold((f64::MAX, f64::MIN), |(low, high), log| (low.min(*log), high.max(*log)));
        (high - low).max(0.0)
    };
    let widest = sides.into_iter().map(range).fold(0.0, f64::max);
    if widest > BEYOND_BLOCKS * blocks.unwrap_or(0.0) { widest } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

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
    fn modes_are_two_groups_with_a_gap_wider_than_either() {
        let modes = |base: [f64; 3], new: [f64; 3], blocks| TwoModes::of([&base, &new], blocks);
        let one = modes([0.0, 0.1, 0.001], [0.002, 0.0, 0.001], Some(0.001));
        assert_eq!(one, Some(TwoModes { smaller: vec![1], jump: 0.1, share: 0.125 }));
        let two = modes([0.0, 0.1, 0.001], [0.1, 0.0, 0.001], None).map(|modes| (modes.smaller, modes.share));
        assert_eq!(two, Some((vec![1, 3], 0.5)));
        let half = [[0.0, 0.1, 0.001], [0.1, 0.1, 0.001]];
        let divided = modes(half[0], half[1], None).map(|modes| (modes.smaller, modes.share));
        assert_eq!(divided, Some((vec![0, 2, 5], 1.0)));

        let turned = half.map(|side| side.map(|log| -log));
        assert_eq!(modes(turned[0], turned[1], None).map(|modes| modes.smaller), Some(vec![0, 2, 5]));
        assert_eq!(modes(half[0], half[1], Some(0.03)), None, "four deviations of blocks are noise");
        assert_eq!(modes([0.0, 0.05, 0.1], [0.02, 0.07, 0.09], None), None, "evenly spread");
        assert_eq!(modes([0.0, 0.001, 0.002], [0.1, 0.101, 0.102], None), None, "sorted by side");
        assert_eq!(modes([0.0; 3], [0.0; 3], None), None);
    }

    fn seen(smaller: &[usize], jump: f64, share: f64) -> TwoModes {
        TwoModes { smaller: smaller.to_vec(), jump, share }
    }

    #[test]
    fn modes_count_once_each_where_they_could_be_the_difference() {
        let all =
            || [seen(&[1], 0.1, 0.5), seen(&[2], 0.3, 1.0), seen(&[1], 0.2, 0.5), seen(&[1, 4], 0.05, 0.5)];
        let modes = ModesSeen::of(all());
        assert!((modes.risk(None, 0.4, 0.01) - 0.01).abs() < 1e-12, "none is as large");
        assert!((modes.risk(None, -0.3, 0.01) - 0.02).abs() < 1e-12);
        assert!((modes.risk(None, 0.1, 0.01) - 0.025).abs() < 1e-12, "two divide the runs alike");
        assert!((modes.risk(Some(&all()[1]), 0.1, 0.01) - 0.015).abs() < 1e-12, "its own");
        assert_eq!(modes.risk(None, 0.01, 1.0), 1.0);
    }

    #[test]
    fn a_change_is_found_above_the_modes_that_could_hide_it() {
        // Three against three risk 1/32: one case in two modes of which few runs are in the smaller, and none
        // half and half. Four against four risk 1/128: five of these.
        let modes = |share| ModesSeen::of((0..7).map(|at| seen(&[at], 0.09 * (at + 1) as f64, share)));
        for (runs, share, least) in [
            (2, 1.0, None),
            (3, 1.0, Some(0.7)),
            (3, 0.5, Some(0.6)),
            (3, 0.125, Some(0.3)),
            (4, 1.0, Some(0.2)),
            (5, 1.0, Some(0.0)),
        ] {
            let (modes, sorted) = (modes(share), sorted_by_chance(runs, runs, 0));
            let found = modes.least_found(None, sorted);
            let rounded = |value: f64| (value * 1e6).round();
            assert_eq!(found.map(rounded), least.map(rounded), "{runs}, {share}");
            let Some(found) = found else { continue };
            let risk = |difference| modes.risk(None, difference, sorted);
            assert!(
                risk(found + 1e-9) < ALPHA && (found == 0.0 || risk(found - 1e-9) >= ALPHA),
                "{runs}, {share}"
            );
        }
    }

    #[test]
    fn the_risk_of_any_number_of_cases_in_two_modes_stays_near_five_per_cent() {
        // Simulated: so many cases, each run in the second mode as likely as this, and three runs a side. A
        // false claim is a case sorted by side that the others' modes do not hide.
        let mut random = SplitMix64::new(7);
        for (cases, likely) in [(1, 0.5), (2, 0.5), (3, 0.5), (8, 0.3), (12, 0.17), (40, 0.08)] {
            let mut claimed = || {
                let mut case = || -> Vec<f64> {
                    (0..6).map(|_| if random.uniform() < likely { 0.1 } else { 0.0 }).collect()
                };
                let all: Vec<Vec<f64>> = (0..cases).map(|_| case()).collect();
                let modes =
                    ModesSeen::of(all.iter().filter_map(|runs| TwoModes::of([&runs[..3], &runs[3..]], None)));
                let is_sorted = |runs: &Vec<f64>| {
                    runs[0] != runs[3]
                        && runs[..3].iter().all(|log| *log == runs[0])
                        && runs[3..].iter().all(|log| *log == runs[3])
                };
                all.iter().any(is_sorted) && modes.risk(None, 0.1, 1.0 / 32.0) < ALPHA
            };
            let share = (0..4000).filter(|_| claimed()).count() as f64 / 4000.0;
            // Standard deviation 0.34 %.
            assert!(share < 0.055, "{cases} cases, {likely}: {share}");
        }
    }
}
