//! Where the kernel takes memory from, and where pages lie: set_mempolicy(2), move_pages(2).

use std::io;
use std::ptr;

use stats::IdSet;

use crate::{checked, mask};

/// Room for node ids in a node mask: the kernel's MAX_NUMNODES is at most 1024.
pub(crate) const MASK_NODES: usize = 1024;
/// As many bits are said to be there: the kernel reads one bit less than it is told (get_nodes in mm/mempolicy.c).
pub(crate) const MASK_BITS: usize = MASK_NODES + 1;
/// linux/mempolicy.h.
pub(crate) const MPOL_BIND: libc::c_long = 2;
const MPOL_DEFAULT: libc::c_long = 0;

/// Binds what the calling thread allocates from now on to these nodes, from there or not at all, or (`None`) lifts that again. execve keeps it.
///
/// # Errors
/// The nodes are not there or not allowed, or the call is forbidden.
pub fn set(nodes: Option<&IdSet>) -> io::Result<()> {
    let words = mask::of(nodes.into_iter().flat_map(IdSet::iter), MASK_NODES)?;
    let (mode, words, bits) = match nodes {
        Some(_) => (MPOL_BIND, words.as_ptr(), MASK_BITS),
        None => (MPOL_DEFAULT, ptr::null(), 0),
    };
    // SAFETY: the kernel only reads the mask, which is live and has as many bits as are said; none is read with the default policy.
    checked(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, words, bits) }).map(drop)
}

/// Where pages lie: for each address, the node (≥ 0) or a negative errno.
///
/// # Errors
/// The call is forbidden.
pub fn page_nodes(pages: &[*const u8]) -> io::Result<Vec<i32>> {
    let mut status = vec![0_i32; pages.len()];
    // SAFETY: without a target node the call moves nothing: it reads `pages` and writes `status`, both live and of the
    // length given; the addresses themselves are only looked up in the page table.
    let answer = unsafe {
        libc::syscall(libc::SYS_move_pages, 0, pages.len(), pages.as_ptr(), ptr::null::<i32>(), status.as_mut_ptr(), 0)
    };
    checked(answer).map(|_| status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::print_stdout, reason = "a test says what it leaves out")]
    fn the_kernel_reads_the_bit_of_the_last_node() -> io::Result<()> {
        // No policy takes no node (set_mempolicy(2)): a bit that the kernel reads is an error, and one that it does not read is none.
        let default = |nodes: &[u64]| {
            // SAFETY: the kernel only reads the mask, and the policy stays what it is.
            let answer = unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_DEFAULT, nodes.as_ptr(), MASK_BITS) };
            checked(answer)
        };
        let none = mask::of(std::iter::empty(), MASK_NODES)?;
        match default(&none) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
                println!("SKIPPED memory policies are not allowed here: {error}");
                return Ok(());
            }
            other => other?,
        };
        for node in [0, 1022, MASK_NODES as u32 - 1] {
            assert!(default(&mask::of(std::iter::once(node), MASK_NODES)?).is_err(), "node {node} is not read");
        }
        Ok(())
    }
}
