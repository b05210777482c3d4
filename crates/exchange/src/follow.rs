//! A rank that does what the leader says.

use std::thread;
use std::time::Duration;

use device::{PeerCopier, PeerPath};
use engine::{Look, clock};
use experiments::supervised::SessionJournal;
use ranks::{Communicator, Exchange};

use crate::carried::carry;
use crate::case::{Case, GpuThreadAt, Path};
use crate::end::End;
use crate::fault::ExchangeFault;
use crate::found::{Counted, Doing, Found, LinkBytes, Placed};
use crate::gpu_thread::GpuThread;
use crate::host_adapters::HostAdapters;
use crate::link_counters::PairCounters;
use crate::memory::Memory;
use crate::order::{Answer, Order, read, write};

/// How long a rank sleeps that has nothing to do: not so long that a block waits for it.
pub(crate) const NAP: Duration = Duration::from_micros(100);

/// One rank: its memory, and what it reaches.
pub struct Here<'a> {
    /// Its number.
    pub rank: usize,
    /// Its calls of MPI.
    pub mpi: &'a dyn Exchange,
    /// Its memory.
    pub memory: &'a mut Memory,
    /// Makes peer copies to another rank's device, or says why there are none.
    pub reach: &'a dyn Fn(usize) -> Result<Box<dyn PeerCopier>, String>,
    /// Reads the links' counters, where that can be done.
    pub links: Option<&'a PairCounters>,
    /// Reads the counters of this host's network adapters; `None` where there is no other host.
    pub adapters: Option<&'a HostAdapters>,
    /// Its threads that copy to the GPU, where there are any.
    pub gpu_threads: &'a [GpuThread],
}

impl Here<'_> {
    /// Does what was told.
    pub(crate) fn perform(&mut self, order: &Order) -> Answer {
        self.performed(order).unwrap_or_else(|fault| Answer::Failed(fault.to_string()))
    }

    fn performed(&mut self, order: &Order) -> Result<Answer, ExchangeFault> {
        let with = match order {
            Order::Look { first } => {
                return self.look(if *first { Look::First } else { Look::Again }).map(Answer::Placed);
            }
            Order::Stay | Order::Leave => return Ok(Answer::Took(0)),
            Order::Reach { with } => return Ok(Answer::Reached(self.reached(*with))),
            Order::Rounds { with, .. }
            | Order::Check { with, .. }
            | Order::Attempt { with, .. }
            | Order::Count { with, .. }
            | Order::Carry { with, .. } => *with,
        };
        let (rank, links, adapters) = (self.rank, self.links, self.adapters);
        let mut end = End::new(self.mpi, self.memory, rank, with);
        match order {
            Order::Rounds { case: Case { path: Path::GpuThread(at), .. }, rounds, .. } => {
                thread(self.gpu_threads, *at)?.alone(*rounds).map(|copied| Answer::Took(copied.ns))
            }
            Order::Rounds { case: case @ Case { path: Path::Beside(at), .. }, rounds, .. } => {
                let case = Case { path: case.path.of_messages(), ..*case };
                // Both threads copy before the first message goes, and until the last one has.
                let beside = || {
                    end.meet()?;
                    let took = end.rounds(case, *rounds)?;
                    end.meet().map(|()| took)
                };
                let (took, copied) = thread(self.gpu_threads, *at)?.beside(beside)?;
                Ok(Answer::TookBeside(took, copied))
            }
            Order::Rounds { case, rounds, .. } => end.rounds(*case, *rounds).map(Answer::Took),
            Order::Check { path, bytes, key, .. } => {
                end.check(path.of_messages(), *bytes, *key).map(|(compared, wrong)| Answer::Checked(compared, wrong))
            }
            Order::Attempt { operation, bytes, key, .. } => {
                end.attempt(*operation, *bytes, *key).map(|wrong| Answer::Checked(*bytes as u64, wrong))
            }
            Order::Count { bytes, messages, .. } => count(&mut end, links, *bytes, *messages).map(Answer::Counted),
            Order::Carry { case, rounds, .. } => carry(&mut end, adapters, *case, *rounds).map(Answer::Carried),
            _ => Ok(Answer::Took(0)),
        }
    }

    fn look(&mut self, how: Look) -> Result<Placed, ExchangeFault> {
        let (seen, mismatch) = self.memory.look(how)?;
        let mut placed = Placed::of(seen, mismatch);
        for thread in self.gpu_threads {
            let there = thread.look(how)?;
            let wrong = there.mismatch.as_ref().map(|wrong| format!("the thread that copies to the GPU: {wrong}"));
            placed.mismatch = placed.mismatch.or(wrong);
            placed.gpu_threads.push(there);
        }
        Ok(placed)
    }

    fn reached(&mut self, with: usize) -> Option<String> {
        // The lower one copies; one pair's memory at a time.
        self.memory.peer = None;
        if with < self.rank {
            return None;
        }
        match (self.reach)(with) {
            Ok(copier) => {
                let staged = copier.path() == PeerPath::Staged;
                self.memory.reaches(copier);
                staged.then(|| "the driver stages copies between these GPUs through host memory".to_owned())
            }
            Err(why) => Some(why),
        }
    }
}

/// The rank's thread of that place.
fn thread(threads: &[GpuThread], at: GpuThreadAt) -> Result<&GpuThread, ExchangeFault> {
    threads.iter().find(|thread| thread.at == at).ok_or(ExchangeFault::NoDevice)
}

fn count(
    end: &mut End,
    links: Option<&PairCounters>,
    bytes: usize,
    messages: u32,
) -> Result<Option<Counted>, ExchangeFault> {
    let with = end.calls.with();
    let read = || links.map(|links| links.read(with)).unwrap_or_default();
    let less = |after: [LinkBytes; 2], before: [LinkBytes; 2]| [after[0].since(before[0]), after[1].since(before[1])];
    // Once that does not count: its time is how long the links are looked at while nothing is sent.
    let start = clock::now_ns();
    end.stream(bytes, messages)?;
    let lasted = Duration::from_nanos(clock::now_ns() - start);
    if !end.is_lower {
        end.stream(bytes, messages)?;
        return Ok(None);
    }
    let at_rest = read();
    thread::sleep(lasted);
    let before = read();
    end.stream(bytes, messages)?;
    let after = read();
    let [source, destination] = less(after, before);
    let counted =
        Counted { bytes: bytes as u64 * u64::from(messages), source, destination, idle: less(before, at_rest) };
    Ok(links.map(|_| counted))
}

/// Does what the leader says until it is over.
///
/// # Errors
/// The transport between the ranks failed.
pub fn follow(
    here: &mut Here,
    comm: &mut Communicator,
    journal: &mut dyn SessionJournal<Doing, Found>,
) -> Result<(), ExchangeFault> {
    loop {
        let Some(message) = comm.try_receive()? else {
            thread::sleep(NAP);
            continue;
        };
        let order: Order = read(&message.bytes)?;
        if order == Order::Leave {
            return Ok(());
        }
        journal.doing(&doing(here.rank, &order));
        if order == Order::Stay {
            continue;
        }
        let answer = here.perform(&order);
        journal.doing(&Doing::Else);
        comm.send(message.from, &write(&answer))?;
    }
}

/// What an order means for whoever watches.
pub(crate) fn doing(rank: usize, order: &Order) -> Doing {
    let pair = |with: usize| [rank.min(with), rank.max(with)];
    let case = |path, bytes| Case { path, pattern: crate::case::Pattern::PingPong, bytes };
    match order {
        Order::Rounds { with, case, .. } | Order::Carry { with, case, .. } => {
            Doing::Case { ranks: pair(*with), case: *case }
        }
        Order::Check { with, path, bytes, .. } => Doing::Case { ranks: pair(*with), case: case(*path, *bytes) },
        Order::Attempt { with, operation, bytes, .. } => {
            Doing::Operation { ranks: pair(*with), operation: *operation, bytes: *bytes }
        }
        Order::Count { with, bytes, .. } => Doing::Case { ranks: pair(*with), case: case(Path::GpuAware, *bytes) },
        Order::Look { .. } | Order::Reach { .. } | Order::Stay | Order::Leave => Doing::Else,
    }
}
