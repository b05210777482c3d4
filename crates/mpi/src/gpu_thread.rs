//! A thread of a rank beside the one that calls MPI: on a PU of its own, it copies to and from the rank's GPU
//! while messages go, as a program does that leaves its GPU to a thread.
//!
//! It opens the GPU itself and has pinned memory on its own node, so that it is a thread that was never
//! elsewhere. It calls no MPI.

use device::{DeviceId, Platform};
use engine::{Bound, Failure, PageCheck, Stage, clock};
use serde::{Deserialize, Serialize};

use crate::case::{COPY_BYTES, GpuThreadAt};
use crate::fault::ExchangeFault;
use crate::memory::MessageMemory;
use crate::results::RankSeen;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::mpsc::{Receiver, Sender, channel};
use crate::sync::thread::{Builder, Scope};

/// What it copied in some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copied {
    /// Bytes, to the GPU and back together.
    pub bytes: u64,
    /// Nanoseconds from its first copy's start to its last one's end.
    pub ns: u64,
}

impl Copied {
    /// Bytes a second.
    pub fn rate(self) -> f64 {
        self.bytes as f64 / self.ns.max(1) as f64 * 1e9
    }
}

enum Task {
    /// Copies until it is told to stop; first the word that it has begun.
    UntilStopped,
    /// So many copies each way.
    Copies(u32),
    /// Says where it is.
    Look(PageCheck),
}

enum Said {
    Began,
    Copied(Copied),
    Placed(RankSeen),
}

type Word = Result<Said, ExchangeFault>;

/// The thread, as the one that calls MPI has it.
pub struct GpuThread {
    /// Where it is.
    pub at: GpuThreadAt,
    tasks: Sender<Task>,
    words: Receiver<Word>,
    stop: Arc<AtomicBool>,
}

impl GpuThread {
    /// Starts it on `pu` with memory on `node`; it ends when this value is dropped.
    ///
    /// # Errors
    /// It cannot be bound, or the GPU cannot be opened or has no memory left.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        platform: &'scope dyn Platform,
        device: DeviceId,
        at: GpuThreadAt,
        [pu, node]: [u32; 2],
        one_node: bool,
    ) -> Result<Self, ExchangeFault> {
        let (tasks, asked) = channel();
        let (says, words) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let run = move || {
            let begun = || -> Result<MessageMemory, ExchangeFault> {
                let bound = Bound::to(pu)?;
                let device = platform.open(device)?;
                MessageMemory::new(&bound, Some(&*device), [pu, node], one_node, COPY_BYTES)
            };
            let mut memory = match begun() {
                Ok(memory) => memory,
                Err(fault) => return drop(says.send(Err(fault))),
            };
            let mut word = Ok(Said::Began);
            while says.send(word).is_ok() {
                let Ok(task) = asked.recv() else { return };
                word = perform(&task, &mut memory, &told, &says);
            }
        };

        let started = Builder::new().spawn_scoped(scope, run);
        started.map_err(|error| Failure::system(Stage::Bind, "pthread_create", &error, "see ulimit -u"))?;
        let thread = Self { at, tasks, words, stop };
        thread.began().map(|()| thread)
    }

    /// Does some work while the thread copies.
    ///
    /// # Errors
    /// What failed of either.
    pub(crate) fn beside<T>(
        &self,
        work: impl FnOnce() -> Result<T, ExchangeFault>,
    ) -> Result<(T, Copied), ExchangeFault> {
        self.stop.store(false, Ordering::Relaxed);
        self.ask(Task::UntilStopped)?;
        self.began()?;
        // Also where the work panics: its scope waits for this thread.
        let stop = Stop(&self.stop);
        let done = work();
        drop(stop);
        let copied = self.copied();
        Ok((done?, copied?))
    }

    /// Copies so many times each way, with nothing beside it.
    ///
    /// # Errors
    /// What failed.
    pub(crate) fn alone(&self, copies: u32) -> Result<Copied, ExchangeFault> {
        self.ask(Task::Copies(copies))?;
        self.copied()
    }

    /// Where it is.
    ///
    /// # Errors
    /// The kernel does not say.
    pub(crate) fn look(&self, how: PageCheck) -> Result<RankSeen, ExchangeFault> {
        self.ask(Task::Look(how))?;
        match self.heard()? {
            Said::Placed(placed) => Ok(placed),
            _ => Err(gone()),
        }
    }

    fn began(&self) -> Result<(), ExchangeFault> {
        match self.heard()? {
            Said::Began => Ok(()),
            _ => Err(gone()),
        }
    }

    fn copied(&self) -> Result<Copied, ExchangeFault> {
        match self.heard()? {
            Said::Copied(copied) => Ok(copied),
            _ => Err(gone()),
        }
    }

    fn ask(&self, task: Task) -> Result<(), ExchangeFault> {
        self.tasks.send(task).map_err(|_| gone())
    }

    fn heard(&self) -> Word {
        self.words.recv().map_err(|_| gone())?
    }
}

/// Tells the thread to stop when it goes.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn gone() -> ExchangeFault {
    ExchangeFault::Protocol("the thread that copies to the GPU is gone".to_owned())
}

fn perform(task: &Task, memory: &mut MessageMemory, stop: &AtomicBool, says: &Sender<Word>) -> Word {
    let half = memory.half();
    let copies = match task {
        Task::Look(how) => {
            let (seen, mismatch) = memory.look(*how)?;
            return Ok(Said::Placed(RankSeen::of(seen, mismatch)));
        }
        Task::Copies(copies) => Some(*copies),
        Task::UntilStopped => {
            // Nobody hears it where the rank is gone, and then the channel of tasks has closed too.
            let _ = says.send(Ok(Said::Began));
            None
        }
    };

    let device = memory.device()?;
    let start = clock::now_ns();
    let mut done: u32 = 0;

    while copies.map_or_else(|| done == 0 || !stop.load(Ordering::Relaxed), |copies| done < copies) {
        device.queue_to_device(0..COPY_BYTES)?;
        device.settle()?;
        device.queue_to_host(half..half + COPY_BYTES)?;
        device.settle()?;
        done += 1;
    }

    let ns = clock::now_ns() - start;
    Ok(Said::Copied(Copied { bytes: 2 * COPY_BYTES as u64 * u64::from(done), ns }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_all_bytes_in_the_threads_own_time() {
        assert_eq!(Copied { bytes: 8 << 20, ns: 1 << 20 }.rate(), 8e9);
    }
}
