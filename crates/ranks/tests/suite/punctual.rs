//! Whether this machine wakes threads when it should: what a test of how soon something happens needs, and
//! skips without.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that only sleeps, and sees how late it is woken.
pub struct Witness {
    over: Arc<AtomicBool>,
    worst: JoinHandle<Duration>,
}

impl Witness {
    pub fn start() -> Self {
        const NAP: Duration = Duration::from_millis(2);
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let worst = thread::spawn(move || {
            let mut worst = Duration::ZERO;
            while !ends.load(Ordering::Relaxed) {
                let began = Instant::now();
                thread::sleep(NAP);
                worst = worst.max(began.elapsed().saturating_sub(NAP));
            }
            worst
        });
        Self { over, worst }
    }

    /// Whether no thread was woken later than this since it began; if one was, that `what` is left out is
    /// said.
    #[allow(clippy::print_stderr, reason = "no test is skipped silently")]
    pub fn saw_at_most(self, limit: Duration, what: &str) -> bool {
        self.over.store(true, Ordering::Relaxed);
        let worst = self.worst.join().unwrap_or(Duration::MAX);
        if worst > limit {
            eprintln!("SKIPPED {what}: this machine woke a thread {worst:?} late, and {limit:?} is needed");
        }
        worst <= limit
    }
}
