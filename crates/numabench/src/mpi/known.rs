//! What a supervisor knows of its session, and what it says of the session's end.

use std::os::unix::process::ExitStatusExt;
use std::time::Instant;

use exchange::{Attempt, Case, Doing, Found, Operation, Outcome, PairFound, Path, Pattern};

use super::channel::{Met, Told};
use crate::args::mpi::Mpi;
use crate::watched::{Before, End, named};

/// What the supervisor knows.
pub struct Known {
    /// What it said before all ranks met.
    pub before: Before,
    /// What all ranks know since they have met.
    pub met: Option<Met>,
    /// What it does.
    pub doing: Doing,
    /// When it said something last.
    pub since: Instant,
    /// What it found.
    pub found: Found,
}

impl Known {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Self {
            before: Before::default(),
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
            Told::Starting(library) => self.before.starting = Some(library),
            Told::Refused(code) => self.before.refused = Some(code),
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
        end.why(&what, "--operation-timeout")
    }
}

/// Those asked for that come after the one that MPI did not survive.
fn not_tried(pair: &mut PairFound, asked: Vec<Operation>) {
    let known: Vec<Operation> = pair.attempts.iter().map(|attempt| attempt.operation).collect();
    let missing = asked.into_iter().filter(|operation| !known.contains(operation));
    let attempts = missing.map(|operation| Attempt { operation, bytes: 0, outcome: Outcome::NotTried });
    pair.attempts.extend(attempts);
}
