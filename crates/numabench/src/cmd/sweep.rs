//! `numabench sweep`: bandwidth and time against size, with the latency and the rate that they come to.

use crate::args::sweep::Sweep;
use crate::cmd::measured;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Sweep) -> Result<Exit, Fault> {
    match args.moving()? {
        Some(moving) => measured::run(&moving, &args.measuring),
        None => measured::run(&args.options(), &args.measuring),
    }
}
