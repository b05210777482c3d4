//! What every command that measures a node from one process does with its options: the plan printed, or the run kept and shown.

use experiments::driver::{self, Measurement, Session};

use crate::args::measuring::Measuring;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::result_output::{Output, origin};
use crate::signals::Signals;
use crate::terminal;

/// Runs a command of the suite.
pub fn run(measurement: &dyn Measurement, args: &Measuring) -> Result<Exit, Fault> {
    let origin = origin();
    driver::one_process()?;
    if args.dry_run {
        terminal::print(driver::outline(measurement)?.to_string().as_bytes())?;
        return Ok(Exit::Ok);
    }
    let output = Output { json: args.json.as_deref(), quiet: args.quiet, color: args.color };
    // The output is opened first: a run whose result cannot be kept must not begin.
    let sink = output.open()?;
    let signals = Signals::catch()?;
    let mut progress = Progress::new(args.quiet);
    let session =
        Session { origin, sink: sink.as_ref(), signals: &signals, observer: &mut progress, say: terminal::say };
    output.show(driver::measure(measurement, session)?)
}
