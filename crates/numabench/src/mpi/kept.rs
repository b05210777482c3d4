//! The file of a run of `numabench mpi` while it goes on, and what is written and shown at its end, with the exit code that follows.

use std::path::Path as File;
use std::time::{Duration, Instant};

use analysis::mpi_adapters::{Nearness, nearness};
use exchange::{Attempt, Found, Outcome, PairFound, Path, verdict};
use ranks::Launch;
use render::terminal::Style;
use report::MpiDocument;
use report::document::Status;
use report::sink::Sink;

use super::channel::Met;
use super::document::{Begun, State, document};
use crate::args::mpi::{Expect, Mpi};
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::output_file;
use crate::terminal;
use experiments::journal::{is_due, settled};

/// How the session ended.
pub struct Ending {
    /// Why it is not complete; `None` where it is.
    pub why: Option<String>,
    /// The exit for the signal that came, if one did.
    pub signal: Option<Exit>,
    /// Whether the session did all it was to do.
    pub over: bool,
}

/// The document, kept while it grows.
pub struct Kept<'a> {
    args: &'a Mpi,
    launcher: &'static str,
    began: Began,
    sink: Option<Sink>,
    written: Option<(Instant, Duration)>,
    /// Whether something is known that the file does not have.
    behind: bool,
    warned: bool,
}

impl<'a> Kept<'a> {
    /// Opens the file of the document first: a run whose result cannot be kept must not begin.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(args: &'a Mpi, launch: &Launch) -> Result<Self, Fault> {
        let sink = output_file::of_document(args.json.as_deref().filter(|_| launch.speaks()))?;
        Ok(Self {
            args,
            launcher: launch.launcher.name(),
            began: Began::now(),
            sink,
            written: None,
            behind: false,
            warned: false,
        })
    }

    /// Writes what is known so far, if it is time to.
    pub fn keep(&mut self, met: &Met, found: &Found) {
        self.behind = true;
        self.catch_up(met, found);
    }

    /// Writes what it was not time to write, if it is now: an operation that hangs brings nothing new.
    pub fn catch_up(&mut self, met: &Met, found: &Found) {
        if self.behind && self.written.is_none_or(|(ended, took)| is_due(ended.elapsed(), took)) {
            self.write(&self.document(met, found, State { status: Status::Running, reason: None, exit: None }));
        }
    }

    /// Writes what is known when a signal came.
    pub fn interrupted(&mut self, met: &Met, found: &Found, exit: Exit) {
        let reason = Some("a signal came".to_owned());
        let state = State { status: Status::Interrupted, reason, exit: Some(exit) };
        self.write(&self.document(met, found, state));
    }

    fn write(&mut self, document: &MpiDocument) {
        let Some(sink) = self.sink.as_ref() else { return };
        let began = Instant::now();
        let kept = json(document).and_then(|bytes| Ok(sink.write(&bytes)?));
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
    pub fn conclude(self, met: &Met, found: &Found, ending: &Ending) -> Result<Exit, Fault> {
        let (status, mut exit) = ended(self.args, met.pairs.len(), found, ending);
        let failed = || (status == Status::Failed).then(|| first_trouble(found)).flatten();
        let state = State { status, reason: ending.why.clone().or_else(failed), exit: Some(exit) };
        let mut document = self.document(met, found, state);
        if exit == Exit::Ok && self.args.expect == Some(Expect::Near) {
            exit = near(&mut document);
            document.exit_code = Some(exit.code());
        }
        let bytes = json(&document).map_err(|error| Fault::new(Exit::NoResult, error))?;
        let (saved_to, kept) =
            self.sink.as_ref().map_or((None, Ok(())), |sink| settled(sink, sink.write_or_rescue(&bytes), exit));
        let printed = if self.args.json.as_deref() == Some(File::new("-")) {
            terminal::print_document(&bytes)
        } else {
            let saved_to = saved_to.map(|path| path.display().to_string());
            let (width, color) = (terminal::width(), terminal::color(self.args.color));
            let style = Style { width, color, quiet: self.args.quiet, saved_to };
            terminal::print(render::terminal::mpi(&document, &style).as_bytes())
        };
        kept.and(printed).map(|()| exit)
    }

    fn document(&self, met: &Met, found: &Found, state: State) -> MpiDocument {
        document(&Begun { args: self.args, launcher: self.launcher, began: &self.began }, met, found, state)
    }
}

fn json(document: &MpiDocument) -> anyhow::Result<Vec<u8>> {
    Ok(report::json::json_value(document)?)
}

/// Why the first case that has no figure has none.
fn first_trouble(found: &Found) -> Option<String> {
    found.pairs.iter().flat_map(|pair| &pair.cases).find_map(|case| case.trouble.clone())
}

/// How the run of so many pairs stands at its end.
fn ended(args: &Mpi, pairs: usize, found: &Found, ending: &Ending) -> (Status, Exit) {
    if let Some(signal) = ending.signal {
        return (Status::Interrupted, signal);
    }
    let cases = || found.pairs.iter().flat_map(|pair| &pair.cases);
    // What MPI does wrong with device memory is what is looked for: a finding, and no fault of the run. Wrong bytes of host memory are one.
    let host = cases().any(|case| {
        case.case.path != Path::GpuAware && case.trouble.as_deref().is_some_and(|why| why.starts_with("corrupt"))
    });
    if host {
        return (Status::DataCorrupt, Exit::DataCorrupt);
    }
    let figures = cases().filter(|case| case.trouble.is_none() && !case.block_ns.is_empty()).count();
    if figures == 0 {
        return (Status::Failed, Exit::NoResult);
    }
    let ended_by_mpi = |pair: &PairFound| {
        pair.attempts.iter().any(|attempt| matches!(attempt.outcome, Outcome::Crash(_) | Outcome::Hang(_)))
    };
    // A library that died in an operation that it was tried with did what was asked: it answered, if no pair is left that it was not tried with.
    let last = found.pairs.len() == pairs && found.pairs.iter().all(|pair| !pair.attempts.is_empty());
    let answered = ending.over || (last && found.pairs.iter().any(ended_by_mpi));
    let all = cases().all(|case| case.trouble.is_none() || case.case.path == Path::GpuAware);
    if !answered || !all {
        return (Status::Partial, Exit::Partial);
    }
    let harms =
        |attempt: &Attempt| matches!(attempt.outcome, Outcome::Crash(_) | Outcome::Hang(_) | Outcome::Garbage(_));
    if found.pairs.iter().flat_map(|pair| &pair.attempts).any(harms) {
        return (Status::Complete, Exit::Finding);
    }
    (Status::Complete, expected(args, found))
}

/// The exit that `--expect` asks for.
fn expected(args: &Mpi, found: &Found) -> Exit {
    use verdict::{Awareness, Transport};
    // Of adapters the document tells.
    let Some(expect) = args.expect.filter(|expect| *expect != Expect::Near) else { return Exit::Ok };
    let mut exit = Exit::Ok;
    for pair in &found.pairs {
        let said = verdict::verdict(pair);
        let holds = match (expect, said.awareness, said.transport) {
            (_, Awareness::Unknown, _) => None,
            (Expect::Aware, awareness, _) => Some(awareness == Awareness::Aware),
            (Expect::Direct, Awareness::Aware, Transport::Unknown) => None,
            (_, awareness, transport) => Some(awareness == Awareness::Aware && transport == Transport::Direct),
        };
        match holds {
            Some(true) => {}
            Some(false) => return Exit::Finding,
            None => exit = Exit::Undecided,
        }
    }
    if found.pairs.is_empty() { Exit::Undecided } else { exit }
}

/// The exit where near adapters are expected; where none was counted, the document says why.
fn near(document: &mut MpiDocument) -> Exit {
    if document.pairs.iter().all(|pair| pair.carried.is_empty()) {
        let why = "no message went between two hosts, or there was no time or counter for it";
        document.notes.push(format!("--expect near: no network adapter was counted: {why}"));
    }
    match nearness(document) {
        Nearness::Near => Exit::Ok,
        Nearness::Far => Exit::Finding,
        Nearness::Unknown => Exit::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use exchange::{Case, CaseFound, Operation, Pattern};

    use super::*;
    use crate::args::{Args, Command};

    fn pair(ranks: [usize; 2], attempts: Vec<Attempt>) -> PairFound {
        let case = Case { path: Path::Host, pattern: Pattern::PingPong, bytes: 8 };
        let measured = CaseFound {
            case,
            block_ns: vec![500.0],
            gpu_bytes_per_s: Vec::new(),
            rounds: 1,
            verified_bytes: 16,
            stop: None,
            trouble: None,
        };
        let placed = [[None, None], [None, None]];
        PairFound { ranks, cases: vec![measured], attempts, counted: None, carried: Vec::new(), peer: None, placed }
    }

    #[test]
    fn what_it_was_not_time_to_write_is_written_when_it_is_though_nothing_new_comes() -> Result<(), Fault> {
        let folder = tempfile::tempdir().map_err(Fault::usage)?;
        let file = folder.path().join("mpi.json");
        let words = ["numabench", "mpi", "--json", &file.display().to_string()].map(str::to_owned);
        let Command::Mpi(args) = Args::parse_from(words).command else { panic!("it is `mpi`") };
        let launch = Launch { launcher: ranks::Launcher::Mpirun, ..Launch::ALONE };
        let mut kept = Kept::open(&args, &launch)?;
        let met = Met {
            library: String::new(),
            says: Vec::new(),
            thread_level: String::new(),
            ranks: Vec::new(),
            pairs: vec![[0, 1]],
        };
        let found = Found { pairs: vec![pair([0, 1], Vec::new())], interrupted: false };
        let length = || std::fs::metadata(&file).map_or(0, |file| file.len());
        kept.keep(&met, &Found::default());
        let first = length();
        assert!(first > 0);
        // A disk that took a second for it: the next is due ten seconds later, or five.
        kept.written = Some((Instant::now(), Duration::from_secs(1)));
        kept.keep(&met, &found);
        assert_eq!(length(), first);
        kept.written = Instant::now().checked_sub(Duration::from_secs(6)).map(|then| (then, Duration::from_secs(1)));
        kept.catch_up(&met, &found);
        assert!(length() > first);
        let last = std::fs::metadata(&file).and_then(|file| file.modified()).map_err(Fault::usage)?;
        kept.written = None;
        kept.catch_up(&met, &found);
        assert_eq!(std::fs::metadata(&file).and_then(|file| file.modified()).map_err(Fault::usage)?, last);
        Ok(())
    }

    #[test]
    fn a_crash_is_the_answer_of_a_run_only_where_no_pair_is_left() {
        let Command::Mpi(args) = Args::parse_from(["numabench", "mpi"]).command else { panic!("it is `mpi`") };
        let crash = || {
            let outcome = Outcome::Crash("SIGSEGV".to_owned());
            vec![Attempt { operation: Operation::Send, bytes: 1024, outcome }]
        };
        let ending = || Ending { why: Some("it died".to_owned()), signal: None, over: false };
        let ended = |pairs: usize, found: Vec<PairFound>| {
            ended(&args, pairs, &Found { pairs: found, interrupted: false }, &ending())
        };
        assert_eq!(ended(1, vec![pair([0, 1], crash())]), (Status::Complete, Exit::Finding));
        // One not begun, and one whose device memory was not.
        assert_eq!(ended(2, vec![pair([0, 1], crash())]), (Status::Partial, Exit::Partial));
        let other = pair([0, 2], Vec::new());
        assert_eq!(ended(2, vec![pair([0, 1], crash()), other]), (Status::Partial, Exit::Partial));
    }
}
