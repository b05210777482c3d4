//! Axes: where a value lies, where the marks are, and what they say.

use crate::digits::time_unit;
use stats::units::size;
use svg::text_metrics::width;
use svg::{Anchor, Picture};

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AxisUnit {
    /// Bytes, as sizes.
    Size,
    /// Nanoseconds, as times.
    Time,
    /// Plain numbers: the axis' title says what.
    Number,
    /// Numbers of things: whole ones, from one on.
    Count,
}

/// A range of values laid over a range of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// From `low` to `high`, in even steps; around a single value, which then lies in the middle, and from
    /// zero where that is the value.
    pub(crate) fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let (low, high) = match low {
            low if high > low => (low, high),
            0.0 => (0.0, 1.0),
            only => (only - 0.5, only + 0.5),
        };
        Self { low, high, from, to, log: false }
    }

    /// From `low` to `high`, both positive, in even ratios.
    pub(crate) fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        let high = if high > low { high } else { low * 2.0 };
        Self { low, high, from, to, log: true }
    }

    /// Where a value lies; values outside lie at the end.
    pub(crate) fn at(self, value: f64) -> f64 {
        let part = match self.log {
            true => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + (self.to - self.from) * part.clamp(0.0, 1.0)
    }

    /// Marks over the range and what they say: steps of 1, 2 or 5 times a power of ten; of sizes powers of
    /// two.
    pub(crate) fn marks(self, unit: AxisUnit, about: usize) -> Vec<(f64, String)> {
        let said = |value: f64| match unit {
            AxisUnit::Size => size(value as u64),
            AxisUnit::Time => time(value),
            AxisUnit::Number | AxisUnit::Count => number(value),
        };
        let mut values = if self.log { self.ratios(unit, about) } else { self.steps(about) };
        values.retain(|value| unit != AxisUnit::Count || (value.fract() == 0.0 && *value > 0.0));
        values.into_iter().map(|value| (value, said(value))).collect()
    }

    /// Draws what marks say on the line at `y`, each where those before it leave room, and with each what
    /// else `mark` draws where it lies.
    pub(crate) fn labels(
        self,
        picture: &mut Picture,
        y: f64,
        marks: Vec<(f64, String)>,
        mark: impl Fn(&mut Picture, f64),
    ) {
        let mut free_from = 0.0;
        for (value, said) in marks {
            let (at, half) = (self.at(value), width(&said) / 2.0);
            mark(picture, at);
            let middle = at.clamp(half + 2.0, picture.width - half - 2.0);
            if middle - half > free_from {
                picture.text(middle, y, Anchor::Middle, &said);
                free_from = middle + half + 6.0;
            }
        }
    }

    fn steps(self, about: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / about.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).take(50).map(|at| at as f64 * step).collect()
    }

    fn ratios(self, unit: AxisUnit, about: usize) -> Vec<f64> {
        let within = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
        if unit == AxisUnit::Size {
            let (first, last) = (self.low.log2().ceil() as i32, self.high.log2().floor() as i32);
            let step = (1..).map(|at| 2 * at).find(|step| (last - first) / step < about as i32).unwrap_or(2);
            return (first..=last)
                .step_by(step as usize)
                .map(|power| 2_f64.powi(power))
                .filter(within)
                .collect();
        }

        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let of = |times: &[f64]| -> Vec<f64> {
            let powers = (first..=last).map(|power| 10_f64.powi(power));
            powers.flat_map(|power| times.iter().map(move |times| times * power)).filter(within).collect()
        };
        let decades = of(&[1.0]);
        if decades.len() > about {
            let step = decades.len().div_ceil(about);
            return decades.into_iter().step_by(step).collect();
        }
        let fine = of(&[1.0, 2.0, 5.0]);
        if decades.len() < 2 && fine.len() < 2 {
            return self.steps(about);
        }
        if fine.len() <= about { fine } else { decades }
    }
}

/// `20 ns`, `5 µs`, `2 ms`.
fn time(ns: f64) -> String {
    let (scale, unit) = time_unit(ns);
    format!("{} {unit}", number(ns / scale))
}

/// A number without needless digits.
pub(crate) fn number(value: f64) -> String {
    let digits = if value.abs() < 0.01 { 5 } else { 3 };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_lies_in_the_middle_and_zero_at_the_begin() {
        let at = |value: f64| Scale::linear(value, value, 0.0, 10.0).at(value);
        assert_eq!([at(100.0), at(0.0)], [5.0, 0.0]);
        assert_eq!(Scale::linear(0.0, 4.0, 0.0, 10.0).at(1.0), 2.5);
    }

    fn mark_labels(scale: Scale, unit: AxisUnit, about: usize) -> Vec<String> {
        scale.marks(unit, about).into_iter().map(|(_, said)| said).collect()
    }

    #[test]
    fn values_lie_where_they_belong_and_none_outside() {
        let scale = Scale::linear(0.0, 50.0, 100.0, 200.0);
        assert_eq!(
            [scale.at(0.0), scale.at(25.0), scale.at(50.0), scale.at(99.0)],
            [100.0, 150.0, 200.0, 200.0]
        );
        let scale = Scale::log(4.0, 1024.0, 0.0, 8.0);
        assert!((scale.at(32.0) - 3.0).abs() < 1e-9 && scale.at(0.0) == 0.0);
    }

    #[test]
    fn marks_are_round_within_the_range_and_said_in_their_unit() {
        assert_eq!(mark_labels(Scale::linear(0.0, 55.2, 0.0, 1.0), AxisUnit::Number, 5), ["0", "20", "40"]);
        assert!(Scale::linear(3.0, 3.0, 0.0, 1.0).marks(AxisUnit::Number, 5).len() < 50);
        let sizes = mark_labels(Scale::log(4.0, (64 << 20) as f64, 0.0, 1.0), AxisUnit::Size, 7);
        assert_eq!(sizes, ["4 B", "64 B", "1 KiB", "16 KiB", "256 KiB", "4 MiB", "64 MiB"]);
        assert_eq!(
            mark_labels(Scale::log(900.0, 2e6, 0.0, 1.0), AxisUnit::Time, 6),
            ["1 µs", "10 µs", "100 µs", "1 ms"]
        );
        assert_eq!(mark_labels(Scale::log(20.0, 60.0, 0.0, 1.0), AxisUnit::Number, 6), ["20", "50"]);
        assert_eq!([number(20.0), number(0.5), number(1e-9)], ["20", "0.5", "0"]);
    }
}
