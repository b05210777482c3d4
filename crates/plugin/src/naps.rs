//! How long a process sleeps between two looks for messages.
//!
//! MPI wakes nobody: whoever waits looks again and again, and a look (a wake-up, the kernel's clock, MPI's
//! queues) takes tens of microseconds. With many ranks on few PUs the looks of those who wait take the time
//! of those whom they wait for: 256 ranks that look every half millisecond need five PUs, each step of a
//! launch took as long as all of them in turn, and a launch grew with the square of its ranks. So a wait is
//! looked at again after an eighth of the time that it has lasted, and the processes of a node together look
//! no more often than a few thousand times a second.
//!
//! The first process of a node is the one that others wait for; there is one, and it looks as often as it
//! likes. Nothing of this is in the timed path.

use std::time::{Duration, Instant};

const SHORTEST: Duration = Duration::from_micros(200);
/// Of the first process of a node, and of any where there are few.
const LONGEST: Duration = Duration::from_millis(1);
/// For each process of the node: five thousand looks a second of all.
const LONGEST_A_PROCESS: Duration = Duration::from_micros(200);
/// However many they are: who is asked something answers within a second.
const LONGEST_OF_ALL: Duration = Duration::from_millis(200);
/// The part of a wait that is slept away before the next look.
const PART: u32 = 8;

/// The naps of one process. A new one, or [`Naps::awake`], begins a wait.
#[derive(Clone, Debug)]
pub struct Naps {
    longest: Duration,
    since: Instant,
}

impl Naps {
    /// Of one of so many processes of a node that wait alike.
    pub fn among(waiting: usize) -> Self {
        let all = LONGEST_A_PROCESS.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX));
        Self { longest: all.clamp(LONGEST, LONGEST_OF_ALL), since: Instant::now() }
    }

    /// Something came: what is waited for next has just begun.
    pub fn awake(&mut self) {
        self.since = Instant::now();
    }

    /// How long to sleep now.
    pub fn next(&self) -> Duration {
        self.after(self.since.elapsed())
    }

    fn after(&self, waited: Duration) -> Duration {
        (waited / PART).clamp(SHORTEST, self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often all waiting processes of a node look in a wait of ten seconds, if looking takes no time.
    fn looks(processes: usize) -> usize {
        let (naps, mut waited, mut looks) = (Naps::among(processes), Duration::ZERO, 0);
        while waited < Duration::from_secs(10) {
            waited += naps.after(waited);
            looks += processes;
        }
        looks
    }

    #[test]
    fn a_node_looks_no_more_often_with_more_processes() {
        assert!(looks(8) <= 60_000, "{}", looks(8));
        assert!(looks(256) <= 2 * looks(8), "{} for 256, {} for 8", looks(256), looks(8));
        assert!(looks(512) <= 2 * looks(8), "{} for 512, {} for 8", looks(512), looks(8));
    }

    #[test]
    fn a_wait_is_longer_by_an_eighth_at_most() {
        let naps = Naps::among(256);
        assert_eq!(naps.after(Duration::ZERO), SHORTEST);
        assert_eq!(naps.after(Duration::from_millis(80)), Duration::from_millis(10));
        assert!(naps.after(Duration::from_secs(100)) < Duration::from_millis(60));
        assert_eq!(Naps::among(1_000_000).after(Duration::from_secs(100)), LONGEST_OF_ALL);
    }

    #[test]
    fn one_on_its_own_looks_twenty_times_as_often_as_one_of_hundreds() {
        assert_eq!(Naps::among(1).longest, LONGEST);
        assert!(Naps::among(256).longest > LONGEST * 20);
    }
}
