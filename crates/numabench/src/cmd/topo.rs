//! `numabench topo`: read, render. No GPU runtime is started.

use crate::args;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &args::Topo) -> Result<Exit, Fault> {
    let survey = match &args.input {
        Some(path) => topo::survey_xml(path).map_err(Fault::usage)?,
        None => topo::survey().map_err(|error| Fault::new(Exit::NoResult, error))?,
    };
    let width = terminal::width();
    if args.json {
        let json = report::render::json_value(&survey).map_err(|error| Fault::new(Exit::NoResult, error))?;
        terminal::print(&json)?;
    } else if args.numa {
        terminal::print(topo::text::numa(&survey, width).as_bytes())?;
    } else {
        terminal::print(topo::text::render(&survey.topology, width).as_bytes())?;
    }
    Ok(Exit::Ok)
}
