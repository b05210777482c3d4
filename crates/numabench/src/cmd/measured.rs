//! What every command that measures a node from one process does with its options: the plan printed, or the
//! run kept and shown.

use analysis::reference::Reference;
use experiments::driver::{self, Measurement, RunContext};
use experiments::journal::FinishedRun;

use crate::args::measuring::Measuring;
use crate::cmd::reference::with as references;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::fleet;
use crate::progress::Progress;
use crate::result_output::{Extent, Output, origin};
use crate::signals::Signals;
use crate::terminal;

/// What these commands have for a launch.
const EACH_NODE: &str = "; to measure each node of a launch by itself, one task a node and --json DIR/";

/// Runs a command of the suite.
pub fn run(measurement: &dyn Measurement, args: &Measuring) -> Result<Exit, Fault> {
    let reference = &references(args.reference.as_deref())?;
    let output = output(args, reference);
    if let Some(folder) = fleet::folder(args.json.as_deref()) {
        return fleet::run(folder, args.color, |file| {
            let output = Output { json: Some(file), ..output };
            let ended = measure(measurement, args, &output)?;
            // In a launch the table of all nodes stands in place of each node's own.
            if fleet::is_launched() { ended.fault.map_or(Ok(ended.exit), Err) } else { output.show(ended) }
        });
    }

    driver::one_process(EACH_NODE)?;
    if args.dry_run {
        terminal::print(driver::outline(measurement)?.to_string().as_bytes())?;
        return Ok(Exit::Ok);
    }
    output.show(measure(measurement, args, &output)?)
}

/// Where the result goes, and how it is shown.
pub fn output<'a>(args: &'a Measuring, reference: &'a [Reference]) -> Output<'a> {
    let extent = Extent::of(args.full, args.brief, args.quiet);
    Output { json: args.json.as_deref(), quiet: args.quiet, extent, color: args.color, reference }
}

fn measure(measurement: &dyn Measurement, args: &Measuring, output: &Output) -> Result<FinishedRun, Fault> {
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = output.open()?;
    let signals = Signals::catch()?;
    let mut progress = Progress::new(args.quiet || fleet::is_launched());
    let (sink, origin) = (sink.as_ref(), origin());
    let session = RunContext { origin, sink, signals: &signals, observer: &mut progress, say: terminal::say };
    driver::measure(measurement, session)
}
