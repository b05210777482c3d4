//! The one scale of a picture: from no rate to the highest; where rates differ by more than ten times, in even ratios.

use analysis::measured_links::{Measured, MeasuredLink};

use crate::digits;
use crate::svg::colours::{of_part, text_on};
use crate::svg::text_metrics::width;
use crate::svg::write::{Anchor, Picture};

/// From this ratio on even steps would leave the slower ones no colour.
const APART: f64 = 10.0;

/// The colours of a picture's rates, or of its times where it has no rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colours {
    low: f64,
    high: f64,
    pub(super) of_times: bool,
}

impl Colours {
    pub(super) fn of(links: &[MeasuredLink]) -> Self {
        let of_times = links.iter().all(|link| link.is_time);
        let counted = links.iter().filter(|link| link.is_time == of_times);
        let values = counted.flat_map(|link| [link.alone, link.at_once]).flatten().map(|measured| measured.value);
        let (low, high) = values.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        Self { low, high, of_times }
    }

    /// 0 to 1: the faster, the more.
    fn part(&self, value: f64) -> f64 {
        match (self.of_times, self.high / self.low > APART) {
            (true, _) => self.low / value,
            (false, false) => value / self.high,
            (false, true) => 0.1 + 0.9 * (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// The colour of a figure, and of text on it.
    pub(super) fn paint(&self, value: f64) -> (String, &'static str) {
        let part = self.part(value);
        (of_part(part), text_on(part))
    }

    /// What the colours are, from `y` on; where that ends.
    pub(super) fn key(&self, picture: &mut Picture, y: f64) -> f64 {
        let values: Vec<f64> = match (self.of_times, self.high / self.low > APART) {
            (true, _) => [4.0, 2.0, 4.0 / 3.0, 1.0].iter().map(|times| self.low * times).collect(),
            (false, false) => [0.25, 0.5, 0.75, 1.0].iter().map(|part| self.high * part).collect(),
            (false, true) => (0..=3).map(|at| self.low * (self.high / self.low).powf(f64::from(at) / 3.0)).collect(),
        };
        let (mut x, mut y) = (4.0, y);
        for value in values {
            let said = said(self.of_times, &Measured { value, interval: None });
            let wide = 40.0 + width(&said);
            if x + wide > picture.width {
                (x, y) = (4.0, y + 18.0);
            }
            picture.rect((x, y), (22.0, 12.0), &format!("fill=\"{}\"", self.paint(value).0), "");
            picture.text(x + 26.0, y + 10.0, Anchor::Start, &said);
            x += wide;
        }
        y + 22.0
    }
}

/// `24.0 GB/s`, `690 ns`.
pub(super) fn said(is_time: bool, measured: &Measured) -> String {
    match is_time {
        true => digits::time(measured.value, measured.interval.as_ref()),
        false => digits::rate(measured.value, measured.interval.as_ref()),
    }
}

/// The same without GB/s, which most are in.
pub(super) fn short(is_time: bool, measured: &Measured) -> String {
    match is_time {
        true => digits::time(measured.value, measured.interval.as_ref()),
        false => digits::rate_number(measured.value, measured.interval.as_ref()),
    }
}
