//! `numabench suite`: everything that is sensible on this machine in a time given, as one document: for the acceptance of a node.
//!
//! Memory against cores always; with GPUs every NUMA node against every GPU (copies and loads), every GPU's memory against every GPU's, and with several
//! GPUs what they lose at once. Left out: sizes (`sweep`) and copies by a kernel, which say more of the driver than of the node.

use crate::args::suite::Suite;
use crate::cmd::measured;
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs the command.
pub fn run(args: &Suite) -> Result<Exit, Fault> {
    measured::run(&args.options(), &args.measuring)
}
