//! `numabench kernels`: what the place of host memory costs work that computes, on GPUs or on cores.

use crate::args::kernels::Kernels;
use crate::cmd::measured;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Kernels) -> Result<Exit, Fault> {
    measured::run(&args.options(), &args.measuring)
}
