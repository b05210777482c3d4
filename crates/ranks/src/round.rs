//! A round of the threads or processes of a node, in which each brings a few values and takes the largest of
//! each: the whole state is one 32-bit word, changed by one compare-and-swap:
//!
//! ```text
//! bit 31 somebody gave up │ bits 16..30 number of the round │ bits 0..15 how many wait in it
//! ```
//!
//! so a process that is killed at any instruction leaves nothing half-changed, and whether a round was
//! completed before an abort has one answer for all. The largest values of this round and the last lie in two
//! places in turn.
//!
//! How a member sleeps and wakes the others is its caller's.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::{Aborted, VALUES};

pub(crate) const ABORTED: u32 = 1 << 31;
pub(crate) const WAITING: u32 = 0xffff;

fn round_of(state: u32) -> u32 {
    (state & !ABORTED) >> 16
}

fn next_round(state: u32) -> u32 {
    ((round_of(state) + 1) << 16) & !ABORTED
}

/// The words that all members share.
pub(crate) struct Round<'w> {
    /// The round, how many wait in it, and whether anybody gave up.
    pub state: &'w AtomicU32,
    /// The largest values so far of the present round, and the result of the one before.
    pub largest: [[&'w AtomicU64; VALUES]; 2],
    /// How many members there are.
    pub size: usize,
}

/// How a member waits for the others.
pub(crate) trait Sleep {
    /// Sleeps until the state is another one, or for a while.
    fn sleep_while(&self, state: u32);

    /// Wakes all that sleep.
    fn wake_all(&self);
}

impl Round<'_> {
    /// Brings this member's values, and waits for the others.
    ///
    /// # Errors
    /// [`Aborted`] if a member gave up before all had come.
    pub(crate) fn max_of_each(
        &self,
        values: [u64; VALUES],
        waits: &impl Sleep,
    ) -> Result<[u64; VALUES], Aborted> {
        let mut state = self.state.load(Ordering::Acquire);
        // It cannot move on without this member.
        let round = round_of(state);
        let (this, other) = (self.largest[round as usize % 2], self.largest[(round as usize + 1) % 2]);
        // 0 is there already.
        for (largest, value) in this.iter().zip(values).filter(|(_, value)| *value > 0) {
            largest.fetch_max(value, Ordering::AcqRel);
        }
        let found = || this.map(|largest| largest.load(Ordering::Acquire));

        loop {
            if state & ABORTED != 0 {
                return Err(Aborted);
            }
            let is_last = (state & WAITING) as usize + 1 == self.size;
            if is_last {
                // The result of the round before: all have read it, or they would not be here.
                other.iter().for_each(|largest| largest.store(0, Ordering::Relaxed));
            }
            let next = if is_last { next_round(state) } else { state + 1 };
            match self.state.compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if is_last => {
                    waits.wake_all();
                    return Ok(found());
                }
                Ok(_) => {
                    state = next;
                    break;
                }
                Err(now) => state = now,
            }
        }
        loop {
            // First, because a round that was completed before an abort still counts.
            if round_of(state) != round {
                return Ok(found());
            }
            if state & ABORTED != 0 {
                return Err(Aborted);
            }
            waits.sleep_while(state);
            state = self.state.load(Ordering::Acquire);
        }
    }

    /// Gives up, for all.
    pub(crate) fn abort(&self, waits: &impl Sleep) {
        self.state.fetch_or(ABORTED, Ordering::AcqRel);
        waits.wake_all();
    }

    /// Whether somebody gave up. One atomic load.
    pub(crate) fn is_aborted(&self) -> bool {
        self.state.load(Ordering::Acquire) & ABORTED != 0
    }
}
