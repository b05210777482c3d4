//! The ratio of two sets of few values, as a handful of runs are: a t-interval on logarithms.
//!
//! With so few values no rank test can reach 5 % (three against three end at 0.1) and the bootstrap of a median claims too much, so the
//! spread between runs is taken to be lognormal, and the t-quantile pays for how little is known of it. Two values or more each: the statistic of Welch ("The
//! generalization of Student's problem", 1947), with the degrees of freedom of the *smaller* side. Welch's own estimate of them is right on average, and wrong
//! where few noisy values meet many quiet ones and in the far tail that a correction for many tests asks for; with those of the smaller side the level holds for
//! every ratio of spreads (Mickey and Brown, "Bounds on the distribution functions of the Behrens-Fisher statistic", 1966). From eight values on an eighth of
//! them is trimmed at each end (Yuen, "The two-sample trimmed t for unequal population variances", 1974), so that one disturbed run hides no change. One value
//! against several: Student's pooled t, which then is Crawford and Howell's test of a single case ("Comparing an individual's test score against norms derived
//! from small samples", 1998): the spread of the several, untrimmed, is taken for that of the one. Runs as the unit: Kalibera and Jones, "Rigorous benchmarking in
//! reasonable time", 2013.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::{Interval, mean, mean_and_squares, sorted};
use crate::wandering::Wandering;

/// Of one value against others there must be this many others.
const LEAST_OTHERS: usize = 3;

/// One value in so many is trimmed at each end.
const TRIMMED_OF: usize = 8;

/// The second set against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio of geometric means, trimmed ones of eight values or more.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// The two-sided p-value of there being no difference.
    pub p_value: f64,
}

/// The logarithms of one set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logs {
    /// How many values there are.
    pub count: usize,
    /// Their (trimmed) mean.
    pub mean: f64,
    /// The deviation of a value, as the error of the mean says it; `None` of a single value.
    pub deviation: Option<f64>,
    /// How many independent distances the deviation is made of.
    freedom: f64,
}

/// The distance of two sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The second mean less the first.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
    /// The degrees of freedom of that.
    freedom: f64,
}

/// Compares `b` with `a`. `None` with too few values (two a side, or one against three), or one that is not positive and finite.
pub fn t_ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<Ratio> {
    let [a, b] = Logs::of_sides(a, b)?;
    let distance = Distance::between(&a, &b)?;
    let (difference, reach) = (distance.difference, distance.reach(1.0 - confidence)?);
    let interval = Interval { low: (difference - reach).exp(), high: (difference + reach).exp(), confidence };
    Some(Ratio { ratio: difference.exp(), interval, p_value: distance.p_value()? })
}

impl Logs {
    /// The logarithms of these values. `None` without any, or with one that is not positive and finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::trimmed(values, values.len() / TRIMMED_OF)
    }

    /// Those of two sides. Where one is a single value nothing is trimmed: it may be such a value as would be.
    pub fn of_sides(a: &[f64], b: &[f64]) -> Option<[Self; 2]> {
        if a.len() == 1 || b.len() == 1 {
            return Some([Self::trimmed(a, 0)?, Self::trimmed(b, 0)?]);
        }
        Some([Self::of(a)?, Self::of(b)?])
    }

    fn trimmed(values: &[f64], cut: usize) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
            return None;
        }
        let logs = sorted(&values.iter().map(|value| value.ln()).collect::<Vec<_>>());
        let count = logs.len();
        let kept = &logs[cut..count - cut];
        // Winsorized: what was cut counts as the last value that was kept.
        let winsorized: Vec<f64> = logs.iter().map(|log| log.clamp(kept[0], kept[kept.len() - 1])).collect();
        let (_, squares) = mean_and_squares(&winsorized);
        let freedom = kept.len() as f64 - 1.0;
        let squared_error = squares / (kept.len() as f64 * freedom);
        let deviation = (freedom > 0.0).then(|| (squared_error * count as f64).sqrt());
        Some(Self { count, mean: mean(kept), deviation, freedom })
    }
}

impl Logs {
    /// The same where each value is correlated with the one before: the deviation as the error of the mean says it is larger, and known from fewer distances.
    pub fn wandering(self, law: &Wandering) -> Self {
        let (count, freedom) = (self.count as f64, self.count as f64 - 1.0);
        if self.count < 2 {
            return self;
        }
        let larger = (law.of_mean[self.count] * count * freedom / law.squares[self.count]).sqrt();
        let freedom = (self.freedom * law.freedom(self.count) / freedom).max(1.0);
        Self { deviation: self.deviation.map(|deviation| deviation * larger), freedom, ..self }
    }
}

impl Distance {
    /// The distance from `a` to `b`; `None` with too few values.
    pub fn between(a: &Logs, b: &Logs) -> Option<Self> {
        let freedom = match (a.count, b.count) {
            (1, others) if others >= LEAST_OTHERS => b.freedom,
            (others, 1) if others >= LEAST_OTHERS => a.freedom,
            (1, _) | (_, 1) => return None,
            _ => a.freedom.min(b.freedom),
        };
        Some(Self { difference: b.mean - a.mean, error: error([a, b], [a.deviation, b.deviation])?, freedom })
    }

    /// The same where its error is known as well as that of another one is.
    pub fn known_as(self, other: &Self) -> Self {
        Self { freedom: other.freedom, ..self }
    }

    /// The same with Welch's own degrees of freedom of these sides, up to those of both together.
    pub fn welch(self, a: &Logs, b: &Logs) -> Self {
        let part = |side: &Logs| side.deviation.map(|deviation| deviation.powi(2) / side.count as f64);
        let (Some(of_a), Some(of_b)) = (part(a), part(b)) else { return self };
        let freedom = (of_a + of_b).powi(2) / (of_a.powi(2) / a.freedom + of_b.powi(2) / b.freedom);
        Self { freedom: if freedom.is_finite() { freedom.max(self.freedom) } else { self.freedom }, ..self }
    }

    /// The two-sided p-value of there being none.
    pub fn p_value(&self) -> Option<f64> {
        if self.error == 0.0 {
            return Some(if self.difference == 0.0 { 1.0 } else { 0.0 });
        }
        let t = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        Some((2.0 * t.sf((self.difference / self.error).abs())).min(1.0))
    }

    /// How large a difference must be for this p-value.
    pub fn reach(&self, p_value: f64) -> Option<f64> {
        let t = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        // The lower tail: close to 1 a quantile has no digits left.
        Some(-t.inverse_cdf(p_value / 2.0) * self.error)
    }
}

/// The standard error of the difference of two means whose values have these deviations; where one side's is not known, it is taken for the other's. `None` where
/// neither is.
pub fn error(sides: [&Logs; 2], deviations: [Option<f64>; 2]) -> Option<f64> {
    let [a, b] = deviations;
    let (a, b) = (a.or(b)?, b.or(a)?);
    Some((a.powi(2) / sides[0].count as f64 + b.powi(2) / sides[1].count as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    #[test]
    fn the_statistic_is_scipys_and_its_freedom_that_of_the_smaller_side() -> Result<(), String> {
        // statistics.mean and variance of math.log of each; Student's law with 2 degrees has a closed form.
        let got = t_ratio(&[1.0, 2.0, 4.0], &[1.5, 2.5, 6.0, 7.0], 0.95).ok_or("none")?;
        let closed = |t: f64| 1.0 - t / (2.0 + t * t).sqrt();
        let distance = Logs::of(&[1.0, 2.0, 4.0]).zip(Logs::of(&[1.5, 2.5, 6.0, 7.0]));
        let distance = distance.and_then(|(a, b)| Distance::between(&a, &b)).ok_or("none")?;
        assert!((distance.difference - 0.5717091840064766).abs() < 1e-12, "{distance:?}");
        assert!((distance.error - 0.5418582630412201).abs() < 1e-12, "{distance:?}");
        assert!((got.p_value - closed(distance.difference / distance.error)).abs() < 1e-9, "{got:?}");
        assert!((got.interval.high.ln() - got.ratio.ln() - 4.302652729911275 * distance.error).abs() < 1e-6, "{got:?}");
        Ok(())
    }

    #[test]
    fn two_noisy_values_against_ten_quiet_ones_differ_as_rarely_as_the_level_says() {
        let mut random = SplitMix64::new(9);
        let mut side = |count: usize, deviation: f64| -> Vec<f64> {
            (0..count).map(|_| (deviation * noise::normal(&mut random)).exp()).collect()
        };
        for (few, many, level) in [(2, 10, 0.05), (3, 30, 0.05), (3, 3, 0.001)] {
            let differ = |level: f64, (a, b): (Vec<f64>, Vec<f64>)| {
                t_ratio(&a, &b, 0.95).is_some_and(|found| found.p_value < level)
            };
            let alarms = (0..8000).filter(|_| differ(level, (side(few, 0.05), side(many, 0.01)))).count() as f64;
            let most = 8000.0 * level;
            assert!(alarms <= most + 3.0 * most.sqrt(), "{few} against {many}: {alarms} of 8000 at {level}");
        }
    }

    #[test]
    fn one_disturbed_value_of_eight_hides_no_change() -> Result<(), String> {
        let quiet = [100.0, 100.2, 99.8, 100.1, 99.9, 100.3, 99.7, 100.0];
        let mut slower = quiet.map(|value| value * 0.95);
        slower[3] = 40.0;
        let found = t_ratio(&quiet, &slower, 0.95).ok_or("none")?;
        assert!(found.p_value < 1e-4 && found.interval.high < 0.96, "{found:?}");
        Ok(())
    }

    #[test]
    fn one_value_against_several_is_students_pooled_t() -> Result<(), String> {
        // scipy.stats.ttest_ind(numpy.log([9.0]), numpy.log(A)).pvalue
        let a = [10.0, 10.1, 9.9, 10.05, 9.95];
        let got = t_ratio(&a, &[9.0], 0.95).ok_or("none")?;
        assert!((got.p_value - 0.00026224583315168033).abs() < 1e-9 && got.interval.high < 0.95, "{got:?}");
        let back = t_ratio(&[9.0], &a, 0.95).ok_or("none")?;
        assert!((got.p_value - back.p_value).abs() < 1e-12 && (got.ratio * back.ratio - 1.0).abs() < 1e-12);
        let like = t_ratio(&a, &[10.08], 0.95).ok_or("none")?;
        assert!(like.p_value > 0.3 && like.interval.contains(1.0), "{like:?}");
        Ok(())
    }

    #[test]
    fn one_value_is_held_to_all_of_ten_and_not_to_those_that_lie_together() -> Result<(), String> {
        // Of ten runs one is far off, and so may the single one be: Crawford and Howell's t is 1.016, its p by integration of Student's density with nine degrees of freedom.
        let a = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02, 9.98, 10.0, 10.03, 6.0];
        let got = t_ratio(&a, &[8.0], 0.95).ok_or("none")?;
        assert!((got.p_value - 0.336_135_021_18).abs() < 1e-9 && got.interval.contains(1.0), "{got:?}");
        Ok(())
    }

    #[test]
    fn two_runs_a_side_say_little_and_equal_ones_nothing_wrong() -> Result<(), String> {
        let few = t_ratio(&[100.0, 101.0], &[95.0, 97.0], 0.95).ok_or("none")?;
        assert!(few.p_value > 0.05 && few.interval.contains(1.0), "{few:?}");
        let equal = t_ratio(&[100.0, 100.0], &[100.0, 100.0], 0.95).ok_or("none")?;
        assert_eq!((equal.p_value, equal.ratio), (1.0, 1.0));
        assert_eq!(t_ratio(&[100.0], &[95.0, 97.0], 0.95), None);
        assert_eq!(t_ratio(&[100.0, 0.0], &[95.0, 97.0], 0.95), None);
        Ok(())
    }
}
