//! `numabench mpi`: messages between the ranks of a launch.

use anyhow::anyhow;
use experiments::supervised::{self, Caller};
use launchers::Launch;

use crate::args::mpi::Mpi;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{Extent, Output, origin};
use crate::terminal;

/// Runs the command.
pub fn run(args: &Mpi) -> Result<Exit, Fault> {
    let launch = Launch::here();
    if launch.is_alone() {
        let text = "messages go between the ranks of a launch: start it with `mpirun -n 2 numabench mpi` or \
            `srun -n 2 numabench mpi`";
        return Err(Fault::usage(anyhow!(text)));
    }
    let output =
        Output::plain(args.json.as_deref(), Extent::of(args.full, false, args.quiet), args.quiet, args.color);
    let (origin, say) = (origin(), terminal::say);
    let show = &|ended| output.show_as(ended, render::terminal::mpi);
    supervised::run(&args.options(), &launch, Caller { origin, say, open: &|| output.open(), show })
}
