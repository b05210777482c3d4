//! Says what is waited for where MPI_Init takes long: with a launcher's interface that is not its own, an MPI
//! may wait for ever, in silence.
//!
//! A thread waits beside MPI_Init and ends with it, before anything is measured. It touches nothing of MPI.
//! Left out: whether MPI_Init will come back, which nothing outside of it can know.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use launchers::Launch;

use crate::start_watchdog::remedy;

/// A start of MPI that takes longer than this is worth a word: the slowest of large launches take some
/// seconds.
pub const LONG: Duration = Duration::from_secs(10);

/// Who waits.
pub struct SlowStartNotice {
    thread: JoinHandle<()>,
    started: Sender<()>,
}

impl SlowStartNotice {
    /// Starts to wait; says the words once if the limit passes first. `None` where there is no thread to be
    /// had, and nothing is said.
    pub fn begin(limit: Duration, words: String, say: fn(&str)) -> Option<Self> {
        let (started, hears) = mpsc::channel();
        let wait = move || {
            if hears.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                say(&words);
            }
        };
        let thread = thread::Builder::new().name("patience".to_owned()).spawn(wait).ok()?;
        Some(Self { thread, started })
    }

    /// MPI has started, or has said why not. The thread is gone afterwards.
    pub fn end(self) {
        drop(self.started);
        // It says one line and cannot panic on the way.
        drop(self.thread.join());
    }
}

/// What is said of a launch whose MPI takes long to start.
pub fn sentence(launch: &Launch, library: &str) -> String {
    format!(
        "still in MPI_Init of {library} after {} s; {} offers it {}. If it does not go on, end it; {}",
        LONG.as_secs(),
        launch.launcher.name(),
        launch.interface.name(),
        remedy(launch.launcher)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    use launchers::{Interface, Launcher};

    use super::*;

    static SAID: AtomicU32 = AtomicU32::new(0);

    fn count(words: &str) {
        assert!(
            words.starts_with("still in MPI_Init of MPICH 4.3.0 after 10 s; srun offers it PMIx."),
            "{words}"
        );
        assert!(words.contains("srun --mpi=list"), "{words}");
        SAID.fetch_add(1, Ordering::SeqCst);
    }

    #[test]
    fn a_start_that_takes_long_is_said_once_and_a_quick_one_is_not() -> Result<(), &'static str> {
        let launch = Launch { launcher: Launcher::Srun, interface: Interface::Pmix, ..Launch::ALONE };
        let begin =
            |limit| SlowStartNotice::begin(limit, sentence(&launch, "MPICH 4.3.0"), count).ok_or("no thread");
        begin(Duration::from_secs(3600))?.end();
        assert_eq!(SAID.load(Ordering::SeqCst), 0, "it ended at once, and said nothing");
        let slow = begin(Duration::ZERO)?;
        let begun = Instant::now();
        while SAID.load(Ordering::SeqCst) == 0 && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1));
        }
        slow.end();
        assert_eq!(SAID.load(Ordering::SeqCst), 1);
        Ok(())
    }
}
