//! Values far from the rest: counted, never dropped. A slow round happened; a reader decides what it means.
//!
//! "Far out" is Tukey's word and rule ("Exploratory Data Analysis", 1977): beyond three interquartile ranges
//! from the nearer quartile. The common 1.5 calls 7 in 1000 normal values outliers, which in thousands of
//! rounds is noise; 3 calls 2 in a million.

use crate::interval::quantile;

/// No value closer to its quartile than this share of the median is far out. Where a coarse timer gives most
/// rounds the same reading the interquartile range is 0, and each tick beside it would count; 1 % is what the
/// stop rule resolves anyway.
const LEAST_DISTANCE: f64 = 0.01;

/// Below and above which a value is far out, from values in ascending order; `None` without values.
pub fn fences(sorted: &[f64]) -> Option<(f64, f64)> {
    let (q1, middle, q3) = (quantile(sorted, 0.25)?, quantile(sorted, 0.5)?, quantile(sorted, 0.75)?);
    let distance = (3.0 * (q3 - q1)).max(LEAST_DISTANCE * middle.abs());
    Some((q1 - distance, q3 + distance))
}

/// How many of the values (in ascending order) are far out.
pub fn count_far_out(sorted: &[f64]) -> u64 {
    fences(sorted).map_or(0, |(low, high)| {
        let inside =
            sorted.partition_point(|value| *value <= high) - sorted.partition_point(|value| *value < low);
        (sorted.len() - inside) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::sorted;
    use crate::noise;
    use crate::random::SplitMix64;

    #[test]
    fn fences_stand_three_interquartile_ranges_out() {
        // Quartiles of 1..=9 (type 7): 3 and 7.
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(fences(&values), Some((-9.0, 19.0)));
        assert_eq!(fences(&[]), None);
    }

    #[test]
    fn both_sides_are_counted_and_the_fence_itself_is_inside() {
        let values = sorted(&[
            -9.0, -9.1, 1.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.0, 7.0, 8.0, 9.0, 19.0, 19.1,
        ]);
        assert_eq!(fences(&values), Some((-9.0, 19.0)));
        assert_eq!(count_far_out(&values), 2);
        assert_eq!(count_far_out(&[]), 0);
    }

    #[test]
    fn a_tick_of_a_coarse_timer_is_no_outlier_and_a_stall_is() {
        let mut values = vec![1000.0; 98];
        values.extend([1010.0, 5000.0]);
        assert_eq!(count_far_out(&values), 1);
    }

    #[test]
    fn normal_noise_has_practically_none() {
        let mut random = SplitMix64::new(4);
        let values: Vec<f64> = (0..100_000).map(|_| 100.0 + noise::normal(&mut random)).collect();
        // 2.3 per million expected with exact quartiles.
        assert!(count_far_out(&sorted(&values)) <= 3);
    }
}
