//! `numabench latency`: how long one load of host memory takes, from each GPU to the memory of each row; where no GPU takes part, from each row's
//! core to the memory of each node; how long a load takes beside the traffic of other cores; or how long a flag takes from each core to each other one.

use crate::args::latency::Latency;
use crate::cmd::measured;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Latency) -> Result<Exit, Fault> {
    measured::run(&args.options(), &args.measuring)
}
