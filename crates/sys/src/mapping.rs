//! Anonymous memory of its own that begins at a huge-page boundary: mmap(2), madvise(2), mbind(2).
//!
//! No page of it exists until it is touched, so that it can be bound to a node before.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use crate::memory_nodes::mode;
use crate::policy::{MASK_BITS, MASK_NODES, MemoryNodes};
use crate::{checked, mask};

/// Huge pages are 2 MiB (x86-64, and arm64 with 4 KiB pages), and the kernel uses one only where a whole one
/// fits.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;
/// linux/mempolicy.h: pages that are there and lie elsewhere are an error.
const MPOL_MF_STRICT: libc::c_long = 1;

/// Whether the kernel sets memory aside for a mapping when it is made, and refuses it where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// It does, as it is configured to.
    Now,
    /// It does not: a page that cannot be had ends the process when it is touched.
    Never,
}

/// Zeroed memory of this value alone, at one address for its whole life.
#[derive(Debug)]
pub struct Mapping {
    map: NonNull<u8>,
    map_len: usize,
    // Where the bytes handed out begin: a huge-page boundary inside the mapping.
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone; whoever holds the value may use it from any thread.
unsafe impl Send for Mapping {}
// SAFETY: what a shared value lends is only read.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: these are the mapping's own address and length, and `&mut self` in drop means nobody uses
        // it. A failure would leak the range, which nothing can mend here.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_len) };
    }
}

impl Mapping {
    /// So many bytes.
    ///
    /// # Errors
    /// The kernel has no such memory (ENOMEM), or no address space has.
    pub fn new(len: usize, reserve: Reserve) -> io::Result<Self> {
        let map_len = mapped(len).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let reserve = if reserve == Reserve::Never { libc::MAP_NORESERVE } else { 0 };
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | reserve);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let address = unsafe { libc::mmap(ptr::null_mut(), map_len, access, kind, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(address.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let skip = map.as_ptr().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the mapping is longer than `len` by one huge page, so a start less than one huge page in
        // leaves `len` bytes.
        let start = unsafe { map.add(skip) };
        Ok(Self { map, map_len, start, len })
    }

    /// Says whether the kernel should use huge pages.
    ///
    /// # Errors
    /// EINVAL: a kernel built without.
    pub fn advise_huge_pages(&self, huge: bool) -> io::Result<()> {
        let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: this advice changes how pages of the mapping are made, never what they hold.
        let answer = unsafe { libc::madvise(self.map.as_ptr().cast(), self.map_len, advice) };
        checked(answer.into()).map(drop)
    }

    /// Says from which nodes its pages come, and how: bound ones come from there or not at all, interleaved
    /// ones from elsewhere where a node is full.
    ///
    /// # Errors
    /// A node is not there or not allowed, the kernel does not know the use, or the call is forbidden.
    pub fn bind(&self, nodes: &MemoryNodes) -> io::Result<()> {
        let mode = mode(nodes.node_use);
        let nodes = mask::bit_mask(nodes.nodes().iter(), MASK_NODES)?;
        let (address, mask, bits) = (self.map.as_ptr(), nodes.as_ptr(), MASK_BITS);
        // SAFETY: the policy of a range changes where its pages are made, never what they hold; the kernel
        // reads the mask only, which has as many bits as are said.
        let answer = unsafe {
            libc::syscall(libc::SYS_mbind, address, self.map_len, mode, mask, bits, MPOL_MF_STRICT)
        };
        checked(answer).map(drop)
    }

    /// The whole range.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` and `len` lie inside the live mapping, whose pages are zero or were written before;
        // only this value hands out references to it, following the borrow of itself.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The whole range, to write. Its address and length are the same for the whole life of the value.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `&mut self` makes it exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// A mapping whose words several threads share.
#[derive(Debug)]
pub struct Words(Mapping);

impl Words {
    /// The words of this mapping.
    pub fn new(mapping: Mapping) -> Self {
        Self(mapping)
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word at a byte's place, which is a multiple of 8.
    ///
    /// # Panics
    /// There is no such word.
    #[inline]
    pub fn at(&self, byte: usize) -> &AtomicU64 {
        assert!(
            byte.is_multiple_of(8) && byte < self.0.len && self.0.len - byte >= 8,
            "no word at byte {byte}"
        );
        let word = self.0.start.as_ptr().wrapping_add(byte).cast();
        // SAFETY: the word lies inside the range, as was just asserted, whose start is aligned to a page;
        // while `self` is shared it is reached as an atomic only.
        unsafe { AtomicU64::from_ptr(word) }
    }

    /// Where they lie.
    pub fn addresses(&self) -> Range<usize> {
        let start = self.0.start.as_ptr().addr();
        start..start + self.len()
    }
}

/// The length of a mapping that has so many bytes from a huge-page boundary on; `None` where no address space
/// has it.
fn mapped(len: usize) -> Option<usize> {
    len.checked_next_multiple_of(rustix::param::page_size())?
        .checked_add(HUGE_PAGE_BYTES)
        .filter(|len| isize::try_from(*len).is_ok())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_mapping_is_zero_begins_at_a_huge_page_and_is_writable_to_its_last_byte() -> io::Result<()> {
        for (len, reserve) in [(1, Reserve::Now), (4096, Reserve::Never), ((2 << 20) + 3, Reserve::Now)] {
            let mut mapping = Mapping::new(len, reserve)?;
            assert_eq!(
                (mapping.bytes().len(), mapping.bytes().as_ptr().align_offset(HUGE_PAGE_BYTES)),
                (len, 0)
            );
            assert!(mapping.bytes().iter().all(|byte| *byte == 0));
            mapping.bytes_mut().fill(7);
            assert!(mapping.bytes().iter().all(|byte| *byte == 7));
        }
        Ok(())
    }

    #[test]
    fn more_than_an_address_space_has_is_an_error_and_no_overflow() {
        assert_eq!(mapped(1), Some(rustix::param::page_size() + HUGE_PAGE_BYTES));
        for len in [usize::MAX, usize::MAX - HUGE_PAGE_BYTES, isize::MAX as usize] {
            assert_eq!(mapped(len), None);
            let refused = Mapping::new(len, Reserve::Never).map(drop).map_err(|error| error.raw_os_error());
            assert_eq!(refused, Err(Some(libc::ENOMEM)));
        }
    }

    #[test]
    fn threads_share_its_words_and_there_is_none_beyond_the_last() -> io::Result<()> {
        let words = Words::new(Mapping::new(20, Reserve::Now)?);
        std::thread::scope(|scope| drop(scope.spawn(|| words.at(8).store(5, Ordering::Relaxed))));
        assert_eq!((words.at(8).load(Ordering::Relaxed), words.len(), words.addresses().len()), (5, 20, 20));
        for byte in [4, 16, 24] {
            assert!(
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| words
                    .at(byte)
                    .load(Ordering::Relaxed)))
                .is_err()
            );
        }
        Ok(())
    }
}
