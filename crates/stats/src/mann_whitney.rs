//! The Mann-Whitney U test: could two sets of values come from one distribution?
//!
//! Small sets without ties get the exact distribution of U, others the normal approximation with tie and continuity
//! correction: the rule of scipy's `mannwhitneyu(method="auto")`. The approximation is statrs'. Its exact test lists
//! every combination (8 values against 50 are 1.9e9 of them), so the exact counts here come from the generating
//! function instead.

use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

/// Up to this many values in the smaller set the exact distribution is used (scipy's rule).
const EXACT_UP_TO: usize = 8;

/// The most values in the larger set for the exact distribution: far above any number of blocks, and the counts of ways
/// still fit 128 bits.
const EXACT_BESIDE: usize = 10_000;

/// The two-sided p-value; `None` if a set is empty or a value is not a number.
pub fn mann_whitney_p(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| value.is_nan()) {
        return None;
    }
    let mut all = [a, b].concat();
    all.sort_unstable_by(f64::total_cmp);
    let ties = all.windows(2).any(|pair| pair[0] == pair[1]);
    let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
    if ties || fewer > EXACT_UP_TO || more > EXACT_BESIDE {
        let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
        return mannwhitneyu(a, b, method, Alternative::TwoSided).ok().map(|(_, p)| p);
    }
    // Without ties, U is the number of pairs in which the value of a is larger.
    let u: usize = a.iter().map(|x| b.iter().filter(|y| x > *y).count()).sum();
    let tail = u.min(a.len() * b.len() - u);
    let ways = ways_of_u(fewer, more);
    let (in_tail, in_all) = (ways.iter().take(tail + 1).sum::<i128>(), ways.iter().sum::<i128>());
    Some((2.0 * in_tail as f64 / in_all as f64).min(1.0))
}

/// How many of the orders of `fewer` + `more` distinct values give each U: the coefficients of the Gaussian binomial
/// ∏ (1 − x^(more+i)) / (1 − x^i) over i = 1..=fewer (Mann and Whitney, 1947).
fn ways_of_u(fewer: usize, more: usize) -> Vec<i128> {
    let mut ways = vec![0_i128; fewer * more + 1];
    ways[0] = 1;
    for i in 1..=fewer {
        for u in (more + i..ways.len()).rev() {
            ways[u] -= ways[u - more - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_p(a: &[f64], b: &[f64], want: f64) {
        for (a, b) in [(a, b), (b, a)] {
            let p = mann_whitney_p(a, b);
            assert!(p.is_some_and(|p| (p - want).abs() < 1e-9), "{p:?}, not {want}");
        }
    }

    #[test]
    fn small_sets_without_ties_get_scipys_exact_p_value() {
        // python3 -c 'from scipy.stats import mannwhitneyu as m; print(m(A, B).pvalue)' for each pair below.
        let a = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2];
        let b = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5];
        assert_p(&a, &b, 0.004662004662004662);
        assert_p(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0], 0.0021645021645021645);
        let fifty: Vec<f64> = (1..=50).map(f64::from).collect();
        assert_p(&fifty, &[0.5, 10.5, 20.5, 3.5, 4.5, 1.5, 2.5, 7.5], 0.0001939714741179538);
    }

    #[test]
    fn large_sets_and_ties_get_scipys_approximation() {
        // As above; C has 11 values, D has 10 (with ties to C), E and F have ties.
        let c = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2, 10.15, 10.35, 9.95, 10.05];
        let d = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5, 10.1, 10.3, 10.2, 10.8];
        assert_p(&c, &d, 0.00481041169465251);
        assert_p(&c, &c[..9], 0.78961368921774);
        let (e, f) = ([1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0], [2.0, 3.0, 4.0, 4.0, 5.0, 5.0]);
        assert_p(&e, &f, 0.07826242947714618);
    }

    #[test]
    fn every_order_is_counted_once() {
        // C(6 + 7, 6) and C(8 + 50, 8).
        assert_eq!(ways_of_u(6, 7).iter().sum::<i128>(), 1716);
        assert_eq!(ways_of_u(8, 50).iter().sum::<i128>(), 1_916_797_311);
        assert_eq!(ways_of_u(2, 2), [1, 1, 2, 1, 1]);
    }

    #[test]
    fn equal_values_are_no_evidence_and_no_values_are_no_test() {
        assert_p(&[5.0; 10], &[5.0; 10], 1.0);
        assert_eq!(mann_whitney_p(&[], &[1.0]), None);
        assert_eq!(mann_whitney_p(&[f64::NAN], &[1.0]), None);
    }
}
