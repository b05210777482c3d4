//! What the words of a range add up to, page by page: what reading any part of it must come to.

use std::ops::Range;

/// The bytes of a word.
pub(crate) const WORD: usize = 8;
pub(crate) const PAGE: usize = 4096;
/// Sums that are added up side by side: one would wait for each addition.
const SUMS: usize = 8;

/// What the words of each page add up to.
pub(crate) struct PageSums(Vec<u64>);

impl PageSums {
    pub(crate) fn of(range: &[u8]) -> Self {
        Self(range.chunks(PAGE).map(sum).collect())
    }

    /// What a slice of whole pages adds up to, or one to the end of the range.
    pub(crate) fn over(&self, slice: Range<usize>) -> u64 {
        let pages = slice.start / PAGE..slice.end.div_ceil(PAGE);
        self.0[pages].iter().fold(0, |all, sum| all.wrapping_add(*sum))
    }
}

pub(crate) fn words(range: &[u8]) -> impl Iterator<Item = u64> {
    range.as_chunks::<WORD>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

pub(crate) fn sum(range: &[u8]) -> u64 {
    let mut sums = [0_u64; SUMS];
    let (lines, rest) = range.as_chunks::<{ WORD * SUMS }>();
    for line in lines {
        for (sum, word) in sums.iter_mut().zip(line.as_chunks::<WORD>().0) {
            *sum = sum.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    let rest = words(rest).fold(0_u64, u64::wrapping_add);
    sums.iter().fold(rest, |all, sum| all.wrapping_add(*sum))
}
