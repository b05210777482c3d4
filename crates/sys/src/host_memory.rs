//! Host memory as a copier takes it: one stable, exclusively owned range of bytes.
//!
//! `engine` makes it and proves where its pages lie; the device pins it. Wrapping keeps the order of undoing
//! right: a pinned memory owns the memory it pinned, unregisters first and unmaps after.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Mapping;

/// The kinds of host memory a copy can start from or end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryKind {
    /// Placed by numabench, then registered with the driver (cuMemHostRegister / hipHostRegister).
    Pinned,
    /// Allocated pinned by the driver (cuMemHostAlloc / hipHostMalloc): what most applications do.
    PinnedDriver,
    /// Ordinary memory; the driver stages it.
    Pageable,
    /// Allocated by the driver, which moves its pages to whoever touches them (cuMemAllocManaged /
    /// hipMallocManaged).
    Managed,
    /// Ordinary memory that a device reads and writes by itself, where system and device can (HMM, ATS).
    System,
}

impl MemoryKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pinned, Self::PinnedDriver, Self::Pageable, Self::Managed, Self::System];

    /// As users type it and as documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::PinnedDriver => "pinned-driver",
            Self::Pageable => "pageable",
            Self::Managed => "managed",
            Self::System => "system",
        }
    }

    /// Whether its pages go to whoever touches them: it is measured by accesses, not by copies.
    pub fn moves(self) -> bool {
        matches!(self, Self::Managed | Self::System)
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A range of host memory that a copier may own.
///
/// # Safety
///
/// The range returned by [`HostMemory::bytes`] must be the same (address and length) for the whole life of
/// the value, also when the value is moved, must be valid for reads and writes, and must be reached by nobody
/// else: a driver reads and writes it asynchronously while the copier that owns it is at work.
/// [`HostMemory::kind`] must be true: a driver's queued copies of memory that is not pinned would not be held
/// by a latch.
pub unsafe trait HostMemory: Send {
    /// The whole range.
    fn bytes(&self) -> &[u8];

    /// The whole range, to write.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// What kind of memory this is to a driver. Only a device makes memory of another kind than pageable.
    fn kind(&self) -> MemoryKind {
        MemoryKind::Pageable
    }
}

const PAGE: usize = 4096;

/// Plain heap memory that shares no page with anything else: for tests and conformance checks, where the
/// placement does not matter.
pub struct HeapMemory {
    block: NonNull<u8>,
    layout: Layout,
    start: NonNull<u8>,
    len: usize,
}

impl HeapMemory {
    /// As [`HeapMemory::try_new`]; where the system lends no memory the process ends, as with a `Vec`.
    pub fn new(len: usize) -> Self {
        Self::try_new(len).unwrap_or_else(|| handle_alloc_error(Layout::new::<[u8; PAGE]>()))
    }

    /// `len` zero bytes on pages of their own, or `None` if the system does not lend as many. Pages are
    /// touched when they are written first, so that an absurd length costs address space only.
    pub fn try_new(len: usize) -> Option<Self> {
        // A page more on both sides: the allocator's own alignment stays small, because it zeroes a larger
        // one by hand.
        let padded = len.checked_next_multiple_of(PAGE)?.checked_add(2 * PAGE)?;
        let layout = Layout::from_size_align(padded, align_of::<u128>()).ok()?;
        // SAFETY: the layout's size is not zero.
        let block = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: the first page boundary in the block lies at most one page after its start, which is inside
        // it.
        let start = unsafe { block.add(block.align_offset(PAGE)) };
        Some(Self { block, layout, start, len })
    }
}

// SAFETY: the block is owned by this value alone and stays where it is until drop; its first `len` bytes from
// `start` on are inside it and zeroed.
unsafe impl HostMemory for HeapMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: see the impl; the borrow of `self` keeps the block alive and unwritten.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: see the impl; `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: the block is owned by this value alone, and heap memory may be freed by any thread.
unsafe impl Send for HeapMemory {}

// SAFETY: a shared borrow only reads.
unsafe impl Sync for HeapMemory {}

impl Drop for HeapMemory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `try_new` and freed only here.
        unsafe { dealloc(self.block.as_ptr(), self.layout) }
    }
}

// SAFETY: the mapping is owned by this value alone, stays where it is until drop, and is zeroed.
unsafe impl HostMemory for Mapping {
    fn bytes(&self) -> &[u8] {
        Self::bytes(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        Self::bytes_mut(self)
    }
}

/// Memory that outlives its lending: it comes back when who borrowed it lets go.
pub struct Lender(Arc<Mutex<Option<HeapMemory>>>);

/// Memory that is lent.
struct Lent {
    // There until drop.
    memory: Option<HeapMemory>,
    home: Arc<Mutex<Option<HeapMemory>>>,
}

impl Lender {
    /// Lends this memory.
    pub fn new(memory: HeapMemory) -> Self {
        Self(Arc::new(Mutex::new(Some(memory))))
    }

    /// The memory; `None` where it has not come back from the last time.
    pub fn lend(&self) -> Option<Box<dyn HostMemory>> {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Box::new(Lent { memory: Some(memory), home: Arc::clone(&self.0) }))
    }
}

// SAFETY: the memory is a `HeapMemory`'s, which stays where it is until drop, and of which this is the owner
// while it is lent.
unsafe impl HostMemory for Lent {
    fn bytes(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], HeapMemory::bytes)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], HeapMemory::bytes_mut)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = self.memory.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_memory_is_zero_and_has_its_pages_for_itself() {
        for len in [0, 1, 4095, 4096, 4097] {
            let mut memory = HeapMemory::try_new(len).expect("a few pages");
            assert_eq!(memory.bytes().len(), len);
            assert_eq!(memory.bytes().as_ptr().align_offset(PAGE), 0);
            assert!(memory.bytes().iter().all(|byte| *byte == 0));
            memory.bytes_mut().fill(7);
            assert!(memory.bytes().iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn a_length_beyond_the_address_space_is_none() {
        assert!(HeapMemory::try_new(usize::MAX).is_none());
        assert!(HeapMemory::try_new(usize::MAX / 2).is_none());
    }

    #[test]
    fn memory_that_is_lent_comes_back_with_what_was_written_and_is_lent_to_one_at_a_time() {
        let lender = Lender::new(HeapMemory::new(8));
        let mut lent = lender.lend().expect("there");
        assert!(lender.lend().is_none(), "lent twice");
        lent.bytes_mut().fill(3);
        drop(lent);
        assert_eq!(lender.lend().expect("back").bytes(), [3; 8]);
    }
}
