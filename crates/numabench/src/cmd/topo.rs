//! `numabench topo`: read, save, render. No GPU runtime is started.

use report::sink::Sink;

use crate::args;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &args::Topo) -> Result<Exit, Fault> {
    let no_result = |error| Fault::new(Exit::NoResult, error);
    let survey = match (&args.input, &args.save) {
        (Some(path), _) => topo::survey_xml(path).map_err(Fault::usage)?,
        (None, None) => topo::survey().map_err(no_result)?,
        (None, Some(path)) => {
            let sink = Sink::open(path).map_err(Fault::usage)?;
            let (survey, xml) = topo::survey_and_xml().map_err(no_result)?;
            sink.write(xml.as_bytes()).map_err(|error| Fault::new(Exit::NoResult, error))?;
            survey
        }
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
