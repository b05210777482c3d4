//! Wilcoxon's signed-rank test of paired differences, exact, and the interval that it leaves.
//!
//! Where two ways to run a program take turns in an order drawn by lot, and make no difference, each paired
//! difference is as likely to be positive as negative, whatever the noise looks like: the test needs nothing
//! else (Wilcoxon, "Individual comparisons by ranking methods", 1945). The p-value counts every combination
//! of signs, ties by their middle ranks and zeros as Pratt has it ("Remarks on zeros and ties in the Wilcoxon
//! signed rank procedures", 1959). The interval holds the shifts that the test does not refuse: two of the
//! Walsh averages (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 2014, section 3.3); it
//! covers what it says for differences that lie symmetrically.

use crate::interval::{Interval, sorted};

/// The two-sided p-value of differences lying around zero. `None` without any, or where one is not a number.
pub fn signed_rank_p(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() || differences.iter().any(|difference| difference.is_nan()) {
        return None;
    }
    let ranked = doubled_ranks(differences);
    let signed: Vec<(usize, bool)> = ranked
        .iter()
        .zip(differences)
        .filter(|(_, d)| **d != 0.0)
        .map(|(rank, d)| (*rank, *d > 0.0))
        .collect();
    if signed.is_empty() {
        return Some(1.0);
    }
    let ranks: Vec<usize> = signed.iter().map(|(rank, _)| *rank).collect();
    let sum: usize = ranks.iter().sum();
    let positive: usize = signed.iter().filter(|(_, is_positive)| *is_positive).map(|(rank, _)| *rank).sum();
    let tail = positive.min(sum - positive);
    let below: f64 = chances(&ranks).iter().take(tail + 1).sum();

    Some((2.0 * below).min(1.0))
}

/// The interval of the differences' centre: the shifts that the test does not refuse at 1 − `confidence`.
/// `None` where there are too few for it (95 % needs 6), or one is not finite.
pub fn signed_rank_interval(differences: &[f64], confidence: f64) -> Option<Interval> {
    let n = differences.len();
    if n == 0 || !differences.iter().all(|difference| difference.is_finite()) {
        return None;
    }
    let ranks: Vec<usize> = (1..=n).collect();
    let mut below = 0.0;
    let refused = chances(&ranks)
        .iter()
        .take_while(|chance| {
            below += **chance;
            2.0 * below <= 1.0 - confidence
        })
        .count();

    let walsh: Vec<f64> = (0..n)
        .flat_map(|one| (one..n).map(move |other| (one, other)))
        .map(|(one, other)| (differences[one] + differences[other]) / 2.0)
        .collect();
    let walsh = sorted(&walsh);

    // Each value of the statistic that is refused at the lower end takes one average with it, and so at the
    // upper end.
    let (low, high) = (refused.checked_sub(1)?, walsh.len() - refused);
    (low <= high).then(|| Interval { low: walsh[low], high: walsh[high], confidence })
}

/// Twice the rank of each by its size, 1 first; those of one size have the middle of their ranks.
fn doubled_ranks(differences: &[f64]) -> Vec<usize> {
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let rank = |size: &f64| {
        let below = sizes.iter().filter(|other| *other < size).count();
        let equal = sizes.iter().filter(|other| *other == size).count();
        2 * below + equal + 1
    };
    sizes.iter().map(rank).collect()
}

/// How likely each sum of positive ranks is where every sign is a fair coin: one rank after the other is
/// added or not.
fn chances(ranks: &[usize]) -> Vec<f64> {
    let mut chances = vec![0.0; ranks.iter().sum::<usize>() + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        for sum in (0..=reached).rev() {
            let half = chances[sum] / 2.0;
            chances[sum] = half;
            chances[sum + rank] += half;
        }
        reached += rank;
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    #[test]
    fn the_p_value_is_that_of_counting_every_combination_of_signs() {
        // With ties and a zero: the ranks stay with the sizes, the signs of the others are coins.
        let differences = [0.0, 1.0, -1.0, 2.5, 3.0, 3.0, 4.0, -0.5];
        let ranks = doubled_ranks(&differences);
        let coins: Vec<usize> = (1..8).map(|at| ranks[at]).collect();
        let seen: usize = (1..8).filter(|at| differences[*at] > 0.0).map(|at| ranks[at]).sum();
        let sum: usize = coins.iter().sum();
        let tail = seen.min(sum - seen);
        let combinations = 0..1_usize << coins.len();
        let positive = |signs: usize| -> usize {
            (0..coins.len()).filter(|at| signs >> at & 1 == 1).map(|at| coins[at]).sum()
        };
        let count = combinations.clone().filter(|signs| positive(*signs) <= tail).count();
        let want = 2.0 * count as f64 / combinations.count() as f64;
        assert!(signed_rank_p(&differences).is_some_and(|p| (p - want).abs() < 1e-12), "not {want}");
    }

    #[test]
    fn the_smallest_p_value_halves_with_each_pair() {
        for n in [1, 5, 6, 8, 20] {
            let all: Vec<f64> = (1..=n).map(f64::from).collect();
            let want = 2.0_f64.powi(1 - n);
            assert!(signed_rank_p(&all).is_some_and(|p| (p - want).abs() < 1e-15), "{n}");
        }
    }

    #[test]
    fn the_figures_are_those_of_tables() {
        // Hollander, Wolfe and Chicken, example 3.1 (Hamilton depression scale): T+ = 5 of 9, two-sided p = 2
        // × 0.020.
        let depression = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];
        assert!(signed_rank_p(&depression).is_some_and(|p| (p - 0.0390625).abs() < 1e-12));
        // Their example 3.4: the 96.1 % interval of these is −0.786 to −0.010.
        let interval = signed_rank_interval(&depression, 0.96).map(|found| (found.low, found.high));
        assert!(
            interval.is_some_and(|(low, high)| (low + 0.786).abs() < 1e-9 && (high + 0.010).abs() < 1e-9),
            "{interval:?}"
        );
    }

    #[test]
    fn the_interval_is_what_the_test_does_not_refuse() -> Result<(), String> {
        let mut random = SplitMix64::new(3);
        for n in [6, 9, 20] {
            let differences: Vec<f64> = (0..n).map(|_| noise::normal(&mut random)).collect();
            let found = signed_rank_interval(&differences, 0.95).ok_or("none")?;
            let p = |shift: f64| -> Option<f64> {
                signed_rank_p(&differences.iter().map(|difference| difference - shift).collect::<Vec<_>>())
            };
            let within = [found.low + 1e-9, found.high - 1e-9].map(p);
            let beyond = [found.low - 1e-9, found.high + 1e-9].map(p);
            assert!(within.iter().all(|p| p.is_some_and(|p| p > 0.05)), "{n}: {within:?}");
            assert!(beyond.iter().all(|p| p.is_some_and(|p| p <= 0.05)), "{n}: {beyond:?}");
        }
        Ok(())
    }

    #[test]
    fn it_covers_the_centre_of_symmetric_noise_as_often_as_it_says() {
        let mut random = SplitMix64::new(4);
        for n in [6, 10, 25] {
            let held = (0..20_000)
                .filter(|_| {
                    let draws: Vec<f64> = (0..n).map(|_| 0.5 + noise::normal(&mut random)).collect();
                    signed_rank_interval(&draws, 0.95).is_some_and(|found| found.contains(0.5))
                })
                .count();
            // Three standard errors below 95 %; the exact level lies above, most where pairs are few.
            assert!((18_907..19_800).contains(&held), "{n}: {held} of 20000");
        }
    }

    #[test]
    fn too_few_pairs_give_no_interval_and_nothing_gives_no_test() {
        assert_eq!(signed_rank_interval(&[1.0; 5], 0.95), None);
        assert_eq!(signed_rank_interval(&[f64::INFINITY; 9], 0.95), None);
        assert_eq!((signed_rank_p(&[]), signed_rank_p(&[f64::NAN])), (None, None));
        assert_eq!(signed_rank_p(&[0.0; 9]), Some(1.0));
    }
}
