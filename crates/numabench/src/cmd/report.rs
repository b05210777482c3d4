//! `numabench report`: read documents, write one HTML file (of several nodes a row each, of unlike systems a
//! column each), or show in the terminal nodes side by side, or the copies of a program.

use analysis::node_run::NodeRun;
use analysis::nodes::nodes;
use analysis::systems::systems;
use analysis::witness_launch::WitnessLaunch;
use experiments::documents::{Documents, TerminalReport};
use render::html::report;
use render::terminal::Style;

use crate::args::report::Report;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{JsonOutput, write};
use crate::{output_file, terminal};

/// Runs the command.
pub fn run(args: &Report) -> Result<Exit, Fault> {
    let Some(output) = &args.output else { return in_terminal(args) };
    let sink = output_file::open(output)?;
    let html = report(documents_of(args).each_shown()?, crate::version::tool()).map_err(Fault::usage)?;
    write(&sink, html.as_bytes()).map(|()| Exit::Ok)
}

fn documents_of(args: &Report) -> Documents<'_> {
    Documents { paths: &args.results, say: terminal::say }
}

fn in_terminal(args: &Report) -> Result<Exit, Fault> {
    let output = JsonOutput::open(args.json.as_deref())?;
    match documents_of(args).terminal_report()? {
        TerminalReport::Nodes(runs) => side_by_side(args, &output, runs),
        TerminalReport::Programs(launches) => programs(args, &launches),
    }
}

/// The answer about each program's copies, one after the other.
fn programs(args: &Report, launches: &[WitnessLaunch]) -> Result<Exit, Fault> {
    if args.json.is_some() {
        return Err(Fault::usage(
            "--json is of nodes side by side, and these are documents of witness, which are JSON: leave \
             --json out, or use `numabench export`",
        ));
    }

    let style = Style {
        width: terminal::width(),
        color: terminal::color(args.color),
        quiet: false,
        saved_to: None,
        screen: None,
    };
    let heading = |launch: &WitnessLaunch| match launches.len() {
        1 => String::new(),
        _ => format!("{}, {}\n", launch.name, launch.sum.started_at),
    };
    let text: Vec<String> = launches
        .iter()
        .map(|launch| format!("{}{}", heading(launch), render::terminal::witness(launch, &style)))
        .collect();
    terminal::print(text.join("\n").as_bytes()).map(|()| Exit::Ok)
}

/// The nodes or unlike systems of these documents in a table; as data the nodes.
fn side_by_side(args: &Report, output: &JsonOutput, runs: Vec<NodeRun>) -> Result<Exit, Fault> {
    let unlike = systems(&runs);
    let found = nodes(crate::version::tool(), runs, Vec::new());
    let (width, color) = (terminal::width(), terminal::color(args.color));
    let table = |found: &_| match &unlike {
        Some(unlike) => render::compared::systems(unlike, width, color),
        None => render::compared::nodes(found, width, color),
    };
    output.show(&found, table).map(|()| Exit::Ok)
}
