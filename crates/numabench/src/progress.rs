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
        self.show(words, done, of, done as f64 / of.max(1) as f64, false);
    }

    fn show(&self, words: String, done: u64, of: u64, least: f64, waits: bool) {
        let left = self.pace.borrow_mut().left(self.bar.elapsed(), least, waits);
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
        let rule = self.pace.borrow().rule;
        let least = state.results.iter().map(|ranks| least(ranks)).sum::<f64>() / cases.max(1) as f64;
        let waits = rule.is_some_and(|rule| state.results.iter().flatten().any(|rank| is_wide(rank, &rule)));
        self.show(words, steps.iter().sum(), cases as u64 * STEPS, least, waits);
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
    /// What is left, where this part of the least blocks is done; `waits`: some interval is not yet known to be as narrow as the rule asks. `None` where nobody can tell.
    fn left(&mut self, now: Duration, part: f64, waits: bool) -> Option<Duration> {
        let patience = self.rule.map(|rule| rule.patience).filter(|_| waits);
        let (began, before) = *self.first.get_or_insert((now, part));
        if part < 1.0 {
            let done = part - before;
            let rest = (done > 0.0).then(|| now.saturating_sub(began).mul_f64((1.0 - part) / done))?;
            return Some(rest + patience.and_then(|patience| patience.after(now + rest)).unwrap_or_default());
        }
        let least = *self.least.get_or_insert(now);
        let more = patience.map_or(Some(Duration::ZERO), |patience| patience.after(least))?;
        Some((least + more).saturating_sub(now))
    }
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

/// Whether a rank's interval is wider than the rule asks, or not known.
fn is_wide(rank: &RankCase, rule: &Rule) -> bool {
    let known = rank.so_far.as_ref().map(|so_far| &so_far.summary);
    let half = known.and_then(|known| Some(known.median_interval_ns?.relative_half_width(known.median_ns)));
    rank.member && rank.stop.is_none() && half.is_none_or(|half| half > rule.target_half_width)
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
        let s = Duration::from_secs;
        let mut turns = Pace::default();
        assert_eq!(turns.left(s(3), 0.1, false), None, "not about 0 s at the start");
        assert_eq!(
            turns.left(s(5), 0.3, false),
            Some(s(7)),
            "at the rate since then: 3 s were those before the first block"
        );
        assert_eq!(turns.left(s(12), 1.0, false), Some(s(0)));
    }

    #[test]
    fn a_run_that_may_wait_for_narrow_intervals_is_told_with_that_until_they_are() {
        let s = Duration::from_secs;
        let mut pace = Pace { rule: Some(Rule::default()), ..Pace::default() };
        pace.left(s(2), 0.0, true);
        assert_eq!(pace.left(s(7), 0.5, true), Some(s(5 + 3)), "a quarter of the 12 s that the least blocks take");
        assert_eq!(pace.left(s(7), 0.5, false), Some(s(5)));
        assert_eq!(pace.left(s(12), 1.0, true), Some(s(3)));
        assert_eq!(pace.left(s(14), 1.0, true), Some(s(1)));
        assert_eq!(pace.left(s(14), 1.0, false), Some(s(0)));
        let asked = Rule { patience: Patience::Asked, ..Rule::default() };
        let mut pace = Pace { rule: Some(asked), ..Pace::default() };
        pace.left(s(2), 0.0, true);
        assert_eq!(pace.left(s(12), 1.0, true), None, "who asked for a precision waits as long as it takes");
    }
}
