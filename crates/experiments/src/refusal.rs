//! What the crates that place, check and start programs refuse, with the exit code that says which kind of
//! refusal it is.

use std::io::ErrorKind;

use check::CheckError;
use check::machine::MachineError;
use exec::{ExecError, ProgramStartError};
use launchers::line::LineError;
use place::PlaceError;
use placement::SelectionError;
use report::sink::SinkError;

use crate::exit::Exit;
use crate::fault::Fault;

/// What was asked and cannot be done.
impl From<ExecError> for Fault {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Gpus(SelectionError::Absent { .. }) | ExecError::NoGpuForWorkers => {
                Self::new(Exit::Absent, error)
            }
            _ => Self::usage(error),
        }
    }
}

/// A program that could not be started, with a shell's exit codes for that.
impl From<ProgramStartError> for Fault {
    fn from(error: ProgramStartError) -> Self {
        let is_absent = error.source.kind() == ErrorKind::NotFound;
        Self::new(if is_absent { Exit::NotFound } else { Exit::NotExecutable }, error)
    }
}

/// What cannot be placed or measured, with its exit code.
impl From<PlaceError> for Fault {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Gpus(SelectionError::Absent { .. }) => Self::new(Exit::Absent, error),
            PlaceError::Unsaid(_) => Self::new(Exit::Undecided, error),
            _ => Self::usage(error),
        }
    }
}

/// A file that cannot be written. A path that no document can be written to is a usage error; a disk without
/// room, or a system call that fails, is none: the same command line works elsewhere.
impl From<SinkError> for Fault {
    fn from(error: SinkError) -> Self {
        let exit = match error {
            SinkError::NoRoom { .. } | SinkError::Io { .. } => Exit::NoResult,
            _ => Exit::Usage,
        };
        Self::new(exit, error)
    }
}

/// What cannot be looked at.
impl From<CheckError> for Fault {
    fn from(error: CheckError) -> Self {
        let exit = match &error {
            CheckError::Machine(MachineError::Saved(_)) | CheckError::Process(_) => Exit::Usage,
            CheckError::Printed(_) | CheckError::OtherCount { .. } => Exit::Usage,
            CheckError::Machine(MachineError::Here(_)) | CheckError::Itself(_) => Exit::NoResult,
            CheckError::Line(LineError::NotSaid(_)) | CheckError::Meeting(_) | CheckError::Unsaid(_) => {
                Exit::Undecided
            }
            CheckError::Line(LineError::Quote(_) | LineError::Wrong(_) | LineError::Value { .. }) => {
                Exit::Usage
            }
        };
        Self::new(exit, error)
    }
}
