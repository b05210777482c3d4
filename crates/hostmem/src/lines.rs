//! Cache lines of a placed range that two threads share, each used by one block only.
//!
//! Where a line lives in the last-level cache depends on its address, and a line that was used before may
//! still lie somewhere: both belong to the line and not to the two cores, so every block takes another one.
//! Lines are two apart, because CPUs fetch neighbours in pairs.

use std::sync::atomic::AtomicU64;

use engine::{PageCheck, PagesPerNode, PlacedMemory};
use sys::mapping::Words;

use crate::chase::LINE_BYTES;

/// The distance of two lines that are used.
const APART: usize = 2 * LINE_BYTES;
/// A range of so many lines.
pub const RANGE_BYTES: usize = 2048 * APART;

/// A range of lines.
pub(crate) struct Lines(Words);

impl Lines {
    /// The lines of this range.
    pub(crate) fn new(memory: PlacedMemory) -> Self {
        Self(Words::new(memory.into_mapping()))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len() / APART
    }

    /// The first word of a line, by its number; of one beyond the last, counted from the first again.
    pub(crate) fn word(&self, line: usize) -> &AtomicU64 {
        self.0.at(line % self.count() * APART)
    }

    /// Where its pages lie.
    pub(crate) fn pages(&self, how: PageCheck) -> PagesPerNode {
        PagesPerNode::at(self.0.addresses(), how, true)
    }
}
