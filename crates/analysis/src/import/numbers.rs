//! A number as these programs print it: digits and a point. Signs, `nan`, `inf` and numbers beyond `MOST` are
//! refused; a decimal comma has a message of its own.

use super::error::{ImportError, ImportErrorKind, short};

/// Above any real figure: 10^15 ns are eleven days.
const MOST: f64 = 1e15;

/// The number at this line; `wanted` says what is to be there.
pub(super) fn number(text: &str, line: u64, wanted: &'static str) -> Result<f64, ImportError> {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
    let plain = Some(text).filter(|text| begins_with_digit(text) && is_plain(text));
    let number: Option<f64> = plain.and_then(|text| text.parse().ok()).filter(|value: &f64| *value < MOST);
    number.ok_or_else(|| ImportError::at(line, refused(text, wanted)))
}

/// Whether a cell stands for a figure, also one that cannot be read: `nan`, `-inf`, `55,33`.
pub(super) fn looks_like_number(cell: &str) -> bool {
    let unsigned = cell.strip_prefix('-').unwrap_or(cell);
    let has_digits_only = unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    matches!(unsigned, "nan" | "inf") || (begins_with_digit(unsigned) && has_digits_only)
}

/// Whether a text begins as a number does.
pub(super) fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// The whole number at this line.
pub(super) fn whole(text: &str, line: u64, wanted: &'static str) -> Result<u64, ImportError> {
    let plain = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    plain.and_then(|text| text.parse().ok()).ok_or_else(|| ImportError::at(line, refused(text, wanted)))
}

fn refused(text: &str, wanted: &'static str) -> ImportErrorKind {
    let text = short(text);
    let is_comma =
        text.contains(',') && text.bytes().all(|byte| byte.is_ascii_digit() || b",.".contains(&byte));
    if is_comma {
        ImportErrorKind::Comma { text, wanted }
    } else {
        ImportErrorKind::NoNumber { text, wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_a_point_are_a_number_and_nothing_else_is() {
        for (text, value) in [("55.33", 55.33), ("0", 0.0), ("1.5e-05", 1.5e-5), ("4194304", 4_194_304.0)] {
            assert_eq!(number(text, 1, "a rate"), Ok(value));
        }
        for text in ["", "nan", "inf", "-1.0", "N/A", "1.2.3", "1e999", "1e300", "5x", ".5", "٣"] {
            assert!(number(text, 1, "a rate").is_err(), "{text}");
        }
        assert_eq!(whole("8", 1, "a size"), Ok(8));
        for text in ["", "8.0", "-8", "18446744073709551616"] {
            assert!(whole(text, 1, "a size").is_err(), "{text}");
        }
    }

    #[test]
    fn a_comma_is_told_with_the_line_and_the_way_out() {
        let said = number("55,33", 7, "a rate").map_or_else(|fault| fault.to_string(), |_| String::new());
        assert_eq!(
            said,
            "line 7: \"55,33\" has a comma where a rate is to be: run the program with LC_ALL=C, which \
             writes a point"
        );
    }
}
