//! Numbers as options take them: what is refused, is refused with the range that is allowed, however it is
//! wrong.
//!
//! clap's own parsers say the range of a number that is outside of it, and the limits of a type of one that
//! does not fit that.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// A parser of whole numbers in this range, which the type must hold.
pub(crate) fn whole<T: FromStr>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let inside = text.parse().is_ok_and(|number: u64| range.contains(&number));
        let refused =
            || format!("\"{text}\" is not a whole number from {} to {}", range.start(), range.end());
        text.parse().ok().filter(|_| inside).ok_or_else(refused)
    }
}

/// A size as it is typed.
pub(crate) fn typed_size(bytes: u64) -> String {
    stats::units::size(bytes).replace(' ', "")
}

/// A time as it is typed, in whole seconds.
pub(crate) fn typed_seconds(time: Duration) -> String {
    format!("{}s", time.as_secs())
}

/// A part of the whole as it is typed.
pub(crate) fn typed_percent(part: f64) -> String {
    format!("{}%", part * 100.0)
}

/// A percentage, as a part of the whole.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim().parse().ok();
    let inside = number.filter(|percent| *percent > 0.0 && *percent < 100.0);
    inside
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("\"{text}\" is not a percentage: give one above 0 and below 100, e.g. 3%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_part_above_nothing_and_below_all() {
        assert_eq!([percent("3%"), percent("0.5"), percent(" 50 % ")], [Ok(0.03), Ok(0.005), Ok(0.5)]);
        for wrong in ["0", "100%", "-1", "NaN", "inf", "three", "%", ""] {
            assert!(percent(wrong).is_err_and(|why| why.contains("above 0 and below 100")), "{wrong}");
        }
    }

    #[test]
    fn whatever_is_not_in_the_range_is_refused_with_the_range() {
        let take = whole::<u64>(1..=10);
        assert_eq!((take("1"), take("10")), (Ok(1), Ok(10)));
        for wrong in ["0", "11", "18446744073709551615", "18446744073709551616", "-1", "1.5", "ten", ""] {
            assert_eq!(take(wrong), Err(format!("\"{wrong}\" is not a whole number from 1 to 10")));
        }
        assert_eq!(whole::<u64>(0..=u64::MAX)("18446744073709551615"), Ok(u64::MAX));
        assert!(
            whole::<std::num::NonZeroUsize>(0..=8)("0").is_err(),
            "what the type cannot hold is refused too"
        );
    }
}
