//! A child of this process: one that is forked to do one thing and ends (fork(2), _exit(2)), and how one
//! ended and what it used (wait4(2), for which neither the standard library nor rustix has a call).

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;

use rustix::process::Pid;

/// What a child's act that panicked leaves as exit code.
pub const PANICKED: i32 = 2;

/// Forks a child that does `act` and ends with the code that it returns, without this process's exit handlers
/// and destructors. `parents` is what this process keeps for itself: the child lets go of it first, as of the
/// other end of a pipe, and it comes back here.
///
/// Locks that other threads hold at this moment are never released in the child: glibc takes care of its
/// allocator's, of all others the caller.
///
/// # Errors
/// The limit of processes is reached, or there is no memory for one more.
pub fn start<K>(parents: K, act: impl FnOnce() -> i32) -> io::Result<(K, Pid)> {
    // SAFETY: fork has no preconditions. The child runs `act` and nothing of its caller: it leaves by
    // `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = catch_unwind(AssertUnwindSafe(|| {
            drop(parents);
            act()
        }));
        leave(code.unwrap_or(PANICKED));
    }
    // A negative number is no process's, and `Pid` may panic at one.
    match (child > 0).then(|| Pid::from_raw(child)).flatten() {
        Some(pid) => Ok((parents, pid)),
        None => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without its exit handlers and destructors.
pub fn leave(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// What a process used, and all those that it waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Seconds of CPU time in the program.
    pub user_s: f64,
    /// Seconds of CPU time in the kernel.
    pub system_s: f64,
    /// The most memory that was resident at once, bytes.
    pub max_resident_bytes: u64,
    /// Page faults without input.
    pub minor_faults: u64,
    /// Page faults with input.
    pub major_faults: u64,
}

/// Waits for the end of a child of this process that nobody else waits for.
///
/// # Errors
/// It is no child of this process.
pub fn reap(pid: u32) -> io::Result<(ExitStatus, Usage)> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let mut status = 0;
    loop {
        // SAFETY: all fields of the structure are integers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live, writable values of the types that wait4(2) asks for.
        let ended = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
        if ended == pid {
            return Ok((ExitStatus::from_raw(status), used(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn used(usage: &libc::rusage) -> Usage {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Usage {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        // In KiB (getrusage(2)).
        max_resident_bytes: count(usage.ru_maxrss) * 1024,
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
    }
}
