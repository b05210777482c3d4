//! `numabench compare`: read both sides, compare, show, and end with the code that a pipeline goes by.

use std::path::{Path, PathBuf};
use std::thread;

use analysis::compare::compare;
use analysis::comparison::{Comparison, Counts};
use analysis::node_changes::node_changes;
use analysis::node_run::NodeRun;
use analysis::run::Run;
use experiments::documents::Documents;

use crate::args::compare::{Compare, FailOn};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::JsonOutput;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Compare) -> Result<Exit, Fault> {
    let output = JsonOutput::open(args.json.as_deref())?;
    let (base, new) = sides(args);
    let ((base, base_nodes), (new, new_nodes)) = (base?, new?);
    let tool = crate::version::tool();
    let thresholds = args.threshold.unwrap_or_default();
    let nodes = node_changes(tool.clone(), &base_nodes, &new_nodes);
    let compared = compare(tool, &base, &new, thresholds, args.force).map_err(Fault::usage)?;
    let comparison = Comparison { nodes, ..compared };
    output.show(&comparison, |comparison| match args.markdown {
        true => render::compared::markdown(comparison),
        false => render::compared::table(comparison, terminal::width(), terminal::color(args.color), args.quiet),
    })?;
    Ok(exit(&comparison, &args.fail_on))
}

/// What is compared: the runs, and what they say of their nodes.
type Side = Result<(Vec<Run>, Vec<NodeRun>), Fault>;

/// Both sides, at once where a thread can be had: reading is most of the work where documents are large.
fn sides(args: &Compare) -> (Side, Side) {
    let (read_base, read_new) = (|| side(&args.base, &args.more_base), || side(&args.new, &args.more_new));
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, read_new) {
        Ok(new) => {
            let base = read_base();
            (base, new.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        }
        Err(_) => (read_base(), read_new()),
    })
}

fn side(first: &Path, more: &[PathBuf]) -> Side {
    let paths: Vec<PathBuf> = std::iter::once(first.to_path_buf()).chain(more.iter().cloned()).collect();
    let documents = Documents { paths: &paths, say: terminal::say };
    let (runs, nodes): (Vec<Run>, Vec<Vec<NodeRun>>) = documents.each_run()?.into_iter().unzip();
    Ok((runs, nodes.concat()))
}

/// A finding that was asked for, else undecided where a case is, else well.
fn exit(comparison: &Comparison, fail_on: &[FailOn]) -> Exit {
    let Counts { regressed, improved, inconclusive, missing, added, .. } = comparison.counts;
    let found = |fail_on: &FailOn| match fail_on {
        FailOn::Regressed => regressed > 0,
        FailOn::Missing => missing > 0,
        FailOn::Improved => improved > 0,
        FailOn::Added => added > 0,
        FailOn::Differing => !comparison.differing.is_empty(),
        FailOn::None => false,
    };
    if fail_on.contains(&FailOn::None) {
        Exit::Ok
    } else if fail_on.iter().any(found) {
        Exit::Finding
    } else if inconclusive > 0 {
        Exit::Undecided
    } else {
        Exit::Ok
    }
}
