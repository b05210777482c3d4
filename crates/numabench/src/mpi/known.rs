//! What a supervisor knows of its session, and what it says of the session's end.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::Instant;

use anyhow::anyhow;
use exchange::{Attempt, Case, Doing, Found, Operation, Outcome, PairFound, Path, Pattern};

use super::channel::{Met, Told};
use crate::args::mpi::Mpi;
use crate::exit::Exit;
use crate::fault::Fault;

/// What the supervisor knows.
pub struct Known {
    /// The MPI library that it starts or has started.
    pub starting: Option<String>,
    /// The code with which the session leaves, having said why.
    pub refused: Option<u8>,
    /// What all ranks know since they have met.
    pub met: Option<Met>,
    /// What it does.
    pub doing: Doing,
    /// When it said something last.
    pub since: Instant,
    /// What it found.
    pub found: Found,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It did all that it was to do, and leaves.
    Over,
    /// By itself, with this status.
    Left(ExitStatus),
    /// It said nothing for longer than the limit, and was ended.
    Hung,
    /// The other rank's process is gone, and it waited for that one.
    Partner(usize),
    /// A signal came.
    Signalled,
}

impl Known {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Self {
            starting: None,
            refused: None,
            met: None,
            doing: Doing::Else,
            since: Instant::now(),
            found: Found::default(),
        }
    }

    /// Whether it was the last that the session had to say.
    pub fn take(&mut self, message: Told) -> bool {
        self.since = Instant::now();
        match message {
            Told::Starting(library) => self.starting = Some(library),
            Told::Refused(code) => self.refused = Some(code),
            Told::Met(met) => self.met = Some(met),
            Told::Doing(doing) => self.doing = doing,
            Told::Found(found) => self.found = found,
            Told::Over => return true,
        }
        false
    }

    /// What is known of the operation in which a session ended, is said of it.
    pub fn settle(&mut self, end: &End, args: &Mpi) {
        let outcome = match end {
            End::Hung => Outcome::Hang(args.operation_timeout.as_secs()),
            End::Partner(rank) => Outcome::Crash(format!("the process of rank {rank} died in it")),
            End::Left(status) => match status.signal() {
                Some(signal) => Outcome::Crash(named(signal)),
                None => {
                    Outcome::Crash(format!("MPI ended the process with code {}", status.code().unwrap_or_default()))
                }
            },
            End::Over | End::Signalled => return,
        };
        let (ranks, operation, bytes) = match self.doing.clone() {
            Doing::Operation { ranks, operation, bytes } => (ranks, operation, bytes),
            Doing::Case { ranks, case: Case { path: Path::GpuAware, pattern, bytes } } => {
                let operation = if pattern == Pattern::PingPong { Operation::Send } else { Operation::Isend };
                (ranks, operation, bytes)
            }
            _ => return,
        };
        let Some(pair) = self.found.pairs.iter_mut().find(|pair| pair.ranks == ranks) else { return };
        pair.attempts.retain(|attempt| attempt.outcome != Outcome::NotTried);
        pair.attempts.push(Attempt { operation, bytes, outcome });
        not_tried(pair, args.operations());
    }

    /// Why it is not complete, in words.
    pub fn why(&self, end: &End) -> String {
        let what = match &self.doing {
            Doing::Operation { operation, bytes, .. } => {
                format!("MPI's {} of device memory ({})", operation.name(), stats::units::size(*bytes as u64))
            }
            Doing::Case { case, .. } => {
                format!("{} {} of {}", case.path.name(), case.pattern.name(), stats::units::size(case.bytes as u64))
            }
            Doing::Else => "what lies between the measurements".to_owned(),
        };
        match end {
            End::Hung => format!("{what} did not return within the limit (--operation-timeout)"),
            End::Partner(rank) => format!("the process of rank {rank} died in {what}"),
            End::Left(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("{} in {what}", named(signal)),
                (None, code) => format!("the session ended with code {} in {what}", code.unwrap_or_default()),
            },
            End::Signalled => "a signal came".to_owned(),
            End::Over => "it was over".to_owned(),
        }
    }

    /// A session that ended before all ranks met: it said why itself, unless something ended it.
    pub fn before_they_met(&self, end: &End, leads: bool, signal: Option<Exit>) -> Fault {
        // Also where a signal ended it since: a launcher ends the others as soon as one has left with its code.
        if let Some(code) = self.refused {
            return Fault::silent(Exit::from_code(code));
        }
        let died = match end {
            End::Left(status) if status.signal().is_none() => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return Fault::silent(code.map_or(Exit::NoResult, Exit::from_code));
            }
            End::Left(status) => format!("died of {}", status.signal().map_or_else(String::new, named)),
            _ => "was ended".to_owned(),
        };
        let during = self.starting.as_ref().map_or_else(
            || "before MPI was started".to_owned(),
            |library| {
                format!(
                    "in MPI_Init of {library}: this launcher and this MPI may not belong together (srun --mpi=list shows what srun speaks), or a library \
                     that it opens is not the one it was built with"
                )
            },
        );
        if !leads {
            thread::sleep(experiments::launched::FIRST_SPEAKS);
        }
        Fault::new(signal.unwrap_or(Exit::NoResult), anyhow!("the session of this rank {died} {during}"))
    }
}

/// Those asked for that come after the one that MPI did not survive.
fn not_tried(pair: &mut PairFound, asked: Vec<Operation>) {
    let known: Vec<Operation> = pair.attempts.iter().map(|attempt| attempt.operation).collect();
    let missing = asked.into_iter().filter(|operation| !known.contains(operation));
    let attempts = missing.map(|operation| Attempt { operation, bytes: 0, outcome: Outcome::NotTried });
    pair.attempts.extend(attempts);
}

/// A signal's name, for those that a fault brings.
fn named(signal: i32) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV".to_owned(),
        libc::SIGBUS => "SIGBUS".to_owned(),
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGFPE => "SIGFPE".to_owned(),
        libc::SIGILL => "SIGILL".to_owned(),
        libc::SIGKILL => "SIGKILL".to_owned(),
        libc::SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_said_why_it_leaves_is_not_said_to_have_been_ended_in_mpi() {
        let ended = |refused| {
            let known = Known { starting: Some("an MPI".to_owned()), refused, ..Known::nothing() };
            let fault = known.before_they_met(&End::Signalled, true, Some(Exit::Signal(15)));
            (fault.exit, fault.to_string())
        };
        assert_eq!(ended(Some(Exit::Usage.code())), (Exit::Usage, String::new()));
        let (exit, said) = ended(None);
        assert_eq!(exit, Exit::Signal(15));
        assert!(said.contains("was ended in MPI_Init of an MPI"), "{said}");
    }
}
