//! `numabench report`: read documents, write one HTML file.

use report::sink::Sink;

use crate::args::report::Report;
use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Report) -> Result<Exit, Fault> {
    let sink = Sink::open(&args.output).map_err(Fault::usage)?;
    let runs = documents::each(&args.results, |name, document| Ok((name.to_owned(), document)))?;
    let html = results::html::html(&runs);
    sink.write(html.as_bytes()).map_err(|error| Fault::new(Exit::NoResult, error))?;
    Ok(Exit::Ok)
}
