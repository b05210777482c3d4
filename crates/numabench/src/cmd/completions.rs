//! `numabench completions`: what a shell must know to complete these commands, from the same description that
//! parses them.

use crate::args::completions::Completions;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::{examples, terminal};

/// Runs the command.
pub fn run(args: &Completions) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut examples::command(), "numabench", &mut script);
    terminal::print(&script)?;
    Ok(Exit::Ok)
}
