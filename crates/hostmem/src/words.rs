//! The words of a range: put there, added up page by page, which is what reading any part must come to, and
//! held against what they should be.

use std::ops::Range;

use engine::{Trouble, WrongByte};
use sys::word_sums::sum_of_words;

/// The bytes of a word.
pub(crate) const WORD: usize = 8;
pub(crate) const PAGE: usize = 4096;

/// What the words of each page add up to.
pub(crate) struct PageSums(Vec<u64>);

impl PageSums {
    pub(crate) fn of(range: &[u8]) -> Self {
        Self(range.chunks(PAGE).map(sum_of_words).collect())
    }

    /// What a slice of whole pages adds up to, or one to the end of the range.
    pub(crate) fn over(&self, slice: Range<usize>) -> u64 {
        let pages = slice.start / PAGE..slice.end.div_ceil(PAGE);
        self.0[pages].iter().fold(0, |all, sum| all.wrapping_add(*sum))
    }
}

fn whole_words(range: &[u8]) -> impl Iterator<Item = u64> {
    range.as_chunks::<WORD>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

/// Puts `value(position)` into every word.
pub(crate) fn fill(range: &mut [u8], value: impl Fn(u64) -> u64) {
    for (at, word) in (0..).zip(range.as_chunks_mut::<WORD>().0) {
        *word = value(at).to_ne_bytes();
    }
}

/// Whether every word of a slice, which begins at this byte of its range, is as it should be.
pub(crate) fn same(slice: &[u8], from: usize, expected: impl Fn(u64) -> u64) -> Result<(), Trouble> {
    for (at, got) in ((from / WORD) as u64..).zip(whole_words(slice)) {
        let expected = expected(at);
        if got != expected {
            let differs = |(one, other): (&u8, &u8)| one != other;
            let (expected, got) = (expected.to_ne_bytes(), got.to_ne_bytes());
            let byte = expected.iter().zip(&got).position(|(one, other)| differs((one, other))).unwrap_or(0);
            let offset = at * WORD as u64 + byte as u64;
            return Err(Trouble::Corrupt(WrongByte { offset, expected: expected[byte], got: got[byte] }));
        }
    }
    Ok(())
}
