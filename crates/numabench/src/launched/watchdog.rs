//! Ends the process when starting MPI takes for ever: a launch of which a process never comes hangs inside `MPI_Init`, where nobody can
//! look at a clock.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::FIRST_SPEAKS;
use crate::exit::Exit;
use crate::terminal;

/// Ends the process unless it is dropped in time.
pub struct Watchdog {
    _alive: Sender<()>,
}

impl Watchdog {
    /// Ends the process after `limit`; `speaks`: this one says so. The others end a little later: a launcher may end all as soon as one ends.
    pub fn set(limit: Duration, speaks: bool) -> Self {
        let (alive, dropped) = mpsc::channel::<()>();
        let wait = if speaks { limit } else { limit + FIRST_SPEAKS };
        thread::spawn(move || {
            if dropped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if speaks {
                    let seconds = limit.as_secs_f64();
                    terminal::say(&format!(
                        "error: MPI did not start within {seconds:.0} s: a process of the launch is missing, or this MPI and this launcher \
                         do not belong together; --timeout changes the limit"
                    ));
                }
                std::process::exit(Exit::TimedOut.code().into());
            }
        });
        Self { _alive: alive }
    }
}
