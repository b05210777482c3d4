//! `numabench laplace`: Jacobi's iteration over the ranks of a launch; also where there is one rank and no
//! MPI.

use experiments::supervised::{self, Caller};
use launchers::Launch;

use crate::args::laplace::Laplace;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::result_output::{Extent, Output, origin};
use crate::terminal;

/// Runs the command.
pub fn run(args: &Laplace) -> Result<Exit, Fault> {
    let output =
        Output::plain(args.json.as_deref(), Extent::of(args.full, false, args.quiet), args.quiet, args.color);
    let (origin, say) = (origin(), terminal::say);
    let show = &|ended| output.show(ended);
    supervised::run(&args.options(), &Launch::here(), Caller { origin, say, open: &|| output.open(), show })
}
