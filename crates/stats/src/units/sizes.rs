//! Lists of sizes for sweeps: `4B,64KiB`, geometric ranges `4B..1GiB` (doubling) and `4B..8GiB:4`, or both
//! mixed.
//!
//! The result is ascending without repeats, whatever order was typed: the order of measuring is the run's
//! (seeded), the order of showing is by size.

use super::size::{SizeError, parse_size};

/// The most sizes in one list. Doubling from 1 byte to the largest size gives 48; more than this is a slip of
/// the keyboard that would run for days.
pub const MAX_SIZES: usize = 256;

/// The text is not a list of sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// Nothing between two commas, or an empty text.
    #[error(
        "the size list \"{0}\" has an empty item: write sizes and ranges with commas between, e.g. \
         4B,64KiB..1GiB"
    )]
    EmptyItem(String),
    /// A size that is none.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A range that ends before it starts.
    #[error("the size range \"{0}\" runs backwards: write the smaller size first, e.g. 4B..1GiB")]
    Backwards(String),
    /// A factor that is not a whole number of 2 or more.
    #[error("the factor of the size range \"{0}\" must be a whole number of 2 or more, e.g. 4B..8GiB:4")]
    Factor(String),
    /// More than [`MAX_SIZES`].
    #[error(
        "the size list \"{0}\" has more than {MAX_SIZES} sizes, the most of one run: \
         use a range with a larger factor, e.g. 4B..8GiB:4"
    )]
    TooMany(String),
}

/// Sizes in bytes, ascending and without repeats.
///
/// A range starts at its first size, multiplies by 2 or by its `:FACTOR`, and always ends with its last size,
/// hit or not: `4B..100B:4` is 4, 16, 64, 100.
///
/// # Errors
/// [`SizesError`], each naming the item, what is allowed and an example.
pub fn parse_sizes(text: &str) -> Result<Vec<u64>, SizesError> {
    let mut sizes = Vec::new();
    for item in text.split(',').map(str::trim) {
        if item.is_empty() {
            return Err(SizesError::EmptyItem(text.to_owned()));
        }
        match item.split_once("..") {
            None => sizes.push(parse_size(item)?),
            Some((first, rest)) => {
                let (last, factor) = rest.split_once(':').unwrap_or((rest, "2"));
                let (first, last) = (parse_size(first)?, parse_size(last)?);
                let digits = factor.bytes().all(|b| b.is_ascii_digit());
                let factor = factor.parse::<u64>().ok().filter(|factor| digits && *factor >= 2);
                let factor = factor.ok_or_else(|| SizesError::Factor(item.to_owned()))?;
                if last < first {
                    return Err(SizesError::Backwards(item.to_owned()));
                }
                sizes.extend(
                    std::iter::successors(Some(first), |size| size.checked_mul(factor))
                        .take_while(|size| *size < last),
                );
                sizes.push(last);
            }
        }
    }

    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() > MAX_SIZES { Err(SizesError::TooMany(text.to_owned())) } else { Ok(sizes) }
}

#[cfg(test)]
mod tests {
    use super::super::size::MOST_BYTES;
    use super::*;

    #[test]
    fn a_range_doubles_from_its_first_size_to_its_last() {
        let sizes = parse_sizes("4B..1GiB").unwrap_or_default();
        assert_eq!(sizes.len(), 29);
        assert_eq!((sizes.first(), sizes.last()), (Some(&4), Some(&(1 << 30))));
        assert!(sizes.windows(2).all(|pair| pair[1] == pair[0] * 2));
    }

    #[test]
    fn a_factor_widens_the_steps_and_the_last_size_is_always_there() {
        assert_eq!(parse_sizes("4B..100B:4"), Ok(vec![4, 16, 64, 100]));
        assert_eq!(parse_sizes("4..64:4"), Ok(vec![4, 16, 64]));
        assert_eq!(parse_sizes("4..5"), Ok(vec![4, 5]));
        assert_eq!(parse_sizes("8K..8K"), Ok(vec![8192]));
        assert_eq!(parse_sizes("1.5K..3K"), Ok(vec![1536, 3072]));
        let widest = parse_sizes("1..128TiB").unwrap_or_default();
        assert_eq!((widest.len(), widest.last()), (48, Some(&MOST_BYTES)), "no overflow at the top");
    }

    #[test]
    fn lists_and_ranges_mix_into_one_ascending_list() {
        assert_eq!(
            parse_sizes("1MiB, 4B ,64KiB..256KiB,64K"),
            Ok(vec![4, 1 << 16, 1 << 17, 1 << 18, 1 << 20])
        );
    }

    #[test]
    fn malformed_lists_name_the_item() {
        let error = |text: &str| {
            parse_sizes(text).map_or_else(|e| e.to_string(), |sizes| format!("parsed: {sizes:?}"))
        };
        let texts = [
            "",
            "4B,,8B",
            "4B,128Q",
            "4B..",
            "..4B",
            "4B...8B",
            "8B..4B",
            "4B..8B:1",
            "4B..8B:0",
            "4B..8B:+4",
            "4B..8B:1.5",
            "4B..8B:",
            "4B:4",
            "0..8B",
            "4B..64MB",
        ];

        insta::assert_snapshot!(texts.map(error).join("\n"), @r#"
        the size list "" has an empty item: write sizes and ranges with commas between, e.g. 4B,64KiB..1GiB
        the size list "4B,,8B" has an empty item: write sizes and ranges with commas between, e.g. 4B,64KiB..1GiB
        "128Q" is not a size, as there is no unit "Q": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
        the size is empty: write a number of bytes, or one with KiB, MiB, GiB or TiB, e.g. 128MiB
        the size is empty: write a number of bytes, or one with KiB, MiB, GiB or TiB, e.g. 128MiB
        ".8B" is not a size: write a positive number with B, KiB, MiB, GiB or TiB (bytes if there is none), e.g. 128MiB
        the size range "8B..4B" runs backwards: write the smaller size first, e.g. 4B..1GiB
        the factor of the size range "4B..8B:1" must be a whole number of 2 or more, e.g. 4B..8GiB:4
        the factor of the size range "4B..8B:0" must be a whole number of 2 or more, e.g. 4B..8GiB:4
        the factor of the size range "4B..8B:+4" must be a whole number of 2 or more, e.g. 4B..8GiB:4
        the factor of the size range "4B..8B:1.5" must be a whole number of 2 or more, e.g. 4B..8GiB:4
        the factor of the size range "4B..8B:" must be a whole number of 2 or more, e.g. 4B..8GiB:4
        "4B:4" is not a size, as there is no unit "B:4": use B, KiB, MiB, GiB or TiB (K, M, G and T mean the same), e.g. 128MiB
        the size "0" is zero: at least 1 byte must move
        the unit of "64MB" is read in two ways: write 64MiB for powers of 1024 or 64000000B for powers of 1000
        "#);
    }

    #[test]
    fn a_list_that_would_run_for_days_is_refused() {
        let list = |count: usize| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        assert_eq!(parse_sizes(&list(MAX_SIZES)).map(|sizes| sizes.len()), Ok(MAX_SIZES));
        assert_eq!(parse_sizes(&list(MAX_SIZES + 1)), Err(SizesError::TooMany(list(MAX_SIZES + 1))));
    }
}
