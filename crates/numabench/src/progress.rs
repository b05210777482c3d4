//! A line on standard error that says how far the run is. Drawn between passes only: nothing moves while a sample is timed.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::Duration;

use experiments::observer::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pingpong::{RankCase, RunState};
use stats::units::{counted, spoken_seconds};
use trial::session::TrialObserver;

/// A case is this many steps long.
const STEPS: u64 = 100;
/// So many blocks a case has at the least; one that needs more stays near its end.
const BLOCKS_AT_LEAST: u64 = 10;
const NEARLY: u64 = 95;
/// From this part on the time that is left is right within a quarter (0.75 to 1.26 of six commands on GPUs whose hosts had neighbours); told before, it was 0.58 to 1.40 of
/// what the run took: cases end early, or need more blocks.
const KNOWN_FROM: f64 = 0.5;
/// The shortest and the longest that it took before, in parts of what would be told.
const EARLY: [f64; 2] = [0.7, 1.7];

/// The line.
pub struct Progress {
    bar: ProgressBar,
    /// When something was said first, and what part was done then: before, devices are opened and every case is warmed up, and what is left does not do that again.
    first: Cell<Option<(Duration, f64)>>,
}

impl Progress {
    /// A line, empty yet.
    pub fn new(quiet: bool) -> Self {
        // No steady tick: indicatif would then redraw from a thread of its own while ranks measure.
        let bar = ProgressBar::with_draw_target(Some(0), target(quiet));
        if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, first: Cell::default() }
    }

    /// A line of words alone, empty yet.
    pub fn of_words(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(quiet));
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, first: Cell::default() }
    }

    /// Shows these words, of so many steps done.
    pub fn say(&self, words: String, done: u64, of: u64) {
        let now = (self.bar.elapsed(), done as f64 / of.max(1) as f64);
        let first = self.first.get().unwrap_or(now);
        self.first.set(Some(first));
        let left = left(first, now).map_or_else(String::new, |left| format!(", {} left", told(left, now.1)));
        self.bar.set_length(of);
        self.bar.set_message(format!("{words}{left}"));
        self.bar.set_position(done.min(of));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
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

impl TrialObserver for Progress {
    fn progress(&mut self, line: &str) {
        self.bar.set_message(line.to_owned());
        self.bar.tick();
    }

    fn ended(&mut self) {
        self.clear();
    }
}

/// Where a line of progress goes: nowhere unless standard error is a terminal that can take it back.
fn target(quiet: bool) -> ProgressDrawTarget {
    let takes_lines_back = std::env::var("TERM").is_ok_and(|terminal| terminal != "dumb");
    let shown = !quiet && takes_lines_back && std::io::stderr().is_terminal();
    if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// Seconds that are left, of what part was done when something was said first and is done now; `None` where that was now.
fn left((began, first): (Duration, f64), (now, part): (Duration, f64)) -> Option<f64> {
    let done = part - first;
    (done > 0.0).then(|| now.saturating_sub(began).as_secs_f64() * (1.0 - part) / done)
}

/// The seconds that are left, as sure as they are when this part is done.
fn told(left: f64, part: f64) -> String {
    if part >= KNOWN_FROM {
        return format!("about {}", spoken_seconds(left));
    }
    let [shortest, longest] = EARLY.map(|factor| spoken_seconds(left * factor));
    format!("{shortest} to {longest}")
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
        let at = |seconds, part| (Duration::from_secs(seconds), part);
        assert_eq!(left(at(3, 0.1), at(3, 0.1)), None, "not about 0 s at the start");
        assert_eq!(
            left(at(3, 0.1), at(5, 0.3)),
            Some(7.0),
            "at the rate since then: 3 s were those before the first block"
        );
        assert_eq!(left(at(3, 0.1), at(12, 1.0)), Some(0.0));
    }

    #[test]
    fn before_a_half_is_done_the_time_is_a_range() {
        assert_eq!(told(20.0, 0.3), "14 s to 34 s");
        assert_eq!(told(20.0, 0.5), "about 20 s");
    }
}
