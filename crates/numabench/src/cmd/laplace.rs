//! `numabench laplace`: a supervisor for each rank, and the session that it starts; also where there is one rank and no MPI.

use ranks::Launch;

use crate::args::laplace::Laplace;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::laplace::{session, supervisor};
use crate::watched::channel::SESSION;

/// Runs the command.
pub fn run(args: &Laplace) -> Result<Exit, Fault> {
    let launch = Launch::here();
    if std::env::var_os(SESSION).is_some() { session::run(args, &launch) } else { supervisor::run(args, &launch) }
}
