//! Decimal numbers to and from text, without a detour through floating point on the way in: `1.1KiB` is not
//! whole, `0.7GiB` is not 751619276.8 rounded.

/// What stands in a text before and after the place where its number ends.
pub(super) fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// Why a number times a unit is not an integer of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not digits, or digits with one point between.
    Syntax,
    /// The product has a fraction, or the number has more than 18 decimals.
    NotWhole,
    /// The product does not fit 64 bits.
    TooLarge,
}

/// `number` (digits, or digits with one point between) times `unit`, exactly.
pub(super) fn times(number: &str, unit: u64) -> Result<u64, Fault> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(Fault::Syntax);
    }
    let fraction = fraction.trim_end_matches('0');

    // With 18 digits and the largest units (2^40 bytes, an hour of nanoseconds) every product here fits 128
    // bits.
    if fraction.len() > 18 {
        return Err(Fault::NotWhole);
    }

    let scale = 10_u128.pow(fraction.len() as u32);
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().map_err(|_| Fault::Syntax)? };
    let part = part * u128::from(unit);
    if !part.is_multiple_of(scale) {
        return Err(Fault::NotWhole);
    }
    let whole = whole.parse::<u128>().map_err(|_| Fault::TooLarge)?;
    let total = whole.checked_mul(u128::from(unit)).and_then(|bytes| bytes.checked_add(part / scale));
    total.and_then(|total| u64::try_from(total).ok()).ok_or(Fault::TooLarge)
}

/// `value` with five significant digits and no exponent: more than any interval here supports, and few enough
/// to read.
pub(super) fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // The exponent is taken after rounding, so that 9.99999 becomes 10.000 and not 10.0000.
    let exponent: i32 =
        format!("{value:.4e}").rsplit('e').next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(4 - exponent).unwrap_or(0);
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact_or_refused() {
        assert_eq!(times("1.5", 1 << 30), Ok(1_610_612_736));
        assert_eq!(times("0.0009765625", 1 << 10), Ok(1));
        assert_eq!(times("1.1", 1 << 10), Err(Fault::NotWhole));
        for digits in [19, 28, 40] {
            assert_eq!(
                times(&format!("0.{}", "9".repeat(digits)), 1 << 40),
                Err(Fault::NotWhole),
                "{digits} decimals"
            );
        }
        assert_eq!(times("2.000000000000000000000000", 1), Ok(2));
    }

    #[test]
    fn only_digits_and_one_inner_point_are_a_number() {
        for text in ["", ".", "1.", ".5", "1.2.3", "1..2", "-1", "+1", "1e3", "٣"] {
            assert_eq!(times(text, 1), Err(Fault::Syntax), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_64_bits_is_too_large() {
        assert_eq!(times("18446744073709551615", 1), Ok(u64::MAX));
        for text in ["18446744073709551616", "99999999999999999999999999999999999999999999999999"] {
            assert_eq!(times(text, 1), Err(Fault::TooLarge), "{text}");
        }
        assert_eq!(times("16777216", 1 << 40), Err(Fault::TooLarge));
    }

    #[test]
    fn five_significant_digits_stay_five_when_rounding_carries() {
        let all: Vec<String> = [23.45952, 0.000_521_549, 9.999_99, 123_456.7, 99_999.6, 0.0]
            .iter()
            .map(|v| significant(*v))
            .collect();
        assert_eq!(all, ["23.460", "0.00052155", "10.000", "123457", "100000", "0"]);
    }
}
