//! `numabench pingpong`: for a process on its own, whose ranks are its threads, or as one process of a
//! launch.

use std::num::NonZeroUsize;

use analysis::slower_twins;
use experiments::driver::RunContext;
use experiments::launched::{self, Desk};
use launchers::Launch;
use report::Document;

use crate::args::pingpong::{FailingFinding, Pingpong};
use crate::cmd::measured;
use crate::cmd::reference::with as references;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::result_output::origin;
use crate::signals::Signals;
use crate::terminal;

/// Runs the command.
pub fn run(args: &Pingpong) -> Result<Exit, Fault> {
    if let Some(moving) = args.moving()? {
        return measured::run(&moving, &args.measuring);
    }
    let launch = Launch::here()
        .with_numbers_of_user(args.rank, args.ranks.map(NonZeroUsize::get))
        .map_err(Fault::usage)?;
    let options = args.options();

    if args.measuring.dry_run {
        if !launch.speaks() {
            return Ok(Exit::Ok);
        }
        let (text, fits) = options.outline()?;
        terminal::print(text.as_bytes())?;
        return fits.map(|()| Exit::Ok);
    }

    let origin = origin();
    let reference = &references(args.measuring.reference.as_deref())?;
    let output = measured::output(&args.measuring, reference);
    let expected = |document: &mut Document| expected(&args.fail_on, document);
    let mut progress = Progress::new(args.measuring.quiet || !launch.speaks());
    let (say, observer) = (terminal::say, &mut progress);

    if launch.is_alone() {
        // The output is opened first: a run whose result cannot be kept must not begin.
        let sink = output.open()?;
        let signals = Signals::catch()?;
        let session = RunContext { origin, sink: sink.as_ref(), signals: &signals, observer, say };
        return output.show(options.measure(session, expected)?);
    }

    let desk = Desk {
        origin,
        say,
        open: &|| output.open(),
        observer,
        expected: &expected,
        show: &|ended| output.show(ended),
    };
    launched::run(&options, &launch, desk)
}

/// The exit of a complete run that ends with a code of its own where it found one of these.
fn expected(fail_on: &[FailingFinding], document: &mut Document) -> Exit {
    if !fail_on.contains(&FailingFinding::SlowerTwin) {
        return Exit::Ok;
    }
    if !document.slower_twins.is_empty() {
        return Exit::Finding;
    }
    if slower_twins::are_compared(document) {
        return Exit::Ok;
    }

    let why = "--fail-on slower-twin is not decided: no two equal GPUs of a node have a figure of the same \
        copies of pinned memory of 1 MiB and more.";
    document.verdict.insert(0, why.to_owned());
    Exit::Undecided
}
