//! Whole numbers as options take them: what is refused, is refused with the range that is allowed, however it is wrong.
//!
//! clap's own parsers say the range of a number that is outside of it, and the limits of a type of one that does not fit that.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// A parser of whole numbers in this range, which the type must hold.
pub(crate) fn whole<T: FromStr>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let inside = text.parse().is_ok_and(|number: u64| range.contains(&number));
        let refused = || format!("\"{text}\" is not a whole number from {} to {}", range.start(), range.end());
        text.parse().ok().filter(|_| inside).ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_not_in_the_range_is_refused_with_the_range() {
        let take = whole::<u64>(1..=10);
        assert_eq!((take("1"), take("10")), (Ok(1), Ok(10)));
        for wrong in ["0", "11", "18446744073709551615", "18446744073709551616", "-1", "1.5", "ten", ""] {
            assert_eq!(take(wrong), Err(format!("\"{wrong}\" is not a whole number from 1 to 10")));
        }
        assert_eq!(whole::<u64>(0..=u64::MAX)("18446744073709551615"), Ok(u64::MAX));
        assert!(whole::<std::num::NonZeroUsize>(0..=8)("0").is_err(), "what the type cannot hold is refused too");
    }
}
