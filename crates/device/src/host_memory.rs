//! Host memory as a copier takes it: one stable, exclusively owned range of bytes.
//!
//! Who makes it (and proves where its pages lie) is `pingpong`; who pins it is the device. Wrapping keeps the order of
//! undoing right: a pinned memory owns the memory it pinned, unregisters first and unmaps after.

/// A range of host memory that a copier may own.
///
/// # Safety
///
/// The range returned by [`HostMemory::bytes`] must be the same (address and length) for the whole life of the value, also
/// when the value is moved, must be valid for reads and writes, and must be reached by nobody else: a driver reads and
/// writes it asynchronously while the copier that owns it is at work.
pub unsafe trait HostMemory: Send {
    /// The whole range.
    fn bytes(&self) -> &[u8];
    /// The whole range, to write.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Plain heap memory: for tests and conformance checks, where the placement does not matter.
pub struct HeapMemory(Vec<u64>, usize);

impl HeapMemory {
    /// `len` zero bytes, 8-byte aligned.
    pub fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(8)], len)
    }
}

// SAFETY: the Vec is never resized or handed out, so its heap range stays where it is until drop, and only this value
// reaches it.
unsafe impl HostMemory for HeapMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the Vec holds at least `self.1` bytes (rounded up to whole words), all initialised.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.1) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.1) }
    }
}
