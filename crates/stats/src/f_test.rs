//! Whether any of several sets of few values differs from the others: the one-way analysis of variance.
//!
//! For sets of three, as the allocations of a run are, where ranks cannot show anything: `kruskal_wallis` of two sets of three ends at p = 0.05. It
//! takes the values for normal with one spread, as Student's interval of them does. Source: Fisher, "Statistical Methods for Research Workers", 1925,
//! chapter VII; the figures in the tests are scipy's `f_oneway`.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The p-value of all sets having one mean. `None` with fewer than two sets, an empty one, no more values than sets, or a value that is not finite.
pub fn f_test_p(sets: &[&[f64]]) -> Option<f64> {
    let values = || sets.iter().copied().flatten();
    let (groups, count) = (sets.len(), values().count());
    let usable = groups >= 2 && count > groups && sets.iter().all(|set| !set.is_empty());
    if !usable || !values().all(|value| value.is_finite()) {
        return None;
    }
    let mean = |set: &[f64]| set.iter().sum::<f64>() / set.len() as f64;
    let grand = values().sum::<f64>() / count as f64;
    let between: f64 = sets.iter().map(|set| set.len() as f64 * (mean(set) - grand).powi(2)).sum();
    let within: f64 = sets.iter().map(|set| set.iter().map(|value| (value - mean(set)).powi(2)).sum::<f64>()).sum();
    if within == 0.0 {
        return Some(if between == 0.0 { 1.0 } else { 0.0 });
    }
    let (of_groups, of_values) = ((groups - 1) as f64, (count - groups) as f64);
    let f = (between / of_groups) / (within / of_values);
    Some(FisherSnedecor::new(of_groups, of_values).ok()?.sf(f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    #[test]
    fn the_p_value_is_scipys() {
        let p = f_test_p(&[&[6.1, 6.3, 5.9], &[6.4, 6.6, 6.5], &[6.0, 6.2, 6.4, 6.1]]);
        assert!(p.is_some_and(|p| (p - 0.041631217993227276).abs() < 1e-9), "{p:?}");
        assert_eq!(f_test_p(&[&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]]), Some(1.0));
        assert_eq!(f_test_p(&[&[1.0, 1.0], &[2.0, 2.0]]), Some(0.0), "without any spread every difference is certain");
        assert_eq!(f_test_p(&[&[1.0, 1.0], &[1.0, 1.0]]), Some(1.0));
    }

    #[test]
    fn what_cannot_be_compared_has_no_p_value() {
        for sets in [&[][..], &[&[1.0, 2.0][..]], &[&[1.0], &[]], &[&[1.0], &[2.0]], &[&[1.0, f64::NAN], &[2.0, 1.0]]] {
            assert_eq!(f_test_p(sets), None, "{sets:?}");
        }
    }

    #[test]
    fn sets_alike_are_called_different_as_rarely_as_it_says() {
        let mut random = SplitMix64::new(41);
        let mut set = || [0.0; 3].map(|_| 100.0 + noise::normal(&mut random));
        let alarms = (0..4000).filter(|_| {
            let sets = [set(), set(), set(), set()];
            f_test_p(&sets.each_ref().map(|set| &set[..])).is_some_and(|p| p < 0.05)
        });
        let share = alarms.count() as f64 / 4000.0;
        // Standard deviation 0.35 %.
        assert!((0.04..0.06).contains(&share), "{share}");
    }
}
