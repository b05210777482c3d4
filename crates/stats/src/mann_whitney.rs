//! The Mann-Whitney U test: could two sets of values come from one distribution?
//!
//! The p-value is exact wherever it can be computed in a millisecond: without ties from the generating function of U (Mann and Whitney 1947), with ties from
//! the distribution of the sum of mid-ranks over all ways to share out these very values (Streitberg and Röhmel, "Exact distributions for permutation and
//! rank tests", 1986). The normal approximation (statrs', with tie and continuity correction) is left for large sets: with nine values a side its smallest p
//! is ten times the exact one, and after a correction for many tests nothing would be found.
//!
//! Counts of ways are floats: those of 50 against 50 come to 1e29. They keep their first twelve digits and more.

use statrs::function::factorial::ln_binomial;
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

/// So many additions are done for an exact value: a few milliseconds.
const MOST_ADDITIONS: usize = 4_000_000;

/// The largest logarithm of a count of ways: a float ends at e^709.
const MOST_LN_WAYS: f64 = 700.0;

/// The two-sided p-value; `None` if a set is empty or a value is not a number.
pub fn mann_whitney_p(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| value.is_nan()) {
        return None;
    }
    let mut all = [a, b].concat();
    all.sort_unstable_by(f64::total_cmp);
    let ties = all.windows(2).any(|pair| pair[0] == pair[1]);
    let exact = if ties { exact_of_ranks(a, b, &all) } else { exact_of_u(a, b) };
    exact.or_else(|| {
        let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
        mannwhitneyu(a, b, method, Alternative::TwoSided).ok().map(|(_, p)| p)
    })
}

/// The smallest p-value that so many values against so many can have: all of one set above all of the other.
pub fn smallest_p(a: usize, b: usize) -> f64 {
    2.0 * (-ln_binomial((a + b) as u64, a as u64)).exp()
}

/// The exact value for distinct values; `None` where it takes too long or too large numbers.
fn exact_of_u(a: &[f64], b: &[f64]) -> Option<f64> {
    let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
    let ln_ways = ln_binomial((fewer + more) as u64, fewer as u64);
    // Without ties, U is the number of pairs in which the value of a is larger.
    let u: usize = a.iter().map(|x| b.iter().filter(|y| x > *y).count()).sum();
    let tail = u.min(a.len() * b.len() - u);
    if ln_ways > MOST_LN_WAYS || fewer * tail * 2 > MOST_ADDITIONS {
        return None;
    }
    let in_tail: f64 = ways_of_u(fewer, more, tail).iter().sum();
    Some((2.0 * in_tail / ln_ways.exp()).min(1.0))
}

/// How many of the orders of `fewer` + `more` distinct values give each U up to `most`: the coefficients of the Gaussian binomial
/// ∏ (1 − x^(more+i)) / (1 − x^i) over i = 1..=fewer (Mann and Whitney, 1947).
fn ways_of_u(fewer: usize, more: usize, most: usize) -> Vec<f64> {
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
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

/// The exact value given these values, tied or not: the share of all ways to choose as many of them whose sum of ranks is as far from its mean.
fn exact_of_ranks(a: &[f64], b: &[f64], all: &[f64]) -> Option<f64> {
    let fewer = if a.len() <= b.len() { a } else { b };
    let (chosen, of) = (fewer.len(), all.len());
    // Twice the mean rank of the values equal to this one: a whole number.
    let rank =
        |value: &f64| all.partition_point(|other| other < value) + all.partition_point(|other| other <= value) + 1;
    let most = chosen * (2 * of + 1);
    if ln_binomial(of as u64, chosen as u64) > MOST_LN_WAYS || of * chosen * most > MOST_ADDITIONS {
        return None;
    }
    // By how many were chosen, the ways to each sum.
    let mut ways = vec![vec![0.0_f64; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for (so_far, value) in all.iter().enumerate() {
        let rank = rank(value);
        for count in (0..chosen.min(so_far + 1)).rev() {
            let (without, with) = ways.split_at_mut(count + 1);
            for (to, from) in with[0][rank..].iter_mut().zip(&without[count]) {
                *to += from;
            }
        }
    }
    let (mean, seen) = ((chosen * (of + 1)) as i64, fewer.iter().map(rank).sum::<usize>() as i64);
    let as_far = |sum: usize| (sum as i64 - mean).abs() >= (seen - mean).abs();
    let in_tails: f64 = (0..=most).filter(|sum| as_far(*sum)).map(|sum| ways[chosen][sum]).sum();
    Some((in_tails / ways[chosen].iter().sum::<f64>()).min(1.0))
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
    fn values_with_ties_get_the_share_of_all_ways_to_choose_them() {
        // By listing all combinations: 1,037 of 352,716; 131,018 of 167,960; 128 of 1,716.
        let c = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2, 10.15, 10.35, 9.95, 10.05];
        let d = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5, 10.1, 10.3, 10.2, 10.8];
        assert_p(&c, &d, 0.002940042413726624);
        assert_p(&c, &c[..9], 0.7800547749464158);
        let (e, f) = ([1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0], [2.0, 3.0, 4.0, 4.0, 5.0, 5.0]);
        assert_p(&e, &f, 0.07459207459207459);
        // Three against three end at 2 of 20 however many of a side are equal.
        assert_p(&[1.0; 3], &[2.0; 3], 0.1);
    }

    #[test]
    fn many_values_get_the_exact_value_too() {
        // By whole numbers without an end: 2 / C(18, 9), and sums of the counts of 12 against 30 and 50 against 50 up to a U.
        let counted =
            |count: u32, from: u32, step: u32| (0..count).map(|at| f64::from(from + step * at)).collect::<Vec<_>>();
        assert_p(&counted(9, 1, 1), &counted(9, 20, 1), 4.113533525298231e-5);
        assert!((smallest_p(9, 9) / 4.113533525298231e-5 - 1.0).abs() < 1e-12);
        let p = mann_whitney_p(&counted(50, 1, 1), &counted(50, 60, 1)).unwrap_or_default();
        assert!((p / 1.9823306042836678e-29 - 1.0).abs() < 1e-9, "{p}");
        for (most, exact) in [(800, 0.001739834286160499), (1100, 0.30413961453034644)] {
            let p = 2.0 * ways_of_u(50, 50, most).iter().sum::<f64>() / ln_binomial(100, 50).exp();
            assert!((p / exact - 1.0).abs() < 1e-9, "{most}: {p}, not {exact}");
        }
    }

    #[test]
    fn very_large_sets_get_scipys_approximation() {
        let even = |from: f64| (0..2000).map(move |at| from + f64::from(at)).collect::<Vec<_>>();
        let p = mann_whitney_p(&even(0.0), &even(100.5)).unwrap_or_default();
        assert!((1e-9..1e-5).contains(&p), "{p}");
    }

    #[test]
    fn every_order_is_counted_once() {
        // C(6 + 7, 6) and C(8 + 50, 8).
        assert_eq!(ways_of_u(6, 7, 42).iter().sum::<f64>(), 1716.0);
        assert_eq!(ways_of_u(8, 50, 400).iter().sum::<f64>(), 1_916_797_311.0);
        assert_eq!(ways_of_u(2, 2, 4), [1.0, 1.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn equal_values_are_no_evidence_and_no_values_are_no_test() {
        assert_p(&[5.0; 10], &[5.0; 10], 1.0);
        assert_eq!(mann_whitney_p(&[], &[1.0]), None);
        assert_eq!(mann_whitney_p(&[f64::NAN], &[1.0]), None);
    }
}
