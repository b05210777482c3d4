//! `numabench compare`: read both sides, compare, show, and end with the code that a pipeline goes by.

use std::path::{Path, PathBuf};

use analysis::compare::compare;
use analysis::comparison::{Comparison, Counts};
use analysis::kept::Kept;
use analysis::run::Run;
use report::block::BlockTime;
use report::sink::Sink;

use crate::args::compare::{Compare, FailOn};
use crate::documents;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Compare) -> Result<Exit, Fault> {
    let file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    let sink = file.map(|path| Sink::open(path).map_err(Fault::usage)).transpose()?;
    // At once: reading is most of the work where documents are large.
    let (base, new) = std::thread::scope(|scope| {
        let new = scope.spawn(|| side(&args.new, &args.more_new));
        let base = side(&args.base, &args.more_base);
        (base, new.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (base, new) = (base?, new?);
    let tool = crate::version::tool();
    let thresholds = args.threshold.unwrap_or_default();
    let comparison = compare(tool, &base, &new, thresholds, args.force).map_err(Fault::usage)?;
    let json = || report::json::json_value(&comparison).map_err(|error| Fault::new(Exit::NoResult, error));
    if let Some(sink) = sink {
        sink.write(&json()?).map_err(|error| Fault::new(Exit::NoResult, error))?;
    }
    if args.markdown {
        terminal::print(render::compared::markdown(&comparison).as_bytes())?;
    } else if args.json.is_some() && file.is_none() {
        terminal::print(&json()?)?;
    } else {
        let color = terminal::color(args.color);
        terminal::print(render::compared::table(&comparison, terminal::width(), color, args.quiet).as_bytes())?;
    }
    Ok(exit(&comparison, &args.fail_on))
}

fn side(first: &Path, more: &[PathBuf]) -> Result<Vec<Run>, Fault> {
    let paths: Vec<PathBuf> = std::iter::once(first.to_path_buf()).chain(more.iter().cloned()).collect();
    documents::each(&paths, |name, kept: Kept<BlockTime>| Ok(kept.run(name)?))
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
