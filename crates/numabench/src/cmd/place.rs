//! `numabench place`: read the machine, plan (or read back, or measure), show the places and the lines that make them so.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::place::document::{self, Command};
use ::place::{Asked, Ended, Found, How, Measurement, PlaceError, Saved, TURNS_AT_MOST, planned, situation};
use device::PlatformKind;
use experiments::document::collect::platform;
use experiments::journal::{is_due, settled};
use experiments::{backends, config};
use launchers::{Dialect, Saying, say, wrapper};
use placement::{GpuList, Selection, SelectionError, TargetId};
use render::terminal::Style;
use report::PlaceDocument;
use report::sink::Sink;
use topo::{Survey, Topology};

use crate::args::exec::Nic;
use crate::args::place::{Emit, Place};
use crate::began::Began;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::watchdog::Watchdog;
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Place) -> Result<Exit, Fault> {
    let began = Began::now();
    // The output is opened first: a measurement whose result cannot be kept must not begin.
    let sink = output_file::of_document(args.json.as_deref())?;
    let survey = survey(args)?;
    let topology = &survey.topology;
    if args.emit == Some(Emit::GresConf) {
        return gres_conf(&survey, args.quiet).map(|()| Exit::Ok);
    }
    let asked = asked(args);
    let unseen =
        (!args.measure && args.input.is_none() && args.from.is_none()).then(backends::off_bus_in_time).flatten();
    if let Some(unseen) = unseen {
        terminal::say(&format!(
            "warning: {unseen}: no rank is planned for them; `numabench place --measure` asks the driver, and measures what is near"
        ));
    }
    let situation = situation::of(&asked, &survey);
    let build = |found: &Found| document::build(&asked, command(args, began), &survey, found, &situation);
    let (found, exit) = if args.measure {
        measured(args, &asked, topology, &mut kept_meanwhile(sink.as_ref(), build))?
    } else if let Some(path) = &args.from {
        let way = Saved::read(path).and_then(|saved| saved.way(topology, &topology.allowed.pus));
        (Found::only(way.map_err(Fault::usage)?), Exit::Ok)
    } else {
        (Found::only(planned(&asked, &survey).map_err(refused)?), Exit::Ok)
    };
    if let Some(Emit::Places(dialect)) = args.emit {
        let nics = nics(args.nic, dialect, &survey, &found)?;
        let places = &found.recommended().places;
        let saying = match dialect {
            Dialect::Wrapper => wrapper(topology, places, &situation, &nics),
            _ => say(topology, places, dialect, &situation),
        };
        let said = emit(saying, args.quiet);
        let (_, kept) = keep(sink.as_ref(), &build(&found), exit);
        return said.and(kept).map(|()| exit);
    }
    let document = build(&found);
    let (saved_to, kept) = keep(sink.as_ref(), &document, exit);
    let printed = if args.json.as_deref() == Some(Path::new("-")) {
        terminal::print_document(&json(&document)?)
    } else {
        let saved_to = saved_to.map(|path| path.display().to_string());
        let (width, color) = (terminal::width(), terminal::color(args.color));
        let style = Style { width, color, quiet: args.quiet, saved_to };
        terminal::print(render::terminal::place(&document, &style).as_bytes())
    };
    kept.and(printed).map(|()| exit)
}

fn asked(args: &Place) -> Asked {
    // The arguments end far below.
    let number = |asked: Option<u64>| asked.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    Asked {
        ranks: number(args.ranks),
        gpus: args.gpus.clone(),
        cores_per_rank: number(args.cores_per_rank),
        threads: number(args.threads),
        smt: args.smt,
        strategy: args.strategy,
        reserve: args.reserve.clone(),
        input: args.input.clone(),
    }
}

fn command(args: &Place, began: Began) -> Command {
    Command {
        tool: crate::version::tool(),
        argv: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        started_at: began.started_at(),
        elapsed: began.elapsed(),
        from: args.from.clone(),
        json: args.json.clone(),
        launcher: args.launcher,
    }
}

/// What cannot be placed or measured, with its exit code.
fn refused(error: PlaceError) -> Fault {
    match error {
        PlaceError::Gpus(SelectionError::Absent { .. }) => Fault::new(Exit::Absent, error),
        _ => Fault::usage(error),
    }
}

/// Measures, with a line of progress and an ear for signals.
fn measured(
    args: &Place,
    asked: &Asked,
    topology: &Topology,
    keep: &mut dyn FnMut(&Found),
) -> Result<(Found, Exit), Fault> {
    let named = matches!(&args.gpus, GpuList::Some(Selection::These(_)));
    let opening = Watchdog::opening(args.timeout, terminal::say)?;
    let devices = backends::find(args.backend.into(), named, topology)?;
    drop(opening);
    let shown = backends::targets(&*devices.platform);
    let how = how(args, devices.platform.facts().kind)?;
    let measurement = Measurement::planned(asked, topology, devices.platform.clone(), shown, how).map_err(refused)?;
    let signals = Signals::catch()?;
    let progress = Progress::new(args.quiet);
    let (names, most) = (measurement.names().join(", "), TURNS_AT_MOST as u64);
    let say = |turns| progress.say(format!("{names}: {turns} of at most {most} turns each"), turns, most);
    let facts = platform(&devices, &topo::environment::probe());
    let (found, ended) = measurement.run(facts, &signals.interrupted, say, keep);
    progress.clear();
    let exit = match ended {
        Ended::Decided => Exit::Ok,
        Ended::Undecided => Exit::Undecided,
        Ended::Partial => Exit::Partial,
        Ended::NoFigure => Exit::NoResult,
    };
    Ok((found, signals.exit().unwrap_or(exit)))
}

fn how(args: &Place, kind: PlatformKind) -> Result<How, Fault> {
    let bytes = usize::try_from(args.size).map_err(Fault::usage)?;
    let memory = args.memory.map_or_else(|| config::default_memory(kind), Into::into);
    let timeout = config::given_up_at(args.timeout, args.max_time);
    Ok(How { bytes, memory, seed: args.seed, max_time: args.max_time, timeout })
}

/// Keeps the document of what has been measured so far, as often as costs little. What cannot be kept now is said at the end, when it is tried again.
fn kept_meanwhile<'a>(sink: Option<&'a Sink>, build: impl Fn(&Found) -> PlaceDocument + 'a) -> impl FnMut(&Found) + 'a {
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

/// What each rank's program is told of the adapter near its GPU, where that is asked for.
fn nics(asked: Nic, dialect: Dialect, survey: &Survey, found: &Found) -> Result<Vec<Vec<String>>, Fault> {
    if asked == Nic::None {
        return Ok(Vec::new());
    }
    if dialect != Dialect::Wrapper {
        let why = format!(
            "{dialect} has no place for a rank's variables; ask for --emit wrapper, or start the program by numabench exec --nic near"
        );
        return Err(Fault::usage(anyhow::anyhow!("--nic near: {why}")));
    }
    let of = |place: &placement::Place| {
        let Some(TargetId::Gpu(pci)) = place.target.as_ref().map(|target| target.id) else { return Vec::new() };
        placement::nic::near(&survey.interconnect, pci).map_or_else(Vec::new, |nic| nic.variables)
    };
    let nics: Vec<Vec<String>> = found.recommended().places.places.iter().map(of).collect();
    if nics.iter().all(Vec::is_empty) {
        terminal::say("note: no network adapter is known to be near a rank's GPU, and no variable names one");
    }
    Ok(nics)
}

/// Prints the lines of one dialect and nothing else. A line that cannot work here is refused, not printed: it would be pasted.
fn emit(saying: Saying, quiet: bool) -> Result<(), Fault> {
    if let Some(cannot) = saying.cannot {
        let text = saying.text.trim_end();
        return Err(Fault::usage(anyhow::anyhow!(
            "{} is not possible here: {cannot} (its line would be: {text})",
            saying.dialect.name()
        )));
    }
    if !quiet {
        saying.remarks.iter().for_each(|remark| terminal::say(&format!("note: {remark}")));
    }
    terminal::print(format!("{}\n", saying.text.trim_end()).as_bytes())
}

/// Prints the lines of the node's GPUs in gres.conf, which no rank's place has a part in.
fn gres_conf(survey: &Survey, quiet: bool) -> Result<(), Fault> {
    let found = launchers::node_gres::node_gres(survey);
    if !quiet {
        found.remarks.iter().for_each(|remark| terminal::say(&format!("note: {remark}")));
    }
    if found.conf.lines.is_empty() {
        return Err(Fault::new(Exit::Absent, anyhow::anyhow!("gres.conf has lines for GPUs, and no GPU is here")));
    }
    terminal::print(found.conf.to_string().as_bytes())
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
    report::json::json_value(document).map_err(|error| Fault::new(Exit::NoResult, error))
}
