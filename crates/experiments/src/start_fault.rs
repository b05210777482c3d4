//! Why a program is not started in its place, with the exit code: `exec`, `check` and `trial` start programs.

use std::io::ErrorKind;

use exec::{ExecError, StartError};
use placement::SelectionError;

use crate::exit::Exit;
use crate::fault::Fault;

/// What was asked and cannot be done.
impl From<ExecError> for Fault {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Gpus(SelectionError::Absent { .. }) => Self::new(Exit::Absent, error),
            _ => Self::usage(error),
        }
    }
}

/// A program that could not be started, with a shell's exit codes for that.
impl From<StartError> for Fault {
    fn from(error: StartError) -> Self {
        let is_absent = error.source.kind() == ErrorKind::NotFound;
        Self::new(if is_absent { Exit::NotFound } else { Exit::NotExecutable }, error)
    }
}
