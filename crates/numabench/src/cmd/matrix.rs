//! `numabench matrix`: rows of the machine against its GPUs, or where no GPU takes part against its memory
//! nodes.

use crate::args::matrix::Matrix;
use crate::cmd::measured;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Matrix) -> Result<Exit, Fault> {
    match args.moving()? {
        Some(moving) => measured::run(&moving, &args.measuring),
        None => measured::run(&args.options(), &args.measuring),
    }
}
