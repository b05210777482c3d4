//! A line on standard error that says how far the run is. Drawn between passes only: nothing moves while a sample is timed.

use std::io::IsTerminal;

use experiments::observer::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pingpong::{RankCase, RunState};
use stats::units::counted;

/// A case is this many steps long.
const STEPS: u64 = 100;
/// So many blocks a case has at the least; one that needs more stays near its end.
const BLOCKS_AT_LEAST: u64 = 10;
const NEARLY: u64 = 95;

/// The line.
pub struct Progress(ProgressBar);

impl Progress {
    /// A line, empty yet.
    pub fn new(quiet: bool) -> Self {
        // No steady tick: indicatif would then redraw from a thread of its own while ranks measure.
        let bar = ProgressBar::with_draw_target(Some(0), target(quiet));
        if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {msg}, about {eta} left") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
    }

    /// Shows these words, of so many steps done.
    pub fn say(&self, words: String, done: u64, of: u64) {
        self.0.set_length(of);
        self.0.set_message(words);
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
        let done = steps.iter().filter(|steps| **steps == STEPS).count();
        self.0.set_length(cases as u64 * STEPS);
        self.0.set_message(format!("{done} of {}, {}", counted(cases, "case"), counted(state.passes as usize, "pass")));
        self.0.set_position(steps.iter().sum());
    }

    fn ended(&mut self) {
        self.clear();
    }
}

/// Where a line of progress goes: nowhere unless standard error is a terminal that can take it back.
pub fn target(quiet: bool) -> ProgressDrawTarget {
    let takes_lines_back = std::env::var("TERM").is_ok_and(|terminal| terminal != "dumb");
    let shown = !quiet && takes_lines_back && std::io::stderr().is_terminal();
    if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
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
