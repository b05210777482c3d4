//! The three system calls that put a program in its place: affinity, memory policy, execve.
//!
//! Raw calls, as in `engine` and for its reasons (libc's `cpu_set_t` ends at PU 1023), and not shared with it: there a thread that is bound is
//! never bound again, which a public call would undo. Not [`std::os::unix::process::CommandExt::exec`], which empties the signal mask:
//! a program started through numabench is to find its signals as its launcher left them. Rust's runtime ignores SIGPIPE from its start on, so
//! what it was is looked at before, and set back.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString, c_char};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use stats::IdSet;

/// Room for PU ids: the kernel's largest NR_CPUS is 8192.
const MASK_PUS: usize = 8192;
/// Room for node ids: the kernel's MAX_NUMNODES is at most 1024.
const MASK_NODES: usize = 1024;
/// As many bits are said to be there: the kernel reads one bit less than it is told (get_nodes in mm/mempolicy.c).
const MASK_BITS: usize = MASK_NODES + 1;
/// linux/mempolicy.h.
const MPOL_BIND: libc::c_long = 2;

static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// What the loader calls before Rust's runtime begins.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_THE_RUNTIME: extern "C" fn() = look_at_sigpipe;

extern "C" fn look_at_sigpipe() {
    let mut was = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set; the kernel fills in what `was` has room for.
    if unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), was.as_mut_ptr()) } == 0 {
        // SAFETY: all zeroes are a value of it, and the kernel has written one.
        let was = unsafe { was.assume_init() };
        SIGPIPE_WAS_IGNORED.store(was.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
    }
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn mask(ids: &IdSet, bits: usize) -> io::Result<Vec<u64>> {
    let mut words = vec![0_u64; bits / 64];
    for id in ids.iter() {
        let word = words.get_mut(id as usize / 64).ok_or(io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (id % 64);
    }
    Ok(words)
}

/// Binds the calling thread to these PUs, and sees that it is: the kernel leaves out, without a word, what the cpuset has not got.
pub fn bind_cpus(pus: &IdSet) -> io::Result<()> {
    let words = mask(pus, MASK_PUS)?;
    // SAFETY: the kernel reads `len` bytes of a live buffer of that length; pid 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, words.len() * 8, words.as_ptr()) })?;
    let mut now = vec![0_u64; MASK_PUS / 64];
    // SAFETY: the kernel writes at most `len` bytes into a live buffer of that length.
    check(unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, now.len() * 8, now.as_mut_ptr()) })?;
    let is_set = |bit: &u32| now[*bit as usize / 64] >> (bit % 64) & 1 == 1;
    let bound: IdSet = (0..MASK_PUS as u32).filter(is_set).collect();
    if bound == *pus { Ok(()) } else { Err(io::Error::other(format!("the kernel bound it to {bound} instead"))) }
}

/// Binds what the calling thread allocates from now on to these nodes: from there or not at all. execve keeps it (set_mempolicy(2)).
pub fn bind_memory(nodes: &IdSet) -> io::Result<()> {
    let words = mask(nodes, MASK_NODES)?;
    // SAFETY: the kernel only reads the mask, which is live and has as many bits as are said.
    check(unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_BIND, words.as_ptr(), MASK_BITS) }).map(drop)
}

/// Becomes the program, with this environment; looked for in PATH as a shell does. Comes back only with the error.
pub fn become_program(program: &[OsString], environment: BTreeMap<OsString, OsString>) -> io::Error {
    let text = |text: OsString| CString::new(text.into_vec());
    let variable = |(mut name, value): (OsString, OsString)| {
        name.push("=");
        name.push(value);
        text(name)
    };
    let arguments: Result<Vec<CString>, _> = program.iter().cloned().map(text).collect();
    let environment: Result<Vec<CString>, _> = environment.into_iter().map(variable).collect();
    let (Ok(arguments), Ok(environment)) = (arguments, environment) else {
        return io::Error::from_raw_os_error(libc::EINVAL); // a NUL, which neither can hold
    };
    let Some(file) = arguments.first() else { return io::Error::from_raw_os_error(libc::ENOENT) };
    let pointers = |texts: &[CString]| -> Vec<*const c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, envp) = (pointers(&arguments), pointers(&environment));
    let sigpipe = if SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither disposition runs any of our code.
    unsafe { libc::signal(libc::SIGPIPE, sigpipe) };
    // SAFETY: both lists end with a null pointer, and they and the texts that they point to are live until the call is over.
    unsafe { libc::execvpe(file.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_comes_back_with_the_reason() {
        let error = become_program(&["/nowhere/at/all".into()], BTreeMap::new());
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        let directory = become_program(&["/".into()], BTreeMap::new());
        assert_eq!(directory.raw_os_error(), Some(libc::EACCES));
    }

    #[test]
    fn a_binding_that_the_kernel_cannot_keep_is_an_error() {
        assert!(bind_cpus(&IdSet::default()).is_err(), "no PU at all");
        assert!(bind_cpus(&[8191].into_iter().collect()).is_err(), "a PU that is not there");
        assert!(bind_cpus(&[9000].into_iter().collect()).is_err(), "a PU that no kernel has");
        assert!(bind_memory(&[1023].into_iter().collect()).is_err(), "a node that is not there");
    }
}
