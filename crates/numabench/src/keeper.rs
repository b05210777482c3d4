//! Keeps the document on disk and the progress line true between passes, and shows the result at the end.

use std::path::Path;
use std::time::{Duration, Instant};

use pingpong::{Journal, RunState};
use report::Document;
use report::render::Style;
use report::sink::Sink;

use crate::document::{self, Facts};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::terminal;

/// Writing takes at most one part in so many of the run's time: the document of a thousand ranks takes seconds to write.
const SHARE: u32 = 10;

/// Keeps the document.
pub struct Keeper<'a> {
    facts: Facts<'a>,
    sink: Option<&'a Sink>,
    progress: Progress,
    trouble: Option<String>,
    /// When the last writing ended, and how long it took.
    written: Option<(Instant, Duration)>,
}

impl<'a> Keeper<'a> {
    /// For a run of which this is known.
    pub fn new(facts: Facts<'a>, sink: Option<&'a Sink>, progress: Progress) -> Self {
        Self { facts, sink, progress, trouble: None, written: None }
    }

    /// The run is over: writes the document for good and prints what was asked for.
    pub fn conclude(self, state: &RunState, exit: Exit) -> Result<Exit, Fault> {
        self.progress.clear();
        let document = document::build(&self.facts, state, Some(exit));
        let args = self.facts.args;
        if let Some(sink) = self.sink {
            sink.keep(&document).map_err(|error| Fault::new(Exit::NoResult, error))?;
        }
        if args.json.as_deref() == Some(Path::new("-")) {
            terminal::print(&json(&document)?)?;
        } else {
            let saved_to = args.json.as_ref().map(|path| path.display().to_string());
            let (width, color) = (terminal::width(), terminal::color(args.color));
            let style = Style { width, color, quiet: args.quiet, saved_to };
            terminal::print(report::render::table(&document, &style).as_bytes())?;
        }
        Ok(exit)
    }

    fn write(&mut self, state: &RunState) {
        let Some(sink) = self.sink else { return };
        let began = Instant::now();
        let document = document::build(&self.facts, state, None);
        let written = sink.keep(&document).map_err(|error| error.to_string());
        // Said once: the run goes on, and writing is tried again after a later pass.
        if let (Err(why), None) = (written, &self.trouble) {
            terminal::say(&format!("warning: the document could not be kept up to date: {why}"));
            self.trouble = Some(why);
        }
        self.written = Some((Instant::now(), began.elapsed()));
    }
}

impl Journal for Keeper<'_> {
    fn pass_ended(&mut self, state: &RunState) {
        if self.written.is_none_or(|(ended, took)| ended.elapsed() >= took * SHARE) {
            self.write(state);
        }
        self.progress.show(state);
    }

    fn signalled(&mut self, state: &RunState) {
        // What sent the signal may send SIGKILL next: what is there so far is kept now.
        self.write(state);
    }
}

fn json(document: &Document) -> Result<Vec<u8>, Fault> {
    report::render::json(document).map_err(|error| Fault::new(Exit::NoResult, error))
}
