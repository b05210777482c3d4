//! What kind of series a history is where no step was found: two levels that alternate, a drift, or values
//! that wander.
//!
//! "No step change" alone is read as "nothing moves". These three move without a day on which a level changed
//! for good, and each asks for something else: two levels for the cause that switches, a drift for its end, a
//! series that wanders for runs that take turns.

use crate::interval::{mean_and_squares, median, sorted};
use crate::neighbours::Neighbours;
use crate::trend::{mann_kendall_p_of_correlated, sen_slope};

/// Each of two levels holds so many values at least.
const LEAST_AT_A_LEVEL: usize = 3;

/// Two levels are so many deviations of the values around them apart: values of one level split at their
/// widest gap come to about 3.
const LEVELS_APART: f64 = 8.0;

/// Levels alternate if the series goes from one to the other so often: once is a step, twice a bad day.
const LEAST_SWITCHES: usize = 3;

/// A drift is surer than this (Mann-Kendall), since a folder has many series.
const SURE_DRIFT: f64 = 1e-4;

/// The correlation around a drift's line is one that is above 0 by so many standard errors: of thirteen runs
/// of a drift fewer would be taken for runs that wander.
const SURE_CORRELATION: f64 = -1.5;

/// Runs wander if each is correlated by this with the one before, two standard errors low.
const LEAST_CORRELATION: f64 = 0.3;

/// The kind of a series that moves without a step.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum SeriesShape {
    /// It goes to and fro between two levels.
    Alternating {
        /// The lower level.
        low: f64,
        /// The higher one.
        high: f64,
        /// How many values are at the lower one.
        at_low: u32,
        /// How often it went from one to the other.
        switches: u32,
    },
    /// It goes one way slowly.
    Drifting {
        /// By which part it changed from the first value to the last, along the line.
        change: f64,
    },
    /// Each value is near to the one before, and the level is not kept.
    Wandering {
        /// The correlation from value to value.
        correlation: f64,
        /// The part between its lowest and its highest value.
        range: f64,
    },
}

/// The kind of a series in which no step was found; `None` where it is steady, or moves by less than the part
/// that `matters`. Values that are not all positive and finite have none.
pub fn series_shape(values: &[f64], matters: f64) -> Option<SeriesShape> {
    if !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    alternating(&logs, matters).or_else(|| drifting(&logs, matters)).or_else(|| wandering(&logs, matters))
}

/// The values split at their widest gap.
fn alternating(logs: &[f64], matters: f64) -> Option<SeriesShape> {
    let ascending = sorted(logs);
    let last = ascending.len().checked_sub(LEAST_AT_A_LEVEL)?;
    let gap = |at: &usize| ascending[*at] - ascending[*at - 1];
    let cut = (LEAST_AT_A_LEVEL..=last).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;

    let (lower, upper) = ascending.split_at(cut);
    let (low, high) = (median(lower)?, median(upper)?);
    let squares = mean_and_squares(lower).1 + mean_and_squares(upper).1;
    let around = (squares / (ascending.len() - 2) as f64).sqrt();
    let is_upper = |log: &f64| *log >= upper[0];
    let switches = logs.windows(2).filter(|two| is_upper(&two[0]) != is_upper(&two[1])).count();

    let is_apart = high - low >= LEVELS_APART * around && (high - low).exp_m1() >= matters;
    (is_apart && switches >= LEAST_SWITCHES).then(|| SeriesShape::Alternating {
        low: low.exp(),
        high: high.exp(),
        at_low: lower.len() as u32,
        switches: switches as u32,
    })
}

/// A series that keeps no level goes one way for a while too: a drift is surer than the correlation around
/// its own line lets such a series seem.
fn drifting(logs: &[f64], matters: f64) -> Option<SeriesShape> {
    let slope = sen_slope(logs)?;
    let around: Vec<f64> = logs.iter().enumerate().map(|(at, log)| log - slope * at as f64).collect();
    let mut neighbours = Neighbours::default();
    neighbours.add(&around);
    // As Hamed and Rao have it, a correlation counts where it is seen for certain.
    let is_seen = neighbours.likely(SURE_CORRELATION).is_some_and(|least| least > 0.0);
    let correlation = neighbours.likely(0.0).filter(|_| is_seen).unwrap_or(0.0);
    let p_value = mann_kendall_p_of_correlated(logs, correlation)?;

    let change = (slope * (logs.len() - 1) as f64).exp_m1();
    (p_value < SURE_DRIFT && change.abs() >= matters).then_some(SeriesShape::Drifting { change })
}

fn wandering(logs: &[f64], matters: f64) -> Option<SeriesShape> {
    let mut neighbours = Neighbours::default();
    neighbours.add(logs);
    let (least, correlation) = (neighbours.likely(-2.0)?, neighbours.likely(0.0)?);
    let ascending = sorted(logs);
    let range = (ascending.last()? - ascending.first()?).exp_m1();
    (least >= LEAST_CORRELATION && range >= matters).then_some(SeriesShape::Wandering { correlation, range })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// A series around 100 with this noise and shape.
    fn series(random: &mut SplitMix64, count: usize, noise: f64, of: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..count).map(|at| 100.0 * (of(at) + noise * random.normal()).exp()).collect()
    }

    /// How many of a hundred such series are of the kind asked.
    fn count(
        noise: f64,
        runs: usize,
        of: impl Fn(usize) -> f64,
        is: impl Fn(&Option<SeriesShape>) -> bool,
    ) -> usize {
        let mut random = SplitMix64::new(4);
        (0..100).filter(|_| is(&series_shape(&series(&mut random, runs, noise, &of), 0.03))).count()
    }

    #[test]
    fn two_levels_a_drift_and_nothing_are_told_apart() {
        let is_alternating =
            |shape: &Option<SeriesShape>| matches!(shape, Some(SeriesShape::Alternating { .. }));
        let is_drifting = |shape: &Option<SeriesShape>| matches!(shape, Some(SeriesShape::Drifting { .. }));
        for runs in [13, 30, 90] {
            let nights = |at: usize| if at.is_multiple_of(3) { -0.05 } else { 0.0 };
            assert!(count(0.003, runs, nights, is_alternating) >= 98, "{runs} runs in two levels");
            assert!(
                count(0.005, runs, |at| -0.1 * at as f64 / runs as f64, is_drifting) >= 90,
                "{runs} runs that drift"
            );
            assert!(count(0.02, runs, |_| 0.0, Option::is_some) <= 3, "{runs} quiet runs");
        }
        let step = |at: usize| if at < 20 { 0.0 } else { -0.05 };
        assert_eq!(count(0.003, 40, step, is_alternating), 0, "one step is no alternation");
    }

    #[test]
    fn levels_are_told_with_their_counts() {
        let mut random = SplitMix64::new(5);
        let values = series(&mut random, 20, 0.001, |at| if at % 2 == 0 { 0.1 } else { 0.0 });
        let Some(SeriesShape::Alternating { low, high, at_low, switches }) = series_shape(&values, 0.03)
        else {
            panic!("{:?}", series_shape(&values, 0.03));
        };
        assert!((low / 100.0 - 1.0).abs() < 0.002 && (high / 110.5 - 1.0).abs() < 0.002, "{low} {high}");
        assert_eq!((at_low, switches), (10, 19));
        assert_eq!(series_shape(&values, 0.2), None, "what does not matter is not told");
    }

    #[test]
    fn a_series_that_wanders_is_told_from_one_that_does_not() {
        let mut random = SplitMix64::new(6);
        let mut wanders = |correlation: f64| {
            let mut level = random.normal();
            let mut next = || {
                level = correlation * level + (1.0 - correlation * correlation).sqrt() * random.normal();
                100.0 * (0.02 * level).exp()
            };
            let values: Vec<f64> = (0..60).map(|_| next()).collect();
            series_shape(&values, 0.03).is_some()
        };
        let (strongly, not) =
            ((0..100).filter(|_| wanders(0.9)).count(), (0..100).filter(|_| wanders(0.0)).count());
        assert!(strongly >= 90 && not <= 3, "{strongly} {not}");
    }

    #[test]
    fn a_stationary_series_that_wanders_is_hardly_ever_called_a_drift() {
        let mut random = SplitMix64::new(7);
        let few = [(0.5, 13), (0.8, 13), (0.9, 13), (0.95, 13)];
        let more = [(0.5, 30), (0.8, 30), (0.8, 60), (0.9, 30), (0.9, 60), (0.9, 120), (0.95, 30)];
        for (correlation, runs) in few.into_iter().chain(more) {
            let mut wanders = || {
                let mut level = random.normal();
                let mut next = || {
                    level =
                        correlation * level + (1.0_f64 - correlation * correlation).sqrt() * random.normal();
                    100.0 * (0.03 * level).exp()
                };
                let values: Vec<f64> = (0..runs).map(|_| next()).collect();
                matches!(series_shape(&values, 0.03), Some(SeriesShape::Drifting { .. }))
            };
            let drifts = (0..200).filter(|_| wanders()).count();
            assert!(drifts <= 6, "{drifts} of 200 with {runs} runs correlated by {correlation}");
        }
    }

    #[test]
    fn values_that_are_none_and_too_few_have_no_kind() {
        assert_eq!(series_shape(&[1.0, 0.0, 2.0], 0.0), None);
        assert_eq!(series_shape(&[], 0.0), None);
        assert_eq!(series_shape(&[1.0; 12], 0.0), None);
    }
}
