//! The kernel's calls that bind threads and place memory: the only unsafe code of this crate beside `host_memory`.
//!
//! Raw system calls rather than hwloc or libnuma, because each has a trap that must not be hidden: hwloc's area binding
//! is only a preference without STRICT, libc's `cpu_set_t` ends at PU 1023, and libnuma exits the process on some errors.
//! See sched_setaffinity(2), mbind(2), set_mempolicy(2), move_pages(2), madvise(2). Nothing here decides anything.

use std::io;
use std::ptr::{self, NonNull};

use stats::IdSet;

/// Room for PU ids in an affinity mask: the kernel's largest NR_CPUS is 8192.
const MASK_PUS: usize = 8192;
/// Room for node ids in a node mask: the kernel's MAX_NUMNODES is at most 1024.
const MASK_NODES: usize = 1024;
/// As many bits are said to be there: the kernel reads one bit less than it is told (get_nodes in mm/mempolicy.c).
const MASK_BITS: usize = MASK_NODES + 1;
/// linux/mempolicy.h.
const MPOL_DEFAULT: libc::c_long = 0;
const MPOL_BIND: libc::c_long = 2;
const MPOL_MF_STRICT: libc::c_long = 1;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn mask(ids: impl Iterator<Item = u32>, bits: usize) -> io::Result<Vec<u64>> {
    let mut words = vec![0_u64; bits / 64];
    for id in ids {
        let word = words.get_mut(id as usize / 64).ok_or(io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (id % 64);
    }
    Ok(words)
}

/// Binds the calling thread to these PUs.
pub(crate) fn set_affinity(pus: &IdSet) -> io::Result<()> {
    let words = mask(pus.iter(), MASK_PUS)?;
    // SAFETY: the kernel reads `len` bytes of a live buffer of that length; pid 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, words.len() * 8, words.as_ptr()) }).map(drop)
}

/// The PUs the calling thread may run on.
pub(crate) fn affinity() -> io::Result<IdSet> {
    let mut words = vec![0_u64; MASK_PUS / 64];
    // SAFETY: the kernel writes at most `len` bytes into a live buffer of that length, and says how many.
    let written =
        check(unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, words.len() * 8, words.as_mut_ptr()) })? as usize;
    let bits = 0..(written * 8) as u32;
    Ok(bits.filter(|bit| words[*bit as usize / 64] >> (bit % 64) & 1 == 1).collect())
}

/// The PU the calling thread runs on at this moment.
pub(crate) fn current_pu() -> io::Result<u32> {
    // SAFETY: takes no argument and touches no memory of ours.
    check(libc::c_long::from(unsafe { libc::sched_getcpu() })).map(|pu| pu as u32)
}

/// The calling thread's id, as /proc names it.
pub(crate) fn thread_id() -> u32 {
    // glibc has a function for it since 2.30 only.
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// Now on CLOCK_MONOTONIC_RAW, nanoseconds: the one clock all ranks of a node share, not slewed by NTP.
pub(crate) fn monotonic_raw_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec to a live one. It cannot fail: the clock exists since Linux 2.6.28.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The size of a base page in bytes.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: takes no pointer; _SC_PAGESIZE is always known.
    (unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) as usize
}

/// Reserves `len` bytes of anonymous private memory; no page of it exists until it is touched.
pub(crate) fn map(len: usize) -> io::Result<NonNull<u8>> {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
    let address = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, -1, 0) };
    if address == libc::MAP_FAILED {
        Err(io::Error::last_os_error())
    } else {
        NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory.into())
    }
}

/// Gives a mapping back.
///
/// # Safety
/// `address` and `len` are those of one call of [`map`], and nothing uses the range any more.
pub(crate) unsafe fn unmap(address: NonNull<u8>, len: usize) {
    // SAFETY: the caller's promise. A failure would leak the range, which nothing can mend here.
    unsafe { libc::munmap(address.as_ptr().cast(), len) };
}

/// Says whether the kernel should use huge pages for a mapping.
pub(crate) fn advise_huge_pages(address: NonNull<u8>, len: usize, huge: bool) -> io::Result<()> {
    let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
    // SAFETY: this advice changes how pages are made, never what they hold; a wrong range is refused.
    check(libc::c_long::from(unsafe { libc::madvise(address.as_ptr().cast(), len, advice) })).map(drop)
}

/// Binds the pages of a mapping to one node, strictly: they come from there or not at all.
pub(crate) fn bind_memory(address: NonNull<u8>, len: usize, node: u32) -> io::Result<()> {
    let nodes = mask(std::iter::once(node), MASK_NODES)?;
    let (mask, bits) = (nodes.as_ptr(), MASK_BITS);
    // SAFETY: the policy of a range changes where its pages are made, never what they hold; the kernel reads the mask only.
    let result =
        unsafe { libc::syscall(libc::SYS_mbind, address.as_ptr(), len, MPOL_BIND, mask, bits, MPOL_MF_STRICT) };
    check(result).map(drop)
}

/// Binds what the calling thread allocates from now on to one node, or (`None`) lifts that again.
pub(crate) fn set_memory_policy(node: Option<u32>) -> io::Result<()> {
    let nodes = mask(node.into_iter(), MASK_NODES)?;
    let result = match node {
        // SAFETY: the kernel only reads the mask.
        Some(_) => unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_BIND, nodes.as_ptr(), MASK_BITS) },
        // SAFETY: no mask is read with the default policy.
        None => unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_DEFAULT, ptr::null::<u64>(), 0) },
    };
    check(result).map(drop)
}

/// Where pages lie: for each address, the node (≥ 0) or a negative errno.
pub(crate) fn page_nodes(pages: &[*const u8]) -> io::Result<Vec<i32>> {
    let mut status = vec![0_i32; pages.len()];
    // SAFETY: without a target node the call moves nothing: it reads `pages` and writes `status`, both live and of the
    // length given; the addresses themselves are only looked up in the page table.
    let result = unsafe {
        libc::syscall(libc::SYS_move_pages, 0, pages.len(), pages.as_ptr(), ptr::null::<i32>(), status.as_mut_ptr(), 0)
    };
    check(result)?;
    Ok(status)
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
            let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_DEFAULT, nodes.as_ptr(), MASK_BITS) };
            check(result)
        };
        let none = mask(std::iter::empty(), MASK_NODES)?;
        match default(&none) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
                println!("SKIPPED memory policies are not allowed here: {error}");
                return Ok(());
            }
            other => other?,
        };
        for node in [0, 1022, MASK_NODES as u32 - 1] {
            assert!(default(&mask(std::iter::once(node), MASK_NODES)?).is_err(), "node {node} is not read");
        }
        Ok(())
    }
}
