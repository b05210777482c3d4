//! `numabench export`: read a document, write it in another form.

use report::block::NoBlock;
use report::sink::Sink;
use results::export::Form;
use results::kept::Kept;

use crate::args::export::{Export, To};
use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Export) -> Result<Exit, Fault> {
    let sink = args.output.as_deref().map(Sink::open).transpose().map_err(Fault::usage)?;
    // No form has blocks.
    let document: Kept<NoBlock> = documents::read_kept(&args.result)?;
    let form = match args.to {
        To::Csv => Form::Csv,
        To::Bmf => Form::Bmf,
        To::Gha => Form::GhaBigger,
        To::GhaSmaller => Form::GhaSmaller,
        To::Openmetrics => Form::OpenMetrics,
        To::Junit => Form::Junit,
        To::Influx => Form::Influx,
    };
    let bytes = document.export(form).map_err(|error| Fault::new(Exit::NoResult, error))?;
    match sink {
        Some(sink) => sink.write(&bytes).map_err(|error| Fault::new(Exit::NoResult, error))?,
        None => terminal::print(&bytes)?,
    }
    Ok(Exit::Ok)
}
