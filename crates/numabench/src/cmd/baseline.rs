//! `numabench baseline`: read documents of one's own nodes, learn what is normal, keep it, and show it.

use analysis::baseline::{Value, learn, values};
use analysis::run::ended;

use crate::args::baseline::Baseline;
use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Baseline) -> Result<Exit, Fault> {
    let sink = output_file::open(&args.output)?;
    let taken = documents::each_result(&args.results, |_, document| {
        ended(document.status)?;
        Ok(values(&document))
    })?;
    let tool = crate::version::tool();
    let values: Vec<Value> = taken.iter().flatten().cloned().collect();
    let baseline = learn(tool, taken.len() as u32, &values).map_err(|error| Fault::new(Exit::NoResult, error))?;
    let json = report::json::json_value(&baseline).map_err(|error| Fault::new(Exit::NoResult, error))?;
    sink.write(&json).map_err(|error| Fault::new(Exit::NoResult, error))?;
    let text =
        render::compared::baseline(&baseline, terminal::width(), terminal::color(crate::args::ColorChoice::Auto));
    terminal::print(text.as_bytes())?;
    Ok(Exit::Ok)
}
