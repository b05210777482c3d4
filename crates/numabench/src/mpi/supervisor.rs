//! The supervisor of a rank's session of `numabench mpi`: it knows what the session was doing when MPI ended it, and rank 0's has the result.

use std::os::unix::process::ExitStatusExt;
use std::time::Instant;

use exchange::Doing;
use ranks::Launch;

use super::channel::Told;
use super::kept::{Ending, Kept};
use super::known::Known;
use crate::args::mpi::Mpi;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::signals::Signals;
use crate::terminal;
use crate::watched::{End, Patience, Process, Session, Watched};

/// Runs the supervisor: the session is this program with the same arguments.
///
/// # Errors
/// The session cannot be started, or has no result.
pub fn run(args: &Mpi, launch: &Launch) -> Result<Exit, Fault> {
    let kept = Kept::open(args, launch)?;
    let signals = Signals::catch()?;
    let mut session = Session::start()?;
    let leads = launch.speaks();
    let patience = Patience::new(args.operation_timeout, leads);
    let mut here = Here { known: Known::nothing(), kept, processes: None };
    let end = session.watch(&patience, &mut here, &signals)?;
    // One that comes from here on changes nothing: what it would end has ended.
    let Here { mut known, kept, processes } = here;
    let signal = signals.exit().filter(|_| end != End::Over || known.found.interrupted);
    known.settle(&end, args);
    let Some(met) = &known.met else { return Err(session.leave_unmet(launch, &known.before, &end, &signals)) };
    // At once: a launcher that ends this process too will do so soon.
    let concluded = if leads {
        let why = (end != End::Over).then(|| known.why(&end));
        kept.conclude(met, &known.found, &Ending { why, signal, over: end == End::Over })
    } else {
        if known.doing != Doing::Else && matches!(end, End::Left(status) if status.signal().is_some()) {
            terminal::say(&format!("note: on this rank: {}", known.why(&end)));
        }
        // Rank 0's supervisor has the result and its code.
        Ok(Exit::Ok)
    };
    session.leave(launch, &end, (&processes.unwrap_or_default(), args.operation_timeout), &signals);
    concluded
}

/// What it knows, and the file that it keeps.
struct Here<'a> {
    known: Known,
    kept: Kept<'a>,
    processes: Option<Vec<Process>>,
}

impl Watched for Here<'_> {
    type Told = Told;

    fn take(&mut self, told: Told) -> bool {
        if let Told::Met(met) = &told {
            self.processes = Some(met.processes());
        }
        self.known.take(told)
    }

    fn processes(&self) -> Option<&[Process]> {
        self.processes.as_deref()
    }

    fn awaited(&self) -> Option<Vec<usize>> {
        match &self.known.doing {
            Doing::Case { ranks, .. } | Doing::Operation { ranks, .. } => Some(ranks.to_vec()),
            Doing::Else => None,
        }
    }

    fn since(&self) -> Instant {
        self.known.since
    }

    fn keep(&mut self) {
        if let Some(met) = &self.known.met {
            self.kept.keep(met, &self.known.found);
        }
    }

    fn catch_up(&mut self) {
        if let Some(met) = &self.known.met {
            self.kept.catch_up(met, &self.known.found);
        }
    }

    fn interrupted(&mut self, exit: Exit) {
        if let Some(met) = &self.known.met {
            self.kept.interrupted(met, &self.known.found, exit);
        }
    }
}
