//! `numabench place`: read the machine, plan (or read back, or measure), show the places and the lines that make them so.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use placement::{Situation, say};
use report::PlaceDocument;
use report::render::Style;
use report::sink::Sink;
use topo::{Survey, Topology};

use crate::args::place::Place;
use crate::began::Began;
use crate::document_journal::{is_due, print_document, settled};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::place::saved::Saved;
use crate::place::{candidates, document, measured, situation};
use crate::signals::survive_file_size_limit;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Place) -> Result<Exit, Fault> {
    let began = Began::now();
    let file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    survive_file_size_limit();
    // The output is opened first: a measurement whose result cannot be kept must not begin.
    let sink = file.map(Sink::open).transpose().map_err(Fault::usage)?;
    let survey = survey(args)?;
    let topology = &survey.topology;
    let situation = situation::of(args, &survey);
    let (found, exit) = if args.measure {
        let build = |found: &candidates::Found| document::build(args, &survey, found, &situation, began);
        measured::run(args, topology, &mut kept_meanwhile(sink.as_ref(), build))?
    } else if let Some(path) = &args.from {
        (candidates::Found::only(Saved::read(path)?.way(topology, &topology.allowed.pus)?), Exit::Ok)
    } else {
        (candidates::Found::only(candidates::asked(args, &survey)?), Exit::Ok)
    };
    if let Some(dialect) = args.emit {
        let said = emit(topology, &found, dialect, &situation, args.quiet);
        let (_, kept) = keep(sink.as_ref(), &document::build(args, &survey, &found, &situation, began), exit);
        return said.and(kept).map(|()| exit);
    }
    let document = document::build(args, &survey, &found, &situation, began);
    let (saved_to, kept) = keep(sink.as_ref(), &document, exit);
    let printed = if args.json.as_deref() == Some(Path::new("-")) {
        print_document(&json(&document)?)
    } else {
        let saved_to = saved_to.map(|path| path.display().to_string());
        let (width, color) = (terminal::width(), terminal::color(args.color));
        let style = Style { width, color, quiet: args.quiet, saved_to };
        terminal::print(report::render::place(&document, &style).as_bytes())
    };
    kept.and(printed).map(|()| exit)
}

/// Keeps the document of what has been measured so far, as often as costs little. What cannot be kept now is said at the end, when it is tried again.
fn kept_meanwhile<'a>(
    sink: Option<&'a Sink>,
    build: impl Fn(&candidates::Found) -> PlaceDocument + 'a,
) -> impl FnMut(&candidates::Found) + 'a {
    let mut written: Option<(Instant, Duration)> = None;
    move |found| {
        let Some(sink) = sink.filter(|_| written.is_none_or(|(ended, took)| is_due(ended.elapsed(), took))) else {
            return;
        };
        let began = Instant::now();
        if let Ok(json) = json(&build(found)) {
            drop(sink.write(&json));
        }
        written = Some((Instant::now(), began.elapsed()));
    }
}

fn survey(args: &Place) -> Result<Survey, Fault> {
    match &args.input {
        Some(path) => topo::survey_xml(path).map_err(Fault::usage),
        None => topo::survey().map_err(|error| Fault::new(Exit::NoResult, error)),
    }
}

/// Prints the lines of one dialect and nothing else. A line that cannot work here is refused, not printed: it would be pasted.
fn emit(
    topology: &Topology,
    found: &candidates::Found,
    dialect: placement::Dialect,
    situation: &Situation,
    quiet: bool,
) -> Result<(), Fault> {
    let saying = say(topology, &found.recommended().places, dialect, situation);
    if let Some(cannot) = saying.cannot {
        let text = saying.text.trim_end();
        return Err(Fault::usage(anyhow::anyhow!(
            "{} is not possible here: {cannot} (its line would be: {text})",
            dialect.name()
        )));
    }
    if !quiet {
        saying.remarks.iter().for_each(|remark| terminal::say(&format!("note: {remark}")));
    }
    terminal::print(format!("{}\n", saying.text.trim_end()).as_bytes())
}

/// Where the document is, and whether that is where it was asked for.
fn keep(sink: Option<&Sink>, document: &PlaceDocument, exit: Exit) -> (Option<PathBuf>, Result<(), Fault>) {
    let Some(sink) = sink else { return (None, Ok(())) };
    match json(document) {
        Ok(json) => settled(sink, sink.write_or_rescue(&json), exit),
        Err(fault) => (None, Err(fault)),
    }
}

fn json(document: &PlaceDocument) -> Result<Vec<u8>, Fault> {
    report::render::json_value(document).map_err(|error| Fault::new(Exit::NoResult, error))
}
