//! A moment as RFC 3339 text in UTC, which is all that a document needs of a calendar.

use std::time::{SystemTime, UNIX_EPOCH};

/// `2026-11-20T21:04:05.678Z`. A moment before 1970 (a clock that was never set) is written as 1970's first.
pub fn rfc3339_utc(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second, ms) = (second / 3600, second / 60 % 60, second % 60, since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Nanoseconds since 1970 of what [`rfc3339_utc`] writes; `None` for anything else, and for what 64 bits do
/// not hold.
pub fn unix_ns(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten()
    };
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = whole.splitn(3, ':').map(number);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let in_range = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 60 || fraction.len() > 9 {
        return None;
    }
    let ns = number(&format!("{fraction:0<9}"))?;

    // Hinnant's `days_from_civil`, the way back from `civil`.
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (shifted / 400, shifted % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    (((days * 24 + hour) * 60 + minute) * 60 + second).checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Year, month and day of a day since 1970-01-01, in the proleptic Gregorian calendar. After Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years are counted from March, so that a
/// leap day ends one.
fn civil(days: u64) -> (u64, u64, u64) {
    let since_march_0000 = days + 719_468;
    let (era, day_of_era) = (since_march_0000 / 146_097, since_march_0000 % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_those_of_gnu_date() {
        // for s in …; do date -u -d @$s +%FT%TZ; done
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (1_795_208_645, "2026-11-20T21:04:05.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339_utc(UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn what_was_written_is_read_back_and_nothing_else_is() {
        for seconds in [0, 951_782_399, 951_782_400, 951_868_800, 1_735_689_599, 1_795_208_645, 4_107_542_400]
        {
            let moment = Duration::from_millis(seconds * 1000 + 678);
            assert_eq!(unix_ns(&rfc3339_utc(UNIX_EPOCH + moment)).map(u128::from), Some(moment.as_nanos()));
        }

        for bad in [
            "",
            "Z",
            "2026-11-20",
            "2026-13-20T00:00:00Z",
            "2026-11-20T25:00:00Z",
            "2026-11-20T+1:00:00Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(unix_ns(bad), None, "{bad}");
        }
        assert_eq!(unix_ns("9999-01-01T00:00:00Z"), None, "more than 64 bits of nanoseconds");
    }

    #[test]
    fn milliseconds_are_kept_and_a_clock_before_1970_is_not_a_panic() {
        assert_eq!(rfc3339_utc(UNIX_EPOCH + Duration::from_millis(1_009)), "1970-01-01T00:00:01.009Z");
        assert_eq!(rfc3339_utc(UNIX_EPOCH - Duration::from_secs(5)), "1970-01-01T00:00:00.000Z");
    }
}
