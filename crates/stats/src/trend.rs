//! Whether values rise or fall over time: the Mann-Kendall test, and Sen's slope for how much.
//!
//! Both are rank methods (Mann, "Nonparametric tests against trend", 1945; Kendall, "Rank Correlation
//! Methods", 1975; Sen, "Estimates of the regression coefficient based on Kendall's tau", 1968): one slow
//! block neither makes nor hides a trend.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::interval::median;

/// The two-sided p-value of the Mann-Kendall test, with the tie and continuity corrections of the normal
/// approximation, which is good from 8 values on. `None` for fewer, or where a value is not a number.
pub fn mann_kendall_p(values: &[f64]) -> Option<f64> {
    mann_kendall_p_of_correlated(values, 0.0)
}

/// The same of values of which each is correlated so with the one before, as a process of the first order:
/// such values rise and fall for a while without a trend, and the variance of S is that of Hamed and Rao ("A
/// modified Mann-Kendall trend test for autocorrelated data", 1998).
pub fn mann_kendall_p_of_correlated(values: &[f64], correlation: f64) -> Option<f64> {
    let n = values.len();
    if n < 8 || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let s: f64 = pairs(values).map(|(_, rise)| if rise == 0.0 { 0.0 } else { rise.signum() }).sum();
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut ranks = values.to_vec();
    ranks.sort_unstable_by(f64::total_cmp);
    let ties: f64 = ranks.chunk_by(|a, b| a == b).map(|tied| term(tied.len() as f64)).sum();
    let variance = (term(n as f64) - ties) / 18.0 * widened(n, correlation);
    if variance <= 0.0 {
        return Some(1.0);
    }
    let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
    Some((2.0 * Normal::standard().sf(z)).min(1.0))
}

/// How many times the variance of S is that of independent values; the correlation of ranks is that of a
/// normal law's values.
fn widened(count: usize, correlation: f64) -> f64 {
    let left = |taken: usize| (count - taken) as f64;
    let of_lag = |lag: usize| {
        let of_ranks = 6.0 / std::f64::consts::PI * (correlation.powi(lag as i32) / 2.0).asin();
        left(lag) * left(lag + 1) * left(lag + 2) * of_ranks
    };
    1.0 + 2.0 * (1..count - 2).map(of_lag).sum::<f64>() / (left(0) * left(1) * left(2))
}

/// Sen's slope: the median rise per step over all pairs. `None` for fewer than two values.
pub fn sen_slope(values: &[f64]) -> Option<f64> {
    let slopes: Vec<f64> = pairs(values).map(|(steps, rise)| rise / steps as f64).collect();
    median(&slopes)
}

/// Every pair of an earlier and a later value: how many steps lie between, and the rise.
fn pairs(values: &[f64]) -> impl Iterator<Item = (usize, f64)> + '_ {
    values.iter().enumerate().flat_map(move |(at, earlier)| {
        values[at + 1..].iter().enumerate().map(move |(steps, later)| (steps + 1, later - earlier))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    #[test]
    fn the_test_and_the_slope_give_the_reference_figures() {
        // numpy and scipy: S = sum of signs = 36, variance with ties = 124, p = 2 * norm.sf(35 / sqrt(124));
        // theilslopes(T)[0].
        let t = [100.0, 101.0, 99.0, 102.0, 103.0, 102.0, 104.0, 106.0, 105.0, 107.0];
        let p = mann_kendall_p(&t).unwrap_or(f64::NAN);
        assert!((p - 0.0016717283964848024).abs() < 1e-9, "{p}");
        let slope = sen_slope(&t).unwrap_or(f64::NAN);
        assert!((slope - 0.7777777777777778).abs() < 1e-12, "{slope}");
    }

    #[test]
    fn falling_is_as_significant_as_rising_and_constant_is_neither() {
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert_eq!(mann_kendall_p(&rising), mann_kendall_p(&falling));
        assert!(mann_kendall_p(&rising).is_some_and(|p| p < 0.001));
        assert_eq!(mann_kendall_p(&[5.0; 10]), Some(1.0));
        assert_eq!(mann_kendall_p(&rising[..7]), None);
        assert_eq!(sen_slope(&[1.0]), None);
    }

    #[test]
    fn noise_without_a_trend_is_significant_as_rarely_as_p_says() {
        let mut random = SplitMix64::new(5);
        for n in [8, 10, 50] {
            let runs = 10_000;
            let significant = (0..runs)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| noise::exponential(&mut random)).collect();
                    mann_kendall_p(&values).is_some_and(|p| p < 0.01)
                })
                .count();
            // At most 1 %, standard deviation 0.1 %; the discrete S at n = 8 stays well below.
            assert!((20..130).contains(&significant), "n = {n}: {significant} of {runs}");
        }
    }
}
