//! Two cases beside each other: the ratio of one to the other, its interval, and a verdict, not by eye.
//!
//! A comparison is of the ratios of values of the same pass ([`crate::level`]); the effect size beside it is
//! Cliff's delta ("Dominance statistics", 1993). Whether both sides ran under the same conditions is for the
//! caller to know.

use crate::alpha::{ALPHA, CONFIDENCE};
use crate::interval::Interval;
use crate::level::Level;

/// The fewest values a side: as many as a median's 95 % interval needs.
pub const LEAST_VALUES: usize = 6;

/// Ratios from 1/(1 + this) to 1 + this are no difference: the half-width at which measuring stops is what a
/// case can resolve.
const EQUIVALENT: f64 = 0.01;

/// What a comparison comes to. "Lower" and "higher" are of the values: with durations, lower is faster.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Verdict")]
pub enum TwoSampleVerdict {
    /// The ratio is within 1 % of 1 for certain, by two one-sided tests; between placements its whole
    /// interval is.
    NoMeasurableDifference,
    /// The second is lower for certain.
    Lower,
    /// The second is higher for certain.
    Higher,
    /// None of these: the values do not decide.
    Undecided,
}

/// The second of two sets of values against the first.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Comparison")]
pub struct TwoSampleComparison {
    /// The second over the first: the geometric mean of the ratios of values of the same pass. (Ratio of
    /// medians in `place` and `laplace` before 0.4.)
    pub ratio: f64,
    /// Its 95 % interval: Student's of those ratios.
    pub ratio_interval: Interval,
    /// The two-sided p-value of this comparison alone: of Student's t of those ratios.
    pub p_value: f64,
    /// P(second > first) − P(second < first): −1 if every value of the second is lower, 1 if every one is
    /// higher.
    pub cliffs_delta: f64,
    /// What it comes to.
    pub verdict: TwoSampleVerdict,
}

impl TwoSampleComparison {
    /// Compares the second set of values with the first, given the level of their ratios: one of so many
    /// `tests`, of which none may find a difference where there is none more often than once in twenty times
    /// (Bonferroni). `None` where the level has no interval.
    pub fn of_ratios(level: Level, [first, second]: [&[f64]; 2], tests: usize) -> Option<Self> {
        let ratio_interval = level.interval(CONFIDENCE)?;
        let p_value = level.p_value();
        let is_sure = p_value < ALPHA / tests.max(1) as f64;
        let verdict =
            if ratio_interval.low >= 1.0 / (1.0 + EQUIVALENT) && ratio_interval.high <= 1.0 + EQUIVALENT {
                TwoSampleVerdict::NoMeasurableDifference
            } else if !is_sure {
                TwoSampleVerdict::Undecided
            } else if level.mean < 0.0 {
                TwoSampleVerdict::Lower
            } else {
                TwoSampleVerdict::Higher
            };

        Some(Self {
            ratio: level.mean.exp(),
            ratio_interval,
            p_value,
            cliffs_delta: cliffs_delta(first, second),
            verdict,
        })
    }
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
    use crate::block_interval::BlockValue;
    use crate::scatter::Scatter;

    const A: [f64; 7] = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2];
    const B: [f64; 6] = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5];

    /// The comparison of values whose ratios are these, as one of so many tests.
    fn compared(ratios: &[f64], tests: usize) -> Option<TwoSampleComparison> {
        let ratios = BlockValue::on_one_allocation(ratios);
        TwoSampleComparison::of_ratios(Level::of(&ratios, &Scatter::default())?, [&A, &B], tests)
    }

    #[test]
    fn the_numbers_are_those_of_scipy_and_of_counting_by_hand() -> Result<(), String> {
        let got = compared(&[1.02, 1.05, 0.99, 1.04, 1.03, 1.06], 1).ok_or("no comparison")?;
        // python3 -c 'from numpy import *; from scipy.stats import t, ttest_1samp; l = log([1.02, 1.05, .99,
        // 1.04, 1.03, 1.06]); print(exp(l.mean()), exp(t.interval(.95, 5, l.mean(), l.std(ddof=1) / 6 **
        // .5)), ttest_1samp(l, 0).pvalue)'
        assert!((got.ratio - 1.031_415_172_6).abs() < 1e-9, "{}", got.ratio);
        let ends = (got.ratio_interval.low, got.ratio_interval.high);
        assert!(
            (ends.0 - 1.005_498_444_0).abs() < 1e-7 && (ends.1 - 1.057_999_904_9).abs() < 1e-7,
            "{ends:?}"
        );
        assert!((got.p_value - 0.026_120_111_9).abs() < 1e-7, "{}", got.p_value);
        // Of 42 pairs, 10.25 is below 10.4 and 10.3; all others are above: (40 - 2) / 42.
        assert!((got.cliffs_delta - 38.0 / 42.0).abs() < 1e-12, "{}", got.cliffs_delta);
        assert_eq!(got.verdict, TwoSampleVerdict::Higher);
        Ok(())
    }

    #[test]
    fn a_difference_is_one_among_few_and_none_among_many_tests() {
        let verdict = |ratios: &[f64], tests| compared(ratios, tests).map(|comparison| comparison.verdict);
        let lower = [0.97, 0.94, 0.99, 0.95, 0.96, 0.93];
        assert_eq!(verdict(&lower, 1), Some(TwoSampleVerdict::Lower));
        assert_eq!(verdict(&lower, 1000), Some(TwoSampleVerdict::Undecided));
        assert_eq!(
            verdict(&[1.001, 1.002, 0.999, 1.0, 1.001, 1.0], 1),
            Some(TwoSampleVerdict::NoMeasurableDifference)
        );
        assert_eq!(verdict(&[0.8, 1.3, 0.9, 1.2, 1.0, 0.95], 1), Some(TwoSampleVerdict::Undecided));
    }
}
