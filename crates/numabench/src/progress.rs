//! A line on standard error that says how far the run is. Drawn between passes only: nothing moves while a sample is timed.

use std::io::IsTerminal;
use std::time::Duration;

use experiments::observer::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pingpong::{RankCase, RunState};
use stats::units::counted;

/// A case is this many steps long.
const STEPS: u64 = 100;
/// So many blocks a case has at the least; one that needs more stays near its end.
const BLOCKS_AT_LEAST: u64 = 10;
const NEARLY: u64 = 95;
/// From this part on it is said how long the rest takes: before, the time is that of opening devices and of allocations.
const KNOWN_FROM: f64 = 0.05;

/// The line.
pub struct Progress(ProgressBar);

impl Progress {
    /// A line, empty yet.
    pub fn new(quiet: bool) -> Self {
        // No steady tick: indicatif would then redraw from a thread of its own while ranks measure.
        let bar = ProgressBar::with_draw_target(Some(0), target(quiet));
        if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
    }

    /// Shows these words, of so many steps done.
    pub fn say(&self, words: String, done: u64, of: u64) {
        let left =
            left(self.0.elapsed(), done, of).map_or_else(String::new, |left| format!(", about {} left", seconds(left)));
        self.0.set_length(of);
        self.0.set_message(format!("{words}{left}"));
        self.0.set_position(done.min(of));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Observer for Progress {
    fn progress(&mut self, state: &RunState) {
        let cases = state.results.len();
        let steps: Vec<u64> = state.results.iter().map(|ranks| steps(ranks)).collect();
        let samples = state.results.iter().flatten().map(|rank| rank.samples.len()).sum();
        let words = format!("{} of {}", counted(samples, "sample"), counted(cases, "case"));
        self.say(words, steps.iter().sum(), cases as u64 * STEPS);
    }

    fn ended(&mut self) {
        self.clear();
    }
}

/// `1.4 s`, `14 s`, `3 min 20 s`, `2 h 5 min`.
pub fn seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{:.1} s", seconds.max(0.0));
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// Where a line of progress goes: nowhere unless standard error is a terminal that can take it back.
pub fn target(quiet: bool) -> ProgressDrawTarget {
    let takes_lines_back = std::env::var("TERM").is_ok_and(|terminal| terminal != "dumb");
    let shown = !quiet && takes_lines_back && std::io::stderr().is_terminal();
    if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// Seconds that are left, where so much of the whole took so long; `None` while too little is done to tell.
fn left(elapsed: Duration, done: u64, of: u64) -> Option<f64> {
    let part = done as f64 / of.max(1) as f64;
    (part >= KNOWN_FROM).then(|| elapsed.as_secs_f64() * (1.0 - part) / part)
}

/// How far a case is, of [`STEPS`].
fn steps(ranks: &[RankCase]) -> u64 {
    let members = || ranks.iter().filter(|rank| rank.member);
    if members().all(|rank| rank.stop.is_some()) {
        return STEPS;
    }
    let blocks = members().map(|rank| rank.samples.len() as u64).min().unwrap_or(0);
    (blocks * STEPS / BLOCKS_AT_LEAST).min(NEARLY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_said_when_it_is_known() {
        let after = |seconds, done| left(Duration::from_secs(seconds), done, 300);
        assert_eq!((after(0, 0), after(2, 10)), (None, None), "not about 0 s at the start");
        assert_eq!((after(2, 150), after(3, 300)), (Some(2.0), Some(0.0)));
    }
}
