//! Where a series of values changed its level: over weeks of runs, on which day a figure fell, and that it stayed there.
//!
//! Pettitt's test ("A non-parametric approach to the change-point problem", 1979) finds the most likely single change by ranks, so one bad day
//! neither makes nor hides one. Found, the series is cut there and both parts are searched again (binary segmentation), at the level given for
//! the whole series; each cut is tested at the level over the number of tests that the series has room for. The p-value is Pettitt's
//! approximation, which is conservative for short series. What is left out: slow drifts, which have no day.

use crate::interval::median;

/// The fewest values on each side of a change.
pub const LEAST_SIDE: usize = 5;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Change {
    /// The position of the first value of the new level.
    pub at: usize,
    /// The median before, back to the change before this one.
    pub before: f64,
    /// The median from it on, up to the next change.
    pub after: f64,
    /// Pettitt's p-value of this cut.
    pub p_value: f64,
}

/// The changes of a series in order, with a chance of at most about `level` of any where there is none. Values that are not finite are an empty series.
pub fn changes(values: &[f64], level: f64) -> Vec<Change> {
    if !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let tests = (values.len() / (2 * LEAST_SIDE)).max(1);
    let mut cuts = Vec::new();
    search(values, 0, level / tests as f64, &mut cuts);
    cuts.sort_unstable_by_key(|(at, _)| *at);
    let ends_of = |cuts: &[(usize, f64)]| -> Vec<usize> {
        std::iter::once(0).chain(cuts.iter().map(|(at, _)| *at)).chain([values.len()]).collect()
    };
    // A first cut was placed with the later ones in sight: each is placed again between its neighbours, which are known now.
    for index in 0..cuts.len() {
        let ends = ends_of(&cuts);
        if let Some((at, p_value)) = pettitt(&values[ends[index]..ends[index + 2]]).filter(|(_, p)| *p < level) {
            cuts[index] = (ends[index] + at, p_value);
        }
    }
    let ends = ends_of(&cuts);
    let change = |(index, (at, p_value)): (usize, &(usize, f64))| {
        let before = median(&values[ends[index]..*at])?;
        let after = median(&values[*at..ends[index + 2]])?;
        Some(Change { at: *at, before, after, p_value: *p_value })
    };
    cuts.iter().enumerate().filter_map(change).collect()
}

fn search(values: &[f64], offset: usize, level: f64, cuts: &mut Vec<(usize, f64)>) {
    let Some((at, p_value)) = pettitt(values) else { return };
    if p_value >= level {
        return;
    }
    cuts.push((offset + at, p_value));
    search(&values[..at], offset, level, cuts);
    search(&values[at..], offset + at, level, cuts);
}

/// The most likely change with enough values on both sides, and the p-value; `None` for a shorter series.
fn pettitt(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len();
    if n < 2 * LEAST_SIDE {
        return None;
    }
    let sign = |a: f64, b: f64| f64::from(i8::from(a > b) - i8::from(a < b));
    // U after t values, from U after t − 1: value t now counts as earlier (Pettitt 1979, equation 2.2).
    let mut u = 0.0;
    let mut most = (LEAST_SIDE, 0.0_f64);
    for (at, value) in values.iter().enumerate() {
        u += values.iter().map(|other| sign(*value, *other)).sum::<f64>();
        let side = at + 1;
        if (LEAST_SIDE..=n - LEAST_SIDE).contains(&side) && u.abs() > most.1.abs() {
            most = (side, u);
        }
    }
    let n = n as f64;
    Some((most.0, (2.0 * (-6.0 * most.1.powi(2) / (n.powi(3) + n.powi(2))).exp()).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    fn series(random: &mut SplitMix64, levels: &[(usize, f64)], noise: f64) -> Vec<f64> {
        let mut values = Vec::new();
        for (count, level) in levels {
            values.extend((0..*count).map(|_| level * (1.0 + noise * noise::normal(random))));
        }
        values
    }

    #[test]
    fn the_statistic_is_that_of_pettitts_formula() {
        // U(t) = sum over i <= t < j of sign(x_i − x_j): by hand for 1..=5 then 11..=15, all 25 pairs are −1.
        let values: Vec<f64> = (1..=5).chain(11..=15).map(f64::from).collect();
        let (at, p) = pettitt(&values).unwrap_or_default();
        assert_eq!(at, 5);
        assert!((p - 2.0 * (-6.0 * 625.0 / 1100.0_f64).exp()).abs() < 1e-12, "{p}");
    }

    #[test]
    fn steps_are_found_on_their_day_and_named_with_their_levels() {
        let mut random = SplitMix64::new(1);
        let mut on_the_day = 0;
        for _ in 0..100 {
            let values = series(&mut random, &[(30, 55.0), (25, 52.0), (20, 54.5)], 0.005);
            let found = changes(&values, 0.01);
            let days: Vec<usize> = found.iter().map(|change| change.at).collect();
            // By ranks alone a value of the new level that happens to be near the old one can move the cut.
            assert!(days.len() == 2 && days[0].abs_diff(30) <= 4 && days[1].abs_diff(55) <= 4, "{days:?}");
            on_the_day += usize::from(days[0].abs_diff(30) <= 1) + usize::from(days[1].abs_diff(55) <= 1);
            assert!((found[0].before / 55.0 - 1.0).abs() < 0.01 && (found[0].after / 52.0 - 1.0).abs() < 0.01);
        }
        assert!(on_the_day >= 190, "{on_the_day} of 200 within a day");
    }

    #[test]
    fn a_quiet_series_has_a_change_as_rarely_as_the_level_says() {
        let mut random = SplitMix64::new(2);
        for n in [12, 30, 90, 365] {
            for (name, draw) in noise::SHAPES {
                let runs = if n > 90 { 200 } else { 1000 };
                let alarms = (0..runs)
                    .filter(|_| {
                        let values: Vec<f64> = (0..n).map(|_| 100.0 + draw(&mut random)).collect();
                        !changes(&values, 0.01).is_empty()
                    })
                    .count();
                // One per cent, and three deviations of such a count.
                let most = runs / 100 + (3.0 * (runs as f64 * 0.01).sqrt()) as usize;
                assert!(alarms <= most, "{name}, {n} values: {alarms} of {runs}");
            }
        }
    }

    #[test]
    fn one_bad_day_is_no_change_and_too_few_values_have_none() {
        let mut random = SplitMix64::new(3);
        let mut values = series(&mut random, &[(40, 55.0)], 0.005);
        values[20] = 20.0;
        assert_eq!(changes(&values, 0.01), []);
        assert_eq!(changes(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0], 0.05), []);
        assert_eq!(changes(&[f64::NAN; 30], 0.05), []);
        assert_eq!(changes(&[], 0.05), []);
    }
}
