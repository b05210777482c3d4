//! Memory of a file that several processes map: lent as atomic words alone, so that a shared reference is all
//! that anybody ever holds.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A file's bytes, mapped to be read and written.
#[derive(Debug)]
pub struct Shared {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to no thread, and all that is ever lent of it are shared references to atomics.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps the first `bytes` bytes. A file that is shorter, or is made so later, ends the process when a
    /// word beyond its end is reached: nobody but the mapping's own processes may be able to write to it.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn map(file: &File, bytes: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours; it outlives
        // the descriptor.
        let start = unsafe { mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave address 0"))?;
        Ok(Self { start, bytes })
    }

    /// How many bytes are mapped.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none: the kernel maps no empty range.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The address of a word of `T`.
    #[inline]
    fn at<T>(&self, byte: usize) -> *mut T {
        let is_in = byte < self.bytes && self.bytes - byte >= size_of::<T>();
        assert!(byte.is_multiple_of(align_of::<T>()) && is_in, "no word at byte {byte} of {}", self.bytes);
        self.start.as_ptr().wrapping_add(byte).cast()
    }

    /// The 64-bit word at a byte's place.
    ///
    /// # Panics
    /// There is no such word, or it is not aligned.
    #[inline]
    pub fn word(&self, byte: usize) -> &AtomicU64 {
        // SAFETY: the word lies in the mapping, which begins on a page and lives as long as `self`, aligned
        // as was just asserted; it is reached as an atomic only.
        unsafe { AtomicU64::from_ptr(self.at(byte)) }
    }

    /// The 32-bit word at a byte's place.
    ///
    /// # Panics
    /// As [`Shared::word`].
    #[inline]
    pub fn half_word(&self, byte: usize) -> &AtomicU32 {
        // SAFETY: as in `word`. Who uses a place as a 32-bit word uses it as nothing else: an access of both
        // sizes at once is ordered by no model.
        unsafe { AtomicU32::from_ptr(self.at(byte)) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: address and length are those mmap was called with, and the references lent ended with self.
        // An error could only mean that they are not; there is nothing to do about it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
