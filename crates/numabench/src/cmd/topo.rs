//! `numabench topo`: read, save, draw, render; `topo diff`: read two, compare. No GPU runtime is started.

use std::path::Path;

use report::sink::Sink;
use serde::Serialize;

use crate::args::{self, TopoAction};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &args::Topo) -> Result<Exit, Fault> {
    if let Some(TopoAction::Diff { old, new, json }) = &args.action {
        return diff(old, new, *json);
    }
    let no_result = |error| Fault::new(Exit::NoResult, error);
    let picture = args.svg.as_deref().map(Sink::open).transpose().map_err(Fault::usage)?;
    let survey = match (&args.input, &args.save) {
        (Some(path), _) => topo::survey_xml(path).map_err(Fault::usage)?,
        // Opening NVIDIA's management library takes a while: only for a view that shows what it says.
        (None, None) if args.matrix || args.identity || args.json || args.svg.is_some() => {
            topo::survey_with_nvml().map_err(no_result)?
        }
        (None, None) => topo::survey().map_err(no_result)?,
        (None, Some(path)) => {
            let sink = Sink::open(path).map_err(Fault::usage)?;
            let (survey, xml) = topo::survey_and_xml().map_err(no_result)?;
            sink.write(xml.as_bytes()).map_err(|error| Fault::new(Exit::NoResult, error))?;
            survey
        }
    };
    if let Some(sink) = picture {
        sink.write(topo::svg::svg(&survey).as_bytes()).map_err(|error| Fault::new(Exit::NoResult, error))?;
    }
    let width = terminal::width();
    if args.json {
        print_json(&survey)?;
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

/// Compares two files; a difference is a finding.
fn diff(old: &Path, new: &Path, json: bool) -> Result<Exit, Fault> {
    let old = topo::survey_xml(old).map_err(Fault::usage)?;
    let new = topo::survey_xml(new).map_err(Fault::usage)?;
    let differences = topo::difference::differences(&old, &new);
    if json {
        print_json(&differences)?;
    } else {
        terminal::print(topo::text::changes(&old, &new, &differences, terminal::width()).as_bytes())?;
    }
    Ok(if differences.is_empty() { Exit::Ok } else { Exit::Finding })
}

fn print_json<T: Serialize>(value: &T) -> Result<(), Fault> {
    let json = report::render::json_value(value).map_err(|error| Fault::new(Exit::NoResult, error))?;
    terminal::print(&json)
}
