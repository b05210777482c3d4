//! Known bytes: a pattern is a function of its keys and the offset alone, so that a host and a device write
//! and compare the same bytes without ever exchanging them.
//!
//! The word at index `i` mixes `key + i × GOLDEN` (a Weyl sequence, as SplitMix64 walks; Steele, Lea & Flood,
//! OOPSLA 2014) by shifts, additions and exclusive-ors only, so that plain SSE2 or NEON loops do several
//! words at a time. The first word of each page of 4096 bytes has a key of its own: a block can change those
//! alone, one cache line in 64, and tell afterwards whether its own copies ran. There is no period shorter
//! than the buffer.

use stats::wrong_byte::WrongByte;

/// The bytes of a page whose first word has a key of its own.
pub const PAGE_BYTES: usize = 4096;
const PAGE_WORDS: u64 = PAGE_BYTES as u64 / 8;

/// 2⁶⁴ divided by the golden ratio, made odd.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Which bytes. Equal patterns are equal bytes; a changed key changes (nearly) every word,
/// [`BytePattern::inverted`] every byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytePattern {
    /// The key of every word but the first of each page.
    pub key: u64,
    /// The key of the first word of each page.
    pub page_key: u64,
    /// All ones to invert every bit, 0 to leave them.
    pub invert: u64,
}

/// One word: shifts, additions and exclusive-ors only. Devices compute the same (see the kernels' sources).
const fn mix(value: u64) -> u64 {
    let value = value ^ (value >> 32);
    let value = value.wrapping_add(value << 21);
    let value = value ^ (value >> 29);
    value.wrapping_add(value << 9)
}

impl BytePattern {
    /// The pattern of one key, pages' first words included.
    pub const fn new(key: u64) -> Self {
        Self { key, page_key: key, invert: 0 }
    }

    /// The same with another key for the first word of each page.
    pub const fn with_page_key(self, page_key: u64) -> Self {
        Self { page_key, ..self }
    }

    /// Bytes that differ from this pattern's at every place.
    pub const fn inverted(self) -> Self {
        Self { invert: !self.invert, ..self }
    }

    /// The word at `index`, little-endian in memory.
    pub const fn word(self, index: u64) -> u64 {
        let key = if index.is_multiple_of(PAGE_WORDS) { self.page_key } else { self.key };
        mix(key.wrapping_add(index.wrapping_mul(GOLDEN))) ^ self.invert
    }

    /// The word at `index`, which must not begin a page.
    const fn inner_word(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(GOLDEN))) ^ self.invert
    }

    /// Writes the pattern's bytes from `offset` on; `offset` is a multiple of [`PAGE_BYTES`].
    pub fn fill(self, offset: u64, bytes: &mut [u8]) {
        for (page, bytes) in (offset / PAGE_BYTES as u64..).zip(bytes.chunks_mut(PAGE_BYTES)) {
            let first = page * PAGE_WORDS;
            let (words, rest) = bytes.as_chunks_mut::<8>();
            let count = words.len() as u64;
            (first..)
                .zip(words.iter_mut())
                .for_each(|(index, word)| *word = self.inner_word(index).to_le_bytes());
            if let Some(word) = words.first_mut() {
                *word = self.word(first).to_le_bytes();
            }
            let last = self.word(first + count).to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Writes the first word of every page of a range that begins a page.
    pub fn fill_page_words(self, bytes: &mut [u8]) {
        for (page, bytes) in (0..).zip(bytes.chunks_mut(PAGE_BYTES)) {
            let len = bytes.len().min(8);
            bytes[..len].copy_from_slice(&self.word(page * PAGE_WORDS).to_le_bytes()[..len]);
        }
    }

    /// Compares with the pattern's bytes from `offset` on; `offset` is a multiple of [`PAGE_BYTES`].
    ///
    /// # Errors
    /// The first byte that differs.
    pub fn compare(self, offset: u64, bytes: &[u8]) -> Result<(), WrongByte> {
        for (page, bytes) in (offset / PAGE_BYTES as u64..).zip(bytes.chunks(PAGE_BYTES)) {
            let first = page * PAGE_WORDS;
            let (words, rest) = bytes.as_chunks::<8>();
            // Whole pages without a branch: nearly always everything is right.
            let pairs = (first..).zip(words);
            let inner = pairs.clone().skip(1);
            let differs = inner
                .fold(0, |all, (index, word)| all | (self.inner_word(index) ^ u64::from_le_bytes(*word)));
            let begins = words.first().map_or(0, |word| self.word(first) ^ u64::from_le_bytes(*word));
            if differs | begins != 0 {
                pairs.into_iter().try_for_each(|(index, word)| self.compare_word(index, word))?;
            }
            self.compare_word(first + words.len() as u64, rest)?;
        }
        Ok(())
    }

    /// Compares the first word of every page of a range that begins a page.
    ///
    /// # Errors
    /// The first byte that differs.
    pub fn compare_page_words(self, bytes: &[u8]) -> Result<(), WrongByte> {
        // Without a branch, so that many of the loads, which all miss the cache, are under way at once:
        // nearly always everything is right.
        let (pages, rest) = bytes.as_chunks::<PAGE_BYTES>();
        let words = (0..).zip(pages.iter().filter_map(|page| page.first_chunk::<8>()));
        let differs = words
            .fold(0, |all, (page, word)| all | (self.word(page * PAGE_WORDS) ^ u64::from_le_bytes(*word)));
        let compare =
            |(page, bytes): (u64, &[u8])| self.compare_word(page * PAGE_WORDS, &bytes[..bytes.len().min(8)]);
        if differs != 0 {
            (0..).zip(bytes.chunks(PAGE_BYTES)).try_for_each(compare)?;
        }
        if rest.is_empty() { Ok(()) } else { compare((pages.len() as u64, rest)) }
    }

    /// Compares the bytes of the word at `index`, or the first of them.
    fn compare_word(self, index: u64, got: &[u8]) -> Result<(), WrongByte> {
        let expected = self.word(index).to_le_bytes();
        (index * 8..).zip(expected.into_iter().zip(got.iter().copied())).try_for_each(
            |(offset, (expected, got))| {
                if expected == got { Ok(()) } else { Err(WrongByte { offset, expected, got }) }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [usize; 9] = [1, 4, 7, 8, 9, 4096, 4097, 4099 + 8, 100_003];

    fn filled(pattern: BytePattern, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        pattern.fill(0, &mut bytes);
        bytes
    }

    #[test]
    fn what_was_filled_compares_equal_at_every_length() {
        for len in LENGTHS {
            let pattern = BytePattern::new(42).with_page_key(7);
            assert_eq!(pattern.compare(0, &filled(pattern, len)), Ok(()), "{len}");
        }
    }

    #[test]
    fn a_range_filled_piece_by_piece_is_the_same() {
        let (pattern, whole) = (BytePattern::new(3), filled(BytePattern::new(3), 5 * PAGE_BYTES + 5));
        let mut pieces = vec![0; whole.len()];
        let (first, second) = pieces.split_at_mut(2 * PAGE_BYTES);
        pattern.fill(0, first);
        pattern.fill(2 * PAGE_BYTES as u64, second);
        assert_eq!(pieces, whole);
        assert_eq!(pattern.compare(2 * PAGE_BYTES as u64, &whole[2 * PAGE_BYTES..]), Ok(()));
        assert!(
            pattern.compare(PAGE_BYTES as u64, &whole[2 * PAGE_BYTES..]).is_err(),
            "pages are not interchangeable"
        );
    }

    #[test]
    fn one_wrong_byte_is_found_where_it_is() {
        for wrong in [0, 5, 4095, 4096, 4104, 10_002] {
            let pattern = BytePattern::new(42);
            let mut bytes = filled(pattern, 10_003);
            let expected = bytes[wrong];
            bytes[wrong] ^= 0x10;
            let difference = WrongByte { offset: wrong as u64, expected, got: expected ^ 0x10 };
            assert_eq!(pattern.compare(0, &bytes), Err(difference));
        }
    }

    #[test]
    fn inverted_bytes_differ_at_every_place() {
        for len in LENGTHS {
            let (bytes, inverted) =
                (filled(BytePattern::new(9), len), filled(BytePattern::new(9).inverted(), len));
            assert!(bytes.iter().zip(&inverted).all(|(a, b)| *a == !*b), "{len}");
        }
    }

    #[test]
    fn the_first_word_of_each_page_can_be_changed_and_told_alone() {
        for len in LENGTHS {
            let (old, new) = (BytePattern::new(1), BytePattern::new(1).with_page_key(2));
            let mut bytes = filled(old, len);
            assert!(new.compare_page_words(&bytes).is_err(), "{len}");
            new.fill_page_words(&mut bytes);
            assert_eq!((new.compare_page_words(&bytes), new.compare(0, &bytes)), (Ok(()), Ok(())), "{len}");
            assert!(old.compare(0, &bytes).is_err(), "{len}");
        }
    }

    #[test]
    fn a_wrong_first_word_is_found_in_whatever_page_it_is() {
        let pattern = BytePattern::new(42);
        for wrong in [0, PAGE_BYTES + 7, 2 * PAGE_BYTES + 1] {
            let mut bytes = filled(pattern, 2 * PAGE_BYTES + 5);
            bytes[wrong] ^= 1;
            let found = pattern.compare_page_words(&bytes).map_err(|difference| difference.offset);
            assert_eq!(found, Err(wrong as u64));
        }
    }

    #[test]
    fn words_do_not_repeat_and_each_byte_of_a_word_varies() {
        // Interpreted, as many as otherwise take a quarter of an hour.
        let count = if cfg!(miri) { 2_000 } else { 100_000 };
        let words: Vec<u64> = (0..count).map(|index| BytePattern::new(5).word(index)).collect();
        let mut sorted = words.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), words.len());
        for byte in 0..8 {
            let same = words.windows(2).filter(|pair| (pair[0] ^ pair[1]) >> (8 * byte) & 0xff == 0).count();
            assert!(same < words.len() / 64, "byte {byte} is the same in {same} neighbours");
        }
    }
}
