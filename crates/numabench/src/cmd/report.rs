//! `numabench report`: read documents, write one HTML file (of several nodes a row each, of unlike systems a
//! column each), or show them side by side.

use analysis::nodes::nodes;
use analysis::systems::systems;
use experiments::documents::Documents;
use render::html::report;

use crate::args::report::Report;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{JsonOutput, write};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Report) -> Result<Exit, Fault> {
    let Some(output) = &args.output else { return side_by_side(args) };
    let sink = output_file::open(output)?;
    let html = report(documents_of(args).each_shown()?, crate::version::tool()).map_err(Fault::usage)?;
    write(&sink, html.as_bytes()).map(|()| Exit::Ok)
}

fn documents_of(args: &Report) -> Documents<'_> {
    Documents { paths: &args.results, say: terminal::say }
}

/// The nodes or unlike systems of these documents in a table; as data the nodes.
fn side_by_side(args: &Report) -> Result<Exit, Fault> {
    let output = JsonOutput::open(args.json.as_deref())?;
    let runs = documents_of(args).node_runs()?;
    let unlike = systems(&runs);
    let found = nodes(crate::version::tool(), runs, Vec::new());
    let (width, color) = (terminal::width(), terminal::color(args.color));
    let table = |found: &_| match &unlike {
        Some(unlike) => render::compared::systems(unlike, width, color),
        None => render::compared::nodes(found, width, color),
    };
    output.show(&found, table).map(|()| Exit::Ok)
}
