//! As many digits as the interval carries: a figure known to 1 % has three, and none has digits that only the
//! arithmetic made.

use analysis::comparison::ComparedCase;
use analysis::figure::Unit;
use report::kernels::WorkUnit;
use report::quantity::Quantity;
use report::row::Row;
use stats::interval::Interval;
use stats::summary::Summary;

/// Digits of a figure without an interval.
const WITHOUT: i32 = 3;

/// A ratio from which on it is said as such.
const MANY_TIMES: f64 = 11.0;

/// A rate below this has too many zeros in GB/s.
const LEAST_IN_GB: f64 = 1e7;

/// The value with the digits that half the width of its interval leaves, three to four in all: the place of
/// the half width's first digit is the last one shown.
pub(crate) fn shown(value: f64, half_width: Option<f64>) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let (_, decimals) = place_and_decimals(value, half_width);
    format!("{value:.decimals$}")
}

/// The place of the first digit of a value (0 of 1 to 9, -1 of tenths), and how many decimals it is shown
/// with.
pub(crate) fn place_and_decimals(value: f64, half_width: Option<f64>) -> (i32, usize) {
    let place = |value: f64| value.abs().log10().floor() as i32;
    let first = if value.is_finite() && value != 0.0 { place(value) } else { 0 };
    let digits = match half_width.filter(|half| half.is_finite() && *half > 0.0) {
        Some(half) => (first - place(half) + 1).clamp(2, 4),
        None => WITHOUT,
    };
    (first, (digits - 1 - first).max(0) as usize)
}

/// `24.0 GB/s`; of tiny copies `24.4 kB/s`.
pub(crate) fn rate(bytes_per_s: f64, interval: Option<&Interval>) -> String {
    let (scale, unit) = match bytes_per_s.abs() {
        rate if rate >= LEAST_IN_GB || rate == 0.0 || !rate.is_finite() => (1e9, "GB/s"),
        rate if rate >= 1e6 => (1e6, "MB/s"),
        _ => (1e3, "kB/s"),
    };
    let half = interval.map(|interval| (interval.high - interval.low) / 2.0 / scale);
    format!("{} {unit}", shown(bytes_per_s / scale, half))
}

/// The same without the unit.
pub(crate) fn rate_number(bytes_per_s: f64, interval: Option<&Interval>) -> String {
    shown(bytes_per_s / 1e9, interval.map(|interval| (interval.high - interval.low) / 2e9))
}

/// `24.0`: the rate of the median block, GB/s.
pub(crate) fn median_rate(summary: &Summary) -> String {
    rate_number(summary.median_bytes_per_s, summary.rate_interval().as_ref())
}

/// `9495 GFLOP/s`: a row's rate in what it counts; `None` of a latency, and where it was not measured.
pub(crate) fn row_rate(row: &Row) -> Option<String> {
    let per_s = row.value.filter(|_| row.quantity != Quantity::Latency)?;
    let half = row.value_low.zip(row.value_high).map(|(low, high)| (high - low) / 2e9);
    let unit = row.quantity.work().map_or("GB/s", WorkUnit::giga);
    Some(format!("{} {unit}", shown(per_s / 1e9, half)))
}

/// The 95 % interval of a row's median time.
pub(crate) fn time_interval(row: &Row) -> Option<Interval> {
    let ends = row.median_low_ns.zip(row.median_high_ns);
    ends.map(|(low, high)| Interval { low, high, confidence: 0.95 })
}

/// `2.05 µs`.
pub(crate) fn time(ns: f64, interval: Option<&Interval>) -> String {
    let (scale, unit) = time_unit(ns);
    let half = interval.map(|interval| (interval.high - interval.low) / 2.0 / scale);
    format!("{} {unit}", shown(ns / scale, half))
}

/// How many nanoseconds the unit of a time is, and its name.
pub(crate) fn time_unit(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        ns if ns >= 1e9 => (1e9, "s"),
        ns if ns >= 1e6 => (1e6, "ms"),
        ns if ns >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

/// A time, or else a rate, with its unit.
pub(crate) fn figure(is_time: bool, value: f64, interval: Option<&Interval>) -> String {
    if is_time { time(value, interval) } else { rate(value, interval) }
}

/// A figure that others are compared with and whose interval is not at hand, with its unit: four digits,
/// because a difference of 0.1 % is none.
pub(crate) fn compared(unit: Unit, value: f64) -> String {
    let half_width = value.abs() / 1e3;
    let around = Interval { low: value - half_width, high: value + half_width, confidence: 0.95 };
    match unit {
        Unit::BytesPerS => rate(value, Some(&around)),
        Unit::Ns => time(value, Some(&around)),
        Unit::FlopPerS => work(WorkUnit::Flop, value, half_width),
        Unit::KeysPerS => work(WorkUnit::Key, value, half_width),
        Unit::S => format!("{} s", shown(value, Some(half_width))),
        Unit::More | Unit::Less => shown(value, Some(half_width)),
        Unit::Share | Unit::EstimatedShare => percent(value),
    }
}

/// `9495 GFLOP/s`.
fn work(unit: WorkUnit, per_s: f64, half_width: f64) -> String {
    format!("{} {}", shown(per_s / 1e9, Some(half_width / 1e9)), unit.giga())
}

/// `48 KiB` of a size that is no power of two, and is known roughly.
pub(crate) fn size(bytes: f64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let found =
        units.into_iter().map(|(unit, name)| (f64::from(unit), name)).find(|(unit, _)| bytes >= *unit);
    let (unit, name) = found.unwrap_or((1.0, "B"));
    let text = shown(bytes / unit, Some(bytes / unit * 0.05));
    format!("{} {name}", text.strip_suffix(".0").unwrap_or(&text))
}

/// `98.7 %` of a part.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// `0.8 %`: half an interval as a part of what it is of; a dash without one.
pub(crate) fn half_width(interval: Option<&Interval>, of: f64) -> String {
    interval.map_or("–".to_owned(), |interval| percent(interval.relative_half_width(of)))
}

/// `+1.2 %` of a part, in ASCII: columns of a terminal align by it.
pub(crate) fn signed(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}

/// `-3.1 %` of a ratio, in ASCII.
pub(crate) fn signed_change(ratio: f64) -> String {
    signed(ratio - 1.0)
}

/// `-3.1 %` of a compared case, in ASCII; of a share `-3.1 points`.
pub(crate) fn signed_change_of(case: &ComparedCase) -> String {
    match case.unit.is_share() {
        true => format!("{:+.1} points", case.change() * 100.0),
        false => signed(case.change()),
    }
}

/// The same with a minus sign and fewer digits.
pub(crate) fn change_of(case: &ComparedCase) -> String {
    match case.unit.is_share() {
        true => signed_change_of(case).replace('-', "−"),
        false => change(1.0 + case.change()),
    }
}

/// `−3.1 % to +2.0 %` of an interval of ratios.
pub(crate) fn changes(ratios: &Interval) -> String {
    format!("{} to {}", change(ratios.low), change(ratios.high))
}

/// ` (95 % interval −3.1 % to +2.0 %)`; nothing without one.
pub(crate) fn known_within(ratios: Option<&Interval>) -> String {
    ratios.map_or(String::new(), |ratios| format!(" (95 % interval {})", changes(ratios)))
}

/// `−3.1 %` of a ratio; `×2430` of one that nobody thinks of in per cent.
pub(crate) fn change(ratio: f64) -> String {
    if ratio.is_finite() && ratio >= MANY_TIMES {
        return format!("×{}", shown(ratio, None));
    }
    let percent = (ratio - 1.0) * 100.0;
    let text = if percent.abs() < 9.95 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_the_digits_that_its_interval_carries() {
        let ends = |low, high| Interval { low, high, confidence: 0.95 };
        assert_eq!(shown(48.046, Some(0.6)), "48.0");
        assert_eq!(shown(48.046, Some(3.0)), "48");
        assert_eq!(shown(12.784_31, None), "12.8");
        assert_eq!(time(4050.0, Some(&ends(4040.0, 4060.0))), "4.05 µs");
        assert_eq!(rate(55.2364e9, Some(&ends(55.2e9, 55.3e9))), "55.24 GB/s");
        assert_eq!(
            [24.4e3, 3.21e6, 0.0].map(|value| rate(value, None)),
            ["24.4 kB/s", "3.21 MB/s", "0 GB/s"],
            "a rate of tiny copies has no row of zeros"
        );

        assert_eq!([shown(0.0, None), shown(f64::NAN, None), shown(1234.0, None)], ["0", "–", "1234"]);
        assert_eq!([size(48.046 * 1024.0), size(3.94e6), size(12.0)], ["48 KiB", "3.8 MiB", "12 B"]);
        assert_eq!(compared(Unit::Ns, 12.784_31e9), "12.78 s");
        assert_eq!(
            [compared(Unit::BytesPerS, 1484.891e9), compared(Unit::More, 0.5)],
            ["1485 GB/s", "0.5000"]
        );
        assert_eq!([change(0.969), change(1.2), change(2431.0)], ["−3.1 %", "+20 %", "×2431"]);
    }
}
