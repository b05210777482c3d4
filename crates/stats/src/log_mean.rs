//! The mean logarithm of a few runs, and how widely runs scatter around it.
//!
//! Runs differ by factors, so their logarithms are averaged. From eight values on an eighth of them is
//! trimmed at each end (Yuen, "The two-sample trimmed t for unequal population variances", 1974), so that one
//! disturbed run hides no change. Runs as the unit: Kalibera and Jones, "Rigorous benchmarking in reasonable
//! time", 2013.

use crate::interval::{mean, mean_and_squares, sorted};
use crate::spread_prior::Spread;
use crate::wandering::Wandering;

/// One value in so many is trimmed at each end.
const TRIMMED_OF: usize = 8;

/// The logarithms of one side's runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogMean {
    /// How many values there are.
    pub count: usize,
    /// Their (trimmed) mean.
    pub mean: f64,
    /// The spread of a value, as the error of the mean says it; `None` of a single value.
    pub spread: Option<Spread>,
}

impl LogMean {
    /// The mean of these logarithms. `None` without any. Nothing is trimmed where the values are compared
    /// with a `single` one: that one may be such a value as would be trimmed.
    pub fn of(logs: &[f64], single: bool) -> Option<Self> {
        if logs.is_empty() {
            return None;
        }
        let logs = sorted(logs);
        let count = logs.len();
        let cut = if single { 0 } else { count / TRIMMED_OF };
        let kept = &logs[cut..count - cut];

        // Winsorized: what was cut counts as the last value that was kept.
        let winsorized: Vec<f64> = logs.iter().map(|log| log.clamp(kept[0], kept[kept.len() - 1])).collect();
        let (_, squares) = mean_and_squares(&winsorized);
        let freedom = kept.len() as f64 - 1.0;
        let squared_error = squares / (kept.len() as f64 * freedom);
        let spread = (freedom > 0.0).then_some(Spread { variance: squared_error * count as f64, freedom });
        Some(Self { count, mean: mean(kept), spread })
    }

    /// The same, whose values scatter by this variance at least: a few that are equal, as rounded ones are,
    /// do not show that none will differ.
    pub fn no_calmer_than(self, variance: f64) -> Self {
        let wider = |spread: Spread| Spread { variance: spread.variance.max(variance), ..spread };
        Self { spread: self.spread.map(wider), ..self }
    }

    /// The same where each value is correlated with the one before: the spread as the error of the mean says
    /// it is larger, and known from fewer distances.
    pub fn wandering(self, law: &Wandering) -> Self {
        let (count, freedom) = (self.count as f64, self.count as f64 - 1.0);
        let wider = |spread: Spread| Spread {
            variance: spread.variance * law.of_mean[self.count] * count * freedom / law.squares[self.count],
            freedom: (spread.freedom * law.freedom(self.count) / freedom).max(1.0),
        };
        Self { spread: self.spread.map(wider), ..self }
    }
}
