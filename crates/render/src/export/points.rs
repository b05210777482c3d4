//! The one list that every form is written from: a document's figures as points, each with all that is known
//! of it by name.
//!
//! A kind of document has one file that makes its points, a form one file that writes them. What a kind shows
//! differently from another is said here in words and lists (columns, labels, tags), so that no form asks
//! which kind it has.

use std::borrow::Cow;

use analysis::incomplete::Incomplete;

/// The figures of a document.
#[derive(Clone, Debug)]
pub struct Points {
    /// What its records are called: `numabench`, `numabench_mpi`.
    pub record: &'static str,
    /// What it is called among test results.
    pub title: &'static str,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// Whether a record carries that moment. A trial's do not: they are taken in when they are written.
    pub is_dated: bool,
    /// How long it took, seconds; 0 where nobody knows.
    pub elapsed_s: f64,
    /// The host; empty where it is not known.
    pub host: String,
    /// How the run ended, where that is not complete.
    pub incomplete: Option<Incomplete>,
    /// The columns of a table: names of words and numbers of its points.
    pub columns: Vec<&'static str>,
    /// What ends a line of the table.
    pub line_end: &'static str,
    /// The words that tell samples of a metric apart.
    pub labels: Vec<Label>,
    /// The words that tell records apart.
    pub tags: Vec<Label>,
    /// The numbers that a record has.
    pub fields: &'static [&'static str],
    /// The metrics that its figures are samples of.
    pub metrics: Vec<MetricFamily>,
    /// What there is to say of the run as a whole.
    pub gauges: Vec<Gauge>,
    /// The suites of its tests, in order: also those without a test.
    pub suites: Vec<String>,
    /// The figures.
    pub points: Vec<Point>,
}

/// A word of a point under the name that a form gives it.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// The form's name.
    pub name: &'static str,
    /// The point's.
    pub word: &'static str,
}

impl Label {
    /// Words that are called the same in a form.
    pub fn same_in_all_forms(words: &[&'static str]) -> Vec<Self> {
        words.iter().map(|word| Self { name: word, word }).collect()
    }
}

/// What was measured of one case in one place, or the reason why there is nothing.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its name: the same in every run of the same cases in the same places, whatever the host and the day.
    pub name: String,
    /// The same where figures are listed by their measures below it.
    pub benchmark: String,
    /// Where the figures come from, for those who look closer.
    pub origin: String,
    /// Its words by name.
    pub words: Vec<(&'static str, String)>,
    /// Its numbers by name, those that are there.
    pub numbers: Vec<(&'static str, Number)>,
    /// Its figures.
    pub figures: Vec<Estimate>,
    /// It as a test; none where another point's stands for it.
    pub test: Option<TestCase>,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A measured one.
    Real(f64),
    /// A counted one.
    Count(u64),
}

/// A figure with the ends of its 95 % interval, where it has one.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// What it measures.
    pub measure: Measure,
    /// Whether it is the one that its case is judged by.
    pub is_main: bool,
    /// The figure.
    pub value: f64,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// What a figure measures.
#[derive(Clone, Debug)]
pub struct Measure {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The unit that people are shown it in.
    pub unit: Cow<'static, str>,
    /// How many of its own make one of that unit.
    pub scale: f64,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Whether half its interval is shown as a part of it, and not as an amount.
    pub is_relative: bool,
}

/// A rate, bytes/s.
pub const RATE: Measure = Measure {
    name: Cow::Borrowed("bandwidth"),
    unit: Cow::Borrowed("GB/s"),
    scale: 1e9,
    more_is_better: true,
    is_relative: true,
};

/// A time, ns.
pub const TIME: Measure = Measure {
    name: Cow::Borrowed("latency"),
    unit: Cow::Borrowed("µs"),
    scale: 1e3,
    more_is_better: false,
    is_relative: true,
};

/// Samples under one name.
#[derive(Clone, Debug)]
pub struct MetricFamily {
    /// The name, without its unit.
    pub name: String,
    /// The unit; empty where samples differ in theirs.
    pub unit: &'static str,
    /// What it is.
    pub help: &'static str,
    /// The measure of its figures; all where there is none.
    pub measure: Option<Cow<'static, str>>,
    /// How many of a figure's own unit make one of the metric's.
    pub scale: f64,
    /// Whether the ends of intervals are metrics too.
    pub has_ends: bool,
}

impl MetricFamily {
    /// Those of rates and of times under names that begin so, each with its help.
    pub(super) fn rate_and_time(prefix: &str, [rate, time]: [&'static str; 2], has_ends: bool) -> Vec<Self> {
        let family = |name: &str, unit, help, measure: Measure, scale| {
            let name = format!("{prefix}_{name}");
            Self { name, unit, help, measure: Some(measure.name), scale, has_ends }
        };
        vec![family("rate", "bytes_per_second", rate, RATE, 1.0), family("time", "seconds", time, TIME, 1e9)]
    }
}

/// A value of the run as a whole.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// Its name.
    pub name: String,
    /// Its unit, which is the end of the name; empty for none.
    pub unit: &'static str,
    /// What it is.
    pub help: &'static str,
    /// The value, where it is known.
    pub value: Option<f64>,
}

/// A point as a test.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// The suite that it belongs to.
    pub suite: String,
    /// What it tests.
    pub class: String,
    /// Where.
    pub name: String,
    /// How long it took, seconds; 0 where nobody knows.
    pub took_s: f64,
    /// How it went.
    pub outcome: TestOutcome,
}

/// How a test went.
#[derive(Clone, Debug)]
pub enum TestOutcome {
    /// There are figures, in these words.
    Measured(String),
    /// It was left out, and why.
    Skipped(String),
    /// There are figures that are none, or bytes that were not sent.
    Failure(TestFault),
    /// A step failed.
    Error(TestFault),
}

/// Why a test did not go well.
#[derive(Clone, Debug)]
pub struct TestFault {
    /// In a word.
    pub kind: &'static str,
    /// In a sentence.
    pub reason: String,
}

impl Point {
    /// A word by its name; empty where it has none.
    pub fn word(&self, name: &str) -> &str {
        self.words.iter().find(|(known, _)| *known == name).map_or("", |(_, word)| word)
    }

    /// A number by its name.
    pub fn number(&self, name: &str) -> Option<Number> {
        self.numbers.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }
}

/// The numbers that are known.
pub(super) fn known<const N: usize>(
    numbers: [(&'static str, Option<Number>); N],
) -> Vec<(&'static str, Number)> {
    numbers.into_iter().filter_map(|(name, number)| Some((name, number?))).collect()
}
