//! `numabench mpi`: a supervisor for each rank, and the session that it starts.

use anyhow::anyhow;
use ranks::Launch;

use crate::args::mpi::Mpi;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mpi::{session, supervisor};
use crate::watched::channel::SESSION;

/// Runs the command.
pub fn run(args: &Mpi) -> Result<Exit, Fault> {
    let launch = Launch::here();
    if launch.is_alone() {
        let text = "messages go between the ranks of a launch: start it with `mpirun -n 2 numabench mpi` or `srun -n 2 numabench mpi`";
        return Err(Fault::usage(anyhow!(text)));
    }
    if std::env::var_os(SESSION).is_some() { session::run(args, &launch) } else { supervisor::run(args, &launch) }
}
