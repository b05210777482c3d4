//! What signals do to this process, where none of our code is to run for them: signal(2), alarm(2).

use rustix::process::Signal;

/// They do again what the kernel has them do.
pub fn default(signals: &[Signal]) {
    set(signals, libc::SIG_DFL);
}

/// They do nothing, also in what this process becomes.
pub fn ignore(signals: &[Signal]) {
    set(signals, libc::SIG_IGN);
}

fn set(signals: &[Signal], to: libc::sighandler_t) {
    for signal in signals {
        // SAFETY: plain values, and neither disposition runs any code.
        unsafe { libc::signal(signal.as_raw(), to) };
    }
}

/// Sends this process SIGALRM after so many seconds.
pub fn alarm(seconds: u32) {
    // SAFETY: takes a plain value.
    unsafe { libc::alarm(seconds) };
}
