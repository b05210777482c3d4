//! `numabench peer`: copies from each GPU's memory to each other's and to its own, one way, both ways at once, all at once, and how long the smallest
//! takes.

use crate::args::peer::Peer;
use crate::cmd::measured;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Peer) -> Result<Exit, Fault> {
    measured::run(&args.options(), &args.measuring)
}
