//! Whether a thread of this process had to be left in a call that does not return: a driver's, or MPI's.
//!
//! Such a process must not end by `exit`: that runs the exit handlers of every library, and the one whose
//! call does not return may wait there for that very call. Whoever leaves a thread says so here, and whoever
//! ends the process asks.

use std::sync::atomic::{AtomicBool, Ordering};

static ABANDONED: AtomicBool = AtomicBool::new(false);

/// A thread was left in such a call.
pub fn abandon() {
    ABANDONED.store(true, Ordering::Release);
}

/// Whether one was.
pub fn is_abandoned() -> bool {
    ABANDONED.load(Ordering::Acquire)
}
