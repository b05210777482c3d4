//! Axes: where a value lies, and where the marks are.

use super::write::{label, line};

/// A range of values laid over a range of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// From `low` to at least `high`, in even steps.
    pub(super) fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, from, to, log: false }
    }

    /// From `low` to `high`, both positive, in even ratios.
    pub(super) fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low * 2.0 };
        Self { low, high, from, to, log: true }
    }

    /// Where a value lies; values outside lie at the end.
    pub(super) fn at(self, value: f64) -> f64 {
        let part = match self.log {
            true => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + (self.to - self.from) * part.clamp(0.0, 1.0)
    }

    /// Round values over the range, about so many: steps of 1, 2 or 5 times a power of ten.
    pub(super) fn marks(self, about: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / about.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).take(50).map(|at| at as f64 * step).collect()
    }
}

/// A vertical axis with lines across the picture, for values of this unit.
pub(super) fn rates(scale: Scale, left: f64, right: f64) -> String {
    let mut svg = String::new();
    for mark in scale.marks(5) {
        let y = scale.at(mark);
        svg += &line((left, y), (right, y), "stroke=\"currentColor\" stroke-opacity=\"0.2\"");
        svg += &label(left - 6.0, y + 4.0, "end", &number(mark));
    }
    svg
}

/// A number without needless digits.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_where_they_belong_and_none_outside() {
        let scale = Scale::linear(0.0, 50.0, 100.0, 200.0);
        assert_eq!([scale.at(0.0), scale.at(25.0), scale.at(50.0), scale.at(99.0)], [100.0, 150.0, 200.0, 200.0]);
        let scale = Scale::log(4.0, 1024.0, 0.0, 8.0);
        assert!((scale.at(32.0) - 3.0).abs() < 1e-9 && scale.at(0.0) == 0.0);
    }

    #[test]
    fn marks_are_round_and_within_the_range() {
        assert_eq!(Scale::linear(0.0, 55.2, 0.0, 1.0).marks(5), [0.0, 20.0, 40.0]);
        assert_eq!(Scale::linear(0.0, 1.0, 0.0, 1.0).marks(5).len(), 6);
        assert!(Scale::linear(3.0, 3.0, 0.0, 1.0).marks(5).len() < 50);
        assert_eq!([number(20.0), number(0.5), number(1e-9)], ["20", "0.5", "0"]);
    }
}
