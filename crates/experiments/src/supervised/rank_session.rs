//! The steps of a rank's session that every kind of measurement takes: bind, open the GPU, start MPI, work,
//! leave. MPI may end it at any call; its supervisor has heard everything by then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use device::{Device, DeviceId};
use placement::{RankPlan, TargetId};
use ranks::{Communicator, Mpi, Single, ThreadLevel};
use rustix::process::{Signal, set_parent_process_death_signal};
use startup::{Agreement, Departure, ProcessRefusal};
use topo::Topology;

use super::channel::{SessionMessage, tell};
use super::kind::{MessageOf, RankSession, SessionJournal, Supervised};
use super::place;
use crate::backends::{self, FoundPlatform};
use crate::ending;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::launched::{CODES, start};
use crate::signals::Signals;
use crate::watchdog::{NOT_OPEN, Watchdog};

/// The first step of all ranks: each says whether it begins.
fn begin(agreement: &mut Agreement, mine: Result<(), Fault>) -> Result<(), Fault> {
    let mine = mine.map_err(|fault| ProcessRefusal::from(&fault));
    let all_begin = |all: Vec<()>| -> Result<_, Fault> { Ok(all) };
    Ok(agreement.agree(mine, all_begin)?)
}

/// Makes this process a session.
///
/// # Errors
/// The kernel refuses.
pub(super) fn prepare_process() -> Result<(), Fault> {
    // It changes the environment, so no other thread, of ours or of a driver, may run yet.
    ranks::cray_gtl::bring_in();
    // Without this, a session that hangs in MPI outlives the supervisor that a launcher has killed.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Fault::no_result)
}

impl<K: Supervised> RankSession<'_, K> {
    /// Tells the supervisor.
    pub fn tell(&self, message: &MessageOf<K>) {
        tell(message);
    }

    /// Ends this process where what comes next does not come in time: until all ranks have met nobody else
    /// watches this one. Rank 0's says `what` did not happen, and why.
    ///
    /// # Errors
    /// No further thread can be started.
    pub fn watchdog(&self, what: [&'static str; 2]) -> Result<Watchdog, Fault> {
        Watchdog::of_rank(self.kind.timeout(), self.launch.speaks(), what, self.say)
    }

    /// Finds the devices.
    ///
    /// # Errors
    /// Those that were asked for are not here.
    pub fn find(&self, topology: &Topology) -> Result<FoundPlatform, Fault> {
        let _opening = self.watchdog(NOT_OPEN)?;
        let asked = self.kind.place_asked();
        backends::find(asked.backend, asked.gpus.is_some(), topology)
    }

    /// The place of this rank, as [`place::place`].
    ///
    /// # Errors
    /// As there.
    pub fn place(
        &self,
        topology: &Topology,
        found: &FoundPlatform,
        chosen: Option<&[(u32, u32)]>,
    ) -> Result<RankPlan, Fault> {
        place::place(self.kind.place_asked(), self.launch, topology, found, chosen)
    }

    /// Runs `rank` on a new thread, which alone binds itself, opens the GPU and calls MPI, and waits for it.
    /// Signals are caught meanwhile.
    ///
    /// # Errors
    /// What the thread says, or that there can be none.
    pub fn on_own_thread(
        &self,
        rank: impl FnOnce(&AtomicBool) -> Result<(), Fault> + Send,
    ) -> Result<Exit, Fault> {
        let signals = Signals::catch()?;
        thread::scope(|scope| {
            let rank = thread::Builder::new().spawn_scoped(scope, || rank(&signals.interrupted));
            let rank = rank.map_err(|error| {
                Fault::no_result(format!("the rank's thread cannot be started: {error}; see ulimit -u"))
            })?;
            rank.join().unwrap_or_else(|_| Err(Fault::no_result("the rank's thread panicked")))
        })?;
        Ok(signals.exit().unwrap_or(Exit::Ok))
    }

    /// Opens the GPU of a rank that has one.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn open(&self, found: &FoundPlatform, plan: &RankPlan) -> Result<Option<Box<dyn Device>>, Fault> {
        match plan.target.id {
            TargetId::Gpu(pci) => {
                Ok(Some(found.platform.open(DeviceId::Pci(pci)).map_err(Fault::no_result)?))
            }
            TargetId::Node(_) => Ok(None),
        }
    }

    /// Starts MPI, with its name, works with the other ranks, says how that ended and leaves MPI. A rank
    /// alone works without.
    ///
    /// # Errors
    /// MPI does not start. Where the work fails, that is said and the process ends; a rank alone returns a
    /// fault that has been said.
    pub fn with_ranks(
        &self,
        level: Option<ThreadLevel>,
        work: impl FnOnce(Option<(&Mpi, &str)>, Agreement) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let timeout = self.kind.timeout();
        if self.launch.is_alone() {
            let world = Single::default();
            return self
                .report_end(work(None, Agreement::new(&mut Communicator::new(&world), timeout, CODES)));
        }
        self.with_others.store(true, Ordering::Relaxed);
        let (mpi, library) = self.start(level)?;
        let mut comm = Communicator::new(&mpi);
        let mut agreement = Agreement::new(&mut comm, timeout, CODES);
        let begun = begin(&mut agreement, Ok(()));
        let ended = self.report_end(begun.and_then(|()| work(Some((&mpi, &library)), agreement)));
        self.leave(&mpi, &mut comm, ended)
    }

    /// Does not begin: starts MPI to tell the others, who would wait for this rank in MPI_Init. Where MPI
    /// does not start either, `fault` is what is said.
    pub(super) fn refuse(&self, fault: Fault) -> Result<Exit, Fault> {
        self.tell(&SessionMessage::Refusing(fault.exit.code(), fault.to_string()));
        let Ok((mpi, _)) = self.start(None) else { return self.report_end(Err(fault)).map(|()| Exit::Ok) };
        let mut comm = Communicator::new(&mpi);
        let told = begin(&mut Agreement::new(&mut comm, self.kind.timeout(), CODES), Err(fault));
        self.leave(&mpi, &mut comm, self.report_end(told)).map(|()| Exit::Ok)
    }

    fn start(&self, level: Option<ThreadLevel>) -> Result<(Mpi, String), Fault> {
        let starting = &mut |library: &str| self.tell(&SessionMessage::Starting(library.to_owned()));
        start(self.launch, self.kind.timeout(), level, self.say, starting)
    }

    /// Leaves MPI, and the process where others may not be left in good order.
    fn leave(&self, mpi: &Mpi, comm: &mut Communicator, ended: Result<(), Fault>) -> Result<(), Fault> {
        let was_late = ended.as_ref().is_err_and(|fault| fault.exit == Exit::TimedOut);
        let departure =
            if was_late { Departure::Failed } else { startup::leave(mpi, comm, self.launch, self.say) };
        match ended {
            Ok(()) if departure == Departure::Finalized => Ok(()),
            Ok(()) if departure == Departure::Unfinalized => ending::at_once(Exit::Ok),
            // The supervisor sees by the code that it did not leave, and ends the launch for it.
            Ok(()) => ending::at_once(Exit::NoResult),
            // What MPI or the driver may still use is neither given back nor unmapped, and nobody's exit
            // handler waits for it.
            Err(fault) => ending::at_once(fault.exit),
        }
    }

    /// Tells the supervisor how it ended, before anybody leaves: a launcher may end the others as soon as one
    /// ends with a code, and an MPI that dies or hangs in MPI_Finalize takes nothing with it.
    fn report_end(&self, ended: Result<(), Fault>) -> Result<(), Fault> {
        match ended {
            Ok(()) => {
                self.tell(&SessionMessage::Over);
                Ok(())
            }
            Err(fault) => {
                if fault.error.is_some() {
                    (self.say)(&format!("error: {fault}"));
                }
                self.tell(&SessionMessage::Refused(fault.exit.code()));
                Err(Fault::silent(fault.exit))
            }
        }
    }
}

impl<K: Supervised> SessionJournal<K::Doing, K::Found> for &RankSession<'_, K> {
    fn doing(&mut self, what: &K::Doing) {
        self.tell(&SessionMessage::Doing(what.clone()));
    }

    fn found(&mut self, found: &K::Found) {
        self.tell(&SessionMessage::Found(found.clone()));
    }
}
