//! Whether durations come in two groups with little between them: two paths, two clocks, or a neighbour that comes and goes.
//!
//! The range from the 5th to the 95th percentile is cut in thirds. Two modes leave the middle third nearly empty while both sides
//! hold a good share. That cannot happen with one mode: if the mode is in the lower third, the density falls from there on, so the
//! middle third holds at least as much as the upper third up to the 95th percentile, which is the upper side's share less 5 %; with
//! 15 % or more on each side that is 10 % or more in the middle, twice what is called empty. (The mode in the upper third: mirrored; in the
//! middle third: it then holds more still.) Dip and kernel tests need a bootstrap to say the same. Two modes that overlap (less than
//! about seven standard deviations apart) are left alone.

use crate::interval::quantile;

/// Fewer values cannot tell an empty third from chance: of 20 exponential values none lies there in 6 of 1000 sets.
const LEAST_VALUES: usize = 20;

/// The share of values each side must hold.
const LEAST_SIDE: f64 = 0.15;

/// The share of values in the middle third that still is "nearly empty".
const MOST_BETWEEN: f64 = 0.05;

/// Whether the values, in ascending order, fall in two groups more than `least_distance` (same unit) apart from outer end to outer end.
pub fn is_bimodal(sorted: &[f64], least_distance: f64) -> bool {
    let (Some(low), Some(high)) = (quantile(sorted, 0.05), quantile(sorted, 0.95)) else { return false };
    if sorted.len() < LEAST_VALUES || high - low <= least_distance {
        return false;
    }
    let third = (high - low) / 3.0;
    let below = sorted.partition_point(|value| *value < low + third);
    let up_to = sorted.partition_point(|value| *value <= high - third);
    let share = |count: usize| count as f64 / sorted.len() as f64;
    share(below) >= LEAST_SIDE && share(sorted.len() - up_to) >= LEAST_SIDE && share(up_to - below) < MOST_BETWEEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    fn share_flagged(runs: u32, mut draw: impl FnMut() -> Vec<f64>) -> f64 {
        let flagged = (0..runs)
            .filter(|_| {
                let mut values = draw();
                values.sort_unstable_by(f64::total_cmp);
                is_bimodal(&values, 0.0)
            })
            .count();
        flagged as f64 / f64::from(runs)
    }

    #[test]
    fn one_mode_of_any_shape_is_not_taken_for_two() {
        let mut random = SplitMix64::new(6);
        for (shape, draw) in noise::SHAPES {
            for (count, most) in [(20, 0.01), (50, 0.002), (1000, 0.0)] {
                let share = share_flagged(2000, || (0..count).map(|_| draw(&mut random)).collect());
                assert!(share <= most, "{shape}, {count} values: {share}");
            }
        }
    }

    #[test]
    fn two_separate_groups_are_seen_whichever_is_larger() {
        let mut random = SplitMix64::new(7);
        for upper in [0.3, 0.5, 0.7] {
            let share = share_flagged(500, || {
                let mut draw = || {
                    let at = if noise::uniform(&mut random) < upper { 110.0 } else { 100.0 };
                    at + noise::normal(&mut random)
                };
                (0..100).map(|_| draw()).collect()
            });
            assert!(share > 0.98, "upper share {upper}: {share}");
        }
    }

    #[test]
    fn a_few_slow_values_are_outliers_and_no_second_mode() {
        let mut values: Vec<f64> = (0..90).map(|n| 100.0 + f64::from(n) / 90.0).collect();
        values.extend([200.0; 10]);
        assert!(!is_bimodal(&values, 0.0));
    }

    #[test]
    fn groups_closer_than_the_least_distance_and_constant_values_are_left_alone() {
        let values: Vec<f64> = [[100.0; 50], [104.0; 50]].concat();
        assert!(is_bimodal(&values, 3.9));
        assert!(!is_bimodal(&values, 4.0));
        assert!(!is_bimodal(&[100.0; 100], 0.0));
        assert!(!is_bimodal(&[], 0.0));
    }
}
