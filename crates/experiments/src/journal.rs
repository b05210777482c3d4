//! Keeps the document on disk and the progress line true between passes, and shows the result at the end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pingpong::{Journal, RunState};
use report::Document;
use report::sink::{Kept, Sink};
use serde::Serialize;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::observer::Observer;

/// Writing takes at most one part in so many of the run's time: the document of a thousand ranks takes
/// seconds to write.
const SHARE: u32 = 10;
/// Unless so much time has passed since the last writing: as much as a killed run loses, beside the pass in
/// flight. docs/results.md says so too.
const LONGEST: Duration = Duration::from_secs(5);

/// The document for the state a run is in; without an exit while it goes on.
pub type Build<'a> = &'a dyn Fn(&RunState, Option<Exit>) -> Document;

/// What a run ended with.
#[derive(Debug)]
pub struct FinishedRun<D = Document> {
    /// The whole document.
    pub document: D,
    /// The code to end with.
    pub exit: Exit,
    /// Where the document is kept, where it is.
    pub saved_to: Option<PathBuf>,
    /// The document is not where it was asked for.
    pub fault: Option<Fault>,
}

impl<D: Serialize> FinishedRun<D> {
    /// The document of a run with this exit, written for good where it was asked for.
    pub fn kept(sink: Option<&Sink>, document: D, exit: Exit) -> Self {
        let settled = sink.map(|sink| settled(sink, sink.keep_or_rescue(&document), exit));
        let (saved_to, kept) = settled.unwrap_or((None, Ok(())));
        Self { document, exit, saved_to, fault: kept.err() }
    }
}

/// The file of a document, where there is one.
pub struct DocumentFile<'a> {
    sink: Option<&'a Sink>,
    say: fn(&str),
    has_failed: bool,
    /// When the last writing ended, and how long it took.
    pub(crate) written: Option<(Instant, Duration)>,
}

impl<'a> DocumentFile<'a> {
    /// For a run whose documents are kept in `sink`; `say` tells a person that one could not be.
    pub fn new(sink: Option<&'a Sink>, say: fn(&str)) -> Self {
        Self { sink, say, has_failed: false, written: None }
    }

    /// Whether it is time to write.
    pub fn is_due(&self) -> bool {
        self.written.is_none_or(|(ended, took)| is_due(ended.elapsed(), took))
    }

    /// Writes the document as it stands.
    pub fn write<D: Serialize>(&mut self, build: impl FnOnce() -> D) {
        let Some(sink) = self.sink else { return };
        let began = Instant::now();
        // Said once: the run goes on, and writing is tried again later.
        if let (Err(why), false) = (sink.keep(&build()), self.has_failed) {
            (self.say)(&format!("warning: the document could not be kept up to date: {why}"));
            self.has_failed = true;
        }
        self.written = Some((Instant::now(), began.elapsed()));
    }

    /// Writes the document for good.
    pub fn conclude<D: Serialize>(&self, document: D, exit: Exit) -> FinishedRun<D> {
        FinishedRun::kept(self.sink, document, exit)
    }
}

/// Keeps the document.
pub struct DocumentJournal<'a> {
    build: Build<'a>,
    file: DocumentFile<'a>,
    observer: &'a mut dyn Observer,
}

impl<'a> DocumentJournal<'a> {
    /// For a run whose documents are built so.
    pub fn new(
        build: Build<'a>,
        sink: Option<&'a Sink>,
        observer: &'a mut dyn Observer,
        say: fn(&str),
    ) -> Self {
        Self { build, file: DocumentFile::new(sink, say), observer }
    }

    /// The run has not begun: writes the document as it stands, so that it is there whatever comes next.
    pub fn begin(&mut self, state: &RunState) {
        self.write(state);
    }

    /// The run is over: writes the document for good. `expected`: the exit of a complete run, by what was
    /// expected of it.
    pub fn conclude(
        self,
        state: &RunState,
        exit: Exit,
        expected: impl FnOnce(&mut Document) -> Exit,
    ) -> FinishedRun {
        self.observer.ended();
        let mut document = (self.build)(state, Some(exit));
        let exit = if exit == Exit::Ok { expected(&mut document) } else { exit };
        document.exit_code = Some(exit.code());
        self.file.conclude(document, exit)
    }

    fn write(&mut self, state: &RunState) {
        self.file.write(|| (self.build)(state, None));
    }
}

impl Journal for DocumentJournal<'_> {
    fn pass_ended(&mut self, state: &RunState) {
        if self.file.is_due() {
            self.write(state);
        }
        self.observer.progress(state);
    }

    fn signalled(&mut self, state: &RunState) {
        // What sent the signal may send SIGKILL next: what is there so far is kept now.
        self.write(state);
    }
}

/// Whether it is time to write again, so long after a writing that took so long.
pub fn is_due(since: Duration, took: Duration) -> bool {
    since >= took.saturating_mul(SHARE).min(LONGEST)
}

/// Where the document is. If it could not be written to the requested file, this is a fault with the run's
/// own exit code, or with 1 if that code is 0.
fn settled(sink: &Sink, kept: Kept, exit: Exit) -> (Option<PathBuf>, Result<(), Fault>) {
    let exit = if exit == Exit::Ok { Exit::NoResult } else { exit };
    let fault = |why, what: &str| Fault::new(exit, format!("{what}: {why}"));
    match kept {
        Kept::Here => (Some(sink.path().to_path_buf()), Ok(())),
        Kept::Elsewhere { path, why } => {
            let what =
                format!("the document is in {}, because its own file could not take it", path.display());
            (Some(path), Err(fault(why, &what)))
        }
        Kept::Nowhere { why } => (None, Err(fault(why, "the document is lost, only the table is left"))),
    }
}

#[cfg(test)]
mod tests {
    use stats::random::SplitMix64;

    use super::*;

    #[test]
    fn a_killed_run_loses_five_seconds_and_the_pass_in_flight_at_most_however_slow_the_disk() {
        let mut random = SplitMix64::new(1);
        for took in [1, 30, 400, 3000, 20_000].map(Duration::from_millis) {
            // Since the last snapshot: time measured in whole passes, time since its writing ended.
            let (mut measured, mut since, mut worst, mut writing) =
                (Duration::ZERO, Duration::MAX, Duration::ZERO, 0);
            let longest_pass = 700;
            for _ in 0..20_000 {
                let pass = Duration::from_millis(20 + random.below(longest_pass - 20) as u64);
                // The run may be killed at any time of the pass, or of the writing after it.
                (measured, since) = (measured + pass, since.saturating_add(pass));
                worst = worst.max(measured);
                if is_due(since, took) {
                    (measured, since, writing) = (Duration::ZERO, Duration::ZERO, writing + 1);
                }
            }
            assert!(worst <= LONGEST + Duration::from_millis(longest_pass as u64), "{took:?}: {worst:?}");
            assert!(writing > 100, "{took:?}: {writing} times");
        }
    }

    #[test]
    fn writing_takes_a_tenth_of_the_time_unless_the_disk_is_slower_than_the_promise() {
        let millis = Duration::from_millis;
        assert!(!is_due(millis(99), millis(10)) && is_due(millis(100), millis(10)));
        assert!(!is_due(millis(4999), millis(9000)) && is_due(millis(5000), millis(9000)));
    }
}
