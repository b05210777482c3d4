//! Host memory that lies where it was told to: mapped, advised, bound strictly to one node, then touched by the bound thread.
//!
//! The order matters: a page is placed when it is first touched, and a driver that pins a page pins it where it lies. That the
//! pages are where they should be is not assumed here but looked up, in `seen`.

use std::io;
use std::ptr::NonNull;

use device::HostMemory;

use crate::bound::Bound;
use crate::failure::{Failure, Stage};
use crate::sys;

/// Huge pages are 2 MiB (x86-64, and arm64 with 4 KiB pages), and the kernel uses one only where a whole one fits.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A mapping of its own on one node.
pub(crate) struct PlacedMemory {
    map: NonNull<u8>,
    map_len: usize,
    // Where the bytes handed out begin: a huge-page boundary inside the mapping.
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone; whoever holds the value may use it from any thread.
unsafe impl Send for PlacedMemory {}

// SAFETY: the range is a private mapping that stays where it is until drop, readable and writable, and only this value
// hands out references to it, following the borrow of itself.
unsafe impl HostMemory for PlacedMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `start` and `len` lie inside the live mapping, whose pages are zero or were written before.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `&mut self` makes it exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for PlacedMemory {
    fn drop(&mut self) {
        // SAFETY: these are the mapping's own address and length, and `&mut self` in drop means nobody uses it.
        unsafe { sys::unmap(self.map, self.map_len) };
    }
}

impl PlacedMemory {
    /// `len` bytes on `node`, every page touched by the calling thread. `one_node` says that the machine has no other node,
    /// so that a kernel that refuses to bind memory does no harm.
    pub(crate) fn new(_by: &Bound, len: usize, node: u32, huge_pages: bool, one_node: bool) -> Result<Self, Failure> {
        let map_len = len.next_multiple_of(sys::page_bytes()) + HUGE_PAGE_BYTES;
        let small = "ask for a smaller --size or for fewer ranks";
        let map = sys::map(map_len).map_err(|e| Failure::system(Stage::Allocate, "mmap", &e, small))?;
        let skip = map.as_ptr().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the mapping is longer than `len` by one huge page, so a start less than one huge page in leaves `len` bytes.
        let start = unsafe { map.add(skip) };
        let mut memory = Self { map, map_len, start, len };
        // A kernel built without huge pages answers EINVAL; then there are none, on or off.
        match sys::advise_huge_pages(map, map_len, huge_pages) {
            Err(e) if e.raw_os_error() != Some(libc::EINVAL) => {
                return Err(Failure::system(Stage::Allocate, "madvise", &e, "try --huge-pages off"));
            }
            _ => {}
        }
        match sys::bind_memory(map, map_len, node) {
            Err(error) if !(one_node && refused(&error)) => {
                return Err(Failure::system(Stage::Allocate, "mbind", &error, &remedy(node, &error)));
            }
            _ => {}
        }
        memory.touch();
        Ok(memory)
    }

    /// Writes to every page. The kernel kills a process that cannot get a page on the node it is bound to (there is no error
    /// to return from a touch), which is why the plan compares sizes with the node's memory beforehand.
    fn touch(&mut self) {
        let page = sys::page_bytes();
        self.bytes_mut().iter_mut().step_by(page).for_each(|byte| *byte = 0);
        if let Some(last) = self.bytes_mut().last_mut() {
            *last = 0;
        }
        // The compiler may not drop the writes: the range is reached through a pointer it knows nothing of.
        std::hint::black_box(self.start);
    }
}

/// Runs `allocate` with the calling thread's memory policy bound to `node`: for memory that a driver allocates itself.
pub(crate) fn with_policy<T>(
    _by: &Bound,
    node: u32,
    one_node: bool,
    allocate: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Err(error) = sys::set_memory_policy(Some(node)) {
        if !(one_node && refused(&error)) {
            return Err(Failure::system(Stage::Allocate, "set_mempolicy", &error, &remedy(node, &error)));
        }
        return allocate();
    }
    let result = allocate();
    let lifted = sys::set_memory_policy(None);
    lifted.map_err(|e| {
        Failure::system(Stage::Allocate, "set_mempolicy", &e, "the thread's memory policy could not be lifted")
    })?;
    result
}

/// Whether the kernel has no such call, or a container's filter forbids it.
fn refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

fn remedy(node: u32, error: &io::Error) -> String {
    if refused(error) {
        return "a container's seccomp filter forbids memory binding: run it with CAP_SYS_NICE (docker --cap-add SYS_NICE)".to_owned();
    }
    format!("node {node} may have no memory or not be allowed for this process; see numabench topo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placed_memory_is_as_long_as_asked_and_writable_to_its_last_byte() -> Result<(), Failure> {
        let pu = sys::current_pu().map_err(|e| Failure::system(Stage::Bind, "getcpu", &e, ""))?;
        std::thread::spawn(move || {
            let bound = Bound::to(pu)?;
            for len in [1, 4096, (2 << 20) + 3] {
                let mut memory = PlacedMemory::new(&bound, len, 0, true, true)?;
                memory.bytes_mut().fill(7);
                assert_eq!(memory.bytes().len(), len);
                assert!(memory.bytes().iter().all(|byte| *byte == 7));
            }
            Ok(())
        })
        .join()
        .unwrap_or_else(|_| Err(Failure::new(Stage::Allocate, "the thread panicked")))
    }
}
