//! An experiment: what is made up, what is counted, and what the count must be; and all experiments of a
//! verdict on all PUs.
//!
//! Every trial has a seed of its own, made of the experiment's name and the trial's number, so a count
//! depends neither on how trials are shared out nor on which other experiments there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use stats::random::{SplitMix64, mix};

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// For the tests: seconds.
    Short,
    /// For the table: minutes.
    Long,
}

impl Length {
    /// One of two values.
    pub fn choose<T>(self, short: T, long: T) -> T {
        match self {
            Self::Short => short,
            Self::Long => long,
        }
    }
}

/// What must be true of a count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// False claims: at most this share.
    AtMost(f64),
    /// Changes found, intervals that hold: at least this share.
    AtLeast(f64),
    /// False claims: at most this share, which is more than a verdict should have, because of this.
    AtMostFor(f64, &'static str),
    /// Intervals that hold: at least this share, which is less than an interval should have, because of this.
    AtLeastFor(f64, &'static str),
    /// A figure that is told and not promised, because of this.
    Told(&'static str),
}

/// False claims, in documents where nothing changed.
pub const FALSE_CLAIMS: Limit = Limit::AtMost(0.05);
/// Planted changes that must be found.
pub const FOUND: Limit = Limit::AtLeast(0.95);
/// 95 % intervals that hold the truth.
pub const COVERAGE: Limit = Limit::AtLeast(0.93);

/// What came of a trial.
#[derive(Clone, Copy)]
pub struct Count {
    hits: usize,
    of: usize,
}

/// A document with or without a false claim is 1 or 0 of 1.
impl From<bool> for Count {
    fn from(is_hit: bool) -> Self {
        (usize::from(is_hit), 1).into()
    }
}

/// So many of so many.
impl From<(usize, usize)> for Count {
    fn from((hits, of): (usize, usize)) -> Self {
        Self { hits, of }
    }
}

/// One trial, from its own seed.
type Trial = Box<dyn Fn(&mut SplitMix64) -> Count + Sync>;

/// One row of a verdict's table.
pub struct Experiment {
    /// What is counted: `documents with a false claim`.
    what: &'static str,
    /// Under what: noise, counts, cases.
    setting: String,
    limit: Limit,
    trials: usize,
    trial: Trial,
}

impl Experiment {
    /// An experiment of so many trials.
    pub fn new<C: Into<Count>>(
        (what, limit): (&'static str, Limit),
        setting: String,
        trials: usize,
        trial: impl Fn(&mut SplitMix64) -> C + Sync + 'static,
    ) -> Self {
        Self { what, setting, limit, trials, trial: Box::new(move |random| trial(random).into()) }
    }

    /// Whether these words stand in its row.
    pub fn is_of(&self, words: &str) -> bool {
        format!("{}, {}", self.what, self.setting).contains(words)
    }

    fn seed(&self, verdict: &str, trial: usize) -> u64 {
        let words = [verdict, self.what, &self.setting].concat();
        mix(words.bytes().fold(trial as u64, |so_far, byte| mix(so_far ^ u64::from(byte)).wrapping_add(1)))
    }
}

/// What an experiment came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// What was counted.
    pub what: &'static str,
    /// Under what.
    pub setting: String,
    /// What it must be.
    pub limit: Limit,
    /// How many were counted.
    pub hits: usize,
    /// Of how many.
    pub of: usize,
    /// In how many trials: what is in one trial is not independent.
    pub trials: usize,
}

impl Counted {
    /// The share counted.
    pub fn share(&self) -> f64 {
        self.hits as f64 / self.of.max(1) as f64
    }

    /// Whether the share is within its limit, or beyond by what chance does: three deviations of as many
    /// trials at the limit.
    pub fn keeps(&self) -> bool {
        let chance = |limit: f64| 3.0 * (limit * (1.0 - limit) / self.trials.max(1) as f64).sqrt();
        match self.limit {
            Limit::AtMost(limit) | Limit::AtMostFor(limit, _) => self.share() <= limit + chance(limit),
            Limit::AtLeast(limit) | Limit::AtLeastFor(limit, _) => {
                self.of > 0 && self.share() >= limit - chance(limit)
            }
            Limit::Told(_) => true,
        }
    }

    /// The row in words.
    pub fn says(&self) -> String {
        format!("{}, {}: {} of {}", self.what, self.setting, self.hits, self.of)
    }
}

/// Conducts the experiments of a verdict, one after the other.
pub fn conduct(verdict: &str, experiments: Vec<Experiment>) -> impl Iterator<Item = Counted> + use<'_> {
    experiments.into_iter().map(move |experiment| counted(verdict, &experiment))
}

fn counted(verdict: &str, experiment: &Experiment) -> Counted {
    let next = AtomicUsize::new(0);
    let some = || {
        let (mut hits, mut of) = (0, 0);
        loop {
            let trial = next.fetch_add(1, Ordering::Relaxed);
            if trial >= experiment.trials {
                return (hits, of);
            }
            let count = (experiment.trial)(&mut SplitMix64::new(experiment.seed(verdict, trial)));
            (hits, of) = (hits + count.hits, of + count.of);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (hits, of) = std::thread::scope(|scope| {
        let under_way: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let counts = under_way
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        counts.fold((0, 0), |all, count| (all.0 + count.0, all.1 + count.1))
    });
    let Experiment { what, limit, trials, .. } = *experiment;
    Counted { what, setting: experiment.setting.clone(), limit, hits, of, trials }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(limit: Limit, hits: usize) -> Counted {
        Counted { what: "false claims", setting: "none".into(), limit, hits, of: 400, trials: 400 }
    }

    #[test]
    fn a_count_keeps_its_limit_within_three_deviations_of_chance() {
        // Of 400 at 5 %: 20, with a deviation of 4.36.
        assert!(with(FALSE_CLAIMS, 33).keeps() && !with(FALSE_CLAIMS, 34).keeps());
        assert!(with(FOUND, 367).keeps() && !with(FOUND, 366).keeps());
        assert!(with(Limit::Told("nobody asked"), 400).keeps());
        assert!(!Counted { of: 0, ..with(FOUND, 0) }.keeps(), "nothing was tried");
    }

    #[test]
    fn a_count_is_the_same_however_many_threads_there_are() {
        let experiment = || {
            Experiment::new(("odd", Limit::Told("a coin")), "coin".into(), 500, |random| (random.below(2), 1))
        };
        let conducted = |verdict| conduct(verdict, vec![experiment()]).map(|one| one.hits).sum::<usize>();
        assert_eq!(conducted("one"), conducted("one"));
        assert_ne!(conducted("one"), conducted("another"), "another verdict has other seeds");
    }
}
