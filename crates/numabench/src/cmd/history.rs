//! `numabench history`: read many documents, say when figures changed their level and what changed with them.

use analysis::history::history;
use experiments::documents::Documents;

use crate::args::history::History;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::json;
use crate::terminal;

/// Runs the command.
pub fn run(args: &History) -> Result<Exit, Fault> {
    let documents = Documents { paths: &args.results, say: terminal::say };
    let runs = documents.each_run()?.into_iter().map(|one| one.run).collect();
    let tool = crate::version::tool();
    let found = history(tool, runs, args.threshold.unwrap_or_default());
    if args.json {
        terminal::print(&json(&found)?)?;
    } else {
        let color = terminal::color(crate::args::ColorChoice::Auto);
        terminal::print(render::compared::history(&found, terminal::width(), color).as_bytes())?;
    }
    Ok(if found.steps.is_empty() { Exit::Ok } else { Exit::Finding })
}
