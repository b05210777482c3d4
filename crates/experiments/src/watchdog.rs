//! Ends the process when a call never returns that nobody can look at a clock in: a launch of which a process
//! never comes hangs inside `MPI_Init`, a driver while a GPU is opened. Nothing was measured by then.

use std::time::Duration;

use crate::ending;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::sync::mpsc::{self, RecvTimeoutError, Sender};
use crate::sync::thread;
use crate::sync::{Arc, Mutex, PoisonError};

/// What is said where a GPU does not open.
pub const NOT_OPEN: [&str; 2] =
    ["a GPU was not opened", "a call of the driver does not return (nvidia-smi or rocm-smi may show why)"];

/// How long the first process of a launch has to say why it leaves, before the others do: a launcher may end
/// all as soon as one ends.
pub const FIRST_SPEAKS: Duration = Duration::from_secs(2);

/// How long opening GPUs may take where nobody has said so.
pub(crate) const OPENS: Duration = Duration::from_secs(120);

/// Ends the process unless it is dropped in time.
pub struct Watchdog {
    let_go: Arc<Mutex<bool>>,
    _alive: Sender<()>,
}

impl Watchdog {
    /// Ends the process where devices are not found or opened within the run's own limit.
    ///
    /// # Errors
    /// There can be no thread more.
    pub fn opening(timeout: Option<Duration>, say: fn(&str)) -> Result<Self, Fault> {
        Self::set(timeout.unwrap_or(OPENS), Some(NOT_OPEN), say)
    }

    /// Ends a process of a launch: the one that speaks for all after `limit`, with `what` did not happen and
    /// its cause, each other one without a word when that one has spoken.
    ///
    /// # Errors
    /// There can be no thread more.
    pub fn of_rank(
        limit: Duration,
        speaks: bool,
        what: [&'static str; 2],
        say: fn(&str),
    ) -> Result<Self, Fault> {
        Self::set(patience(limit, speaks), speaks.then_some(what), say)
    }

    /// Ends the process after `limit`, and says by `say` what did not happen, which `--timeout` gives more
    /// time; `said`, if given, with its cause.
    ///
    /// # Errors
    /// There can be no thread more.
    pub fn set(limit: Duration, said: Option<[&'static str; 2]>, say: fn(&str)) -> Result<Self, Fault> {
        let (alive, dropped) = mpsc::channel::<()>();
        let let_go = Arc::new(Mutex::new(false));
        let decided = Arc::clone(&let_go);
        let watch = move || {
            if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                // Held to the process's end: whoever lets go from here on waits for that, and goes on with
                // nothing.
                let let_go = decided.lock().unwrap_or_else(PoisonError::into_inner);
                if *let_go {
                    return;
                }
                if let Some([what, why]) = said {
                    let seconds = limit.as_secs_f64();
                    say(&format!("error: {what} within {seconds:.0} s: {why}; --timeout changes the limit"));
                }
                ending::at_once(Exit::TimedOut);
            }
        };

        match thread::Builder::new().name("watchdog".to_owned()).spawn(watch) {
            Ok(_) => Ok(Self { let_go, _alive: alive }),
            Err(error) => Err(no_thread(&error)),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        *self.let_go.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// How long a process of a launch waits for what has this limit.
fn patience(limit: Duration, speaks: bool) -> Duration {
    if speaks { limit } else { limit + FIRST_SPEAKS }
}

/// That this step of finding or opening GPUs ("opening GPU 1") does not end.
pub(crate) fn not_opened(step: &str, limit: Duration) -> String {
    let (seconds, [_, why]) = (limit.as_secs_f64(), NOT_OPEN);
    format!("{step} took longer than {seconds:.0} s: {why}; --timeout changes the limit")
}

/// That a thread cannot be started.
pub(crate) fn no_thread(error: &std::io::Error) -> Fault {
    let text = format!("a thread cannot be started: {error}; see ulimit -u and the job's limit of processes");
    Fault::new(Exit::NoResult, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_speaks_for_a_launch_ends_in_time_and_the_others_after_it_has_spoken() {
        let limit = Duration::from_secs(5);
        assert_eq!(patience(limit, true), limit);
        assert!(patience(limit, false) >= limit + FIRST_SPEAKS);
    }
}
