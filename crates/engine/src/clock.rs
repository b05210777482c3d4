//! The node's clock, and what it costs to read.
//!
//! CLOCK_MONOTONIC_RAW: every rank of a node reads the same one, and NTP does not slew it while a sample
//! runs. Its cost is reported beside small-message figures and never subtracted from them.

use stats::flag::TimerFacts;

/// The clock's name, for documents.
pub const NAME: &str = "CLOCK_MONOTONIC_RAW";

/// Nanoseconds now.
pub fn now_ns() -> u64 {
    sys::clock::monotonic_raw_ns()
}

/// Does something and adds its time to `ns`.
pub fn timed<T>(ns: &mut u64, act: impl FnOnce() -> T) -> T {
    let began = now_ns();
    let result = act();
    *ns += now_ns() - began;
    result
}

/// Measures what one reading costs and the smallest step the clock shows.
pub fn measure() -> TimerFacts {
    const READINGS: usize = 10_000;
    let mut readings = [0_u64; READINGS];
    readings.iter_mut().for_each(|reading| *reading = now_ns());
    let span = readings[READINGS - 1].saturating_sub(readings[0]);
    let steps = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).filter(|step| *step > 0);
    TimerFacts {
        resolution_ns: steps.min().unwrap_or(1) as f64,
        cost_ns: span as f64 / (READINGS - 1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward_and_a_reading_costs_something() {
        let facts = measure();
        assert!(facts.cost_ns > 0.0 && facts.resolution_ns >= 1.0, "{facts:?}");
        let start = now_ns();
        assert!(now_ns() >= start);
    }
}
