//! A session that ended before all ranks met: what it said, and what its end means.

use std::os::unix::process::ExitStatusExt;
use std::thread;

use super::session_end::{SessionEnd, signal_name};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::watchdog::FIRST_SPEAKS;

/// What a session said before all ranks met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Before {
    /// The MPI library that it starts or has started.
    pub starting: Option<String>,
    /// The code and the reason with which it does not begin, before the others know.
    pub refusing: Option<(u8, String)>,
    /// The code with which the session leaves, having said why.
    pub refused: Option<u8>,
}

impl Before {
    /// What a session's end means: it said why itself, unless something ended it.
    pub fn fault(&self, end: &SessionEnd, leads: bool, signal: Option<Exit>) -> Fault {
        // Also where a signal ended it since: a launcher ends the others as soon as one has left with its
        // code.
        if let Some(code) = self.refused {
            return Fault::silent(Exit::from_code(code));
        }

        if let Some((code, why)) = &self.refusing {
            return Fault::new(Exit::from_code(*code), why.clone());
        }
        let died = match end {
            SessionEnd::Left(status) if status.signal().is_none() => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return Fault::silent(code.map_or(Exit::NoResult, Exit::from_code));
            }
            SessionEnd::Left(status) => {
                format!("died of {}", status.signal().map_or_else(String::new, signal_name))
            }
            _ => "was ended".to_owned(),
        };

        let during = self.starting.as_ref().map_or_else(
            || "before MPI was started".to_owned(),
            |library| {
                format!(
                    "in MPI_Init of {library}: this launcher and this MPI may not belong together (srun \
                     --mpi=list shows what srun speaks), or a library that it opens is not the one it was \
                     built with"
                )
            },
        );

        if !leads {
            thread::sleep(FIRST_SPEAKS);
        }
        Fault::new(signal.unwrap_or(Exit::NoResult), format!("the session of this rank {died} {during}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_said_why_it_leaves_is_not_said_to_have_been_ended_in_mpi() {
        let ended = |refused| {
            let before = Before { starting: Some("an MPI".to_owned()), refused, ..Before::default() };
            let fault = before.fault(&SessionEnd::Signalled, true, Some(Exit::Signal(15)));
            (fault.exit, fault.to_string())
        };
        assert_eq!(ended(Some(Exit::Usage.code())), (Exit::Usage, String::new()));
        let (exit, said) = ended(None);
        assert_eq!(exit, Exit::Signal(15));
        assert!(said.contains("was ended in MPI_Init of an MPI"), "{said}");
        let refusing = Before { refusing: Some((77, "no GPU".to_owned())), ..Before::default() };
        let fault = refusing.fault(&SessionEnd::Signalled, true, None);
        assert_eq!(
            (fault.exit, fault.to_string()),
            (Exit::from_code(77), "no GPU".to_owned()),
            "MPI keeps nothing from being said"
        );
    }
}
