//! Where the kernel takes memory from, and where pages lie: set_mempolicy(2), move_pages(2),
//! get_mempolicy(2).

use std::io;
use std::ptr;
use std::sync::OnceLock;

use stats::IdSet;

pub use crate::memory_nodes::with_weights;
use crate::{checked, mask, memory_nodes::mode};
pub use stats::memory_nodes::{MemoryNodes, NodeUse};

/// Room for node ids in a node mask: the kernel's MAX_NUMNODES is at most 1024.
pub(crate) const MASK_NODES: usize = 1024;
/// As many bits are said to be there: the kernel reads one bit less than it is told (get_nodes in
/// mm/mempolicy.c).
pub(crate) const MASK_BITS: usize = MASK_NODES + 1;
/// linux/mempolicy.h.
const MPOL_DEFAULT: libc::c_long = 0;
const MPOL_F_NODE: libc::c_ulong = 1;
const MPOL_F_ADDR: libc::c_ulong = 2;

/// Where a thread's memory comes from, as the kernel says it: for [`restore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPolicy {
    mode: libc::c_int,
    nodes: Vec<u64>,
}

impl ThreadPolicy {
    /// The nodes that it names.
    pub fn nodes(&self) -> IdSet {
        let of_word = |(at, word): (usize, &u64)| {
            let word = *word;
            (0..u64::BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at as u32 * u64::BITS + bit)
        };
        self.nodes.iter().enumerate().flat_map(of_word).collect()
    }
}

/// The calling thread's memory policy: the default, or what `numactl` or a launcher gave it.
///
/// # Errors
/// The call is forbidden.
pub fn get() -> io::Result<ThreadPolicy> {
    let (mut mode, mut nodes) = (0, mask::bit_mask(std::iter::empty(), MASK_NODES)?);
    let (no_address, no_flags) = (ptr::null::<u8>(), 0);
    // SAFETY: the kernel writes one integer and the mask, both live; the mask has as many bits as are said.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            nodes.as_mut_ptr(),
            MASK_BITS,
            no_address,
            no_flags,
        )
    };
    checked(answer).map(|_| ThreadPolicy { mode, nodes })
}

/// Gives the calling thread a policy back.
///
/// # Errors
/// Its nodes are not allowed any more, or the call is forbidden.
pub fn restore(policy: &ThreadPolicy) -> io::Result<()> {
    // SAFETY: the kernel only reads the mask, which is live and has as many bits as are said.
    checked(unsafe { libc::syscall(libc::SYS_set_mempolicy, policy.mode, policy.nodes.as_ptr(), MASK_BITS) })
        .map(drop)
}

/// Takes what the calling thread allocates from now on from these nodes. execve keeps it.
///
/// # Errors
/// The nodes are not there or not allowed, the kernel does not know the use, or the call is forbidden.
pub fn set(nodes: &IdSet, node_use: NodeUse) -> io::Result<()> {
    let words = mask::bit_mask(nodes.iter(), MASK_NODES)?;
    // SAFETY: the kernel only reads the mask, which is live and has as many bits as are said.
    checked(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode(node_use), words.as_ptr(), MASK_BITS) })
        .map(drop)
}

/// Lifts that again: memory lies where it is touched first.
///
/// # Errors
/// The call is forbidden.
pub fn lift() -> io::Result<()> {
    // SAFETY: with the default policy no mask is read.
    checked(unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_DEFAULT, ptr::null::<u64>(), 0) }).map(drop)
}

/// The call that answers here where a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageLookup {
    /// Of many pages at once.
    MovePages,
    /// Page by page. Docker's and Podman's default filters forbid move_pages(2) whatever capabilities a
    /// container has, and allow this call (Docker's with CAP_SYS_NICE).
    GetMempolicy,
}

impl PageLookup {
    /// The one that answers in this process; `MovePages` where neither does.
    pub fn here() -> Self {
        static HERE: OnceLock<PageLookup> = OnceLock::new();
        *HERE.get_or_init(|| {
            let own = 0_u8;
            let refused =
                moved(&[&raw const own]).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM));
            if refused && node_of(&raw const own).is_ok() { Self::GetMempolicy } else { Self::MovePages }
        })
    }

    /// Whether this process may ask by move_pages(2), which leaves pages where they are: asked for a page of
    /// managed memory, get_mempolicy(2) brings it from the GPU.
    pub fn leaves_pages() -> bool {
        let own = 0_u8;
        moved(&[&raw const own]).is_ok()
    }

    /// Its name, as manual pages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MovePages => "move_pages(2)",
            Self::GetMempolicy => "get_mempolicy(2)",
        }
    }
}

/// Where pages lie: for each address, the node (≥ 0) or a negative errno. The pages must have been touched:
/// get_mempolicy(2) reads one that was not.
///
/// # Errors
/// The calls are forbidden.
pub fn page_nodes(pages: &[*const u8]) -> io::Result<Vec<i32>> {
    match PageLookup::here() {
        PageLookup::MovePages => moved(pages),
        PageLookup::GetMempolicy => {
            Ok(pages.iter().map(|page| node_of(*page).unwrap_or_else(negative)).collect())
        }
    }
}

fn negative(error: io::Error) -> i32 {
    -error.raw_os_error().unwrap_or(libc::EFAULT)
}

fn moved(pages: &[*const u8]) -> io::Result<Vec<i32>> {
    let mut status = vec![0_i32; pages.len()];
    // SAFETY: without a target node the call moves nothing: it reads `pages` and writes `status`, both live
    // and of the length given; the addresses themselves are only looked up in the page table.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            pages.len(),
            pages.as_ptr(),
            ptr::null::<i32>(),
            status.as_mut_ptr(),
            0,
        )
    };
    checked(answer).map(|_| status)
}

fn node_of(page: *const u8) -> io::Result<i32> {
    let mut node = -1_i32;
    let no_mask = ptr::null_mut::<libc::c_ulong>();
    // SAFETY: the kernel writes one integer, to `node`; it looks the address up in the page table, as a read
    // of it would, and answers EFAULT where there is none.
    let answer = unsafe {
        libc::syscall(libc::SYS_get_mempolicy, &raw mut node, no_mask, 0, page, MPOL_F_NODE | MPOL_F_ADDR)
    };
    checked(answer).map(|_| node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::print_stdout, reason = "a test says what it leaves out")]
    fn the_kernel_reads_the_bit_of_the_last_node() -> io::Result<()> {
        // No policy takes no node (set_mempolicy(2)): a bit that the kernel reads is an error, and one that
        // it does not read is none.
        let default = |nodes: &[u64]| {
            // SAFETY: the kernel only reads the mask, and the policy stays what it is.
            let answer =
                unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_DEFAULT, nodes.as_ptr(), MASK_BITS) };
            checked(answer)
        };

        let none = mask::bit_mask(std::iter::empty(), MASK_NODES)?;

        match default(&none) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
                println!("SKIPPED memory policies are not allowed here: {error}");
                return Ok(());
            }
            other => other?,
        };

        for node in [0, 1022, MASK_NODES as u32 - 1] {
            assert!(
                default(&mask::bit_mask(std::iter::once(node), MASK_NODES)?).is_err(),
                "node {node} is ignored"
            );
        }
        Ok(())
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "a test says what it leaves out")]
    fn both_calls_find_a_touched_page_on_the_same_node_and_none_where_no_page_is() -> io::Result<()> {
        let memory = vec![1_u8; 3 << 20];
        let pages: Vec<*const u8> = memory.chunks(1 << 20).map(<[u8]>::as_ptr).collect();
        let Ok(seen) = moved(&pages) else {
            println!("SKIPPED memory policies are not allowed here: move_pages is refused");
            return Ok(());
        };
        for (page, seen) in pages.iter().zip(&seen) {
            assert_eq!(node_of(*page)?, *seen);
        }
        // No process has a page there: x86-64 and arm64 keep the first page of an address space free.
        assert_eq!(node_of(ptr::null()).map_err(|error| error.raw_os_error()), Err(Some(libc::EFAULT)));
        Ok(())
    }
}
