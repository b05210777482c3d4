//! Ctrl-C, SIGTERM, a hangup and the limit of CPU time: the first signal ends the run with its results, a
//! later one ends the process.
//!
//! One that comes within [`ECHO`] of the first is its echo and changes nothing: `timeout` signals its child
//! and then its group, and Slurm at a job's time limit sends SIGTERM twice within milliseconds. Ending at the
//! second one cost the last document and the table. When a signal came is what a signal handler may not keep,
//! so a thread of its own reads them; it sleeps until one comes. SIGHUP is what a dropped ssh session sends,
//! and SIGXCPU the soft limit of CPU time (`ulimit -t`), once a second from then on: that is no wish to end
//! at once. Either is left alone where whoever started this process ignores it (`nohup`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::{flag, iterator, low_level};

use crate::exit::Exit;
use crate::fault::Fault;

/// How long after the first signal another one is taken for its echo.
const ECHO: Duration = Duration::from_secs(2);

/// What was signalled since [`Signals::catch`].
pub struct Signals {
    /// Set by the first signal.
    pub interrupted: Arc<AtomicBool>,
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// Catches them from now on.
    ///
    /// # Errors
    /// The kernel refuses a handler or a thread.
    pub fn catch() -> Result<Self, Fault> {
        let signals = Self { interrupted: Arc::default(), last: Arc::default() };
        let register = || -> io::Result<()> {
            let ignored = ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default());
            let is_caught = |signal: &i32| matches!(*signal, SIGINT | SIGTERM) || !ignored.contains(signal);
            let signals_caught: Vec<i32> =
                [SIGINT, SIGTERM, SIGHUP, SIGXCPU].into_iter().filter(is_caught).collect();
            for signal in signals_caught.iter().copied() {
                // In this order: whoever sees the flag finds the number.
                flag::register_usize(signal, Arc::clone(&signals.last), signal as usize)?;
                flag::register(signal, Arc::clone(&signals.interrupted))?;
            }
            let mut caught = iterator::Signals::new(&signals_caught)?;
            thread::Builder::new().name("signals".to_owned()).spawn(move || {
                let mut first = None;
                for signal in caught.forever() {
                    if ends_at_once(&mut first, Instant::now()) && signal != SIGXCPU {
                        // As the kernel ends it: nothing of the process may run any more, a driver's exit
                        // handlers least of all.
                        low_level::exit(128 + signal);
                    }
                }
            })?;
            Ok(())
        };
        register().map_err(|error| Fault::new(Exit::NoResult, format!("cannot catch signals: {error}")))?;

        Ok(signals)
    }

    /// The exit for the signal that came, if one did.
    pub fn exit(&self) -> Option<Exit> {
        let last = self.last.load(Ordering::Relaxed);
        if self.interrupted.load(Ordering::Relaxed) {
            u8::try_from(last).ok().map(Exit::Signal)
        } else {
            None
        }
    }
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail with an error that says so, where it
/// would end the process. A program that this process becomes has the limit's own signal again.
pub fn survive_file_size_limit() {
    // Without it a document beyond the limit ends the process as it always did.
    drop(flag::register(SIGXFSZ, Arc::default()));
}

/// The signals that are ignored, of a process with this `/proc/PID/status` (proc(5): a bit a signal, the
/// lowest is signal 1).
fn ignored(status: &str) -> Vec<i32> {
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let mask = mask.unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

/// Whether a signal that comes now ends the process at once; `first` is when the first one came.
fn ends_at_once(first: &mut Option<Instant>, now: Instant) -> bool {
    now.saturating_duration_since(*first.get_or_insert(now)) >= ECHO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_ignores_is_read_from_the_kernels_mask() {
        let status = "Name:\tx\nSigBlk:\t0000000000000003\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert_eq!((ignored(status), ignored("")), (vec![SIGHUP, 13], Vec::new()));
    }

    #[test]
    fn only_a_signal_that_is_no_echo_of_the_first_ends_the_process() {
        let (mut first, begin) = (None, Instant::now());
        let at = |millis| begin + Duration::from_millis(millis);
        let ends: Vec<bool> =
            [0, 3, 1999, 2000, 2001].map(|millis| ends_at_once(&mut first, at(millis))).to_vec();
        assert_eq!(ends, [false, false, false, true, true]);
    }
}
