//! The pace of traffic: bursts of a page, one in so long a time, so that traffic of any rate lies evenly
//! beside what is measured with it.
//!
//! A pause is the time that is left until the next burst is due. Bursts that are a little late are made up
//! for. A thread that was kept from its PU for longer begins anew: it would make all the traffic that it can,
//! and the rest of the block would be another point of the curve. It begins at a moment drawn by lot, as at
//! first: threads that start together would else have all their bursts and all their pauses at once. So a
//! pace is what is aimed at, and the rate is what was measured.

use std::hint::spin_loop;
use std::time::Duration;

use stats::random::SplitMix64;

/// A burst: a page, 64 cache lines. Short beside the time in which a chase makes one figure, long beside a
/// reading of the clock.
pub const BURST_BYTES: usize = 4096;
/// About so long is a round, which is as many bursts as are due meanwhile: as long as one of a slice without
/// pauses.
const ROUND_NS: u64 = 2_000_000;
/// So many bursts late is too late to make up for it.
const TOO_LATE: u64 = 16;

/// How often a burst begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pace {
    every_ns: u64,
}

impl Pace {
    /// Bursts without a pause between them.
    pub const UNPAUSED: Self = Self { every_ns: 0 };

    /// A burst begins `every` so often, or as often as they can where that is longer.
    pub fn every(every: Duration) -> Self {
        Self { every_ns: u64::try_from(every.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// A thread's part `1 / threads` of a rate of all, bytes/s. A copy counts twice what a burst reads.
    /// `None` for no rate at all.
    pub fn of_rate(bytes_per_s: f64, threads: usize, bytes_a_burst: f64) -> Option<Self> {
        let seconds = bytes_a_burst * threads as f64 / bytes_per_s;
        Duration::try_from_secs_f64(seconds).ok().filter(|every| !every.is_zero()).map(Self::every)
    }

    /// The most bytes that one round takes at this pace, of a slice of at most `slice`.
    pub(crate) fn round_bytes(self, slice: usize) -> usize {
        let bursts = ROUND_NS.checked_div(self.every_ns).unwrap_or(u64::MAX).max(1);
        usize::try_from(bursts).unwrap_or(usize::MAX).saturating_mul(BURST_BYTES).min(slice)
    }
}

/// When the next burst is due.
pub(crate) struct Due {
    at_ns: u64,
    random: SplitMix64,
}

impl Due {
    /// Nothing was due yet; `key` is what moments are drawn by.
    pub(crate) fn new(key: u64) -> Self {
        Self { at_ns: 0, random: SplitMix64::new(key) }
    }

    /// Waits until a burst is due, by this clock.
    pub(crate) fn wait(&mut self, pace: Pace, now_ns: impl Fn() -> u64) {
        if pace == Pace::UNPAUSED {
            return;
        }
        let mut now = now_ns();
        if now.saturating_sub(self.at_ns) / TOO_LATE >= pace.every_ns {
            self.at_ns = now.saturating_add(self.random.below(pace.every_ns as usize) as u64);
        }
        while now < self.at_ns {
            spin_loop();
            now = now_ns();
        }
        self.at_ns = self.at_ns.saturating_add(pace.every_ns);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const EVERY_500: Pace = Pace { every_ns: 500 };

    /// When bursts begin by a clock that goes on by 30 ns a reading, and by `late[k]` before the k-th burst.
    fn begins(key: u64, pace: Pace, late: &[u64]) -> Vec<u64> {
        let clock = Cell::new(1_000_000);
        let mut due = Due::new(key);
        let burst = |late: &u64| {
            clock.set(clock.get() + late);
            due.wait(pace, || {
                clock.set(clock.get() + 30);
                clock.get()
            });
            clock.get()
        };
        late.iter().map(burst).collect()
    }

    #[test]
    fn bursts_begin_as_often_as_asked_whatever_a_reading_of_the_clock_costs() {
        let seen = begins(1, EVERY_500, &[0; 101]);
        let mean = (seen[100] - seen[0]) as f64 / 100.0;
        assert!((mean - 500.0).abs() < 1.0, "{mean} ns: what one burst is late the next one is not");
        let unpaused = begins(1, Pace::UNPAUSED, &[400; 3]);
        assert_eq!(unpaused, [1_000_400, 1_000_800, 1_001_200], "no clock is read");
    }

    #[test]
    fn a_burst_that_is_a_little_late_is_made_up_for_and_a_long_time_is_not() {
        let gaps = |late: &[u64]| -> Vec<u64> {
            begins(1, EVERY_500, late).windows(2).map(|pair| pair[1] - pair[0]).collect()
        };
        let little = gaps(&[0, 0, 1500, 0, 0, 0, 0]);
        assert!(little[1] >= 1500 && little[2] <= 60 && little[5] >= 470, "{little:?}");
        let long = gaps(&[0, 0, 20_000, 0, 0, 0, 0]);
        assert!(long[1] >= 20_000 && long[2..].iter().all(|gap| *gap >= 470), "{long:?}");
    }

    #[test]
    fn threads_that_start_together_do_not_burst_together() {
        let first: std::collections::BTreeSet<u64> =
            (0..32).map(|key| (begins(key, EVERY_500, &[0])[0] - 1_000_000) / 50).collect();
        assert!(first.len() > 5, "their first bursts lie in the tenths {first:?} of an interval");
    }

    #[test]
    fn a_round_is_as_long_at_every_pace_and_a_rate_is_shared_by_the_threads() {
        let every = |ns| Pace::every(Duration::from_nanos(ns));
        assert_eq!(Pace::UNPAUSED.round_bytes(1 << 24), 1 << 24);
        assert_eq!(every(4000).round_bytes(1 << 24), 500 * BURST_BYTES);
        assert_eq!(every(1).round_bytes(1 << 24), 1 << 24);
        assert_eq!(every(u64::MAX).round_bytes(1 << 24), BURST_BYTES);
        assert_eq!(Pace::of_rate(4.096e9, 4, BURST_BYTES as f64), Some(every(4000)));
        assert_eq!(Pace::of_rate(0.0, 4, BURST_BYTES as f64), None);
    }
}
