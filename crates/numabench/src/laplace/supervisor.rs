//! The supervisor of a rank's session of `numabench laplace`: it has everything that was found when MPI, or a kernel that hangs, ends the session.

use std::os::unix::process::ExitStatusExt;
use std::time::Instant;

use ::laplace::{Doing, Found, Trouble, WayFound};
use ranks::Launch;
use stats::stop::StopReason;

use super::kept::{Ending, Kept};
use super::meeting::{Met, Told, is_risky};
use crate::args::laplace::Laplace;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::signals::Signals;
use crate::terminal;
use crate::watched::{Before, End, Patience, Process, Session, Watched};

/// Runs the supervisor: the session is this program with the same arguments.
///
/// # Errors
/// The session cannot be started, or has no result.
pub fn run(args: &Laplace, launch: &Launch) -> Result<Exit, Fault> {
    let kept = Kept::open(args, launch)?;
    let signals = Signals::catch()?;
    let mut session = Session::start()?;
    let leads = launch.speaks();
    let patience = Patience::new(args.timeout, leads);
    let mut here = Here {
        before: Before::default(),
        met: None,
        doing: Doing::Else,
        since: Instant::now(),
        found: Found::default(),
        kept,
    };
    let end = session.watch(&patience, &mut here, &signals)?;
    let Here { before, met, doing, mut found, kept, .. } = here;
    let Some(met) = met else { return Err(session.leave_unmet(launch, &before, &end, &signals)) };
    let signal = signals.exit().filter(|_| end != End::Over || found.interrupted);
    // A session that said why it leaves was not lost.
    let why = (end != End::Over && signal.is_none()).then(|| why(&end, doing));
    if let Some(why) = &why {
        settle(&mut found, doing, why);
    }
    let concluded = if leads {
        // What is known to end a process when MPI is given device memory is a way's trouble; else the run's own time was up.
        let timed_out = end == End::Hung && !is_risky(doing);
        kept.conclude(&met, &found, Ending { why, signal, timed_out })
    } else {
        if doing != Doing::Else && matches!(end, End::Left(status) if status.signal().is_some()) {
            terminal::say(&format!("note: on this rank: {}", why.unwrap_or_default()));
        }
        // Rank 0's supervisor has the result and its code.
        Ok(Exit::Ok)
    };
    session.leave(launch, &end, (&met.processes, args.timeout), &signals);
    concluded
}

/// Why it is not complete, in words.
fn why(end: &End, doing: Doing) -> String {
    let what = match doing {
        Doing::Iterations(variant) if is_risky(doing) => {
            format!("iterations of {variant}, in which MPI is given device memory")
        }
        Doing::Iterations(variant) => format!("iterations of {variant}"),
        Doing::Else => "what lies between the iterations".to_owned(),
    };
    end.why(&what, "--timeout")
}

/// What the end of the session means for ways that were not done: the one that ended it has no figure, and neither have those that were not begun; what others have stays.
fn settle(found: &mut Found, doing: Doing, why: &str) {
    let open = |way: &&mut WayFound| way.trouble.is_none() && way.stop.is_none();
    for way in found.ways.iter_mut().filter(open) {
        let ended_it = doing == Doing::Iterations(way.variant);
        let has_blocks = way.blocks.first().is_some_and(|blocks| !blocks.is_empty());
        if ended_it {
            way.trouble = Some(Trouble::Failed(why.to_owned()));
        } else if !has_blocks {
            way.trouble = Some(Trouble::Failed(format!("not measured: {why}")));
        }
        way.stop = Some(StopReason::Error);
    }
}

/// What it knows, and the document that it keeps.
struct Here<'a> {
    before: Before,
    met: Option<Box<Met>>,
    doing: Doing,
    since: Instant,
    found: Found,
    kept: Kept<'a>,
}

impl Watched for Here<'_> {
    type Told = Told;

    fn take(&mut self, told: Told) -> bool {
        self.since = Instant::now();
        match told {
            Told::Starting(library) => self.before.starting = Some(library),
            Told::Refused(code) => self.before.refused = Some(code),
            Told::Met(met) => self.met = Some(met),
            Told::Doing(doing) => self.doing = doing,
            Told::Found(found) => self.found = found,
            Told::Over => return true,
        }
        false
    }

    fn processes(&self) -> Option<&[Process]> {
        self.met.as_ref().map(|met| &met.processes[..])
    }

    fn awaited(&self) -> Option<Vec<usize>> {
        // Every rank has neighbours that have neighbours: all wait for one that is gone.
        (self.doing != Doing::Else).then(|| self.processes().unwrap_or_default().iter().map(|one| one.rank).collect())
    }

    fn since(&self) -> Instant {
        self.since
    }

    fn keep(&mut self) {
        if let Some(met) = &self.met {
            self.kept.keep(met, &self.found);
        }
    }

    fn catch_up(&mut self) {
        if let Some(met) = &self.met {
            self.kept.catch_up(met, &self.found);
        }
    }

    fn interrupted(&mut self, exit: Exit) {
        if let Some(met) = &self.met {
            self.kept.interrupted(met, &self.found, exit);
        }
    }
}

#[cfg(test)]
mod tests {
    use ::laplace::{BlockFound, Proof, Variant, Way};

    use super::*;

    fn way(way: Way, blocks: usize, stop: Option<StopReason>) -> WayFound {
        let block = BlockFound { start_ns: 0, end_ns: 1000, iterations: 1, halo_ns: 0 };
        WayFound {
            variant: Variant { way, overlap: false },
            proof: (blocks > 0).then_some(Proof { iterations: 16, residual: 1e-4 }),
            blocks: vec![vec![block; blocks]; 2],
            trouble: None,
            stop,
        }
    }

    #[test]
    fn what_was_measured_before_mpi_died_stays_and_what_it_died_in_has_no_figure() {
        let done = way(Way::Staged, 12, Some(StopReason::Target));
        let mut found = Found { ways: vec![done.clone(), way(Way::GpuAware, 0, None)], ..Found::default() };
        let doing = Doing::Iterations(found.ways[1].variant);
        settle(&mut found, doing, "SIGSEGV in it");
        assert_eq!(found.ways[0], done);
        assert_eq!(found.ways[1].trouble, Some(Trouble::Failed("SIGSEGV in it".to_owned())));
    }
}
