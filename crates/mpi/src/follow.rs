//! A rank that does what the leader says.

use std::thread;
use std::time::{Duration, Instant};

use device::{PeerCopier, PeerPath};
use engine::{PageCheck, clock};
use experiments::supervised::SessionJournal;
use ranks::{Communicator, Exchange};

use crate::background::{self, BackgroundRank, Sent};
use crate::carried::carry;
use crate::case::{GpuThreadAt, MessageCase, MessagePath};
use crate::command::{MessageAnswer, MessageOrder, read, write};
use crate::endpoint::MessageEnd;
use crate::fault::ExchangeFault;
use crate::gpu_thread::GpuThread;
use crate::host_adapters::HostAdapters;
use crate::link_counters::PairCounters;
use crate::memory::MessageMemory;
use crate::results::{CountedBytes, GpuLinkBytes, MessageResults, MessageStep, RankSeen};

/// How long a rank sleeps that has nothing to do: not so long that a block waits for it.
pub(crate) const NAP: Duration = Duration::from_micros(100);

/// How long a rank whose call failed hears nothing before it says so itself: the leader may wait in MPI for
/// what was not sent, and hears nothing either.
const LEADER_WAITS: Duration = Duration::from_secs(3);

/// One rank: its memory, and what it reaches.
pub struct MessageRank<'a> {
    /// Its number.
    pub rank: usize,
    /// Its calls of MPI.
    pub mpi: &'a dyn Exchange,
    /// Its memory.
    pub memory: &'a mut MessageMemory,
    /// Makes peer copies to another rank's device, or says why there are none.
    pub reach: &'a dyn Fn(usize) -> Result<Box<dyn PeerCopier>, String>,
    /// Reads the links' counters, where that can be done.
    pub links: Option<&'a PairCounters>,
    /// Reads the counters of this host's network adapters; `None` where there is no other host.
    pub adapters: Option<&'a HostAdapters>,
    /// Its threads that copy to the GPU, where there are any.
    pub gpu_threads: &'a [GpuThread],
    /// Says something on standard error.
    pub say: fn(&str),
}

impl MessageRank<'_> {
    /// Does what was told.
    pub(crate) fn perform(&mut self, order: &MessageOrder) -> MessageAnswer {
        self.performed(order).unwrap_or_else(|fault| MessageAnswer::Failed(fault.to_string()))
    }

    fn performed(&mut self, order: &MessageOrder) -> Result<MessageAnswer, ExchangeFault> {
        let with = match order {
            MessageOrder::Look { first } => {
                return self
                    .look(if *first { PageCheck::First } else { PageCheck::Again })
                    .map(MessageAnswer::Placed);
            }
            MessageOrder::Stay
            | MessageOrder::Leave
            | MessageOrder::Rest
            | MessageOrder::Background { .. } => {
                return Ok(MessageAnswer::Took(0));
            }
            MessageOrder::Reach { with } => return Ok(MessageAnswer::Reached(self.reached(*with))),
            MessageOrder::Rounds { with, .. }
            | MessageOrder::Check { with, .. }
            | MessageOrder::Attempt { with, .. }
            | MessageOrder::Count { with, .. }
            | MessageOrder::Carry { with, .. } => *with,
        };

        let (rank, links, adapters) = (self.rank, self.links, self.adapters);
        let mut end = MessageEnd::new(self.mpi, self.memory, rank, with);

        match order {
            MessageOrder::Rounds {
                case: MessageCase { path: MessagePath::GpuThread(at), .. },
                rounds,
                ..
            } => thread(self.gpu_threads, *at)?.alone(*rounds).map(|copied| MessageAnswer::Took(copied.ns)),
            MessageOrder::Rounds {
                case:
                    case @ MessageCase { path: MessagePath::Beside(at) | MessagePath::Crowded(Some(at)), .. },
                rounds,
                ..
            } => {
                let case = MessageCase { path: case.path.of_messages(), ..*case };
                // Both threads copy before the first message goes, and until the last one has.
                let beside = || {
                    end.meet()?;
                    let took = end.rounds(case, *rounds)?;
                    end.meet().map(|()| took)
                };
                let (took, copied) = thread(self.gpu_threads, *at)?.beside(beside)?;
                Ok(MessageAnswer::TookBeside(took, copied))
            }
            MessageOrder::Rounds { case, rounds, .. } => {
                let case = MessageCase { path: case.path.of_messages(), ..*case };
                end.rounds(case, *rounds).map(MessageAnswer::Took)
            }
            MessageOrder::Check { path, bytes, key, .. } => end
                .check(path.of_messages(), *bytes, *key)
                .map(|(compared, wrong)| MessageAnswer::Checked(compared, wrong)),
            MessageOrder::Attempt { operation, bytes, key, .. } => end
                .attempt(*operation, *bytes, *key)
                .map(|wrong| MessageAnswer::Checked(*bytes as u64, wrong)),
            MessageOrder::Count { bytes, messages, .. } => {
                count(&mut end, links, *bytes, *messages).map(MessageAnswer::Counted)
            }
            MessageOrder::Carry { case, rounds, window, .. } => {
                carry(&mut end, adapters, *case, *rounds, *window).map(MessageAnswer::Carried)
            }
            _ => Ok(MessageAnswer::Took(0)),
        }
    }

    fn look(&mut self, how: PageCheck) -> Result<RankSeen, ExchangeFault> {
        let (seen, mismatch) = self.memory.look(how)?;
        let mut placed = RankSeen::of(seen, mismatch);
        for thread in self.gpu_threads {
            let there = thread.look(how)?;
            let wrong =
                there.mismatch.as_ref().map(|wrong| format!("the thread that copies to the GPU: {wrong}"));
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
    end: &mut MessageEnd,
    links: Option<&PairCounters>,
    bytes: usize,
    messages: u32,
) -> Result<Option<CountedBytes>, ExchangeFault> {
    let with = end.calls.with();
    let read = || links.map(|links| links.read(with)).unwrap_or_default();
    let less = |after: [GpuLinkBytes; 2], before: [GpuLinkBytes; 2]| {
        [after[0].since(before[0]), after[1].since(before[1])]
    };

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
    let counted = CountedBytes {
        bytes: bytes as u64 * u64::from(messages),
        source,
        destination,
        idle: less(before, at_rest),
    };
    Ok(links.map(|_| counted))
}

/// Does what the leader says until it is over.
///
/// # Errors
/// The transport between the ranks failed.
pub fn follow(
    here: &mut MessageRank,
    comm: &mut Communicator,
    journal: &mut dyn SessionJournal<MessageStep, MessageResults>,
) -> Result<(), ExchangeFault> {
    let mut failed: Option<(Instant, String)> = None;

    loop {
        let Some(message) = comm.try_receive()? else {
            if let Some((_, why)) = failed.take_if(|(since, _)| since.elapsed() > LEADER_WAITS) {
                let silent = LEADER_WAITS.as_secs();
                (here.say)(&format!(
                    "note: rank {}: {why}; nothing heard from rank 0 for {silent} s since",
                    here.rank
                ));
            }
            thread::sleep(NAP);
            continue;
        };
        let order: MessageOrder = read(&message.bytes)?;
        if order == MessageOrder::Leave {
            return Ok(());
        }
        journal.doing(&doing(here.rank, &order));
        failed = None;
        // The lower one of two that send in the background hears when it is enough; an early word is late.
        if matches!(order, MessageOrder::Stay | MessageOrder::Rest) {
            continue;
        }

        let Sent { answer, is_over } = match order {
            MessageOrder::Background { with, bytes, copies } => {
                let copying = copies.and_then(|at| thread(here.gpu_threads, at).ok());
                let sender = BackgroundRank { rank: here.rank, mpi: here.mpi, memory: here.memory, copying };
                background::send(sender, comm, [message.from, with], bytes)
            }
            order => Sent { answer: here.perform(&order), is_over: false },
        };
        journal.doing(&MessageStep::Else);
        if is_over {
            return Ok(());
        }
        failed = match &answer {
            MessageAnswer::Failed(why) => Some((Instant::now(), why.clone())),
            _ => None,
        };
        comm.send(message.from, &write(&answer))?;
    }
}

/// What an order means for whoever watches.
pub(crate) fn doing(rank: usize, order: &MessageOrder) -> MessageStep {
    let pair = |with: usize| [rank.min(with), rank.max(with)];
    let case = |path, bytes| MessageCase { path, pattern: crate::case::MessagePattern::PingPong, bytes };

    match order {
        MessageOrder::Rounds { with, case, .. } | MessageOrder::Carry { with, case, .. } => {
            MessageStep::Case { ranks: pair(*with), case: *case }
        }
        MessageOrder::Check { with, path, bytes, .. } => {
            MessageStep::Case { ranks: pair(*with), case: case(*path, *bytes) }
        }
        MessageOrder::Attempt { with, operation, bytes, .. } => {
            MessageStep::Operation { ranks: pair(*with), operation: *operation, bytes: *bytes }
        }
        MessageOrder::Count { with, bytes, .. } => {
            MessageStep::Case { ranks: pair(*with), case: case(MessagePath::GpuAware, *bytes) }
        }
        MessageOrder::Background { with, bytes, .. } => {
            MessageStep::Case { ranks: pair(*with), case: case(MessagePath::Crowded(None), *bytes) }
        }
        MessageOrder::Look { .. }
        | MessageOrder::Reach { .. }
        | MessageOrder::Rest
        | MessageOrder::Stay
        | MessageOrder::Leave => MessageStep::Else,
    }
}
