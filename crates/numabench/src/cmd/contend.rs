//! `numabench contend`: what ranks lose when they copy at once, and what they share.

use crate::args::contend::Contend;
use crate::cmd::measured;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Contend) -> Result<Exit, Fault> {
    measured::run(&args.options(), &args.measuring)
}
