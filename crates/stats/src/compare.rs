//! Whether two cases differ, by how much, and how sure that is: a verdict with its interval, not by eye.
//!
//! The estimate is the ratio of medians with a bootstrap interval (Efron and Tibshirani, "An Introduction to the
//! Bootstrap", 1993, chapter 13: the percentile interval, seeded, so that the same document always gives the same
//! verdict). A difference is called one only if a second, independent method agrees (Mann-Whitney); the effect size is
//! Cliff's delta ("Dominance statistics", 1993). It compares what it is given: that both sides ran under the same
//! conditions is for the caller to know.

use crate::alpha::ALPHA;
use crate::interval::{Interval, median, quantile, sorted};
use crate::mann_whitney::mann_whitney_p;
use crate::random::SplitMix64;

/// The fewest values a side: as many as a median's 95 % interval needs.
pub const LEAST_VALUES: usize = 6;

/// How often the bootstrap draws; the ends of the interval then move by less than a tenth of its width from seed to
/// seed.
const RESAMPLES: usize = 10_000;

/// Ratios from 1/(1 + this) to 1 + this are no difference: the half-width at which measuring stops is what a case can
/// resolve.
const EQUIVALENT: f64 = 0.01;

/// What a comparison comes to. "Lower" and "higher" are of the values: with durations, lower is faster.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Verdict")]
pub enum TwoSampleVerdict {
    /// The whole interval of the ratio lies within 1 % of 1.
    NoMeasurableDifference,
    /// The second is lower: the interval lies below 1, and the rank test agrees.
    Lower,
    /// The second is higher: the interval lies above 1, and the rank test agrees.
    Higher,
    /// Neither: the interval is too wide to say that they are equal, and holds 1 or the rank test disagrees.
    Undecided,
}

/// The second of two sets of values against the first.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Comparison")]
pub struct TwoSampleComparison {
    /// The second over the first: the geometric mean of the ratios of blocks of the same pass, where cases took turns in passes (penalties, kernels), else the ratio of medians.
    pub ratio: f64,
    /// Its 95 % interval: Student's of those ratios, else the percentile bootstrap's (10 000 resamples).
    pub ratio_interval: Interval,
    /// The two-sided p-value of this comparison alone: of Student's t of those ratios, else of the Mann-Whitney test.
    pub p_value: f64,
    /// P(second > first) − P(second < first): −1 if every value of the second is lower, 1 if every one is higher.
    pub cliffs_delta: f64,
    /// What it comes to.
    pub verdict: TwoSampleVerdict,
}

/// Compares `b` with `a`: one value per block (independent ones, not rounds). `None` if a side has fewer than 6 values,
/// or one that is not positive and finite.
pub fn compare(a: &[f64], b: &[f64], seed: u64) -> Option<TwoSampleComparison> {
    compare_among(a, b, 1, seed)
}

/// The same, as one of so many `tests` of which none may find a difference where there is none more often than once in twenty times: each has its part of
/// the 5 % (Bonferroni's, which needs to know nothing of the other tests).
pub fn compare_among(a: &[f64], b: &[f64], tests: usize, seed: u64) -> Option<TwoSampleComparison> {
    let enough =
        |side: &[f64]| side.len() >= LEAST_VALUES && side.iter().all(|value| value.is_finite() && *value > 0.0);
    if !enough(a) || !enough(b) {
        return None;
    }
    let ratio_interval = bootstrap(a, b, seed)?;
    let p_value = mann_whitney_p(a, b)?;
    let verdict = if ratio_interval.low >= 1.0 / (1.0 + EQUIVALENT) && ratio_interval.high <= 1.0 + EQUIVALENT {
        TwoSampleVerdict::NoMeasurableDifference
    } else if ratio_interval.contains(1.0) || p_value >= ALPHA / tests.max(1) as f64 {
        TwoSampleVerdict::Undecided
    } else if ratio_interval.high < 1.0 {
        TwoSampleVerdict::Lower
    } else {
        TwoSampleVerdict::Higher
    };
    let ratio = median(b)? / median(a)?;
    Some(TwoSampleComparison { ratio, ratio_interval, p_value, cliffs_delta: cliffs_delta(a, b), verdict })
}

fn bootstrap(a: &[f64], b: &[f64], seed: u64) -> Option<Interval> {
    let mut random = SplitMix64::new(seed);
    let mut resampled_median = |values: &[f64]| {
        let draws: Vec<f64> = values.iter().map(|_| values[random.below(values.len())]).collect();
        median(&draws)
    };
    let ratios: Option<Vec<f64>> = (0..RESAMPLES).map(|_| Some(resampled_median(b)? / resampled_median(a)?)).collect();
    let ratios = sorted(&ratios?);
    let (low, high) = (quantile(&ratios, ALPHA / 2.0)?, quantile(&ratios, 1.0 - ALPHA / 2.0)?);
    Some(Interval { low, high, confidence: 1.0 - ALPHA })
}

/// Cliff's delta: P(value of b > value of a) − P(value of b < value of a).
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> f64 {
    let sign = |x: &f64, y: &f64| {
        if y > x {
            1.0
        } else if y < x {
            -1.0
        } else {
            0.0
        }
    };
    let sum: f64 = a.iter().flat_map(|x| b.iter().map(move |y| sign(x, y))).sum();
    sum / (a.len() * b.len()) as f64
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    const A: [f64; 7] = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2];
    const B: [f64; 6] = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5];

    fn verdict(a: &[f64], b: &[f64]) -> Option<TwoSampleVerdict> {
        compare(a, b, 1).map(|comparison| comparison.verdict)
    }

    fn draws(random: &mut SplitMix64, count: usize, center: f64, sigma: f64) -> Vec<f64> {
        (0..count).map(|_| center + sigma * noise::normal(random)).collect()
    }

    #[test]
    fn the_numbers_are_those_of_scipy_and_of_counting_by_hand() -> Result<(), String> {
        let got = compare(&A, &B, 1).ok_or("no comparison")?;
        // Medians 10.65 and 10.1. Of 42 pairs, 10.25 is below 10.4 and 10.3; all others are above: (40 - 2) / 42.
        assert!((got.ratio - 10.65 / 10.1).abs() < 1e-12, "{}", got.ratio);
        assert!((got.cliffs_delta - 38.0 / 42.0).abs() < 1e-12, "{}", got.cliffs_delta);
        // python3 -c 'from scipy.stats import mannwhitneyu as m; print(m(A, B).pvalue)'
        assert!((got.p_value - 0.004662004662004662).abs() < 1e-9, "{}", got.p_value);
        // python3 -c 'import numpy as n; from scipy.stats import bootstrap as s; print(s((A, B), lambda a, b, axis=-1:
        // n.median(b, axis=axis) / n.median(a, axis=axis), n_resamples=100000,
        // method="percentile").confidence_interval)' gives the same two ratios for every seed: with so few values the
        // resampled medians are few.
        let ends = (got.ratio_interval.low, got.ratio_interval.high);
        assert!((ends.0 - 1.0194174757281553).abs() < 1e-12 && (ends.1 - 1.090909090909091).abs() < 1e-12, "{ends:?}");
        assert_eq!(got.verdict, TwoSampleVerdict::Higher);
        Ok(())
    }

    #[test]
    fn swapping_the_sides_turns_every_sign() -> Result<(), String> {
        let (there, back) = (compare(&A, &B, 1).ok_or("none")?, compare(&B, &A, 1).ok_or("none")?);
        assert!((there.ratio * back.ratio - 1.0).abs() < 1e-12);
        assert_eq!(there.cliffs_delta, -back.cliffs_delta);
        assert!((there.p_value - back.p_value).abs() < 1e-12);
        assert_eq!((there.verdict, back.verdict), (TwoSampleVerdict::Higher, TwoSampleVerdict::Lower));
        Ok(())
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_a_similar_one() -> Result<(), String> {
        let mut random = SplitMix64::new(32);
        let (a, b) = (draws(&mut random, 20, 100.0, 2.0), draws(&mut random, 20, 104.0, 2.0));
        let of = |seed| compare(&a, &b, seed).ok_or("none");
        assert_eq!(of(7)?, of(7)?);
        let (one, two) = (of(7)?.ratio_interval, of(8)?.ratio_interval);
        let tenth = (one.high - one.low) / 10.0;
        assert!(one != two, "another seed draws differently");
        assert!((one.low - two.low).abs() < tenth && (one.high - two.high).abs() < tenth, "{one:?} {two:?}");
        Ok(())
    }

    #[test]
    fn equal_cases_have_no_measurable_difference_and_tiny_ones_neither() {
        assert_eq!(verdict(&[5.0; 10], &[5.0; 10]), Some(TwoSampleVerdict::NoMeasurableDifference));
        assert_eq!(verdict(&[5.0; 10], &[5.04; 10]), Some(TwoSampleVerdict::NoMeasurableDifference));
        assert_eq!(verdict(&[5.0; 10], &[5.06; 10]), Some(TwoSampleVerdict::Higher));
    }

    #[test]
    fn noise_too_wide_to_call_equal_is_undecided() {
        let wide = [8.0, 9.0, 9.5, 10.0, 10.5, 11.0, 12.0, 9.8, 10.2, 10.1];
        assert_eq!(verdict(&wide, &wide), Some(TwoSampleVerdict::Undecided));
    }

    #[test]
    fn medians_that_differ_are_undecided_if_the_ranks_do_not() -> Result<(), String> {
        // The medians are 4 % apart and well known, yet the slowest three are all on the side of the faster median, and the
        // fastest three on the other: which side is faster depends on the rank one asks for.
        let with = |low: f64, rest: [f64; 3]| (0..12).map(move |n| low + f64::from(n) / 100.0).chain(rest);
        let a: Vec<f64> = with(100.0, [120.0, 121.0, 122.0]).collect();
        let b: Vec<f64> = with(104.0, [90.0, 91.0, 92.0]).collect();
        let got = compare(&a, &b, 1).ok_or("no comparison")?;
        assert!(got.ratio_interval.low > 1.03, "{got:?}");
        assert!(got.p_value > 0.15, "{got:?}");
        assert_eq!(got.verdict, TwoSampleVerdict::Undecided);
        Ok(())
    }

    #[test]
    fn ranks_that_differ_are_undecided_if_the_medians_may_be_equal() -> Result<(), String> {
        // Both sides have two modes, nearly as large as each other: the median may be in either.
        let with = |low: f64, high: f64| (0..7).map(move |_| low).chain((0..8).map(move |_| high));
        let (a, b): (Vec<f64>, Vec<f64>) = (with(100.0, 110.0).collect(), with(109.0, 120.0).collect());
        let got = compare(&a, &b, 1).ok_or("no comparison")?;
        assert!(got.p_value < 0.05 && got.ratio_interval.contains(1.0), "{got:?}");
        assert_eq!(got.verdict, TwoSampleVerdict::Undecided);
        Ok(())
    }

    #[test]
    fn a_difference_is_not_claimed_more_than_one_time_in_twenty_where_there_is_none() {
        let mut random = SplitMix64::new(30);
        let runs = 400;
        let claimed = (0..runs)
            .filter(|_| {
                let (a, b) = (draws(&mut random, 10, 100.0, 5.0), draws(&mut random, 10, 100.0, 5.0));
                matches!(verdict(&a, &b), Some(TwoSampleVerdict::Lower | TwoSampleVerdict::Higher))
            })
            .count();
        assert!(claimed <= runs / 20, "{claimed} of {runs}");
    }

    #[test]
    fn a_real_difference_of_ten_times_the_noise_is_always_claimed() {
        let mut random = SplitMix64::new(31);
        for _ in 0..50 {
            let (a, b) = (draws(&mut random, 10, 100.0, 0.5), draws(&mut random, 10, 95.0, 0.5));
            assert_eq!(verdict(&a, &b), Some(TwoSampleVerdict::Lower));
        }
    }

    #[test]
    fn too_few_or_impossible_values_are_not_compared() {
        assert_eq!(compare(&A[..5], &B, 1), None);
        assert_eq!(compare(&A, &B[..5], 1), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(compare(&A, &[1.0, 2.0, 3.0, 4.0, 5.0, bad], 1), None, "{bad}");
        }
    }
}
