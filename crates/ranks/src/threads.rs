//! The threads of one process as ranks.
//!
//! Waiting is by condition variable, not by spinning: in a run where one rank moves at a time, the others must not
//! disturb it. The few microseconds a wake-up takes do not matter, because a common start is a deadline on the clock that
//! is agreed with [`Ranks::max`], not the end of a barrier.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::{Aborted, Ranks};

struct Round {
    number: u64,
    waiting: usize,
    largest: u64,
    result: u64,
    aborted: bool,
}

struct Group {
    size: usize,
    round: Mutex<Round>,
    changed: Condvar,
    // Counts arrivals over all phases, so that nobody has to reset it: phase p is complete at p × size.
    arrivals: AtomicU64,
}

/// One thread of a group of threads.
pub struct Threads {
    rank: usize,
    group: Arc<Group>,
    // The phase this member arrived at last; only its own thread touches it.
    phase: AtomicU64,
}

impl Threads {
    /// A group of `size` members, one for each thread to take along.
    pub fn group(size: usize) -> Vec<Self> {
        let group = Arc::new(Group {
            size,
            round: Mutex::new(Round { number: 0, waiting: 0, largest: 0, result: 0, aborted: false }),
            changed: Condvar::new(),
            arrivals: AtomicU64::new(0),
        });
        (0..size).map(|rank| Self { rank, group: Arc::clone(&group), phase: AtomicU64::new(0) }).collect()
    }
}

impl Ranks for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn max(&self, value: u64) -> Result<u64, Aborted> {
        // A panic while holding the lock cannot leave the round half-changed (no call in here panics), so a poisoned lock
        // is used as it is.
        let mut round = self.group.round.lock().unwrap_or_else(PoisonError::into_inner);
        if round.aborted {
            return Err(Aborted);
        }
        let number = round.number;
        round.largest = round.largest.max(value);
        round.waiting += 1;
        if round.waiting == self.group.size {
            round.result = round.largest;
            round.number += 1;
            round.waiting = 0;
            round.largest = 0;
            self.group.changed.notify_all();
            return Ok(round.result);
        }
        while round.number == number && !round.aborted {
            round = self.group.changed.wait(round).unwrap_or_else(PoisonError::into_inner);
        }
        // A round that was completed before the abort still counts.
        if round.number == number { Err(Aborted) } else { Ok(round.result) }
    }

    fn arrive(&self) {
        self.phase.fetch_add(1, Ordering::Relaxed);
        self.group.arrivals.fetch_add(1, Ordering::AcqRel);
    }

    fn all_arrived(&self) -> bool {
        let complete = self.phase.load(Ordering::Relaxed) * self.group.size as u64;
        self.group.arrivals.load(Ordering::Acquire) >= complete
    }

    fn abort(&self) {
        let mut round = self.group.round.lock().unwrap_or_else(PoisonError::into_inner);
        round.aborted = true;
        self.group.changed.notify_all();
    }
}
