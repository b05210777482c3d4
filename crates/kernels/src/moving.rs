//! Memory whose pages go to whoever touches them: who touches it and how, what it holds, and what a device is
//! told to do with it. Nothing is touched here.

use std::ops::Range;

use device::{Argument, MemoryKind, RoundStep};
use stats::touch::Touch;

/// A thread of the device takes so many bytes at a time.
pub const MOVING_GRAIN: usize = 16;
/// A block of the kernels has so many threads; so many blocks are launched: as many as any device runs at
/// once, and more.
const THREADS: u32 = 256;
pub(crate) const BLOCKS: usize = 4096;
/// The device's own area has the sum of each block.
pub(crate) const SUMS_BYTES: usize = BLOCKS * 8;
/// The numbers of the kernels.
const WRITE: usize = 0;
const READ: usize = 1;
const ADD: usize = 2;
/// What a word is more than the one before it.
const GROWS: u64 = 0x9e37_79b9_7f4a_7c15;
const WORD: usize = 8;
/// Pages of this size are moved as one where there are such: what the device tells of its sums lies in none
/// that has words.
const LARGEST_PAGE: usize = 2 << 20;

/// Who touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The device.
    Device,
    /// The rank's core.
    Core,
}

/// Memory that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moving {
    /// Its kind: managed or system.
    pub kind: MemoryKind,
    /// By whom; [`Touch::InTurns`] by both.
    pub side: Side,
    /// How.
    pub touch: Touch,
    /// How much, bytes: a multiple of [`MOVING_GRAIN`].
    pub bytes: usize,
}

impl Moving {
    /// The words and, in pages of their own behind them, what the device tells.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.sums_at() + SUMS_BYTES
    }

    fn sums_at(&self) -> usize {
        self.bytes.next_multiple_of(LARGEST_PAGE)
    }

    /// Where the device's sums are fetched to.
    pub(crate) fn sums_range(&self) -> Range<usize> {
        self.sums_at()..self.memory_bytes()
    }

    /// Bytes that one round touches.
    pub(crate) fn touched_bytes(&self) -> usize {
        if self.touch == Touch::InTurns { 2 * self.bytes } else { self.bytes }
    }

    fn launch(&self, kernel: usize, number: Option<u64>) -> RoundStep {
        let count = Argument::Number((self.bytes / MOVING_GRAIN) as u64);
        let arguments = [Argument::Area(0), Argument::Host(0), count].into_iter();
        RoundStep::Launch {
            kernel,
            blocks: BLOCKS as u32,
            threads: THREADS,
            arguments: arguments.chain(number.map(Argument::Number)).collect(),
        }
    }

    /// The device writes all words.
    pub(crate) fn write(&self, key: u64) -> RoundStep {
        self.launch(WRITE, Some(key))
    }

    /// The device reads all words.
    pub(crate) fn read(&self) -> RoundStep {
        self.launch(READ, None)
    }

    /// The device adds one to all words.
    pub(crate) fn add(&self) -> RoundStep {
        self.launch(ADD, Some(1))
    }

    fn word_count(&self) -> u128 {
        (self.bytes / WORD) as u128
    }

    /// What the device's sums come to.
    pub(crate) fn weighted_sum(&self, key: u64) -> u64 {
        let n = self.word_count();
        // Of (2 i + 1) i over all i below n, and of 2 i + 1.
        let (of_growth, of_key) = ((n * (n - 1) * (4 * n + 1)) / 6, n * n);
        (of_growth as u64).wrapping_mul(GROWS).wrapping_add((of_key as u64).wrapping_mul(key))
    }

    /// What the sum of all words comes to.
    pub(crate) fn sum(&self, key: u64) -> u64 {
        let n = self.word_count();
        ((n * (n - 1) / 2) as u64).wrapping_mul(GROWS).wrapping_add((n as u64).wrapping_mul(key))
    }
}

/// Writes all words.
pub(crate) fn write(words: &mut [u8], key: u64) {
    let mut word = key;
    for place in words.chunks_exact_mut(WORD) {
        place.copy_from_slice(&word.to_ne_bytes());
        word = word.wrapping_add(GROWS);
    }
}

/// The sum of all words.
pub(crate) fn read(words: &[u8]) -> u64 {
    words.chunks_exact(WORD).fold(0, |sum: u64, place| sum.wrapping_add(word(place)))
}

/// Adds one to all words.
pub(crate) fn add(words: &mut [u8]) {
    for place in words.chunks_exact_mut(WORD) {
        let more = word(place).wrapping_add(1);
        place.copy_from_slice(&more.to_ne_bytes());
    }
}

/// The first byte that is not that of its word: where it lies, what it should be and what it is.
pub(crate) fn wrong(words: &[u8], key: u64) -> Option<(usize, u8, u8)> {
    let mut right = key;
    for (number, place) in words.chunks_exact(WORD).enumerate() {
        if word(place) != right {
            let expected = right.to_ne_bytes();
            let at = place.iter().zip(expected).position(|(got, expected)| *got != expected)?;
            return Some((number * WORD + at, expected[at], place[at]));
        }
        right = right.wrapping_add(GROWS);
    }
    None
}

fn word(place: &[u8]) -> u64 {
    place.try_into().map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moving(bytes: usize) -> Moving {
        Moving { kind: MemoryKind::Managed, side: Side::Device, touch: Touch::First, bytes }
    }

    #[test]
    fn sums_are_those_of_the_words_however_many_there_are() {
        for bytes in [16, 32, 4096, 4112, 1 << 20] {
            let (moving, key) = (moving(bytes), 0x0123_4567_89ab_cdef);
            let mut words = vec![0; bytes];
            write(&mut words, key);
            assert_eq!(read(&words), moving.sum(key), "{bytes} bytes");
            let weighted = words.chunks_exact(WORD).zip((1_u64..).step_by(2));
            let weighted = weighted
                .fold(0_u64, |sum, (place, weight)| sum.wrapping_add(word(place).wrapping_mul(weight)));
            assert_eq!(weighted, moving.weighted_sum(key), "{bytes} bytes");
        }
    }

    #[test]
    fn a_wrong_byte_is_named_and_adding_to_each_word_makes_another_key() {
        let mut words = vec![0; 4096];
        write(&mut words, 7);
        add(&mut words);
        assert_eq!(wrong(&words, 8), None);
        words[1001] ^= 0xff;
        let (at, expected, got) = wrong(&words, 8).expect("one is wrong");
        assert_eq!((at, got), (1001, !expected));
    }

    #[test]
    fn what_the_device_tells_lies_in_no_page_that_has_words() {
        for bytes in [16, 2 << 20, (2 << 20) + 16, 64 << 20] {
            let told = moving(bytes).sums_range();
            assert!(
                told.start >= bytes && told.start.is_multiple_of(LARGEST_PAGE) && told.len() == SUMS_BYTES
            );
        }
    }
}
