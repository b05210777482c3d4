//! Figures in sentences: as many digits as their interval carries, and three where none is known.

use super::duration::in_unit;
use super::size::UNITS;

/// Significant digits where no interval is known.
const DIGITS: i32 = 3;
/// Significant digits at least, however wide the interval.
const LEAST: i32 = 2;

/// The decade of the leading digit: 2 for 411.6, -1 for 0.5.
fn exponent(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 }
}

/// `value` without the digits that are finer than `half_width` (half of its interval), with at most so many
/// decimals: 2180.3 ± 436 is `2200`, 23.71 ± 0.2 is `23.7`.
pub fn carried(value: f64, half_width: Option<f64>, most_decimals: usize) -> String {
    let coarsest = exponent(value) - LEAST + 1;
    let step = match half_width {
        Some(half) if half > 0.0 && half.is_finite() => exponent(half).min(coarsest),
        Some(_) => -(most_decimals as i32),
        None => exponent(value) - DIGITS + 1,
    };
    let decimals = usize::try_from(-step).unwrap_or(0).min(most_decimals);
    let unit = 10_f64.powi(step.max(0));
    format!("{:.decimals$}", if step > 0 { (value / unit).round() * unit } else { value })
}

/// `4.05 µs`: a duration in the unit that fits, with as many digits.
pub fn duration_carried(ns: f64, half_width_ns: Option<f64>) -> String {
    let (unit_ns, unit) = in_unit(ns);
    format!("{} {unit}", carried(ns / unit_ns, half_width_ns.map(|half| half / unit_ns), DIGITS as usize))
}

/// `48 KiB`: about so many bytes, three digits of them.
pub fn about_size(bytes: f64) -> String {
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit as f64).unwrap_or((1, "B"));
    let text = carried(bytes / unit as f64, None, DIGITS as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_no_digit_finer_than_half_of_its_interval() {
        let shown = |value, half| carried(value, Some(half), 1);
        assert_eq!(shown(2180.3, 436.0), "2200");
        assert_eq!(shown(23.71, 0.2), "23.7");
        assert_eq!(shown(411.64, 1.3), "412");
        assert_eq!(shown(88.64, 0.0), "88.6");
        // Two digits however wide it is, and no more decimals than were asked for however narrow.
        assert_eq!((shown(9.76, 9.1), shown(88.643, 1e-5)), ("9.8".to_owned(), "88.6".to_owned()));
    }

    #[test]
    fn without_an_interval_a_figure_has_three_digits() {
        assert_eq!(
            [4.05, 12.784, 1234.5, 0.05].map(|value| carried(value, None, 3)),
            ["4.05", "12.8", "1230", "0.050"]
        );
        assert_eq!(
            [2_050.0, 999_900.0, 41.5].map(|ns| duration_carried(ns, None)),
            ["2.05 µs", "1000 µs", "41.5 ns"]
        );
        assert_eq!(duration_carried(6_232.0, Some(7.0)), "6.232 µs");
        assert_eq!([49_199.0, 4096.0, 1e9, 0.5].map(about_size), ["48 KiB", "4 KiB", "954 MiB", "0.5 B"]);
    }
}
