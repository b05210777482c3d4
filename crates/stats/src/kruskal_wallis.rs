//! The Kruskal-Wallis test: could several sets of values come from one distribution?
//!
//! Asked before the best of several is compared with the others: of many alike one is always the best, and comparing it with each of them finds a difference far more often than
//! once in twenty times. W. H. Kruskal and W. A. Wallis, Use of ranks in one-criterion variance analysis, JASA 47 (1952), with the correction for ties; p by chi-squared.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The p-value; `None` with fewer than two sets, an empty one, or a value that is not a number.
pub fn kruskal_wallis_p(sets: &[&[f64]]) -> Option<f64> {
    if sets.len() < 2 || sets.iter().any(|set| set.is_empty() || set.iter().any(|value| value.is_nan())) {
        return None;
    }
    let mut all: Vec<(f64, usize)> =
        sets.iter().enumerate().flat_map(|(at, set)| set.iter().map(move |value| (*value, at))).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sums, mut tied) = (vec![0.0; sets.len()], 0.0);
    let mut first = 1.0;
    for equal in all.chunk_by(|a, b| a.0 == b.0) {
        let count = equal.len() as f64;
        // Equal values share the mean of their ranks.
        let rank = first + (count - 1.0) / 2.0;
        equal.iter().for_each(|(_, at)| sums[*at] += rank);
        tied += count.powi(3) - count;
        first += count;
    }
    let n = all.len() as f64;
    let spread = 1.0 - tied / (n.powi(3) - n);
    if spread <= 0.0 {
        return Some(1.0);
    }
    let squares: f64 = sums.iter().zip(sets).map(|(sum, set)| sum * sum / set.len() as f64).sum();
    let h = (12.0 / (n * (n + 1.0)) * squares - 3.0 * (n + 1.0)) / spread;
    Some(ChiSquared::new(sets.len() as f64 - 1.0).ok()?.sf(h.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_p(sets: &[&[f64]], want: f64) {
        let p = kruskal_wallis_p(sets);
        assert!(p.is_some_and(|p| (p - want).abs() < 1e-9), "{p:?}, not {want}");
    }

    #[test]
    fn p_is_scipys() {
        // python3 -c 'from scipy.stats import kruskal as k; print(k(A, B, C).pvalue)' for each line below.
        assert_p(&[&[1.0, 3.0, 5.0, 7.0, 9.0], &[2.0, 4.0, 6.0, 8.0, 10.0]], 0.6015081344405895);
        assert_p(&[&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0], &[2.0, 2.0]], 0.0301973834223185);
        assert_p(
            &[&[10.1, 10.4, 9.8, 10.0], &[10.6, 10.9, 10.25, 10.7], &[11.5, 11.6, 11.4, 11.9]],
            0.009709840874440618,
        );
    }

    #[test]
    fn equal_values_are_no_evidence_and_one_set_is_no_test() {
        assert_p(&[&[5.0; 6], &[5.0; 6]], 1.0);
        assert_eq!(kruskal_wallis_p(&[&[1.0, 2.0]]), None);
        assert_eq!(kruskal_wallis_p(&[&[1.0], &[]]), None);
        assert_eq!(kruskal_wallis_p(&[&[1.0], &[f64::NAN]]), None);
    }
}
