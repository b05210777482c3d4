//! `numabench topo`: read, save, draw, render; `--svg --with`: draw what a result measured; `topo diff`: read two, compare. No GPU runtime is started but for
//! `topo --measure`, which is `topo_measure`.

use std::path::Path;

use experiments::documents;
use report::sink::Sink;

use crate::args::topo::{Topo, TopoAction};
use crate::cmd::topo_measure;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{json, write};
use crate::schemas::{DIFFERENCES, Differences, TOPOLOGY};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Topo) -> Result<Exit, Fault> {
    if let Some(TopoAction::Diff { old, new, json }) = &args.action {
        return diff(old, new, *json);
    }
    if !args.measure.is_empty() {
        return topo_measure::run(args);
    }
    if let (Some(result), Some(picture)) = (&args.with, &args.svg) {
        return measured(result, picture);
    }
    let no_result = |error| Fault::new(Exit::NoResult, error);
    if args.save.as_deref().is_some_and(is_stdout) && args.svg.as_deref().is_some_and(is_stdout) {
        return Err(Fault::usage(anyhow::anyhow!(
            "--save - and --svg - both want standard output: name a file for one of them"
        )));
    }
    let picture = args.svg.as_deref().map(Output::open).transpose()?;
    let survey = match (&args.input[..], &args.save) {
        (saved @ [_, ..], _) => topo::survey_files(saved).map_err(Fault::usage)?,
        // Opening NVIDIA's management library takes a while: only for a view that shows what it says.
        ([], None) if args.matrix || args.identity || args.json || args.svg.is_some() => {
            topo::survey_with_nvml().map_err(no_result)?
        }
        ([], None) => topo::survey().map_err(no_result)?,
        ([], Some(path)) => {
            let output = Output::open(path)?;
            let settings = |survey: &topo::Survey| doctor::settings(&doctor::look(survey));
            let (survey, xml) = topo::survey_and_xml(settings).map_err(no_result)?;
            output.write(xml.as_bytes())?;
            survey
        }
    };
    if let Some(picture) = picture {
        picture.write(topo::svg::svg(&survey).as_bytes())?;
    }
    // A picture or a file there has standard output to itself.
    if [&args.svg, &args.save].into_iter().flatten().any(|path| is_stdout(path)) {
        return Ok(Exit::Ok);
    }
    let width = terminal::width();
    if args.json {
        terminal::print(&json(&TOPOLOGY.versioned(&survey))?)?;
    } else if args.numa {
        terminal::print(topo::text::numa(&survey, width).as_bytes())?;
    } else if args.tree {
        terminal::print(topo::text::tree(&survey, width).as_bytes())?;
    } else if args.matrix {
        terminal::print(topo::text::matrix(&survey, width).as_bytes())?;
    } else if args.identity {
        terminal::print(topo::text::identity(&survey, width).as_bytes())?;
    } else {
        terminal::print(topo::text::render(&survey, width).as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// Draws the node of a document, with what was measured on its links.
fn measured(result: &Path, picture: &Path) -> Result<Exit, Fault> {
    let svg = render::node::svg_of_any(&documents::bytes(result)?)
        .map_err(|why| Fault::usage(format!("{} cannot be drawn: {why}", result.display())))?;
    Output::open(picture)?.write(svg.as_bytes())?;
    Ok(Exit::Ok)
}

/// Where a picture or a saved machine goes: opened before anything is read.
enum Output {
    File(Sink),
    Stdout,
}

impl Output {
    fn open(path: &Path) -> Result<Self, Fault> {
        if is_stdout(path) { Ok(Self::Stdout) } else { output_file::open(path).map(Self::File) }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        match self {
            Self::File(sink) => write(sink, bytes),
            Self::Stdout => terminal::print(bytes),
        }
    }
}

/// `-`, as in every command.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Compares two files; a difference is a finding.
fn diff(old: &Path, new: &Path, is_json: bool) -> Result<Exit, Fault> {
    let read = |path: &Path| topo::survey_files(&[path.to_owned()]).map_err(Fault::usage);
    let (old, new) = (read(old)?, read(new)?);
    let differences = topo::difference::differences(&old, &new);
    let exit = if differences.is_empty() { Exit::Ok } else { Exit::Finding };
    if is_json {
        terminal::print(&json(&DIFFERENCES.versioned(Differences { differences }))?)?;
    } else {
        terminal::print(topo::text::changes(&old, &new, &differences, terminal::width()).as_bytes())?;
    }
    Ok(exit)
}
