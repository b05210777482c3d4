//! What this process began with, before Rust's runtime changed it: whether standard output was closed
//! (`>&-`), and whether SIGPIPE was ignored.
//!
//! The runtime opens /dev/null in place of a closed file before `main`, so that nothing else is written to by
//! mistake, and from then on every write succeeds: a result that nobody can have would count as printed. And
//! it ignores SIGPIPE, which a program that this process becomes is to find as its launcher left it. So it is
//! looked before, by an initialiser of the program, which only asks the kernel and keeps two bits.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

static OUTPUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);
static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

#[used]
// SAFETY: the section holds pointers to functions without arguments that the loader calls once before `main`;
// this one makes two system calls, and allocates nothing.
#[unsafe(link_section = ".init_array")]
static BEFORE_THE_RUNTIME: extern "C" fn() = look;

extern "C" fn look() {
    // Miri knows no `sigaction`, and what it interprets asks for neither.
    if cfg!(miri) {
        return;
    }
    OUTPUT_WAS_CLOSED.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
    let mut was = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set; the kernel fills in what `was` has room for.
    if unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), was.as_mut_ptr()) } == 0 {
        // SAFETY: all zeroes are a value of it, and the kernel has written one.
        let was = unsafe { was.assume_init() };
        SIGPIPE_WAS_IGNORED.store(was.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
    }
}

/// Another descriptor of what somebody opened for this process under that number.
///
/// # Errors
/// Nothing is open under it.
pub fn descriptor(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes plain numbers, and makes a descriptor that is nobody else's.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just made, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Whether standard output was closed.
pub fn output_was_closed() -> bool {
    OUTPUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// Whether SIGPIPE was ignored.
pub fn sigpipe_was_ignored() -> bool {
    SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed)
}
