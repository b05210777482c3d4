//! A forked process that does one thing and ends: fork(2), _exit(2).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;

/// What a child's act that panicked leaves as exit code.
pub const PANICKED: i32 = 2;

/// Starts one that does `act` and ends with the code that it returns, without this process's exit handlers and destructors. `parents` is what this process keeps for itself:
/// the child lets go of it first, as of the other end of a pipe, and it comes back here.
///
/// Locks that other threads hold at this moment are never released in the child: glibc takes care of its allocator's, of all others the caller.
///
/// # Errors
/// There can be no process more.
pub fn start<K>(parents: K, act: impl FnOnce() -> i32) -> io::Result<(K, Pid)> {
    // SAFETY: fork has no preconditions. The child runs `act` and nothing of its caller: it leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = catch_unwind(AssertUnwindSafe(|| {
            drop(parents);
            act()
        }));
        leave(code.unwrap_or(PANICKED));
    }
    match Pid::from_raw(child) {
        Some(pid) if child > 0 => Ok((parents, pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without its exit handlers and destructors.
pub fn leave(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}
