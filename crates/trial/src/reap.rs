//! A process that leads a group, from its start to its end, and the one system call that says how a process ended and what it used: wait4(2).
//!
//! The standard library's wait does not give the second. What is counted is the process and all those that it waited for, since it began.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

use report::trial::Used;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// A process that leads a group, until it is reaped: from then on its number may be another's.
pub struct Leader(Mutex<Option<Pid>>);

impl Leader {
    /// None yet.
    pub fn none() -> Self {
        Self(Mutex::new(None))
    }

    /// It has started.
    pub fn started(&self, pid: u32) {
        *self.lock() = i32::try_from(pid).ok().and_then(Pid::from_raw);
    }

    /// Signals its group, unless it was reaped.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = *self.lock() {
            // All of it may have ended meanwhile.
            let _ended = kill_process_group(group, signal);
        }
    }

    /// Waits for its end, of which nobody else hears.
    ///
    /// # Errors
    /// It is no child of this process.
    pub fn reap(&self, pid: u32) -> io::Result<(ExitStatus, Used)> {
        // First without reaping it, so that who signals the group meanwhile signals this one.
        let waited = *self.lock();
        if let Some(pid) = waited {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), ended), Err(Errno::INTR)) {}
        }
        let mut leader = self.lock();
        let ended = reap(pid);
        *leader = None;
        ended
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of a child of this process that nobody else waits for.
///
/// # Errors
/// It is no child of this process.
fn reap(pid: u32) -> io::Result<(ExitStatus, Used)> {
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

fn used(usage: &libc::rusage) -> Used {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Used {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        // In KiB (getrusage(2)).
        max_resident_bytes: count(usage.ru_maxrss) * 1024,
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
    }
}
