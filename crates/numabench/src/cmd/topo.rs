//! `numabench topo`: read, render. No GPU runtime is started.

use crate::args;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &args::Topo) -> Result<Exit, Fault> {
    let topology = match &args.input {
        Some(path) => topo::from_xml(path).map_err(Fault::usage)?,
        None => topo::read().map_err(|error| Fault::new(Exit::NoResult, error))?,
    };
    if args.json {
        let json = report::render::json_value(&topology).map_err(|error| Fault::new(Exit::NoResult, error))?;
        terminal::print(&json)?;
    } else {
        terminal::print(topo::text::render(&topology, terminal::width()).as_bytes())?;
    }
    Ok(Exit::Ok)
}
