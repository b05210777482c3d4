//! `numabench history`: read many documents, say when figures changed their level and what changed with them.

use analysis::history::history;
use experiments::documents::Documents;

use crate::args::history::History;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::JsonOutput;
use crate::terminal;

/// Runs the command.
pub fn run(args: &History) -> Result<Exit, Fault> {
    let output = JsonOutput::open(args.json.as_deref())?;
    let documents = Documents { paths: &args.results, say: terminal::say };
    let runs = documents.each_run()?.into_iter().map(|one| one.run).collect();
    let tool = crate::version::tool();
    let found = history(tool, runs, args.threshold.unwrap_or_default());
    output.show(&found, |found| {
        let color = terminal::color(crate::args::ColorChoice::Auto);
        render::compared::history(found, terminal::width(), color)
    })?;
    Ok(if found.has_changes() { Exit::Finding } else { Exit::Ok })
}
