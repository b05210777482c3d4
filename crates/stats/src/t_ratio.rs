//! The ratio of two sets of few values, as a handful of runs are: a t-interval on logarithms.
//!
//! With so few values no rank test can reach 5 % (three against three end at 0.1) and the bootstrap of a median claims too much, so the
//! spread between runs is taken to be lognormal, and the t-quantile pays for how little is known of it: with two runs a side up to 12.7
//! standard errors. Two values or more each: Welch, "The generalization of Student's problem", 1947. One value against several: Student's
//! pooled t, which then is Crawford and Howell's test of a single case ("Comparing an individual's test score against norms derived from
//! small samples", 1998): the spread of the several is taken for that of the one. Runs as the unit: Kalibera and Jones, "Rigorous
//! benchmarking in reasonable time", 2013.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::Interval;

/// Of one value against others there must be this many others.
const LEAST_OTHERS: usize = 3;

/// The second set against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio of geometric means.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// The two-sided p-value of there being no difference.
    pub p_value: f64,
}

/// Compares `b` with `a`. `None` with too few values (two a side, or one against three), or one that is not positive and finite.
pub fn t_ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<Ratio> {
    let (a, b) = (Logs::of(a)?, Logs::of(b)?);
    let (fewer, more) = (a.count.min(b.count), a.count.max(b.count));
    let (squared_error, freedom) = if fewer >= 2.0 {
        let part = |side: &Logs| side.squared_error().powi(2) / (side.count - 1.0);
        let sum = a.squared_error() + b.squared_error();
        (sum, sum.powi(2) / (part(&a) + part(&b)))
    } else if more >= LEAST_OTHERS as f64 {
        let freedom = a.count + b.count - 2.0;
        ((a.squares + b.squares) / freedom * (1.0 / a.count + 1.0 / b.count), freedom)
    } else {
        return None;
    };
    let difference = b.mean - a.mean;
    let error = squared_error.sqrt();
    let interval =
        |reach: f64| Interval { low: (difference - reach).exp(), high: (difference + reach).exp(), confidence };
    if error == 0.0 {
        let p_value = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some(Ratio { ratio: difference.exp(), interval: interval(0.0), p_value });
    }
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let reach = t.inverse_cdf(0.5 + confidence / 2.0) * error;
    let p_value = (2.0 * t.sf((difference / error).abs())).min(1.0);
    Some(Ratio { ratio: difference.exp(), interval: interval(reach), p_value })
}

/// The logarithms of one side.
struct Logs {
    count: f64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Logs {
    fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().map(|value| value.ln()).sum::<f64>() / count;
        let squares = values.iter().map(|value| (value.ln() - mean).powi(2)).sum();
        Some(Self { count, mean, squares })
    }

    /// The square of the mean's standard error.
    fn squared_error(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_scipys() -> Result<(), String> {
        // r = scipy.stats.ttest_ind(numpy.log(B), numpy.log(A), equal_var=False); r.pvalue, r.confidence_interval(.95)
        let got = t_ratio(&[1.0, 2.0, 4.0], &[1.5, 2.5, 6.0, 7.0], 0.95).ok_or("none")?;
        assert!((got.p_value - 0.3436709710284707).abs() < 1e-9, "{got:?}");
        assert!((got.interval.low.ln() - -0.8589367596002458).abs() < 1e-6, "{got:?}");
        assert!((got.interval.high.ln() - 2.0023551276131992).abs() < 1e-6, "{got:?}");
        let a = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2];
        let b = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5];
        let got = t_ratio(&a, &b, 0.95).ok_or("none")?;
        assert!((got.p_value - 0.002372053136123282).abs() < 1e-9, "{got:?}");
        assert!((got.interval.low.ln() - 0.024168567330452775).abs() < 1e-7, "{got:?}");
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
