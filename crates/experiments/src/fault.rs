//! A command that could not do its work: what, why, what to do, and the exit code that says which kind of
//! trouble it is.

use std::error::Error;
use std::fmt;

use crate::exit::Exit;

/// Why a command ended without its result.
#[derive(Debug)]
pub struct Fault {
    /// The code to end with.
    pub exit: Exit,
    /// The message; its chain of causes is shown too. `None`: another process says it.
    pub error: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A fault of this kind.
    pub fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit, error: Some(error.into()) }
    }

    /// A fault that another process of the launch tells the user of.
    pub fn silent(exit: Exit) -> Self {
        Self { exit, error: None }
    }

    /// Work that was begun and gave nothing.
    pub fn no_result(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Exit::NoResult, error)
    }

    /// A command line that cannot be followed.
    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Exit::Usage, error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut message = String::new();
        let mut next = self.error.as_deref().map(|error| error as &dyn Error);
        while let Some(error) = next {
            let cause = error.to_string();
            next = error.source();
            // Most errors here name their cause themselves: it is said once.
            if message.is_empty() {
                message = cause;
            } else if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        f.write_str(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read x: {source}; name another")]
    struct Naming {
        source: std::io::Error,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("{what}")]
    struct Context {
        what: &'static str,
        source: std::io::Error,
    }

    #[test]
    fn a_cause_that_the_message_names_is_said_once_and_one_that_it_does_not_name_is_added() {
        let source = || std::io::Error::other("no space");
        assert_eq!(
            Fault::usage(Naming { source: source() }).to_string(),
            "cannot read x: no space; name another"
        );
        let added = Context { what: "cannot write", source: source() };
        assert_eq!(Fault::usage(added).to_string(), "cannot write: no space");
    }
}
