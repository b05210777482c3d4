//! What a run is given beside what it measures, by a command line or by another program.

use report::sink::Sink;

use crate::document::Origin;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::journal::FinishedRun;

/// What a run is given beside what it measures.
pub struct Caller<'a, D> {
    /// What makes the document.
    pub origin: Origin,
    /// Says something on standard error, at once: a launcher may end this process at any time.
    pub say: fn(&str),
    /// Opens the file of the document; asked of rank 0 alone.
    pub open: &'a dyn Fn() -> Result<Option<Sink>, Fault>,
    /// Shows what rank 0 ended with, before anybody leaves the launch.
    pub show: &'a dyn Fn(FinishedRun<D>) -> Result<Exit, Fault>,
}
