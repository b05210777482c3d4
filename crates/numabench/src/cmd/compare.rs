//! `numabench compare`: read both sides, compare, show, and end with the code that a pipeline goes by.

use std::path::{Path, PathBuf};

use analysis::by_gpu::by_gpu;
use analysis::compare::compare;
use analysis::comparison::Comparison;
use analysis::comparison_finding::ComparisonFinding;
use analysis::node_changes::node_changes;
use analysis::reference_answer::gathered;
use analysis::run::Run;
use experiments::compared_documents::ComparedSide;
use experiments::documents::Documents;

use crate::args::compare::{Compare, ComparedBy};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::JsonOutput;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Compare) -> Result<Exit, Fault> {
    let output = JsonOutput::open(args.json.as_deref())?;
    let (base, new) = (side(&args.base, &args.more_base), side(&args.new, &args.more_new));
    let [base, new] = [&base, &new].map(|paths| Documents { paths, say: terminal::say });
    let [mut base, mut new] = Documents::sides(base, new)?;
    let tool = crate::version::tool();
    let thresholds = args.threshold.unwrap_or_default();
    let nodes = node_changes(tool.clone(), &base.nodes, &new.nodes);

    if args.by == ComparedBy::Gpu {
        for side in [&mut base, &mut new] {
            side.runs = side.runs.drain(..).map(one_place_a_gpu).collect::<Result<_, _>>()?;
        }
    }

    let compared = compare(tool, &base.runs, &new.runs, thresholds, args.force).map_err(Fault::usage)?;
    let side = |name: &'static str, side: ComparedSide| {
        side.reference.into_iter().map(|text| (name.to_owned(), text))
    };
    let reference = gathered(side("base", base).chain(side("new", new)));
    let comparison = Comparison { reference, ..compared }.with_nodes(nodes);
    output.show(&comparison, |comparison| match args.markdown {
        true => render::compared::markdown(comparison),
        false => {
            render::compared::table(comparison, terminal::width(), terminal::color(args.color), args.quiet)
        }
    })?;
    Ok(exit(&comparison, &args.fail_on))
}

fn side(first: &Path, more: &[PathBuf]) -> Vec<PathBuf> {
    std::iter::once(first.to_path_buf()).chain(more.iter().cloned()).collect()
}

fn one_place_a_gpu(run: Run) -> Result<Run, Fault> {
    by_gpu(run).map_err(|name| {
        Fault::usage(format!("--by gpu: in {name} no GPU has one rank of its own; leave --by gpu out"))
    })
}

/// A finding that was asked for, else undecided where a case or a node is, else well.
fn exit(comparison: &Comparison, fail_on: &[Option<ComparisonFinding>]) -> Exit {
    if fail_on.contains(&None) {
        Exit::Ok
    } else if fail_on.iter().flatten().any(|finding| comparison.has(*finding)) {
        Exit::Finding
    } else if comparison.is_undecided() {
        Exit::Undecided
    } else {
        Exit::Ok
    }
}
