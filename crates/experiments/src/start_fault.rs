//! Why a program is not started in its place, with the exit code: `exec`, `check` and `trial` start programs.

use exec::{ExecError, StartError};
use placement::SelectionError;

use crate::exit::Exit;
use crate::fault::Fault;

/// What was asked of `exec` and cannot be done, with its exit code.
pub fn refused(error: ExecError) -> Fault {
    match error {
        ExecError::Gpus(SelectionError::Absent { .. }) => Fault::new(Exit::Absent, error),
        _ => Fault::usage(error),
    }
}

/// A program that could not be started, with a shell's exit codes for that.
pub fn not_started(error: StartError) -> Fault {
    let is_absent = error.source.kind() == std::io::ErrorKind::NotFound;
    Fault::new(if is_absent { Exit::NotFound } else { Exit::NotExecutable }, error)
}
