//! The one scale of a picture's rates, from none to the highest (where they differ by more than ten times, in even ratios), and the one of its times.

use analysis::measured_links::MeasuredLink;

use crate::charts::colours::{of_part, text_on};
use crate::digits;
use stats::interval::{Interval, range};
use svg::text_metrics::width;
use svg::{Anchor, Picture};

/// From this ratio on even steps would leave the slower ones no colour.
const APART: f64 = 10.0;

/// The edge of what is below its kind or its twins.
pub(super) const MARKED: &str = "stroke=\"#c62828\" stroke-dasharray=\"5 3\"";

/// The colours of a picture's rates and of its times: each kind on one scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colours {
    rates: Option<Range>,
    times: Option<Range>,
    /// Whether something is marked.
    pub(super) has_marks: bool,
}

/// From the lowest figure of a kind to its highest.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(links: &[MeasuredLink], is_time: bool) -> Option<Self> {
        let counted = links.iter().filter(|link| link.is_time == is_time);
        let values = counted.flat_map(|link| [link.alone, link.at_once]).flatten().map(|measured| measured.value);
        range(values).map(|(low, high)| Self { low, high })
    }

    fn is_apart(self) -> bool {
        self.high / self.low > APART
    }
}

impl Colours {
    pub(super) fn of(links: &[MeasuredLink]) -> Self {
        let has_marks = links.iter().any(|link| link.is_below);
        Self { rates: Range::of(links, false), times: Range::of(links, true), has_marks }
    }

    /// The colour of a figure, and of text on it.
    pub(super) fn paint(&self, is_time: bool, value: f64) -> (String, &'static str) {
        // 0 to 1: the faster, the more.
        let part = match (if is_time { self.times } else { self.rates }, is_time) {
            (None, _) => 1.0,
            (Some(times), true) => times.low / value,
            (Some(rates), false) if rates.is_apart() => {
                0.1 + 0.9 * (value / rates.low).ln() / (rates.high / rates.low).ln()
            }
            (Some(rates), false) => value / rates.high,
        };
        (of_part(part), text_on(part))
    }

    /// What the colours are, from `y` on, a line a kind; where that ends.
    pub(super) fn key(&self, picture: &mut Picture, mut y: f64) -> f64 {
        let of_rates = self.rates.map(|rates| match rates.is_apart() {
            true => [0.0, 1.0, 2.0, 3.0].map(|at| rates.low * (rates.high / rates.low).powf(at / 3.0)),
            false => [0.25, 0.5, 0.75, 1.0].map(|part| rates.high * part),
        });
        let of_times = self.times.map(|times| [4.0, 2.0, 4.0 / 3.0, 1.0].map(|longer| times.low * longer));
        for (is_time, values) in [(false, of_rates), (true, of_times)] {
            let Some(values) = values else { continue };
            let mut x = 4.0;
            for value in values {
                let said = digits::figure(is_time, value, None);
                let wide = 40.0 + width(&said);
                if x + wide > picture.width {
                    (x, y) = (4.0, y + 18.0);
                }
                picture.rect((x, y), (22.0, 12.0), &format!("fill=\"{}\"", self.paint(is_time, value).0), "");
                picture.text(x + 26.0, y + 10.0, Anchor::Start, &said);
                x += wide;
            }
            y += 20.0;
        }
        if self.has_marks {
            let paint = format!("fill=\"none\" stroke-width=\"2\" {MARKED}");
            picture.rect((5.0, y + 1.0), (20.0, 10.0), &paint, "");
            picture.text(30.0, y + 10.0, Anchor::Start, "below its twins, or far below others of its kind");
            y += 20.0;
        }
        y + 2.0
    }
}

/// A figure without GB/s, which most are in.
pub(super) fn short(is_time: bool, value: f64, interval: Option<&Interval>) -> String {
    if is_time { digits::time(value, interval) } else { digits::rate_number(value, interval) }
}
