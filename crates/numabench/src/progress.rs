//! A line on standard error that says how far the run is. Drawn between passes only: nothing moves while a sample is timed.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

use experiments::config;
use experiments::observer::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pingpong::{RankCase, RunState};
use stats::stop::Rule;
use stats::units::counted;

/// A case is this many steps long.
const STEPS: u64 = 100;
/// So many blocks a case has at the least; one that needs more stays near its end.
const BLOCKS_AT_LEAST: u64 = 10;
const NEARLY: u64 = 95;

/// The line.
pub struct Progress {
    bar: ProgressBar,
    pace: RefCell<Pace>,
}

impl Progress {
    /// A line, empty yet.
    pub fn new(quiet: bool) -> Self {
        // No steady tick: indicatif would then redraw from a thread of its own while ranks measure.
        let bar = ProgressBar::with_draw_target(Some(0), target(quiet));
        if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, pace: RefCell::default() }
    }

    /// Of a run with these options: after so many rounds, or by a rule.
    pub fn of(quiet: bool, reps: Option<u64>, precision: Option<f64>) -> Self {
        let line = Self::new(quiet);
        line.pace.borrow_mut().rule = reps.is_none().then(|| config::rule(precision));
        line
    }

    /// Shows these words, of so many steps done.
    pub fn say(&self, words: String, done: u64, of: u64) {
        let part = done as f64 / of.max(1) as f64;
        let left = self.pace.borrow_mut().left(self.bar.elapsed(), part, |_, _, most| most);
        self.show(words, done, of, left);
    }

    fn show(&self, words: String, done: u64, of: u64, left: Option<Duration>) {
        let left = left.map_or_else(String::new, |left| format!(", about {} left", seconds(left.as_secs_f64())));
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
        let part = state.results.iter().map(|ranks| least(ranks)).sum::<f64>() / cases.max(1) as f64;
        let wait = |rule: &Rule, spent, at_most| wait(state, rule, spent, at_most);
        let left = self.pace.borrow_mut().left(self.bar.elapsed(), part, wait);
        self.show(words, steps.iter().sum(), cases as u64 * STEPS, left);
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

/// What is known of a run's time.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// What ends it; `None`: a number of rounds, or of turns.
    rule: Option<Rule>,
    /// When something was said first, and what part of the least was done then: before, devices are opened and every case is warmed up, and what is left does not do that again.
    first: Option<(Duration, f64)>,
    /// When every case had its least blocks.
    least: Option<Duration>,
}

impl Pace {
    /// What is left, where this part of the least blocks is done. `wait`: how long a run that took so long is expected to wait for narrow intervals after its least blocks, this long at
    /// most. `None` where nobody can tell.
    fn left(
        &mut self,
        now: Duration,
        part: f64,
        wait: impl Fn(&Rule, Duration, Duration) -> Duration,
    ) -> Option<Duration> {
        let (began, before) = *self.first.get_or_insert((now, part));
        let spent = now.saturating_sub(began);
        let rest = if part < 1.0 {
            let done = part - before;
            (done > 0.0).then(|| spent.mul_f64((1.0 - part) / done))?
        } else {
            Duration::ZERO
        };
        let ended = now + rest;
        if part >= 1.0 {
            self.least.get_or_insert(now);
        }
        let Some(rule) = &self.rule else { return Some(rest) };
        let least = self.least.unwrap_or(ended);
        // Who asked for a precision waits as long as it takes.
        let patience = rule.patience.after(least.saturating_sub(began)).unwrap_or(Duration::MAX);
        Some(rest + wait(rule, spent, patience.saturating_sub(now.saturating_sub(least))))
    }
}

/// How long a run is expected to wait for narrow intervals: where that cannot be told yet, half as long as it may.
fn wait(state: &RunState, rule: &Rule, spent: Duration, at_most: Duration) -> Duration {
    let unknown = || if at_most == Duration::MAX { Duration::ZERO } else { at_most / 2 };
    engine::expected_wait(state, rule, spent, at_most).unwrap_or_else(unknown)
}

/// What part of its least blocks a case has.
fn least(ranks: &[RankCase]) -> f64 {
    let mut open = ranks.iter().filter(|rank| rank.member && rank.stop.is_none()).peekable();
    if open.peek().is_none() {
        return 1.0;
    }
    let blocks = open.map(|rank| rank.samples.len() as u64).min().unwrap_or(0);
    (blocks as f64 / BLOCKS_AT_LEAST as f64).min(1.0)
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
    use stats::stop::Patience;

    use super::*;

    #[test]
    fn the_time_that_is_left_is_said_when_it_is_known() {
        let (s, none) = (Duration::from_secs, |_: &Rule, _, _| Duration::ZERO);
        let mut turns = Pace::default();
        assert_eq!(turns.left(s(3), 0.1, none), None, "not about 0 s at the start");
        assert_eq!(
            turns.left(s(5), 0.3, none),
            Some(s(7)),
            "at the rate since then: 3 s were those before the first block"
        );
        assert_eq!(turns.left(s(12), 1.0, none), Some(s(0)));
    }

    #[test]
    fn a_run_that_is_expected_to_wait_for_narrow_intervals_is_told_with_that() {
        let s = Duration::from_secs;
        let (all, none) = (|_: &Rule, _, most| most, |_: &Rule, _, _| Duration::ZERO);
        let mut pace = Pace { rule: Some(Rule::default()), ..Pace::default() };
        pace.left(s(2), 0.0, all);
        assert_eq!(pace.left(s(10), 0.5, all), Some(s(8 + 4)), "a quarter of the 16 s that the least blocks take");
        assert_eq!(pace.left(s(10), 0.5, none), Some(s(8)));
        assert_eq!(pace.left(s(18), 1.0, all), Some(s(4)));
        assert_eq!(pace.left(s(20), 1.0, all), Some(s(2)));
        assert_eq!(pace.left(s(20), 1.0, none), Some(s(0)));
        let asked = Rule { patience: Patience::Asked, ..Rule::default() };
        let mut pace = Pace { rule: Some(asked), ..Pace::default() };
        pace.left(s(2), 0.0, none);
        let long = |_: &Rule, _, most: Duration| most.min(s(40));
        assert_eq!(pace.left(s(10), 0.5, long), Some(s(8 + 40)), "who asked for a precision waits as long as it takes");
    }
}
