//! Why nothing can be said of a placement.

use launchers::line::LineError;
use launchers::printed_bindings::PrintedError;
use topo::running::NoProcess;

use crate::machine::MachineError;
use crate::rendezvous::MeetingError;

/// Those that were asked for cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// This machine, or the saved one.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The texts that describe the saved machine do not say enough.
    #[error(transparent)]
    Unsaid(#[from] topo::model::UnsaidError),
    /// The launch line cannot be judged.
    #[error(transparent)]
    Line(#[from] LineError),
    /// What a launcher printed cannot be judged.
    #[error(transparent)]
    Printed(#[from] PrintedError),
    /// A line starts another number of ranks than were printed.
    #[error("--launch: the line starts {line} ranks on the node, and {printed} were printed")]
    OtherCount {
        /// The line's.
        line: usize,
        /// Those of the text.
        printed: usize,
    },
    /// A process that was named.
    #[error(transparent)]
    Process(NoProcess),
    /// This process.
    #[error(transparent)]
    Itself(NoProcess),
    /// The ranks of this node cannot meet.
    #[error(transparent)]
    Meeting(#[from] MeetingError),
}
