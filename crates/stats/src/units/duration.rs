//! Durations: as typed (`30s`, `500ms`, `2m`) and as shown, with the unit that leaves one to three digits
//! before the point.

use std::time::Duration;

use super::decimal::{self, Fault, significant};

/// The text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Neither a number nor a number with a known unit.
    #[error(
        "\"{0}\" is not a duration: write a number with ns, us, ms, s, m or h (seconds if there is none), \
         e.g. 30s, 1.5s, 500ms or 2m"
    )]
    Syntax(String),
    /// A fraction of a nanosecond.
    #[error(
        "the duration \"{0}\" is not a whole number of nanoseconds: write fewer decimals or a smaller unit"
    )]
    NotWhole(String),
    /// No time at all.
    #[error("the duration \"{0}\" is zero: write one that is longer, e.g. 30s")]
    Zero(String),
    /// More nanoseconds than 64 bits count.
    #[error("the duration \"{0}\" is too long: at most 5124095h (585 years) can be counted")]
    TooLarge(String),
}

/// A duration as users type it: `30s`, `500ms`, `2m`, `1h`, `1.5s`; a bare number is seconds. Units are lower
/// case, because `2M` is not two minutes to everybody.
///
/// # Errors
/// [`DurationError`], each naming the text, what is allowed and an example.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let (number, unit) = decimal::split(text.trim());
    let unit_ns = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(DurationError::Syntax(text.to_owned())),
    };

    match decimal::times(number, unit_ns) {
        Ok(0) => Err(DurationError::Zero(text.to_owned())),
        Ok(ns) => Ok(Duration::from_nanos(ns)),
        Err(Fault::Syntax) => Err(DurationError::Syntax(text.to_owned())),
        Err(Fault::NotWhole) => Err(DurationError::NotWhole(text.to_owned())),
        Err(Fault::TooLarge) => Err(DurationError::TooLarge(text.to_owned())),
    }
}

/// `14.243 µs` from nanoseconds: ns, µs, ms or s, five significant digits.
pub fn duration_ns(ns: f64) -> String {
    let (unit_ns, unit) = in_unit(ns);
    format!("{} {unit}", significant(ns / unit_ns))
}

/// A time for people, from seconds: `1.4 s`, `14 s`, `3 min 20 s`, `2 h 5 min`.
pub fn spoken_seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{:.1} s", seconds.max(0.0));
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// The unit that fits, in nanoseconds, and its name.
pub(super) fn in_unit(ns: f64) -> (f64, &'static str) {
    // 999.995 is where five digits round up to 1000.0, which the next unit says as 1.0000.
    match ns.abs() {
        size if size < 999.995 => (1.0, "ns"),
        size if size < 999.995e3 => (1e3, "µs"),
        size if size < 999.995e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_the_units_people_type() {
        for (text, ms) in [
            ("30s", 30_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("2min", 120_000),
            ("1h", 3_600_000),
            ("45", 45_000),
            ("1.5", 1_500),
            ("0.5 s", 500),
            ("5000us", 5),
            ("5000µs", 5),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(parse_duration("7ns"), Ok(Duration::from_nanos(7)));
    }

    #[test]
    fn what_is_no_duration_is_refused_with_what_is() {
        let error =
            |text: &str| parse_duration(text).map_or_else(|e| e.to_string(), |d| format!("parsed: {d:?}"));
        for text in ["", "s", "-1", "-1s", "2M", "1d", "1e3s", "1:30", "inf"] {
            assert_eq!(parse_duration(text), Err(DurationError::Syntax(text.to_owned())));
        }
        let syntax = "\"1d\" is not a duration: write a number with ns, us, ms, s, m or h (seconds if there \
            is none), e.g. 30s, 1.5s, 500ms or 2m";
        let not_whole = "the duration \"0.5ns\" is not a whole number of nanoseconds: write fewer decimals \
            or a smaller unit";
        assert_eq!(error("1d"), syntax);
        assert_eq!(error("0"), "the duration \"0\" is zero: write one that is longer, e.g. 30s");
        assert_eq!(error("0.5ns"), not_whole);
        assert_eq!(
            error("5124096h"),
            "the duration \"5124096h\" is too long: at most 5124095h (585 years) can be counted"
        );
        assert!(parse_duration("5124095h").is_ok(), "the longest that the message allows");
    }

    #[test]
    fn durations_are_shown_in_the_unit_that_fits() {
        for (ns, want) in [
            (0.0, "0 ns"),
            (41.5, "41.500 ns"),
            (999.996, "1.0000 µs"),
            (14_243.21, "14.243 µs"),
            (10_656_650.0, "10.657 ms"),
            (999_996_000.0, "1.0000 s"),
            (1.639_23e9, "1.6392 s"),
            (-1_500.0, "-1.5000 µs"),
        ] {
            assert_eq!(duration_ns(ns), want, "{ns}");
        }
    }
}
