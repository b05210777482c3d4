//! Memory on one node: mapped, bound strictly, touched, and proven to lie there.
//!
//! The order is METHOD's for host buffers: map, huge pages, bind, first touch, look. Where mbind is refused
//! (containers often do), a machine with one node goes on, because there memory cannot lie elsewhere; on any
//! other it is an error.

use std::hint::black_box;
use std::io;

use device::DeviceError;
use sys::mapping::{Mapping, Reserve};

/// How many pages, evenly spread, are looked at for the proof.
const LOOKED_AT: usize = 4096;

/// A zeroed range on one node.
pub(crate) struct NodeMemory(Mapping);

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
        let mapping = Mapping::new(len, Reserve::Now);
        let mapping = mapping.map_err(|error| impossible(node, format!("mmap of {len} bytes: {error}")))?;
        // Huge pages are a wish: a kernel without them refuses, and that is all.
        let _ = mapping.advise_huge_pages(true);

        if let Err(error) = mapping.bind(&node.into())
            && !(only_node && matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)))
        {
            return Err(impossible(
                node,
                format!(
                    "mbind: {error}; is the node there, with memory, in this process's cpuset, and may this \
                     container use mbind?"
                ),
            ));
        }

        let mut memory = Self(mapping);

        // The first touch, which the compiler may not drop.
        black_box(memory.bytes_mut()).fill(0);

        match memory.elsewhere(node) {
            Ok(None) => Ok(memory),
            Ok(Some(seen)) => {
                Err(impossible(node, format!("its pages lie on node {seen}, in spite of mbind")))
            }
            Err(_) if only_node => Ok(memory),
            Err(error) => {
                let call = sys::policy::PageLookup::here().name();
                Err(impossible(node, format!("where its pages lie cannot be proven: {call}: {error}")))
            }
        }
    }

    /// A node that some page looked at lies on, if it is not `node`.
    fn elsewhere(&self, node: u32) -> io::Result<Option<i32>> {
        let bytes = self.bytes();
        let page = rustix::param::page_size();
        let step = bytes.len().div_ceil(page).div_ceil(LOOKED_AT) * page;
        let pages: Vec<*const u8> = bytes.iter().step_by(step).map(std::ptr::from_ref).collect();
        let mut nodes = sys::policy::page_nodes(&pages)?;

        // With numa_balancing on, a query can answer -EFAULT for a page that is there: touch it, and ask
        // again.
        for _ in 0..2 {
            if !nodes.contains(&-libc::EFAULT) {
                break;
            }
            bytes.iter().step_by(step).for_each(|byte| {
                black_box(*byte);
            });
            nodes = sys::policy::page_nodes(&pages)?;
        }

        if let Some(error) = nodes.iter().find(|node| **node < 0) {
            return Err(io::Error::from_raw_os_error(-error));
        }
        Ok(nodes.into_iter().find(|seen| u32::try_from(*seen) != Ok(node)))
    }

    /// The range.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// The range, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

#[allow(clippy::print_stdout, reason = "a test that skips something says so")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_aligned_for_huge_pages() -> Result<(), DeviceError> {
        for len in [1, 4096, (4 << 20) + 3] {
            let mut memory = NodeMemory::new(0, true, len)?;
            assert_eq!(memory.bytes().len(), len);
            assert_eq!(memory.bytes().as_ptr().align_offset(sys::mapping::HUGE_PAGE_BYTES), 0);
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
