//! A command that could not do its work: what, why, what to do, and the exit code that says which kind of trouble it is.

use std::fmt;

use crate::exit::Exit;

/// Why a command ended without its result.
#[derive(Debug)]
pub struct Fault {
    /// The code to end with.
    pub exit: Exit,
    /// The message; its chain of causes is shown too.
    pub error: anyhow::Error,
}

impl Fault {
    /// A fault of this kind.
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }

    /// A command line that cannot be followed.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Exit::Usage, error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}
