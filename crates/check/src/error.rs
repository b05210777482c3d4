//! Why nothing can be said of a placement.

use launchers::line::LineError;
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
