//! Host memory that outlives its lending, so that a check can lend the same range twice, or look at a byte that a held copy
//! must not have written.

use std::sync::Arc;

use super::{Halt, expect};
use crate::{HeapMemory, HostMemory};

/// A range that is lent to one copier at a time.
pub(super) struct Range(Lent);

/// The range, lent.
pub(super) struct Lent {
    // Kept for its lifetime only: every access goes through `start`, so that no borrow of the whole is ever alive.
    memory: Arc<HeapMemory>,
    start: *mut u8,
    len: usize,
}

impl Range {
    /// `len` zero bytes.
    pub(super) fn new(len: usize) -> Result<Self, Halt> {
        let mut memory =
            HeapMemory::try_new(len).ok_or_else(|| Halt::Skipped(format!("this system lends no {len} bytes")))?;
        let start = memory.bytes_mut().as_mut_ptr();
        Ok(Self(Lent { memory: Arc::new(memory), start, len }))
    }

    /// Lends the range; fails the check when it has not come back from the last time.
    pub(super) fn lend(&self) -> Result<Box<dyn HostMemory>, Halt> {
        expect(Arc::strong_count(&self.0.memory) == 1, || "the memory lent before was not given back".to_owned())?;
        Ok(Box::new(Lent { memory: Arc::clone(&self.0.memory), start: self.0.start, len: self.0.len }))
    }

    /// Whether some byte is not `value` now, also while the range is lent.
    pub(super) fn differs_from(&self, value: u8) -> bool {
        // SAFETY: `start` is the range's first byte of `len`, and the Arc keeps it alive. No `&mut` borrow of the range is
        // alive: the copier it is lent to is not inside a call, and this thread is its only user. A driver that writes
        // now is what the check looks for; a volatile read is a plain load of whatever is there.
        (0..self.0.len).any(|at| unsafe { self.0.start.add(at).read_volatile() } != value)
    }

    /// Whether the bytes from `from` on are these now, also while the range is lent and a copy of other bytes of it is under way.
    pub(super) fn has(&self, from: usize, bytes: &[u8]) -> bool {
        assert!(from + bytes.len() <= self.0.len, "bytes beyond the range");
        // SAFETY: as in `differs_from`; the bytes are inside the range, as was just asserted.
        (0..bytes.len()).all(|at| unsafe { self.0.start.add(from + at).read_volatile() } == bytes[at])
    }
}

// SAFETY: `start` and `len` stay what they are while the Arc lives, and `Range` lends to one at a time. `differs_from` is the
// one other access, and looks only while the borrower's copies are held back.
unsafe impl HostMemory for Lent {
    fn bytes(&self) -> &[u8] {
        // SAFETY: see the impl.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: see the impl, and `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

// SAFETY: a pointer into memory that the Arc owns; one borrower at a time.
unsafe impl Send for Lent {}
