//! The supervisor of a rank's session: starts it, hears what it does and finds, ends it where it hangs, and knows what it was doing when MPI ended it. It opens no MPI and no GPU,
//! so nothing that happens there reaches it.
//!
//! The supervisor of rank 0 has the result. It looks at the other rank's process too, where that is on its host: a partner that died leaves the session waiting in MPI.
//!
//! Launchers end all processes when one leaves whose MPI did not finish, and mostly with a code that is none of theirs. So a supervisor whose session died tells Hydra
//! that it leaves ([`ranks::pmi`]), leaves a step of Slurm at once, and under the others stays until rank 0's has left; and rank 0's is the first to lose patience.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use exchange::Doing;
use ranks::{Launch, Launcher};

use super::channel::{Met, SESSION, Told, hear, pair};
use super::kept::{Ending, Kept};
use super::known::{End, Known};
use super::partners::Partners;
use crate::args::mpi::Mpi;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::signals::Signals;
use crate::terminal;

/// How often the supervisor looks at the clock, at signals and at the other rank's process.
const LOOK: Duration = Duration::from_millis(100);
/// How long a session may take to come to an end after a signal: mpirun kills 0.3 to 0.7 s after it.
const GRACE: Duration = Duration::from_millis(250);
/// How long it may take to leave when all was done.
const LEAVES: Duration = Duration::from_secs(15);
/// How much longer than in an operation a session may say nothing between them: a rank that has nothing to do is told so every few seconds.
const BETWEEN: Duration = Duration::from_secs(15);
/// How much longer the supervisors of other ranks wait than rank 0's, which concludes and leaves first.
const LATER: Duration = Duration::from_secs(5);
/// How long a partner's process may be gone before this session's own death, or its answer, no longer explains it.
const PARTNER: Duration = Duration::from_millis(200);
/// How long the supervisor of another rank gives rank 0's to conclude.
const STAYS: Duration = Duration::from_secs(5);

/// Runs the supervisor: the session is this program with the same arguments.
///
/// # Errors
/// The session cannot be started, or has no result.
pub fn run(args: &Mpi, launch: &Launch) -> Result<Exit, Fault> {
    let mut kept = Kept::open(args, launch)?;
    let signals = Signals::catch()?;
    let (mut child, told) = session().map_err(|error| Fault::new(Exit::NoResult, error))?;
    let mut known = Known::nothing();
    let leads = launch.speaks();
    let patience = Patience::new(args.operation_timeout, leads);
    let mut partners = Partners::default();
    let end = watch(&patience, &mut child, &told, &mut known, &signals, &mut kept, &mut partners)?;
    // One that comes from here on changes nothing: what it would end has ended.
    let signal = signals.exit().filter(|_| end != End::Over || known.found.interrupted);
    known.settle(&end, args);
    let Some(met) = &known.met else { return Err(known.before_they_met(&end, leads, signals.exit())) };
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
    let finished = end == End::Over && left(&mut child);
    let may_leave = finished
        || match launch.launcher {
            Launcher::Hydra => ranks::pmi::finalize(),
            // With PMIx it ends the step as soon as a session has died, without it never: either way nobody is waited for.
            Launcher::Srun => true,
            _ => false,
        };
    if !leads && !may_leave {
        stay(met, child.id(), args.operation_timeout, &signals, &mut partners);
    }
    concluded
}

/// How long a session may say nothing.
struct Patience {
    operation: Duration,
    between: Duration,
}

impl Patience {
    fn new(operation: Duration, leads: bool) -> Self {
        let operation = if leads { operation } else { operation + LATER };
        Self { operation, between: operation + BETWEEN }
    }

    /// While this is known; `None` before all ranks met, when the session has limits of its own.
    fn with(&self, known: &Known) -> Option<Duration> {
        known.met.as_ref()?;
        Some(match &known.doing {
            Doing::Else => self.between,
            _ => self.operation,
        })
    }
}

/// Starts the session, whose standard input is the channel.
fn session() -> anyhow::Result<(Child, Receiver<Told>)> {
    let (mut ours, theirs) = pair().context("cannot make a channel to the session")?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).env(SESSION, "1").stdin(Stdio::from(OwnedFd::from(theirs)));
    // Standard output is the document's: libraries that write to it (UCX does) are heard on standard error.
    command.stdout(std::io::stderr());
    let child = command.spawn().context("cannot start the session of this rank")?;
    // It holds the session's end of the channel, which must close when the session does.
    drop(command);
    let (tell, told) = mpsc::channel();
    thread::Builder::new().name("channel".to_owned()).spawn(move || {
        while let Some(message) = hear(&mut ours) {
            if tell.send(message).is_err() {
                return;
            }
        }
    })?;
    Ok((child, told))
}

/// Hears the session until it has ended.
fn watch(
    patience: &Patience,
    child: &mut Child,
    told: &Receiver<Told>,
    known: &mut Known,
    signals: &Signals,
    kept: &mut Kept,
    partners: &mut Partners,
) -> Result<End, Fault> {
    let mut leave_by: Option<Instant> = None;
    let mut partner_gone: Option<(usize, Instant)> = None;
    loop {
        let heard = match told.recv_timeout(LOOK) {
            Ok(message) => {
                let met_now = matches!(message, Told::Met(_));
                if known.take(message) {
                    return Ok(End::Over);
                }
                if let Some(met) = &known.met {
                    if met_now {
                        partners.meet(met, child.id());
                    }
                    kept.keep(met, &known.found);
                }
                true
            }
            // The session closed the channel: all that it said was heard.
            Err(RecvTimeoutError::Disconnected) => {
                return child.wait().map(End::Left).map_err(|error| Fault::new(Exit::NoResult, error));
            }
            Err(RecvTimeoutError::Timeout) => false,
        };
        if let (Some(exit), None) = (signals.exit(), leave_by) {
            // First what is known: this process may be killed while the session comes to an end.
            if let Some(met) = &known.met {
                kept.interrupted(met, &known.found, exit);
            }
            // A launcher or a terminal signals the session too; one signal more is an echo to it.
            signal(child, rustix::process::Signal::TERM);
            leave_by = Some(Instant::now() + GRACE);
        }
        if leave_by.is_some_and(|by| Instant::now() > by) {
            end(child);
            return Ok(End::Signalled);
        }
        if heard {
            continue;
        }
        if let Some(met) = &known.met {
            kept.catch_up(met, &known.found);
        }
        if patience.with(known).is_some_and(|limit| known.since.elapsed() > limit) {
            end(child);
            return Ok(End::Hung);
        }
        let gone = known.met.as_ref().and_then(|met| partners.gone(met, child.id(), &known.doing));
        match (gone, &partner_gone) {
            (Some(rank), Some((known_gone, since))) if rank == *known_gone && since.elapsed() > PARTNER => {
                end(child);
                return Ok(End::Partner(rank));
            }
            (Some(rank), None) => partner_gone = Some((rank, Instant::now())),
            (None, _) => partner_gone = None,
            _ => {}
        }
    }
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    // It may have ended by itself meanwhile; it is not reaped before, so the number is still its own.
    let _ = pid.map(|pid| rustix::process::kill_process(pid, signal));
}

/// Ends it without waiting until it has: a GPU's driver may take its time.
fn end(child: &mut Child) {
    drop(child.kill());
}

/// Waits until it has left, and ends it if it does not; whether it left in good order.
fn left(child: &mut Child) -> bool {
    let until = Instant::now() + LEAVES;
    let mut nap = Duration::from_millis(1);
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => thread::sleep(nap),
            Err(_) => return false,
        }
        nap = (nap * 2).min(LOOK);
    }
    end(child);
    false
}

/// Stays until rank 0's supervisor has concluded and left, as far as that can be told, or a signal comes.
fn stay(met: &Met, own: u32, operation: Duration, signals: &Signals, partners: &mut Partners) {
    let last = Instant::now() + operation + LATER;
    let mut until = last;
    while Instant::now() < until && signals.exit().is_none() {
        if until == last && partners.gone(met, own, &Doing::Else) == Some(0) {
            until = last.min(Instant::now() + STAYS);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use exchange::Operation;

    use super::*;

    #[test]
    fn the_first_rank_loses_patience_first_and_nobody_before_all_have_met() {
        let met = Met {
            library: String::new(),
            says: Vec::new(),
            thread_level: String::new(),
            ranks: Vec::new(),
            pairs: Vec::new(),
        };
        let doing = Doing::Operation { ranks: [0, 1], operation: Operation::Put, bytes: 8 };
        let known = |met, doing| Known { met, doing, ..Known::nothing() };
        let [first, other] = [true, false].map(|leads| Patience::new(Duration::from_secs(30), leads));
        assert_eq!(first.with(&known(None, doing.clone())), None);
        let (operation, between) = (known(Some(met.clone()), doing), known(Some(met), Doing::Else));
        assert_eq!(first.with(&operation), Some(Duration::from_secs(30)));
        assert!(other.with(&operation) > first.with(&operation));
        assert!(first.with(&between) > first.with(&operation) && other.with(&between) > first.with(&between));
    }
}
