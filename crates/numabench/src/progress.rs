//! A line on standard error that says how far the run is. Drawn between passes only: nothing moves while a
//! sample is timed.

use std::cell::RefCell;
use std::io::IsTerminal;

use experiments::observer::Observer;
use experiments::time_left::{TimeLeft, steps};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pingpong::RunState;
use stats::units::counted;
use trial::session::TrialObserver;

use crate::terminal;

/// What a run does before its first pass: a driver may take seconds for it.
const BEGINS: &str = "opening devices, allocating memory";

/// The line.
pub struct Progress {
    bar: ProgressBar,
    left: RefCell<TimeLeft>,
}

impl Progress {
    /// A line that says that the run begins.
    pub fn new(quiet: bool) -> Self {
        // No steady tick: indicatif would then redraw from a thread of its own while ranks measure.
        let bar = ProgressBar::with_draw_target(Some(1), target(quiet));
        if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(BEGINS);
        bar.tick();
        terminal::hold_line(!bar.is_hidden());
        Self { bar, left: RefCell::default() }
    }

    /// A line of words alone, empty yet.
    pub fn of_words(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(quiet));
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, left: RefCell::default() }
    }

    /// Shows these words, of so many steps done.
    pub fn say(&self, words: String, done: u64, of: u64) {
        let left = self.left.borrow_mut().estimate(self.bar.elapsed(), done as f64 / of.max(1) as f64);
        let left = left.map_or_else(String::new, |left| format!(", {left} left"));
        self.bar.set_length(of);
        self.bar.set_message(format!("{words}{left}"));
        self.bar.set_position(done.min(of));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
        terminal::hold_line(false);
    }
}

impl Observer for Progress {
    fn progress(&mut self, state: &RunState) {
        let samples = state.results.iter().flatten().map(|rank| rank.samples.len()).sum();
        let words = format!("{} of {}", counted(samples, "sample"), counted(state.results.len(), "case"));
        let (done, of) = steps(state);
        self.say(words, done, of);
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
