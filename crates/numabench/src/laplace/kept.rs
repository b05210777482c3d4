//! The document of a run of `numabench laplace` while it goes on, and what is written and shown at its end, with the exit code that follows.

use std::time::{Duration, Instant};

use ::laplace::{Found, Trouble, WayFound};
use experiments::document::Origin;
use experiments::document::of_laplace::{Asked, Facts, State, build};
use experiments::journal::{Ended, is_due, settled};
use placement::Membind;
use ranks::Launch;
use report::Document;
use report::document::Status;
use report::sink::Sink;

use super::meeting::Met;
use super::session::RULE;
use crate::args::laplace::Laplace;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::output_file;
use crate::result_output::{Extent, Output, origin};
use crate::terminal;

/// How the session ended.
pub struct Ending {
    /// Why it is not complete; `None` where it did all.
    pub why: Option<String>,
    /// The exit for the signal that came, if one did.
    pub signal: Option<Exit>,
    /// Something that should come back did not.
    pub timed_out: bool,
}

/// The document, kept while it grows.
pub struct Kept<'a> {
    args: &'a Laplace,
    launch: &'a Launch,
    origin: Origin,
    sink: Option<Sink>,
    written: Option<(Instant, Duration)>,
    behind: bool,
    warned: bool,
}

impl<'a> Kept<'a> {
    /// Opens the file of the document first: a run whose result cannot be kept must not begin.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(args: &'a Laplace, launch: &'a Launch) -> Result<Self, Fault> {
        let sink = output_file::of_document(args.json.as_deref().filter(|_| launch.speaks()))?;
        Ok(Self { args, launch, origin: origin(), sink, written: None, behind: false, warned: false })
    }

    /// Writes what is known so far, if it is time to.
    pub fn keep(&mut self, met: &Met, found: &Found) {
        self.behind = true;
        self.catch_up(met, found);
    }

    /// Writes what it was not time to write, if it is now.
    pub fn catch_up(&mut self, met: &Met, found: &Found) {
        if self.behind && self.written.is_none_or(|(ended, took)| is_due(ended.elapsed(), took)) {
            self.write(met, found, State { status: Status::Running, reason: None, exit: None });
        }
    }

    /// Writes what is known when a signal came.
    pub fn interrupted(&mut self, met: &Met, found: &Found, exit: Exit) {
        let reason = Some("a signal came".to_owned());
        self.write(met, found, State { status: Status::Interrupted, reason, exit: Some(exit) });
    }

    fn write(&mut self, met: &Met, found: &Found, state: State) {
        let Some(sink) = self.sink.as_ref() else { return };
        let began = Instant::now();
        let kept = sink.keep(&self.document(met, found, state));
        if let (Err(why), false) = (kept, self.warned) {
            terminal::say(&format!("warning: the document could not be kept up to date: {why}"));
            self.warned = true;
        }
        self.written = Some((Instant::now(), began.elapsed()));
        self.behind = false;
    }

    /// Writes the document for good and shows it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn conclude(self, met: &Met, found: &Found, ending: Ending) -> Result<Exit, Fault> {
        let (status, exit, reason) = ended(found, ending);
        let document = self.document(met, found, State { status, reason, exit: Some(exit) });
        let (saved_to, kept) =
            self.sink.as_ref().map_or((None, Ok(())), |sink| settled(sink, sink.keep_or_rescue(&document), exit));
        let (json, quiet, color) = (self.args.json.as_deref(), self.args.quiet, self.args.color);
        // Nobody has published an iteration's time.
        let output = Output { json, quiet, extent: Extent::Full, color, reference: &[] };
        output.show(Ended { document, exit, saved_to, fault: kept.err() })
    }

    fn document(&self, met: &Met, found: &Found, state: State) -> Document {
        let args = self.args;
        let launch = report::launch::Launch {
            launcher: self.launch.launcher.name().to_owned(),
            tasks: met.processes.len() as u32,
            nodes: met.nodes as u32,
            mpi_library: met.library.clone(),
        };
        let facts = Facts {
            asked: Asked {
                cpus: args.cpus.as_ref().map(ToString::to_string),
                gpus: args.gpus.as_ref().map(ToString::to_string),
                backend: experiments::options::Backend::from(args.backend).name().to_owned(),
                membind: match args.membind {
                    Membind::Local => report::settings::Membind::Local,
                    Membind::Node(node) => report::settings::Membind::Node { node },
                },
            },
            grid: args.grid,
            precision: args.precision(),
            rule: RULE,
            max_time_s: args.max_time.as_secs_f64(),
            seed: args.seed,
            parts: &met.parts,
            platform: &met.platform,
            environment: &met.environment,
            launch: (!self.launch.is_alone()).then_some(&launch),
            origin: &self.origin,
        };
        build(&facts, found, state)
    }
}

/// How the run stands at its end.
fn ended(found: &Found, ending: Ending) -> (Status, Exit, Option<String>) {
    let wrong = found.ways.iter().find_map(|way| match &way.trouble {
        Some(Trouble::Wrong(why)) => Some(format!("{}: {why}", way.variant)),
        _ => None,
    });
    if wrong.is_some() {
        return (Status::DataCorrupt, Exit::DataCorrupt, wrong);
    }
    if let Some(signal) = ending.signal {
        return (Status::Interrupted, signal, Some("a signal came".to_owned()));
    }
    if ending.timed_out {
        return (Status::TimedOut, Exit::TimedOut, ending.why);
    }
    if let Some(why) = found.ranks.iter().find_map(|rank| rank.mismatch.clone()) {
        return (Status::Partial, Exit::Finding, Some(why));
    }
    let has_figure = |way: &&WayFound| way.trouble.is_none() && way.blocks.iter().all(|blocks| !blocks.is_empty());
    let figures = found.ways.iter().filter(has_figure).count();
    let failed = || {
        found.ways.iter().find_map(|way| match &way.trouble {
            Some(Trouble::Failed(why)) => Some(format!("{}: {why}", way.variant)),
            _ => None,
        })
    };
    match figures {
        0 => (Status::Failed, Exit::NoResult, ending.why.or_else(failed)),
        some if some < found.ways.len() => (Status::Partial, Exit::Partial, ending.why.or_else(failed)),
        _ if ending.why.is_some() => (Status::Partial, Exit::Partial, ending.why),
        _ => (Status::Complete, Exit::Ok, None),
    }
}
