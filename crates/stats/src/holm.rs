//! Many tests at once: p-values adjusted so that the chance of even one false finding in the whole family
//! stays at the level asked.
//!
//! Holm's step-down method ("A simple sequentially rejective multiple test procedure", 1979): as safe as
//! Bonferroni's, never less able to find, and free of any assumption on how the tests depend on each other,
//! which cases of one run do.

/// The adjusted p-values, in the order given: below 0.05 is a finding at 5 % for the family. A value that is
/// not a number counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let p = |at: usize| if p_values[at].is_nan() { 1.0 } else { p_values[at] };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p(*a).total_cmp(&p(*b)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (tested, &at) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - tested) as f64 * p(at)).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

/// The same by Hochberg's step-up method ("A sharper Bonferroni procedure for multiple tests of
/// significance", 1988), which claims all of them where each by itself is below the level. It holds for tests
/// that are independent or hang together, as comparisons of the same cases do.
pub fn hochberg(p_values: &[f64]) -> Vec<f64> {
    let p = |at: usize| if p_values[at].is_nan() { 1.0 } else { p_values[at] };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p(*b).total_cmp(&p(*a)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (larger, &at) in order.iter().enumerate() {
        least = least.min((larger + 1) as f64 * p(at));
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adjusted_values_are_those_of_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
        let got = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - want).abs() < 1e-12, "{got}, not {want}");
        }
    }

    #[test]
    fn of_hochberg_they_are_those_of_r_too() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "hochberg"), and all at once where the largest is small
        // enough.
        let got = hochberg(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in got.iter().zip([0.03, 0.04, 0.04, 0.02]) {
            assert!((got - want).abs() < 1e-12, "{got}, not {want}");
        }
        assert_eq!(
            (hochberg(&[0.049; 3]), hochberg(&[]), hochberg(&[f64::NAN])),
            (vec![0.049; 3], vec![], vec![1.0])
        );
    }

    #[test]
    fn one_test_stays_as_it_is_and_none_above_one() {
        assert_eq!(holm(&[0.04]), [0.04]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }
}
