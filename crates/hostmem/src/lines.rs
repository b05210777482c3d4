//! Cache lines of a placed range that two threads share, each used by one block only.
//!
//! Where a line lives in the last-level cache depends on its address, and a line that was used before may still lie somewhere: both belong to the
//! line and not to the two cores, so every block takes another one. Lines are two apart, because CPUs fetch neighbours in pairs.
//!
//! One of the homes of unsafe code: the threads meet in words of memory that was placed as bytes.

use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use engine::{Look, Pages, PlacedMemory};

use crate::chase::LINE_BYTES;

/// The distance of two lines that are used.
const APART: usize = 2 * LINE_BYTES;
/// A range of so many lines.
pub const RANGE_BYTES: usize = 2048 * APART;

/// A range of lines.
pub(crate) struct Lines {
    memory: PlacedMemory,
    first: NonNull<u8>,
}

// SAFETY: the words are reached as atomics only, and the range lives as long as this value.
unsafe impl Send for Lines {}
// SAFETY: as above; `pages` takes addresses and reads nothing.
unsafe impl Sync for Lines {}

impl Lines {
    /// The lines of this range.
    pub(crate) fn new(mut memory: PlacedMemory) -> Self {
        let first = NonNull::from(memory.bytes_mut()).cast();
        Self { memory, first }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.memory.bytes().len() / APART
    }

    /// The first word of a line, by its number; of one beyond the last, counted from the first again.
    pub(crate) fn word(&self, line: usize) -> &AtomicU64 {
        let at = line % self.count() * APART;
        // SAFETY: the word lies inside the range, whose start is aligned to a page and which nothing else reads or writes while it is lent.
        unsafe { AtomicU64::from_ptr(self.first.add(at).as_ptr().cast()) }
    }

    /// Where its pages lie. Nobody uses a line meanwhile.
    pub(crate) fn pages(&self, how: Look) -> Pages {
        Pages::of(self.memory.bytes(), how, true)
    }
}
