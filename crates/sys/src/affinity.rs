//! Where the calling thread may run, and where it does: sched_setaffinity(2), sched_getaffinity(2),
//! getcpu(2).
//!
//! A thread that measures is bound once and never again: `engine` keeps that, with a type that stands for a
//! bound thread.

use std::io;

use stats::IdSet;

use crate::{checked, mask};

/// Room for PU ids in an affinity mask: the kernel's largest NR_CPUS is 8192.
const MASK_PUS: usize = 8192;

/// Binds the calling thread to these PUs. The kernel leaves out, without a word, what the cpuset has not got.
///
/// # Errors
/// None of them is there, or the call is forbidden.
pub fn set(pus: &IdSet) -> io::Result<()> {
    let words = mask::bit_mask(pus.iter(), MASK_PUS)?;
    // SAFETY: the kernel reads `len` bytes of a live buffer of that length; pid 0 is the calling thread.
    checked(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, words.len() * 8, words.as_ptr()) })
        .map(drop)
}

/// The PUs the calling thread may run on.
///
/// # Errors
/// The call is forbidden.
pub fn get() -> io::Result<IdSet> {
    let mut words = vec![0_u64; MASK_PUS / 64];
    // SAFETY: the kernel writes at most `len` bytes into a live buffer of that length, and says how many.
    let answer =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, words.len() * 8, words.as_mut_ptr()) };
    let bits = 0..(checked(answer)? * 8) as u32;
    Ok(bits.filter(|bit| words[*bit as usize / 64] >> (bit % 64) & 1 == 1).collect())
}

/// The PU the calling thread runs on at this moment.
///
/// # Errors
/// The call is forbidden.
pub fn current_pu() -> io::Result<u32> {
    // SAFETY: takes no argument and touches no memory of ours.
    checked(libc::c_long::from(unsafe { libc::sched_getcpu() })).map(|pu| pu as u32)
}
