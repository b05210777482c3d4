//! Sizes in bytes: as typed (`128MiB`, `128M`, `1.5GiB`) and as shown.
//!
//! `128M` is 134217728, because that is what people who type it at an HPC prompt mean; `128MB` is refused,
//! because standards say 128000000 and most tools say 134217728, and a benchmark that guesses would label its
//! result wrongly half the time.

use super::decimal::{self, Fault, significant};

pub(super) const UNITS: [(u64, &str); 5] =
    [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];

/// The largest size: what a process has addresses for on x86-64 (47 bits,
/// Documentation/arch/x86/x86_64/mm.rst), and on no machine of today more memory. Sums and products of sizes
/// stay far below 2⁶⁴ therefore.
pub const MOST_BYTES: u64 = 1 << 47;

/// The text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Nothing, or only spaces.
    #[error("the size is empty: write a number of bytes, or one with KiB, MiB, GiB or TiB, e.g. 128MiB")]
    Empty,
    /// Something other than digits (with at most one point between) before the unit.
    #[error(
        "\"{0}\" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is \
         none), e.g. 128MiB"
    )]
    Syntax(String),
    /// A unit that does not exist here.
    #[error(
        "\"{text}\" is not a size, as there is no unit \"{unit}\": use B, KiB, MiB, GiB or TiB (K, M, G and \
         T mean the same), e.g. 128MiB"
    )]
    Unit {
        /// The whole text.
        text: String,
        /// Its unit.
        unit: String,
    },
    /// KB, MB, GB or TB.
    #[error(
        "the unit of \"{text}\" is read in two ways: write {binary} for powers of 1024 or {decimal} for \
         powers of 1000"
    )]
    Ambiguous {
        /// The whole text.
        text: String,
        /// The same number with the binary unit.
        binary: String,
        /// The bytes the decimal unit gives.
        decimal: String,
    },
    /// No bytes at all.
    #[error("the size \"{0}\" is zero: at least 1 byte must move")]
    Zero(String),
    /// A fraction of a byte, or more than 18 decimals.
    #[error(
        "the size \"{0}\" is not a whole number of bytes (or has more than 18 decimals): write fewer \
         decimals or a smaller unit, e.g. 1536KiB for 1.5MiB"
    )]
    NotWhole(String),
    /// More than [`MOST_BYTES`].
    #[error("the size \"{0}\" is too large: at most 128TiB, which is all that a process can address")]
    TooLarge(String),
}

/// Bytes from a size as users type it: a positive whole or decimal number, then nothing or `B` (bytes),
/// `K`/`KiB`, `M`/`MiB`, `G`/`GiB`, `T`/`TiB` (powers of 1024), in any case, with or without spaces between.
///
/// # Errors
/// [`SizeError`], each naming the text, what is allowed and the remedy.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(SizeError::Empty);
    }
    let (number, unit) = decimal::split(trimmed);
    let fault = |fault| match fault {
        Fault::Syntax => SizeError::Syntax(text.to_owned()),
        Fault::NotWhole => SizeError::NotWhole(text.to_owned()),
        Fault::TooLarge => SizeError::TooLarge(text.to_owned()),
    };
    if number.is_empty() {
        return Err(SizeError::Syntax(text.to_owned()));
    }
    let exponent = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" | "kb" => 1,
        "m" | "mib" | "mb" => 2,
        "g" | "gib" | "gb" => 3,
        "t" | "tib" | "tb" => 4,
        _ => return Err(SizeError::Unit { text: text.to_owned(), unit: unit.to_owned() }),
    };

    if exponent > 0 && unit.len() == 2 {
        let decimal = match decimal::times(number, 1000_u64.pow(exponent)) {
            Ok(0) => return Err(SizeError::Zero(text.to_owned())),
            Ok(bytes) => format!("{bytes}B"),
            Err(Fault::Syntax) => return Err(SizeError::Syntax(text.to_owned())),
            Err(_) => "the count of bytes".to_owned(),
        };
        let binary = format!("{number}{}iB", unit[..1].to_ascii_uppercase());
        return Err(SizeError::Ambiguous { text: text.to_owned(), binary, decimal });
    }

    match decimal::times(number, 1024_u64.pow(exponent)).map_err(fault)? {
        0 => Err(SizeError::Zero(text.to_owned())),
        bytes if bytes > MOST_BYTES => Err(SizeError::TooLarge(text.to_owned())),
        bytes => Ok(bytes),
    }
}

/// `128 MiB`, `1.5 GiB`, `1000003 B`: the same number of bytes when read back, whatever it is. The unit is
/// the largest that needs at most three decimals.
pub fn size(bytes: u64) -> String {
    let fits = |unit: u64| bytes >= unit && (u128::from(bytes) * 1000).is_multiple_of(u128::from(unit));
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| fits(*unit)).unwrap_or((1, "B"));
    let (whole, thousandths) = (bytes / unit, u128::from(bytes % unit) * 1000 / u128::from(unit));
    if thousandths == 0 {
        return format!("{whole} {name}");
    }
    let decimals = format!("{thousandths:03}");
    format!("{whole}.{} {name}", decimals.trim_end_matches('0'))
}

/// `31.211 GiB`: five significant digits in the largest unit, for amounts nobody types back (a node's
/// memory).
pub fn rounded_size(bytes: u64) -> String {
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if !bytes.is_multiple_of(unit) => {
            format!("{} {name}", significant(bytes as f64 / unit as f64))
        }
        _ => size(bytes),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> String {
        parse_size(text).map_or_else(|e| e.to_string(), |bytes| format!("parsed: {bytes}"))
    }

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        for (text, bytes) in [
            ("4", 4),
            ("4B", 4),
            ("64KiB", 65_536),
            ("64K", 65_536),
            ("64k", 65_536),
            ("128MiB", 134_217_728),
            ("128M", 134_217_728),
            ("128mib", 134_217_728),
            ("128 MiB", 134_217_728),
            (" 1GiB ", 1_073_741_824),
            ("8G", 8_589_934_592),
            ("2TiB", 2_199_023_255_552),
            ("1.5GiB", 1_610_612_736),
            ("0.5K", 512),
            ("140737488355328", MOST_BYTES),
            ("128TiB", MOST_BYTES),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn a_decimal_unit_is_refused_with_both_readings() {
        assert_eq!(
            error("128MB"),
            "the unit of \"128MB\" is read in two ways: write 128MiB for powers of 1024 or 128000000B for \
             powers of 1000"
        );
        assert!(
            error("1.5gb").contains("1.5GiB") && error("1.5gb").contains("1500000000B"),
            "{}",
            error("1.5gb")
        );
        for text in ["1KB", "1kB", "1TB"] {
            assert!(matches!(parse_size(text), Err(SizeError::Ambiguous { .. })), "{}", error(text));
        }
        assert_eq!(parse_size("128000000B"), Ok(128_000_000), "the remedy is accepted");
    }

    #[test]
    fn what_is_no_size_is_refused_with_what_is() {
        let texts = [
            "",
            "  ",
            "128Q",
            "128 MiBs",
            "1e9",
            "4 5",
            "µ",
            "4µB",
            "-1",
            "MiB",
            "1.2.3M",
            ".5M",
            "1.MB",
            "0",
            "0GiB",
            "0MB",
            "1.5",
            "1.1KiB",
            "140737488355329",
            "129TiB",
            "18446744073709551615",
            "18446744073709551616",
            "16777216TiB",
            "99999999999999999999999999999999999999999G",
        ];

        for text in texts {
            assert!(
                text.trim().is_empty() || error(text).contains(text),
                "{text} is named in: {}",
                error(text)
            );
        }

        insta::assert_snapshot!(texts.map(error).join("\n"), @r#"
        the size is empty: write a number of bytes, or one with KiB, MiB, GiB or TiB, e.g. 128MiB
        the size is empty: write a number of bytes, or one with KiB, MiB, GiB or TiB, e.g. 128MiB
        "128Q" is not a size, as there is no unit "Q": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
        "128 MiBs" is not a size, as there is no unit "MiBs": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
        "1e9" is not a size, as there is no unit "e9": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
        "4 5" is not a size, as there is no unit "5": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
        "µ" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
        "4µB" is not a size, as there is no unit "µB": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
        "-1" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
        "MiB" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
        "1.2.3M" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
        ".5M" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
        "1.MB" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
        the size "0" is zero: at least 1 byte must move
        the size "0GiB" is zero: at least 1 byte must move
        the size "0MB" is zero: at least 1 byte must move
        the size "1.5" is not a whole number of bytes (or has more than 18 decimals): write fewer decimals or a smaller unit, e.g. 1536KiB for 1.5MiB
        the size "1.1KiB" is not a whole number of bytes (or has more than 18 decimals): write fewer decimals or a smaller unit, e.g. 1536KiB for 1.5MiB
        the size "140737488355329" is too large: at most 128TiB, which is all that a process can address
        the size "129TiB" is too large: at most 128TiB, which is all that a process can address
        the size "18446744073709551615" is too large: at most 128TiB, which is all that a process can address
        the size "18446744073709551616" is too large: at most 128TiB, which is all that a process can address
        the size "16777216TiB" is too large: at most 128TiB, which is all that a process can address
        the size "99999999999999999999999999999999999999999G" is too large: at most 128TiB, which is all that a process can address
        "#);
    }

    #[test]
    fn sizes_are_shown_in_the_largest_unit_that_is_exact() {
        for (bytes, want) in [
            (0, "0 B"),
            (4, "4 B"),
            (1023, "1023 B"),
            (65_536, "64 KiB"),
            (134_217_728, "128 MiB"),
            (1_610_612_736, "1.5 GiB"),
            (1_000_003, "1000003 B"),
            (1_073_741_825, "1073741825 B"),
            (u64::MAX, "18446744073709551615 B"),
        ] {
            assert_eq!(size(bytes), want);
        }
    }

    #[test]
    fn a_rounded_size_is_short_and_stays_exact_where_it_can() {
        assert_eq!(rounded_size(33_512_345_600), "31.211 GiB");
        assert_eq!(rounded_size(134_217_728), "128 MiB");
        assert_eq!(rounded_size(1023), "1023 B");
        assert_eq!(rounded_size(0), "0 B");
    }

    proptest! {
        #[test]
        fn a_size_reads_back_as_the_bytes_it_was_shown_for(bytes in 1_u64..=MOST_BYTES, shift in 0_u32..47) {
            let bytes = (bytes >> shift).max(1);
            prop_assert_eq!(parse_size(&size(bytes)), Ok(bytes));
        }

        #[test]
        fn a_round_size_reads_back_too(count in 1_u64..4096, shift in 0_u32..36) {
            prop_assert_eq!(parse_size(&size(count << shift)), Ok(count << shift));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,12}") {
            let _ = parse_size(&text);
        }
    }
}
