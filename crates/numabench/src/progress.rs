//! A line on standard error that says how far the run is. Drawn between passes only: nothing moves while a sample is timed.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pingpong::RunState;

/// The line; hidden where standard error is no terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// A line for this many cases.
    pub fn new(cases: usize, quiet: bool) -> Self {
        // No steady tick: indicatif would then redraw from a thread of its own while ranks measure.
        let shown = !quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(cases as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} cases done, {msg}, {elapsed}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Shows the state.
    pub fn show(&self, state: &RunState) {
        let done =
            state.results.iter().filter(|ranks| ranks.iter().all(|rank| !rank.member || rank.stop.is_some())).count();
        self.0.set_message(format!("{} passes", state.passes));
        self.0.set_position(done as u64);
    }

    /// Shows these words alone.
    pub fn say(&self, words: String) {
        if let Ok(style) = ProgressStyle::with_template("{msg}, {elapsed}") {
            self.0.set_style(style);
        }
        self.0.set_message(words);
        self.0.tick();
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
