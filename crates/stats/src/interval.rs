//! Medians, quantiles, and how well a median is known: its exact order-statistic confidence interval.
//!
//! The interval assumes nothing of the distribution (timings are skewed and have several modes), only that
//! the values are independent, which is why it is fed blocks and not rounds. Source: Hoefler and Belli,
//! "Scientific Benchmarking of Parallel Computing Systems", SC15, rules 5 and 6; Le Boudec, "Performance
//! Evaluation of Computer and Communication Systems", 2010, section 2.2. The ranks here come from the
//! binomial distribution itself, not from its normal approximation, so the coverage is exact at small counts
//! too.

use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// A confidence interval, in the unit of the values it was made from.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The coverage: for a median the one reached, at least what was asked for; for a bootstrap the nominal
    /// one.
    pub confidence: f64,
}

impl Interval {
    /// Half of the width over `center`: 0.01 reads "± 1 %". Not finite for a center of 0.
    pub fn relative_half_width(&self, center: f64) -> f64 {
        (self.high - self.low) / 2.0 / center
    }

    /// Of a time in this interval: that of the rate at which it does such an amount.
    pub fn rate_of(self, amount: f64) -> Self {
        Self { low: amount / self.high, high: amount / self.low, ..self }
    }

    /// Whether `value` lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// So many deviations on each side of its mean a normal law has with this probability: 1.96 with 0.95.
pub fn deviations(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(0.5 + probability / 2.0)
}

/// The q-quantile of values in ascending order, R's type 7 (also numpy's default): linear between the two
/// nearest ranks of (n − 1)·q. `None` without values or for a `q` outside 0..=1.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let rank = last as f64 * q;
    let below = rank as usize;
    let (low, high) = (sorted[below], sorted[last.min(below + 1)]);
    Some(low + (high - low) * (rank - below as f64))
}

/// The least and the largest of values in any order; `None` without values.
pub fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// The median of values in any order; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// The median's confidence interval from values in any order: the j-th smallest to the j-th largest, with the
/// largest j whose coverage 1 − 2·P(Binomial(n, ½) < j) is still at least `confidence`.
///
/// `None` if a value is not finite, if `confidence` is not between 0 and 1, or if there are too few values
/// for any j: 95 % needs 6, 99 % needs 8.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let is_between = confidence > 0.0 && confidence < 1.0;
    if !is_between || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let values = sorted(values);
    let n = values.len();
    let below = Binomial::new(0.5, n as u64).ok()?;

    // P(B < j) = P(B ≤ j - 1); it grows with j, so the ranks that cover enough come first.
    let coverage = |j: usize| 1.0 - 2.0 * below.cdf(j as u64 - 1);
    let (mut enough, mut too_narrow) = (0, n / 2 + 1);

    while too_narrow - enough > 1 {
        let j = enough + (too_narrow - enough) / 2;
        if coverage(j) >= confidence {
            enough = j;
        } else {
            too_narrow = j;
        }
    }

    let low = *values.get(enough.checked_sub(1)?)?;
    Some(Interval { low, high: values[n - enough], confidence: coverage(enough) })
}

/// The mean of values; no number without any.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean of values, and the sum of their squared distances from it.
pub fn mean_and_squares(values: &[f64]) -> (f64, f64) {
    let mean = mean(values);
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

/// How many of its standard errors, known from so many independent differences, Student's interval of a mean
/// reaches to either side.
pub(crate) fn student(freedom: f64, confidence: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.5 + confidence / 2.0))
}

/// The mean of values, and how far Student's interval of it reaches to either side; `None` of fewer than two.
pub(crate) fn mean_and_reach(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let ((mean, squares), count) = (mean_and_squares(values), values.len() as f64);
    Some((mean, student(count - 1.0, confidence)? * (squares / (count - 1.0) / count).sqrt()))
}

/// A copy in ascending order (by total order: a NaN, which no caller should have, comes last and spoils what
/// is computed from it).
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    const CASE: [f64; 11] = [5.31, 5.29, 5.35, 5.30, 5.33, 5.28, 5.60, 5.32, 5.34, 5.27, 5.36];

    fn close(got: Option<f64>, want: f64) -> bool {
        got.is_some_and(|got| (got - want).abs() < 1e-12)
    }

    #[test]
    fn quantiles_are_numpys() {
        // python3 -c 'import numpy; print([numpy.quantile(CASE, q) for q in (0, .05, .25, .5, .95, .99, 1)])'
        let numpy = [5.27, 5.275, 5.295, 5.32, 5.48, 5.576, 5.6];
        for (q, want) in [0.0, 0.05, 0.25, 0.5, 0.95, 0.99, 1.0].into_iter().zip(numpy) {
            assert!(close(quantile(&sorted(&CASE), q), want), "{q}: {:?}", quantile(&sorted(&CASE), q));
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0], 1.1), None);
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
    }

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn ranks_and_coverages_are_those_of_the_binomial_distribution() {
        // python3 -c 'from scipy.stats import binom; print([(n, j, 1 - 2 * binom.cdf(j - 1, n, .5)) for n, j
        // in [(6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (50, 18)]])'; with j + 1 each coverage is below 0.95.
        for (n, j, coverage) in [
            (6, 1, 0.96875),
            (8, 1, 0.9921875),
            (9, 2, 0.9609375),
            (10, 2, 0.978515625),
            (20, 6, 0.9586105346679688),
            (50, 18, 0.9671608624357315),
        ] {
            // The values are their own ranks, backwards.
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let interval = median_interval(&values, 0.95);
            assert_eq!(
                interval.map(|i| (i.low, i.high)),
                Some((f64::from(j), f64::from(n + 1 - j))),
                "n = {n}"
            );
            assert!(close(interval.map(|i| i.confidence), coverage), "n = {n}: {interval:?}");
        }
    }

    #[test]
    fn too_few_values_have_no_interval_instead_of_a_wrong_one() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        for n in 0..6 {
            assert_eq!(median_interval(&values[..n], 0.95), None, "n = {n}");
        }
        assert!(median_interval(&values[..6], 0.95).is_some());
        assert_eq!(median_interval(&values[..7], 0.99), None);
        assert!(median_interval(&values, 0.99).is_some());
        for confidence in [0.0, 1.0, -0.5, 95.0, f64::NAN] {
            assert_eq!(median_interval(&values, confidence), None, "{confidence}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN], 0.95), None);
    }

    #[test]
    fn the_interval_covers_the_true_median_as_often_as_it_says() {
        let mut random = SplitMix64::new(3);
        for (shape, draw) in noise::SHAPES {
            let mut all: Vec<f64> = (0..200_001).map(|_| draw(&mut random)).collect();
            all.sort_unstable_by(f64::total_cmp);
            let truth = all[100_000];
            let runs = 4000;
            let covered = (0..runs)
                .filter(|_| {
                    let values: Vec<f64> = (0..10).map(|_| draw(&mut random)).collect();
                    median_interval(&values, 0.95).is_some_and(|interval| interval.contains(truth))
                })
                .count();
            let share = covered as f64 / f64::from(runs);
            // 0.9785 expected, standard deviation 0.0023.
            assert!((0.969..0.988).contains(&share), "{shape}: {share}");
        }
    }

    #[test]
    fn a_rate_is_slowest_where_its_time_is_longest() {
        let time = Interval { low: 2.0, high: 4.0, confidence: 0.95 };
        assert_eq!(time.rate_of(8.0), Interval { low: 2.0, high: 4.0, confidence: 0.95 });
        assert_eq!((range([3.0, 1.0, 2.0]), range([])), (Some((1.0, 3.0)), None));
    }

    #[test]
    fn the_half_width_is_relative_to_the_center() {
        let interval = Interval { low: 99.0, high: 103.0, confidence: 0.95 };
        assert_eq!(interval.relative_half_width(100.0), 0.02);
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_median(values in prop::collection::vec(1e-3_f64..1e12, 6..200)) {
            let (interval, middle) = (median_interval(&values, 0.95), median(&values));
            prop_assert!(interval.is_some_and(|i| i.confidence >= 0.95 && middle.is_some_and(|m| i.contains(m))));
        }

        #[test]
        fn a_higher_confidence_never_has_a_narrower_interval(values in prop::collection::vec(1e-3_f64..1e12, 8..200)) {
            let width = |confidence| median_interval(&values, confidence).map_or(0.0, |i| i.high - i.low);
            prop_assert!(width(0.99) >= width(0.95));
        }
    }
}
