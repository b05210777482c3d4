//! `numabench report`: read documents, write one HTML file.

use anyhow::anyhow;
use report::sink::Sink;

use crate::args::report::Report;
use crate::documents::{self, Kept};
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Report) -> Result<Exit, Fault> {
    let sink = Sink::open(&args.output).map_err(Fault::usage)?;
    let (mut runs, mut trials) = (Vec::new(), Vec::new());
    documents::each_kept(&args.results, |name, kept| {
        match kept {
            Kept::Result(document) => runs.push((name.to_owned(), *document)),
            Kept::Trial(trial) => trials.push((name.to_owned(), *trial)),
        }
        Ok(())
    })?;
    if !runs.is_empty() && !trials.is_empty() {
        return Err(Fault::usage(anyhow!(
            "a report is of runs or of trials: give the trial documents to a report of their own"
        )));
    }
    let html = if trials.is_empty() { results::html::html(&runs) } else { results::html::trials(&trials) };
    sink.write(html.as_bytes()).map_err(|error| Fault::new(Exit::NoResult, error))?;
    Ok(Exit::Ok)
}
