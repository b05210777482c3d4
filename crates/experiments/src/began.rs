//! When a command began: on the wall clock once, for people, and on the clock that nobody sets, for how long
//! it took.
//!
//! A wall clock that is set while a run goes on (NTP after a boot, a leap) would otherwise move the start
//! from one write of a document to the next.

use std::time::{Duration, Instant, SystemTime};

/// When a command began.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    wall: SystemTime,
    at: Instant,
}

impl Began {
    /// Now.
    pub fn now() -> Self {
        Self { wall: SystemTime::now(), at: Instant::now() }
    }

    /// How long ago that is.
    pub fn elapsed(&self) -> Duration {
        self.at.elapsed()
    }

    /// When it was, as documents have it.
    pub fn started_at(&self) -> String {
        report::timestamp::rfc3339_utc(self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_the_same_however_late_and_by_whatever_clock_one_asks() {
        let began = Began { wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1), at: Instant::now() };
        assert_eq!(began.started_at(), "1970-01-01T00:00:01.000Z");
        std::thread::sleep(Duration::from_millis(2));
        assert!(began.elapsed() >= Duration::from_millis(2) && began.elapsed() < Duration::from_secs(3600));
        assert_eq!(began.started_at(), "1970-01-01T00:00:01.000Z");
    }
}
