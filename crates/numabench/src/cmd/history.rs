//! `numabench history`: read many documents, say when figures changed their level and what changed with them.

use analysis::history::history;
use experiments::documents::Documents;

use crate::args::history::History;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &History) -> Result<Exit, Fault> {
    let documents = Documents { paths: &args.results, say: terminal::say };
    let runs = documents.each_run()?.into_iter().map(|(run, _)| run).collect();
    let tool = crate::version::tool();
    let found = history(tool, runs, args.threshold.unwrap_or_default());
    if args.json {
        terminal::print(&report::json::json_value(&found).map_err(|error| Fault::new(Exit::NoResult, error))?)?;
    } else {
        let color = terminal::color(crate::args::ColorChoice::Auto);
        terminal::print(render::compared::history(&found, terminal::width(), color).as_bytes())?;
    }
    Ok(if found.steps.is_empty() { Exit::Ok } else { Exit::Finding })
}
