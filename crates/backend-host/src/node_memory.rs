//! Memory on one node: mapped, bound strictly, touched, and proven to lie there.
//!
//! The order is METHOD's for host buffers: map, huge pages, bind, first touch, look. The system calls are made directly
//! (libnuma would be one more library to find at run time). Where mbind is refused (containers often do), a machine with
//! one node goes on, because there memory cannot lie elsewhere; on any other it is an error.

use std::io;
use std::ptr::{self, NonNull};

use device::DeviceError;
use libc::{c_int, c_long, c_ulong, c_void};

/// The alignment at which the kernel can use a huge page, on x86-64 and on arm64 with 4 KiB pages.
const HUGE_PAGE: usize = 2 << 20;
/// linux/mempolicy.h: pages that are there and lie elsewhere are an error.
const MPOL_MF_STRICT: c_long = 1;
/// How many pages, evenly spread, are looked at for the proof.
const LOOKED_AT: usize = 4096;

/// A zeroed range on one node.
pub(crate) struct NodeMemory {
    mapping: NonNull<c_void>,
    mapped: usize,
    start: NonNull<u8>,
    len: usize,
}

fn impossible(node: u32, reason: String) -> DeviceError {
    let what = "placing the device's side on its node";
    DeviceError::Unsupported { what, reason: format!("NUMA node {node}: {reason}") }
}

impl NodeMemory {
    /// `len` bytes on `node`, all touched.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] with the system call that failed, or with where the pages lie instead.
    pub(crate) fn new(node: u32, only_node: bool, len: usize) -> Result<Self, DeviceError> {
        let mapped = len
            .checked_next_multiple_of(HUGE_PAGE)
            .and_then(|rounded| rounded.checked_add(HUGE_PAGE))
            .ok_or_else(|| impossible(node, format!("{len} bytes are more than an address space")))?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that exists.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), mapped, access, kind, -1, 0) };
        let mapping = NonNull::new(mapping)
            .filter(|mapping| mapping.as_ptr() != libc::MAP_FAILED)
            .ok_or_else(|| impossible(node, format!("mmap of {mapped} bytes: {}", io::Error::last_os_error())))?;
        let begin = mapping.cast::<u8>();
        // SAFETY: the next huge page boundary is less than a huge page away, which the mapping is longer than `len` by.
        let start = unsafe { begin.add(begin.align_offset(HUGE_PAGE)) };
        let memory = Self { mapping, mapped, start, len };
        // SAFETY: the range is the mapping's own. Huge pages are a wish: a kernel without them refuses, and that is all.
        unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
        if let Err(error) = memory.bind(node)
            && !(only_node && matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)))
        {
            return Err(impossible(
                node,
                format!(
                    "mbind: {error}; is the node there, with memory, in this process's cpuset, and may this container use mbind?"
                ),
            ));
        }
        // SAFETY: the whole range is mapped, and nobody else knows it. This is the first touch.
        unsafe { start.write_bytes(0, len) };
        match memory.elsewhere(node) {
            Ok(None) => Ok(memory),
            Ok(Some(seen)) => Err(impossible(node, format!("its pages lie on node {seen}, in spite of mbind"))),
            Err(_) if only_node => Ok(memory),
            Err(error) => Err(impossible(node, format!("where its pages lie cannot be proven: move_pages: {error}"))),
        }
    }

    fn bind(&self, node: u32) -> io::Result<()> {
        let bits = c_ulong::BITS;
        let mut mask: Vec<c_ulong> = vec![0; (node / bits) as usize + 1];
        if let Some(word) = mask.last_mut() {
            *word = 1 << (node % bits);
        }
        // The kernel takes one off the count of bits before it uses it (mm/mempolicy.c, get_nodes).
        let max_node = mask.len() as c_ulong * c_ulong::from(bits) + 1;
        let (mode, flags) = (c_long::from(libc::MPOL_BIND), MPOL_MF_STRICT);
        // SAFETY: the range is a mapping of this value's own, page-aligned at its start; the mask has `max_node` - 1 bits.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.len as c_ulong,
                mode,
                mask.as_ptr(),
                max_node,
                flags,
            )
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// A node that some page looked at lies on, if it is not `node`.
    fn elsewhere(&self, node: u32) -> io::Result<Option<c_int>> {
        // SAFETY: asks for a constant of the system.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let step = self.len.div_ceil(page).div_ceil(LOOKED_AT) * page;
        let pages: Vec<*mut u8> = (0..self.len).step_by(step).map(|at| self.start.as_ptr().wrapping_add(at)).collect();
        let mut nodes: Vec<c_int> = vec![0; pages.len()];
        // With numa_balancing on, a query can answer -EFAULT for a page that is there: touch it, and ask again.
        for _ in 0..3 {
            let (count, no_target) = (pages.len() as c_ulong, ptr::null::<c_int>());
            let (this_process, no_flags): (c_long, c_long) = (0, 0);
            // SAFETY: `pages` and `nodes` have `count` entries; without target nodes the call only asks.
            let answer: c_long = unsafe {
                libc::syscall(
                    libc::SYS_move_pages,
                    this_process,
                    count,
                    pages.as_ptr(),
                    no_target,
                    nodes.as_mut_ptr(),
                    no_flags,
                )
            };
            if answer != 0 {
                return Err(io::Error::last_os_error());
            }
            if !nodes.contains(&-libc::EFAULT) {
                break;
            }
            for page in &pages {
                // SAFETY: every page is inside the range, which is initialised.
                unsafe { page.read_volatile() };
            }
        }
        if let Some(error) = nodes.iter().find(|node| **node < 0) {
            return Err(io::Error::from_raw_os_error(-error));
        }
        Ok(nodes.into_iter().find(|seen| u32::try_from(*seen) != Ok(node)))
    }

    /// The range.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped and initialised until drop, and this value's alone.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The range, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for NodeMemory {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, unmapped once; no borrow outlives the value.
        unsafe { libc::munmap(self.mapping.as_ptr(), self.mapped) };
    }
}

#[cfg(test)]
#[allow(clippy::print_stdout, reason = "a test that skips something says so")]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_aligned_for_huge_pages() -> Result<(), DeviceError> {
        for len in [1, 4096, (4 << 20) + 3] {
            let mut memory = NodeMemory::new(0, true, len)?;
            assert_eq!(memory.bytes().len(), len);
            assert_eq!(memory.bytes().as_ptr().align_offset(HUGE_PAGE), 0);
            assert!(memory.bytes().iter().all(|byte| *byte == 0));
            memory.bytes_mut().fill(1);
        }
        Ok(())
    }

    #[test]
    fn a_node_that_is_not_there_is_an_error_that_names_it() {
        let error = NodeMemory::new(1000, false, 4096).map(drop).map_err(|error| error.to_string());
        assert!(
            error.as_ref().is_err_and(|text| text.contains("NUMA node 1000") && text.contains("mbind")),
            "{error:?}"
        );
    }

    #[test]
    fn pages_that_lie_on_another_node_are_found() -> Result<(), DeviceError> {
        let memory = NodeMemory::new(0, true, 1 << 20)?;
        // The pages are on node 0, so for someone who wants node 1 they are elsewhere.
        match memory.elsewhere(1) {
            Ok(seen) => assert_eq!(seen, Some(0)),
            Err(error) => println!("skipped: this kernel or container refuses move_pages: {error}"),
        }
        Ok(())
    }
}
