//! A process that leads a group, from its start to its end, with how it ended and what it used.
//!
//! What is counted is the process and all those that it waited for, since it began.

use std::io;
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
        let ended = sys::child::reap(pid);
        *leader = None;
        drop(leader);
        ended.map(|(status, usage)| (status, used(usage)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn used(usage: sys::child::Usage) -> Used {
    Used {
        user_s: usage.user_s,
        system_s: usage.system_s,
        max_resident_bytes: usage.max_resident_bytes,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
    }
}
