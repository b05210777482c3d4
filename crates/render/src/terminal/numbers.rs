//! Numbers as a column shows them: one unit a column, and four digits, which is what intervals carry at best.

use std::collections::BTreeSet;

use report::result::BlockSample;
use stats::summary::Summary;

/// The unit of a column of times: its name, how many nanoseconds it is, and how many decimals its numbers
/// have at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeUnit {
    pub(super) name: &'static str,
    ns: f64,
    decimals: usize,
}

impl TimeUnit {
    /// Numbers are no finer than 0.1 ns, 1 ns, 10 ns or 1 µs.
    const ALL: [Self; 4] = [
        Self { name: "ns", ns: 1.0, decimals: 1 },
        Self { name: "µs", ns: 1e3, decimals: 3 },
        Self { name: "ms", ns: 1e6, decimals: 5 },
        Self { name: "s", ns: 1e9, decimals: 6 },
    ];
    /// Microseconds.
    pub(super) const US: Self = Self::ALL[1];

    /// The unit in which the largest of the times has one to three digits before the point.
    pub(super) fn for_largest(times_ns: impl Iterator<Item = f64>) -> Self {
        Self::ALL[Self::of_largest(times_ns)]
    }

    /// The unit for a sweep, whose smallest times must stay readable beside its largest.
    pub(super) fn for_sweep(times_ns: impl Iterator<Item = f64>) -> Self {
        Self::ALL[match Self::of_largest(times_ns) {
            large if large > 1 => large - 1,
            small => small,
        }]
    }

    fn of_largest(times_ns: impl Iterator<Item = f64>) -> usize {
        let largest = times_ns.fold(0.0, f64::max);
        Self::ALL.iter().rposition(|unit| largest >= unit.ns).unwrap_or(0)
    }

    /// The time in this unit, four digits of it.
    pub(super) fn show(self, ns: f64) -> String {
        four_digits(ns / self.ns, self.decimals)
    }
}

/// A number with four digits, of which so many are decimals at most.
pub(super) fn four_digits(value: f64, most: usize) -> String {
    let first = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = usize::try_from(3 - first).unwrap_or(0).min(most);
    format!("{value:.decimals$}")
}

/// How many decimals a column of rates has at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateDecimals(usize);

impl RateDecimals {
    /// Enough for the smallest rate to have two digits or more.
    pub(super) fn for_smallest(rates: impl Iterator<Item = f64>) -> Self {
        let smallest = rates.filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
        Self(if smallest < 0.1e9 { 5 } else { 3 })
    }

    /// GB/s.
    pub(super) fn show(self, bytes_per_s: f64) -> String {
        four_digits(bytes_per_s / 1e9, self.0)
    }
}

/// The half-width of the median's interval: `0.02 %`; a dash where too few blocks give none.
pub(super) fn half_width(summary: &Summary) -> String {
    let half_width =
        summary.median_interval_ns.map(|interval| interval.relative_half_width(summary.median_ns));
    half_width.map_or("–".into(), |part| format!("{:.2} %", part * 100.0))
}

/// What stands under figures of copies that were timed several at a time; nothing where each was timed by
/// itself.
pub(super) fn per_copy<'a>(blocks: impl Iterator<Item = &'a BlockSample>) -> Option<String> {
    let at_a_time: BTreeSet<u32> = blocks.map(|block| block.copies_per_round).collect();
    let most = at_a_time.last().filter(|most| **most > 1)?;
    let up_to = if at_a_time.len() > 1 { "up to " } else { "" };
    Some(format!("small copies are timed {up_to}{most} at a time; figures are per copy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_times_takes_its_largest_as_the_measure() {
        let unit = |ns: &[f64]| TimeUnit::for_largest(ns.iter().copied());
        assert_eq!(unit(&[14_240.0, 5_308_560.0]).name, "ms");
        assert_eq!(unit(&[999.0]).name, "ns");
        assert_eq!(unit(&[]).name, "ns");
        assert_eq!(
            [4_050.0, 5_308_560.4, 127_843_100.0].map(|ns| unit(&[5e6]).show(ns)),
            ["0.00405", "5.309", "127.8"]
        );
        assert_eq!(TimeUnit::US.show(1193.0), "1.193");
        assert_eq!(TimeUnit::for_sweep([1193.0, 20e6].into_iter()), TimeUnit::US);
    }

    #[test]
    fn a_column_of_rates_shows_its_smallest() {
        let shown = |rates: &[f64]| RateDecimals::for_smallest(rates.iter().copied()).show(rates[0]);
        assert_eq!(shown(&[23.459_52e9]), "23.46");
        assert_eq!(shown(&[1484.891e9]), "1485");
        assert_eq!(shown(&[520_000.0]), "0.00052");
    }
}
