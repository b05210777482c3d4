//! Whether durations come in two groups with little between them: two paths, two clocks, or a neighbour that
//! comes and goes.
//!
//! The range from the 5th to the 95th percentile is cut into a lower quarter, a middle half and an upper
//! quarter. Two modes leave the middle nearly empty while both sides hold a good share. That cannot happen
//! with one mode, whatever its shape: a density that only rises up to the mode and only falls after it is,
//! between the quarters, nowhere below what the quarter on that side of the mode has on average, so with 15 %
//! in each quarter the middle, twice as wide, holds at least 30 %. Dip and kernel tests need a bootstrap to
//! say the same. Two modes that overlap (less than about twelve standard deviations apart) are left alone.

use crate::interval::quantile;

/// Fewer values cannot tell an empty middle from chance (see the tests for how often it happens with these).
const LEAST_VALUES: usize = 20;

/// The share of values each side must hold: a quarter's 15 %, and the 5 % beyond the percentile.
const LEAST_SIDE: f64 = 0.20;

/// The share of values in the middle half that still is "nearly empty".
const MOST_BETWEEN: f64 = 0.05;

/// Whether the values, in ascending order, fall in two groups more than `least_distance` (same unit) apart
/// from outer end to outer end.
pub fn is_bimodal(sorted: &[f64], least_distance: f64) -> bool {
    let (Some(low), Some(high)) = (quantile(sorted, 0.05), quantile(sorted, 0.95)) else { return false };
    if sorted.len() < LEAST_VALUES || high - low <= least_distance {
        return false;
    }
    let quarter = (high - low) / 4.0;
    let below = sorted.partition_point(|value| *value < low + quarter);
    let up_to = sorted.partition_point(|value| *value <= high - quarter);
    let share = |count: usize| count as f64 / sorted.len() as f64;
    share(below) >= LEAST_SIDE
        && share(sorted.len() - up_to) >= LEAST_SIDE
        && share(up_to - below) < MOST_BETWEEN
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
            for (count, most) in [(20, 0.003), (50, 0.001), (1000, 0.0)] {
                let share = share_flagged(2000, || (0..count).map(|_| draw(&mut random)).collect());
                assert!(share <= most, "{shape}, {count} values: {share}");
            }
        }
    }

    #[test]
    fn two_separate_groups_are_seen_whichever_is_larger() {
        let mut random = SplitMix64::new(7);
        for upper in [25, 50, 75] {
            let share = share_flagged(500, || {
                let center = |at: usize| if at < upper { 112.0 } else { 100.0 };
                (0..100).map(|at| center(at) + noise::normal(&mut random)).collect()
            });
            assert!(share > 0.95, "{upper} of 100 in the upper group: {share}");
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
        assert!(
            is_bimodal(&values[40..60], 0.0) && !is_bimodal(&values[40..59], 0.0),
            "20 values are the fewest judged"
        );
        assert!(!is_bimodal(&[], 0.0));
    }
}
