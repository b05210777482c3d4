//! Where a series of values changed its level: over weeks of runs, on which day a figure fell, and that it
//! stayed there. Some 410 lines because a third of them are tests, each a kind of series.
//!
//! Runs of a node are alike from one to the next (their neighbours, the temperature, the allocation of the
//! day), so a series wanders where nothing changed, and a test that takes runs for independent names a change
//! in one of five such series (Serinaldi and Kilsby, "The importance of prewhitening in change point analysis
//! under persistence", 2016). Here each cut is tested by the difference of the mean logarithms on its two
//! sides, over the spread within them, and both the error of the means and the spread are those of an
//! autoregressive series (the variance of its means is closed; the degrees of freedom are Satterthwaite's, by
//! the trace of the squared covariance). How strongly it is correlated, a series of thirty values tells, and
//! the upper end of what it tells is taken; fewer do not, and are taken for correlated by [`TAKEN`]. A level
//! test, unlike one by ranks, has no floor: a fall to half shows with three values.
//!
//! Cuts are looked for in the whole series and in shorter intervals of it (Kovács, Li, Bühlmann and Munk,
//! "Seeded binary segmentation", 2023), because a second change hides the first one; the series is cut at the
//! surest, and both parts are searched again. Every test has its part of the level (Bonferroni). One or two
//! bad days are no level: values far from the running median of five are drawn near to it first (Hampel
//! 1974). A slow drift has no day: a cut counts only where two levels leave less of the scatter than a line
//! does, and where the step is as sure beside a line.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::family::normal_p;
use crate::interval::{mean_and_squares, median};
use crate::wandering::Wandering;

/// The fewest values on each side of a change.
pub const LEAST_SIDE: usize = 3;

/// The fewest values of a series that is searched.
pub const LEAST_VALUES: usize = 10;

/// Fewer values than this on a side must all lie beyond those on the other: three values of skewed noise are
/// soon far from its mean, and hardly ever the three largest.
const FEW: usize = 6;

/// Fewer values than this on a side do not show two modes for certain: one that is in the other mode may be
/// taken for a bad day.
const SHOWS_MODES: usize = 10;

/// The shortest interval that is searched by itself: shorter ones of skewed noise are quiet by chance too
/// often.
const SHORTEST: usize = 20;

/// The correlation from value to value that short series are taken to have: 0.78 was seen of host copies on a
/// virtual machine with neighbours.
const TAKEN: f64 = 0.8;

/// A correlation above this is a drift.
const AT_MOST: f64 = 0.95;

/// From so many values on a series tells its correlation.
const TELLS_CORRELATION: usize = 30;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Change {
    /// The position of the first value of the new level.
    pub at: usize,
    /// The median before, back to the change before this one.
    pub before: f64,
    /// The median from it on, up to the next change.
    pub after: f64,
    /// The p-value of this cut, for all cuts that were tried.
    pub p_value: f64,
}

/// The changes of a series in order, with a chance of at most about `level` of any where there is none.
/// Values that are not all positive and finite are an empty series.
pub fn changes(values: &[f64], level: f64) -> Vec<Change> {
    if values.len() < LEAST_VALUES || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return Vec::new();
    }
    let logs = without_bad_days(&values.iter().map(|value| value.ln()).collect::<Vec<_>>());
    let mut cuts = Vec::new();
    search(&logs, 0, level, &mut cuts);
    cuts.sort_unstable_by_key(|(at, _)| *at);
    let ends_of = |cuts: &[(usize, f64)]| -> Vec<usize> {
        std::iter::once(0).chain(cuts.iter().map(|(at, _)| *at)).chain([values.len()]).collect()
    };

    // A cut that was found in a short interval is placed again between its neighbours. Its test is done: only
    // its place is another one.
    for index in 0..cuts.len() {
        let ends = ends_of(&cuts);
        if let Some(cut) = surest(&logs[ends[index]..ends[index + 2]], TAKEN) {
            cuts[index].0 = ends[index] + cut.at;
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

/// How widely the values of a series scatter around the levels that these changes leave, as a logarithm;
/// `None` of a series that was not searched.
pub fn spread(values: &[f64], changes: &[Change]) -> Option<f64> {
    if values.len() < LEAST_VALUES || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let law = Wandering::of(values.len(), TAKEN);
    let (mut squares, mut expected, mut from) = (0.0, 0.0, 0);
    for to in changes.iter().map(|change| change.at).chain([values.len()]) {
        let logs: Vec<f64> = values[from..to].iter().map(|value| value.ln()).collect();
        squares += mean_and_squares(&logs).1;
        expected += law.squares[to - from];
        from = to;
    }
    Some((squares / expected).sqrt())
}

/// Whether a change between levels of so many values stands beside other series that scatter so. Three values
/// of two modes that happen to be in one of them are a change by all that their own series shows, and only
/// others show the modes; from ten values a side on the series itself does.
pub fn stands_beside(change: &Change, [before, after]: [usize; 2], spread: f64, level: f64) -> bool {
    if before.min(after) >= SHOWS_MODES {
        return true;
    }
    let law = Wandering::of(before.max(after), TAKEN);
    let error = spread * (law.of_mean[before] + law.of_mean[after]).sqrt();
    let p_value = normal_p((change.after / change.before).ln() / error.max(1e-12));
    p_value * (tests(before + after) as f64) < level
}

fn search(logs: &[f64], offset: usize, level: f64, cuts: &mut Vec<(usize, f64)>) {
    let Some((at, p_value)) = most_likely(logs).filter(|(_, p_value)| *p_value < level) else { return };
    cuts.push((offset + at, p_value));
    search(&logs[..at], offset, level, cuts);
    search(&logs[at..], offset + at, level, cuts);
}

/// The surest cut of a series and its p-value for all cuts that were tried: the whole series has half of the
/// level, all intervals of it the other half.
fn most_likely(logs: &[f64]) -> Option<(usize, f64)> {
    let shorter = intervals(logs.len());
    let of_shorter: usize = shorter.iter().map(|(from, to)| tests(to - from)).sum();
    let parts = if shorter.is_empty() { 1.0 } else { 2.0 };
    let whole = cut(logs).map(|(at, p_value)| (at, p_value * parts * tests(logs.len()) as f64));
    let shorter = shorter.into_iter().filter_map(|(from, to)| {
        cut(&logs[from..to]).map(|(at, p_value)| (from + at, p_value * parts * of_shorter as f64))
    });
    whole
        .into_iter()
        .chain(shorter)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(at, p_value)| (at, p_value.min(1.0)))
}

/// How many tests the cuts of so many values are: neighbouring cuts share all values but one.
fn tests(values: usize) -> usize {
    values / LEAST_SIDE
}

/// The intervals that are searched beside the whole: each time shorter by the root of two, and half over the
/// one before.
fn intervals(values: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut length = values as f64 / std::f64::consts::SQRT_2;
    while length >= SHORTEST as f64 {
        let span = length.round() as usize;
        let count = 2 * values.div_ceil(span) - 1;
        let step = (values - span) as f64 / (count - 1) as f64;
        all.extend((0..count).map(|at| (at as f64 * step).round() as usize).map(|from| (from, from + span)));
        length /= std::f64::consts::SQRT_2;
    }
    all
}

/// The surest cut of an interval by itself, and its p-value as if it were the only one.
fn cut(logs: &[f64]) -> Option<(usize, f64)> {
    if logs.len() < LEAST_VALUES {
        return None;
    }
    let by_taken = surest(logs, TAKEN)?;
    let told = logs.len() >= TELLS_CORRELATION;
    let surest = if told { surest(logs, correlation(logs, by_taken.at))? } else { by_taken };
    if is_rather_a_line(logs, surest.at) {
        return None;
    }
    let p_value = |t: f64, freedom: f64| StudentsT::new(0.0, 1.0, freedom).ok().map(|law| 2.0 * law.sf(t));
    let of_levels = p_value(surest.t, surest.freedom)?;
    let beside_a_line = p_value(step_beside_a_line(logs, surest.at), logs.len() as f64 - 3.0)?;
    Some((surest.at, of_levels.max(beside_a_line)))
}

/// Whether a line leaves no more of the scatter than the two levels of this cut.
fn is_rather_a_line(logs: &[f64], at: usize) -> bool {
    let all = mean_and_squares(logs).1;
    let of_line = all - slope(logs).powi(2) * squares_of_places(logs.len());
    let of_levels = mean_and_squares(&logs[..at]).1 + mean_and_squares(&logs[at..]).1;
    of_line <= of_levels
}

/// How sure the step of this cut is where the series may also drift: Student's t of its height in a
/// regression on the place and the step, of independent values. Part of a slow drift looks like a step by
/// chance, and a folder has many parts.
fn step_beside_a_line(logs: &[f64], at: usize) -> f64 {
    let count = logs.len() as f64;
    let (after, middle) = (count - at as f64, (count - 1.0) / 2.0);
    // The step less the line that fits it best: of its places, the later ones are half their number behind
    // the end.
    let of_step = after / count;
    let product = after * ((at as f64 + count - 1.0) / 2.0 - middle);
    let slope_of_step = product / squares_of_places(logs.len());
    let rest =
        |place: usize| f64::from(u8::from(place >= at)) - of_step - slope_of_step * (place as f64 - middle);

    let (mut height, mut squares) = (0.0, 0.0);
    for (place, log) in logs.iter().enumerate() {
        (height, squares) = (height + rest(place) * log, squares + rest(place).powi(2));
    }
    let of_line = mean_and_squares(logs).1 - slope(logs).powi(2) * squares_of_places(logs.len());
    let left = (of_line - height * height / squares.max(1e-12)).max(0.0);
    height.abs() / (squares * left / (count - 3.0)).sqrt().max(1e-12)
}

/// The slope of the line through these values, from one to the next.
fn slope(logs: &[f64]) -> f64 {
    let (mean, middle) = (mean_and_squares(logs).0, (logs.len() as f64 - 1.0) / 2.0);
    let product: f64 = logs.iter().enumerate().map(|(at, log)| (at as f64 - middle) * (log - mean)).sum();
    product / squares_of_places(logs.len())
}

/// The squares of 0, 1, … n − 1 around their mean.
fn squares_of_places(count: usize) -> f64 {
    let count = count as f64;
    count * (count * count - 1.0) / 12.0
}

/// The correlation from value to value around the levels on both sides of a cut: what these values tell, and
/// three errors of that on top.
fn correlation(logs: &[f64], at: usize) -> f64 {
    let count = logs.len() as f64;
    let (mut products, mut squares) = (0.0, 0.0);
    for side in [&logs[..at], &logs[at..]] {
        let (mean, of_side) = mean_and_squares(side);
        products += side.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        squares += of_side;
    }
    let seen = if squares > 0.0 { products / squares } else { 0.0 };
    // What two fitted means take away (Kendall, "Note on bias in the estimation of autocorrelation", 1954),
    // twice.
    let told = seen + 2.0 * (1.0 + 3.0 * seen.max(0.0)) / count + 3.0 / count.sqrt();
    // In steps, so that a correlation just above another one is not another one.
    ((told.clamp(0.0, AT_MOST) * 20.0).ceil() / 20.0).min(AT_MOST)
}

/// A cut, and how sure it is.
struct Cut {
    at: usize,
    t: f64,
    freedom: f64,
}

/// The cut with the largest difference over its error, in a series with this correlation.
fn surest(logs: &[f64], correlation: f64) -> Option<Cut> {
    let count = logs.len();
    let law = Wandering::of(count, correlation);
    let (all, all_squares) =
        logs.iter().fold((0.0, 0.0), |(sum, squares), log| (sum + log, squares + log * log));
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut surest: Option<Cut> = None;

    for at in 1..=count.saturating_sub(LEAST_SIDE) {
        (sum, squares) = (sum + logs[at - 1], squares + logs[at - 1].powi(2));
        if at < LEAST_SIDE {
            continue;
        }
        let (before, after) = (at as f64, (count - at) as f64);
        let difference = (all - sum) / after - sum / before;
        let within =
            (squares - sum * sum / before + all_squares - squares - (all - sum).powi(2) / after).max(0.0);
        let expected = law.squares[at] + law.squares[count - at];
        let error = (within / expected * (law.of_mean[at] + law.of_mean[count - at])).sqrt();
        // What rounding leaves of equal values is no spread, and no difference either.
        let t = if difference.abs() < 1e-9 { 0.0 } else { difference.abs() / error.max(1e-12) };
        let few = at.min(count - at) < FEW;
        let t = if few && t > surest.as_ref().map_or(0.0, |surest| surest.t) && !apart(logs, at) {
            0.0
        } else {
            t
        };
        if surest.as_ref().is_none_or(|surest| t > surest.t) {
            let freedom = expected.powi(2) / (law.traces[at] + law.traces[count - at]);
            surest = Some(Cut { at, t, freedom });
        }
    }
    surest
}

/// Whether all values on one side of a cut are above all on the other.
fn apart(logs: &[f64], at: usize) -> bool {
    let ends = |side: &[f64]| {
        side.iter().fold((f64::MAX, f64::MIN), |(low, high), log| (low.min(*log), high.max(*log)))
    };
    let (before, after) = (ends(&logs[..at]), ends(&logs[at..]));
    before.1 < after.0 || after.1 < before.0
}

/// The series without days that are far from those around them: none is more than five deviations from the
/// running median of five.
fn without_bad_days(logs: &[f64]) -> Vec<f64> {
    const FAR: f64 = 5.0;
    /// More than one in so many is no bad day but the noise of this series: two modes, say.
    const BAD_OF: usize = 8;
    /// A normal law's deviation over its median distance.
    const OF_MEDIAN_DISTANCE: f64 = 1.4826;
    let around =
        |at: usize| median(&logs[at.saturating_sub(2)..(at + 3).min(logs.len())]).unwrap_or(logs[at]);
    let medians: Vec<f64> = (0..logs.len()).map(around).collect();
    let distances: Vec<f64> = logs.iter().zip(&medians).map(|(log, median)| (log - median).abs()).collect();
    let far = FAR * OF_MEDIAN_DISTANCE * median(&distances).unwrap_or_default();
    let bad = distances.iter().filter(|distance| **distance > far).count();
    if far == 0.0 || bad * BAD_OF > logs.len() {
        return logs.to_vec();
    }
    logs.iter().zip(&medians).map(|(log, median)| log.clamp(median - far, median + far)).collect()
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
    fn two_modes_are_no_changes_of_level() {
        let mut random = SplitMix64::new(8);
        for count in [13, 33, 90] {
            let mut day =
                || if random.below(2) == 0 { 1.0 } else { 1.1 } * (0.001 * noise::normal(&mut random)).exp();
            let claims = (0..400)
                .filter(|_| !changes(&(0..count).map(|_| day()).collect::<Vec<_>>(), 0.01).is_empty())
                .count();
            assert!(claims <= 10, "{count} values: {claims} of 400");
        }
    }

    /// A series that wanders: AR(1) with this correlation, deviation 3 %.
    fn wandering(random: &mut SplitMix64, count: usize, rho: f64) -> Vec<f64> {
        let mut level = noise::normal(random);
        let mut value = || {
            level = rho * level + (1.0 - rho * rho).sqrt() * noise::normal(random);
            (0.03 * level).exp()
        };
        (0..count).map(|_| value()).collect()
    }

    #[test]
    fn a_series_that_wanders_has_a_change_as_rarely_as_the_level_says() {
        let mut random = SplitMix64::new(5);
        for (count, series) in [(10, 3000), (13, 3000), (30, 2000), (60, 1000), (200, 300)] {
            for level in [0.01, 0.001] {
                let claims = (0..series)
                    .filter(|_| !changes(&wandering(&mut random, count, 0.8), level).is_empty())
                    .count();
                let most = series as f64 * level;
                assert!(
                    claims as f64 <= most + 3.0 * most.sqrt() + 1.0,
                    "{count} values, {level}: {claims} of {series}"
                );
            }
        }
    }

    #[test]
    fn a_fall_to_half_is_found_with_three_values_at_it() {
        let mut random = SplitMix64::new(6);
        for before in [10, 12, 20, 30, 60] {
            for rho in [0.0, 0.8] {
                let found = (0..200).filter(|_| {
                    let mut values = wandering(&mut random, before + 3, rho);
                    values[before..].iter_mut().for_each(|value| *value *= 0.5);
                    // As one of twenty series.
                    let found = changes(&values, 0.05 / 20.0);
                    found.first().is_some_and(|change| {
                        change.at == before && (change.after / change.before - 0.5).abs() < 0.1
                    })
                });
                let found = found.count();
                assert!(found >= 190, "{before} values before, correlated by {rho}: {found} of 200");
            }
        }
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
            assert!(
                (found[0].before / 55.0 - 1.0).abs() < 0.01 && (found[0].after / 52.0 - 1.0).abs() < 0.01
            );
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
    fn a_slow_drift_has_no_step_in_any_of_its_parts() {
        let mut random = SplitMix64::new(5);
        for n in [60, 90] {
            let mut found = 0;
            for _ in 0..500 {
                let noise = series(&mut random, &[(n, 100.0)], 0.02);
                let falling = noise.iter().enumerate().map(|(at, value)| value * (1.0 - 0.001 * at as f64));
                found += usize::from(!changes(&falling.collect::<Vec<f64>>(), 0.01).is_empty());
            }
            // One per cent, and three deviations of such a count.
            assert!(found <= 11, "{n} values that lose 0.1 % each: {found} of 500");
        }
    }

    #[test]
    fn one_bad_day_is_no_change_and_too_few_values_have_none() {
        let mut random = SplitMix64::new(3);
        let mut values = series(&mut random, &[(40, 55.0)], 0.005);
        (values[20], values[39], values[30], values[31]) = (20.0, 20.0, 30.0, 30.0);
        assert_eq!(changes(&values, 0.01), []);
        assert_eq!(changes(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0], 0.05), []);
        assert_eq!(changes(&[f64::NAN; 30], 0.05), []);
        assert_eq!(changes(&[], 0.05), []);
    }
}
