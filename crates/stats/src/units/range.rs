//! Figures from a lowest to a highest one, as sentences and tables have them: both ends to one step, with the
//! unit once, and one figure where both read alike.

use super::duration::in_unit;

/// Significant digits of the higher end at least, and at most.
const FEWEST: i32 = 3;
const MOST: i32 = 4;
/// Significant digits of ends that are not known as well as three digits say.
const LEAST: i32 = 2;

/// Which decade the leading digit of a number that is not 0 is in.
fn exponent(value: f64) -> i32 {
    // What is a power of ten but for the last bit is one.
    (value.abs().log10() + 1e-9).floor() as i32
}

/// `2.49–2.50`, `55.3` where both ends read alike.
///
/// The step is that of the leading digit of what lies between the ends, with three significant digits of the
/// higher end at least and four at most.
pub fn range(low: f64, high: f64) -> String {
    range_known_to(low, high, 0.0)
}

/// The same of ends that are known to `half_width` only, half of the wider one's interval: without the digits
/// that are finer, and with two at least.
pub fn range_known_to(low: f64, high: f64, half_width: f64) -> String {
    let largest = low.abs().max(high.abs());
    if !largest.is_finite() || largest == 0.0 {
        return if low == high { format!("{low}") } else { format!("{low}–{high}") };
    }

    let known_to = match half_width > 0.0 && half_width.is_finite() {
        true => exponent(half_width).min(exponent(largest) - LEAST + 1),
        false => i32::MIN,
    };
    let coarsest = (exponent(largest) - FEWEST + 1).max(known_to);
    let between = high - low;
    let step = if between == 0.0 {
        coarsest
    } else {
        exponent(between).clamp((coarsest - (MOST - FEWEST)).max(known_to), coarsest)
    };

    let show = |value: f64| at_step(value, step);
    match (show(low), show(high)) {
        (low, high) if low == high => at_step(high.parse().unwrap_or(largest), coarsest),
        (low, high) => format!("{low}–{high}"),
    }
}

fn at_step(value: f64, step: i32) -> String {
    let (decimals, unit) = (usize::try_from(-step).unwrap_or(0), 10_f64.powi(step.max(0)));
    format!("{:.decimals$}", if step > 0 { (value / unit).round() * unit } else { value })
}

/// `2.49–2.50 µs`, of nanoseconds: in the unit that fits the higher end.
pub fn duration_range(low_ns: f64, high_ns: f64) -> String {
    duration_range_known_to(low_ns, high_ns, 0.0)
}

/// The same of ends that are known to half an interval only ([`range_known_to`]).
pub fn duration_range_known_to(low_ns: f64, high_ns: f64, half_width_ns: f64) -> String {
    let (unit_ns, unit) = in_unit(high_ns);
    format!("{} {unit}", range_known_to(low_ns / unit_ns, high_ns / unit_ns, half_width_ns / unit_ns))
}

/// `53.6–54.0 GB/s`, of bytes per second.
pub fn rate_range(low: f64, high: f64) -> String {
    format!("{} GB/s", range(low / 1e9, high / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_have_the_same_step() {
        assert_eq!(range(2.4901, 2.5), "2.490–2.500");
        assert_eq!(range(101.0, 101.2), "101.0–101.2");
        assert_eq!(range(1.2006, 1.2098), "1.201–1.210");
        assert_eq!(range(53.61, 54.02), "53.6–54.0");
        assert_eq!(range(9.96, 120.0), "10–120");
        assert_eq!(range(0.0123, 0.0456), "0.0123–0.0456");
        assert_eq!(range(1234.0, 2345.6), "1230–2350");
    }

    #[test]
    fn ends_that_read_alike_are_one_figure() {
        assert_eq!(range(55.001, 55.004), "55.0");
        assert_eq!(range(55.0, 55.0), "55.0");
        assert_eq!((range(0.0, 0.0), range(0.0, 3.0)), ("0".to_owned(), "0.00–3.00".to_owned()));
        assert_eq!(range(99.999, 100.001), "100");
    }

    #[test]
    fn ends_have_no_digit_finer_than_half_of_their_interval() {
        // Two GPUs on a busy machine: each 52 GB/s, known to 3.3 %.
        assert_eq!(range_known_to(52.06, 53.40, 1.74), "52–53");
        assert_eq!(range_known_to(52.06, 52.40, 1.74), "52");
        assert_eq!(range_known_to(55.03, 55.27, 0.33), "55.0–55.3");
        assert_eq!(range_known_to(55.03, 55.07, 0.02), "55.03–55.07");
        assert_eq!(range_known_to(1234.0, 2345.6, 40.0), "1230–2350");
        assert_eq!(range_known_to(2.1, 9.9, 50.0), "2.1–9.9", "two digits however little is known");
        assert_eq!(duration_range_known_to(1_221.0, 1_262.0, 30.0), "1.22–1.26 µs");
    }

    #[test]
    fn a_unit_stands_once_and_fits_the_higher_end() {
        assert_eq!(duration_range(2_490.0, 2_500.0), "2.49–2.50 µs");
        assert_eq!(duration_range(990.0, 1_200.0), "0.99–1.20 µs");
        assert_eq!(rate_range(53.61e9, 54.02e9), "53.6–54.0 GB/s");
    }
}
