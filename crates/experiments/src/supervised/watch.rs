//! A supervisor watches its session: starts it, hears it, ends it where it hangs or waits for a process that
//! is gone. It opens no MPI and no GPU, so nothing that happens there reaches it.
//!
//! Launchers end all processes when one leaves whose MPI did not finish, and mostly with a code that is none
//! of theirs. So a supervisor whose session died tells Hydra that it leaves ([`ranks::pmi`]), leaves a step
//! of Slurm at once, and under the others stays until rank 0's has left; and rank 0's is the first to lose
//! patience.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use launchers::{Launch, Launcher};

use super::before::Before;
use super::channel::{REFUSED, SESSION, hear, pair};
use super::kind::{MessageOf, Supervised};
use super::partners::{Partners, RankProcess};
use super::session_end::SessionEnd;
use super::session_state::KnownSession;
use crate::fault::Fault;
use crate::signals::Signals;
use crate::unread_output;

/// How often the supervisor looks at the clock, at signals and at the other rank's process.
const LOOK: Duration = Duration::from_millis(100);
/// How often it looks whether a session has ended that is about to.
const SOON: Duration = Duration::from_millis(2);
/// How long a session may take to come to an end after a signal: mpirun kills 0.3 to 0.7 s after it.
const GRACE: Duration = Duration::from_millis(250);
/// How long it may take to leave when all was done.
const LEAVES: Duration = Duration::from_secs(15);
/// How much longer than in an operation a session of another rank may say nothing between them: a rank that
/// has nothing to do is told so every few seconds. Rank 0's
/// may for so long at least.
const BETWEEN: Duration = Duration::from_secs(15);
/// How much longer the supervisors of other ranks wait than rank 0's, which concludes and leaves first.
const LATER: Duration = Duration::from_secs(5);
/// How long a partner's process may be gone before this session's own death, or its answer, no longer
/// explains it.
const PARTNER: Duration = Duration::from_millis(200);
/// How long the supervisor of another rank gives rank 0's to conclude.
const STAYS: Duration = Duration::from_secs(5);

/// How long a session may say nothing.
pub(super) struct SilenceLimits {
    operation: Duration,
    between: Duration,
}

impl SilenceLimits {
    /// With this limit of an operation; `leads`: the supervisor of rank 0.
    pub fn new(operation: Duration, leads: bool) -> Self {
        // Rank 0 is never without something to do: a launch in which it says nothing ends in the time that
        // was asked for.
        let (operation, between) = match leads {
            true => (operation, operation.max(BETWEEN)),
            false => (operation + LATER, operation + LATER + BETWEEN),
        };
        Self { operation, between }
    }

    /// Now; `None` before all ranks met, when the session has limits of its own.
    fn now(&self, have_met: bool, is_awaited: bool) -> Option<Duration> {
        have_met.then_some(if is_awaited { self.operation } else { self.between })
    }
}

/// Starts the session, whose standard input is the channel; `refused`: why this rank is not to begin.
fn start<K: Supervised>(refused: Option<&Fault>) -> Result<(Child, Receiver<MessageOf<K>>), String> {
    let (mut ours, theirs) =
        pair().map_err(|error| format!("cannot make a channel to the session: {error}"))?;
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).env(SESSION, "1").stdin(Stdio::from(OwnedFd::from(theirs)));
    command.envs(refused.map(|fault| (REFUSED, format!("{} {fault}", fault.exit.code()))));

    // Standard output is the document's: libraries that write to it (UCX does) are heard on standard error.
    command.stdout(std::io::stderr());
    let child = command.spawn().map_err(|error| format!("cannot start the session of this rank: {error}"))?;

    // It holds the session's end of the channel, which must close when the session does.
    drop(command);
    let (tell, told) = mpsc::channel();
    let pass_on = move || {
        while let Some(message) = hear(&mut ours) {
            if tell.send(message).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("channel".to_owned()).spawn(pass_on).map_err(|error| error.to_string())?;
    Ok((child, told))
}

/// A session's process, which is watched.
pub(super) struct SessionProcess<K: Supervised> {
    child: Child,
    told: Receiver<MessageOf<K>>,
    partners: Partners,
}

impl<K: Supervised> SessionProcess<K> {
    /// Starts this program with the same arguments, as a session.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(refused: Option<&Fault>) -> Result<Self, Fault> {
        let (child, told) = start::<K>(refused).map_err(Fault::no_result)?;
        Ok(Self { child, told, partners: Partners::default() })
    }

    /// Hears the session until it has ended.
    ///
    /// # Errors
    /// Nobody knows how it ended.
    pub fn watch(
        &mut self,
        limits: &SilenceLimits,
        known: &mut KnownSession<K>,
        signals: &Signals,
    ) -> Result<SessionEnd, Fault> {
        let (child, partners) = (&mut self.child, &mut self.partners);
        let mut leave_by: Option<Instant> = None;
        let mut partner_gone: Option<(usize, Instant)> = None;
        let mut silent_since: Option<Instant> = None;

        loop {
            let heard = match self.told.recv_timeout(LOOK) {
                Ok(message) => {
                    let had_met = known.met.is_some();
                    if known.take(message) {
                        return Ok(SessionEnd::Over);
                    }
                    if let Some(all) = known.processes() {
                        if !had_met {
                            partners.meet(all, child.id());
                        }
                        known.keep();
                    }
                    true
                }
                // The session closed the channel: all that it said was heard, and it ends now, or a library
                // closed its standard input.
                Err(RecvTimeoutError::Disconnected) => {
                    if let Some(status) = child.try_wait().map_err(Fault::no_result)? {
                        return Ok(SessionEnd::Left(status));
                    }
                    if silent_since.get_or_insert_with(Instant::now).elapsed() > LEAVES {
                        end(child);
                        return Ok(SessionEnd::Hung);
                    }
                    thread::sleep(SOON);
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
            };
            if let (Some(exit), None) = (signals.exit(), leave_by) {
                // First what is known: this process may be killed while the session comes to an end.
                known.interrupted(exit);
                // A launcher or a terminal signals the session too; one signal more is an echo to it.
                signal(child, rustix::process::Signal::TERM);
                leave_by = Some(Instant::now() + GRACE);
            }
            if leave_by.is_some_and(|by| Instant::now() > by) {
                end(child);
                return Ok(SessionEnd::Signalled);
            }
            if heard {
                continue;
            }
            known.catch_up();
            let awaited = known.awaited();
            let limit = limits.now(known.met.is_some(), awaited.is_some());
            if limit.is_some_and(|limit| known.since.elapsed() > limit) {
                end(child);
                return Ok(SessionEnd::Hung);
            }
            // A rank that has nothing to do waits for rank 0.
            let awaited = awaited.unwrap_or_else(|| vec![0]);
            let gone = known.processes().and_then(|all| partners.gone(all, child.id(), &awaited));
            partner_gone = gone_since(gone, partner_gone, Instant::now());
            if let Some((rank, since)) = partner_gone
                && since.elapsed() > PARTNER
            {
                end(child);
                return Ok(SessionEnd::Partner(rank));
            }
        }
    }

    /// Leaves a launch whose ranks never all met, and says what its session's end means.
    pub fn leave_unmet(
        self,
        launch: &Launch,
        before: &Before,
        ended: &SessionEnd,
        signals: &Signals,
    ) -> Fault {
        // MPICH says that it leaves in an exit handler (4.1 and later), which a session that refuses and ends
        // at once does not run: Hydra kills the other ranks then, and its code is 9 or 0.
        if launch.launcher == Launcher::Hydra
            && before.refused.is_some()
            && matches!(ended, SessionEnd::Left(_))
        {
            ranks::pmi::finalize();
        }
        before.fault(ended, launch.speaks(), signals.exit())
    }

    /// Leaves the launch, in a way that ends nobody who is still needed. `ended` is how the session did;
    /// `all` are the sessions, `operation` the limit of an operation;
    /// `code` that of the launch, where rank 0's supervisor has it.
    pub fn leave(
        mut self,
        launch: &Launch,
        ended: &SessionEnd,
        (all, operation): (&[RankProcess], Duration),
        code: Option<u8>,
        signals: &Signals,
    ) {
        let finished = *ended == SessionEnd::Over && left(&mut self.child);
        let may_leave = finished
            || match (launch.launcher, code) {
                // A rank that is stopped never leaves by itself, and Hydra waits for it.
                (Launcher::Hydra, Some(code)) if *ended == SessionEnd::Hung => {
                    unread_output::await_readers();
                    ranks::pmi::abort(code)
                }
                (Launcher::Hydra, _) => ranks::pmi::finalize(),
                // With PMIx it ends the step as soon as a session has died, without it never: either way
                // nobody is waited for.
                (Launcher::Srun, _) => true,
                _ => false,
            };

        if !launch.speaks() && !may_leave {
            self.stay(all, operation, signals);
        }
    }

    /// Stays until rank 0's supervisor has concluded and left, as far as that can be told, or a signal comes.
    fn stay(&mut self, all: &[RankProcess], operation: Duration, signals: &Signals) {
        let last = Instant::now() + operation + LATER;
        let mut until = last;
        while Instant::now() < until && signals.exit().is_none() {
            if until == last && self.partners.gone(all, self.child.id(), &[0]) == Some(0) {
                until = last.min(Instant::now() + STAYS);
            }
            thread::sleep(LOOK);
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

/// The rank whose process is gone, and since when it is: of another one than before, since now.
fn gone_since(
    gone: Option<usize>,
    before: Option<(usize, Instant)>,
    now: Instant,
) -> Option<(usize, Instant)> {
    let rank = gone?;
    before.filter(|(known, _)| *known == rank).or(Some((rank, now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gone_counts_from_when_it_was_seen_whoever_went_before() {
        let first = Instant::now();
        let later = first + Duration::from_secs(1);
        assert_eq!(gone_since(Some(5), None, first), Some((5, first)));
        assert_eq!(gone_since(Some(5), Some((5, first)), later), Some((5, first)));
        assert_eq!(gone_since(Some(3), Some((5, first)), later), Some((3, later)));
        assert_eq!(gone_since(None, Some((5, first)), later), None);
    }

    #[test]
    fn the_first_rank_loses_patience_first_and_nobody_before_all_have_met() {
        let [first, other] = [true, false].map(|leads| SilenceLimits::new(Duration::from_secs(30), leads));
        assert_eq!(first.now(false, true), None);
        assert_eq!(first.now(true, true), Some(Duration::from_secs(30)));
        assert!(other.now(true, true) > first.now(true, true));
        assert!(
            first.now(true, false) == first.now(true, true)
                && other.now(true, false) > first.now(true, false)
        );
        let short = SilenceLimits::new(Duration::from_secs(2), true);
        assert_eq!(
            short.now(true, false),
            Some(BETWEEN),
            "what lies between short operations takes its own time"
        );
    }
}
