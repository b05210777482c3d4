//! How far a run is, and how long it will go on: told from the passes alone, and as exactly as that is known.

use std::time::Duration;

use pingpong::{RankCase, RunState};
use stats::units::spoken_seconds;

/// A case is this many steps long.
const STEPS: u64 = 100;
/// So many blocks a case has at the least; one that needs more stays near its end.
const BLOCKS_AT_LEAST: u64 = 10;
const NEARLY: u64 = 95;
/// From this part on the time that is left is right within a quarter (0.75 to 1.26 of six commands on GPUs
/// whose hosts had neighbours); told before, it was 0.58 to 1.40 of what the run took: cases end early, or
/// need more blocks.
const KNOWN_FROM: f64 = 0.5;
/// The shortest and the longest that it took before, in parts of what would be told.
const EARLY: [f64; 2] = [0.7, 1.7];

/// How many steps of a run are done, and of how many.
pub fn steps(state: &RunState) -> (u64, u64) {
    (state.results.iter().map(|ranks| steps_of_case(ranks)).sum(), state.results.len() as u64 * STEPS)
}

fn steps_of_case(ranks: &[RankCase]) -> u64 {
    let members = || ranks.iter().filter(|rank| rank.member);
    if members().all(|rank| rank.stop.is_some()) {
        return STEPS;
    }
    let blocks = members().map(|rank| rank.samples.len() as u64).min().unwrap_or(0);
    (blocks * STEPS / BLOCKS_AT_LEAST).min(NEARLY)
}

/// The time that is left of a run, as more and more of it is done.
#[derive(Debug, Default)]
pub struct TimeLeft {
    /// When it was asked first, and what part was done then: before, devices are opened and every case is
    /// warmed up, and what is left does not do that again.
    first: Option<(Duration, f64)>,
}

impl TimeLeft {
    /// The time in words, now that this part is done so long after the beginning; `None` where nothing tells.
    pub fn estimate(&mut self, elapsed: Duration, part: f64) -> Option<String> {
        let first = *self.first.get_or_insert((elapsed, part));
        seconds_left(first, (elapsed, part)).map(|left| estimate_text(left, part))
    }
}

/// Seconds that are left, of what part was done at first and is done now; `None` where that was now.
fn seconds_left((began, first): (Duration, f64), (now, part): (Duration, f64)) -> Option<f64> {
    let done = part - first;
    (done > 0.0).then(|| now.saturating_sub(began).as_secs_f64() * (1.0 - part) / done)
}

/// The seconds that are left, as sure as they are when this part is done.
fn estimate_text(left: f64, part: f64) -> String {
    if part >= KNOWN_FROM {
        return format!("about {}", spoken_seconds(left));
    }
    let [shortest, longest] = EARLY.map(|factor| spoken_seconds(left * factor));
    format!("{shortest} to {longest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_told_when_it_is_known() {
        let at = |seconds, part| (Duration::from_secs(seconds), part);
        assert_eq!(seconds_left(at(3, 0.1), at(3, 0.1)), None, "not about 0 s at the start");
        assert_eq!(
            seconds_left(at(3, 0.1), at(5, 0.3)),
            Some(7.0),
            "at the rate since then: 3 s were those before the first block"
        );
        assert_eq!(seconds_left(at(3, 0.1), at(12, 1.0)), Some(0.0));
    }

    #[test]
    fn before_a_half_is_done_the_time_is_a_range() {
        let mut left = TimeLeft::default();
        assert_eq!(left.estimate(Duration::from_secs(1), 0.1), None);
        assert_eq!(left.estimate(Duration::from_secs(3), 0.2).as_deref(), Some("11 s to 27 s"));
        assert_eq!(left.estimate(Duration::from_secs(9), 0.5).as_deref(), Some("about 10 s"));
    }
}
