//! `numabench history`: read many documents, say when figures changed their level and what changed with them.

use analysis::by_gpu::by_gpu;
use analysis::history::history;
use analysis::run::Run;
use experiments::documents::Documents;

use crate::args::compare::ComparedBy;
use crate::args::history::History;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::JsonOutput;
use crate::terminal;

/// Runs the command.
pub fn run(args: &History) -> Result<Exit, Fault> {
    let output = JsonOutput::open(args.json.as_deref())?;
    let documents = Documents { paths: &args.results, say: terminal::say };
    let runs: Vec<Run> = documents.each_run()?.into_iter().map(|one| one.run).collect();
    let runs = match args.by {
        ComparedBy::Place => runs,
        ComparedBy::Gpu => by_gpus(runs)?,
    };
    let tool = crate::version::tool();
    let found = history(tool, runs, args.threshold.unwrap_or_default());
    output.show(&found, |found| {
        let color = terminal::color(crate::args::ColorChoice::Auto);
        render::compared::history(found, terminal::width(), color)
    })?;
    Ok(if found.has_changes() { Exit::Finding } else { Exit::Ok })
}

/// The runs with a series for each GPU; those in which no GPU has one rank of its own are left out and said.
fn by_gpus(runs: Vec<Run>) -> Result<Vec<Run>, Fault> {
    let (mut by_gpus, mut left_out) = (Vec::new(), Vec::new());
    for run in runs {
        match by_gpu(run) {
            Ok(run) => by_gpus.push(run),
            Err(name) => left_out.push(name),
        }
    }

    if by_gpus.is_empty() {
        return Err(Fault::usage("--by gpu: in no run has a GPU one rank of its own; leave --by gpu out"));
    }
    for name in left_out {
        terminal::say(&format!("note: {name} is left out: no GPU has one rank of its own in it"));
    }
    Ok(by_gpus)
}
