//! The threads of one process as ranks.
//!
//! Waiting is sleeping, not spinning: in a run where one rank moves at a time, the others must not disturb
//! it. The few microseconds a wake-up takes do not matter, because a common start is a deadline on the clock
//! that is agreed with [`Ranks::max`], not the end of a barrier. What they wait for is a [`Round`]: no lock,
//! so that a thread whose CPU is taken away holds up nobody that has come.

use crate::round::{Round, Sleep, WAITING};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Arc, Futex};
use crate::{Aborted, Ranks, VALUES};

#[derive(Default)]
struct Group {
    size: usize,
    state: AtomicU32,
    largest: [[AtomicU64; VALUES]; 2],
    futex: Futex,
    arrivals: Arrivals,
}

/// Counts arrivals over all phases, so that nobody has to reset it: phase p is complete at p × size. It is
/// looked at while others measure, so it lies on lines of its own; some processors fetch lines in pairs,
/// hence twice the usual 64 bytes.
#[derive(Default)]
#[repr(align(128))]
struct Arrivals(AtomicU64);

impl Group {
    fn round(&self) -> Round<'_> {
        let largest = self.largest.each_ref().map(|values| values.each_ref());
        Round { state: &self.state, largest, size: self.size }
    }
}

impl Sleep for Group {
    fn sleep_while(&self, state: u32) {
        self.futex.sleep_while(&self.state, state);
    }

    fn wake_all(&self) {
        self.futex.wake_all(&self.state);
    }
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
    ///
    /// # Panics
    /// With more than 65,535 members: a round counts them in 16 bits.
    pub fn group(size: usize) -> Vec<Self> {
        assert!(size <= WAITING as usize, "a group has at most {WAITING} threads, not {size}");
        let group = Arc::new(Group { size, ..Group::default() });
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

    fn max_of_each(&self, values: [u64; VALUES]) -> Result<[u64; VALUES], Aborted> {
        self.group.round().max_of_each(values, &*self.group)
    }

    fn arrive(&self) {
        self.phase.fetch_add(1, Ordering::Relaxed);
        self.group.arrivals.0.fetch_add(1, Ordering::AcqRel);
    }

    fn all_arrived(&self) -> bool {
        let complete = self.phase.load(Ordering::Relaxed) * self.group.size as u64;
        self.group.arrivals.0.load(Ordering::Acquire) >= complete
    }

    fn abort(&self) {
        self.group.round().abort(&*self.group);
    }
}
