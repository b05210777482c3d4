//! What a trial is given beside what it tries.

use experiments::signals::Signals;
use report::sink::Sink;

/// Who is told how far a trial is, between its runs.
pub trait TrialObserver {
    /// A run has ended; how far the trial is, in one line.
    fn progress(&mut self, line: &str);

    /// Nothing more will be told of it.
    fn ended(&mut self);
}

/// What a trial is given beside what it tries.
pub struct TrialSession<'a> {
    /// Where the document is kept, after each run.
    pub sink: Option<&'a Sink>,
    /// What ends the trial early.
    pub signals: &'a Signals,
    /// Who is told how far it is.
    pub observer: &'a mut dyn TrialObserver,
    /// Says what a person should know at once and what ends nothing.
    pub say: fn(&str),
}
