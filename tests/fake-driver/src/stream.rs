//! Streams: each a thread that does what is queued, one after the other, by a clock of its own.
//!
//! The clock is how described devices take the time that they are described to take: an operation begins when the one before it
//! ended or when it was queued, whichever is later, not when the thread woke up. The thread then sleeps until the operation's
//! end, so that what has ended by the stream's clock has ended by the host's. A device whose copies should be faster than this
//! machine can move bytes shows this machine's rate, because whoever queues waits for the bytes
//! (`repeats skip` helps, see `copy`).

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::code::{Answer, INVALID_HANDLE, INVALID_VALUE, NOT_READY};
use crate::copy::Copy;
use crate::event::Event;
use crate::{memory, traffic};

/// How often a word is looked at.
const LOOK: Duration = Duration::from_micros(20);

/// What can be queued.
pub enum Op {
    Copy(Copy),
    WaitWord(WaitWord),
    WaitEvent(Arc<Event>, u32),
    Record(Arc<Event>, u32),
}

/// A wait for a word of memory.
pub struct WaitWord {
    pub word: usize,
    pub value: u32,
    pub rule: Rule,
    /// After so long it gives up and says so in the next word.
    pub limit: Option<Duration>,
}

/// When a word has come to the value.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// As a signed difference that is not negative (CUDA).
    Difference,
    /// As an unsigned number that is not smaller (HIP).
    Unsigned,
    /// Never.
    Never,
}

impl WaitWord {
    fn is_over(&self) -> bool {
        let now = unsafe { AtomicU32::from_ptr(self.word as *mut u32) }.load(Ordering::Acquire);
        match self.rule {
            Rule::Difference => now.wrapping_sub(self.value) as i32 >= 0,
            Rule::Unsigned => now >= self.value,
            Rule::Never => false,
        }
    }

    fn wait(&self) {
        let start = Instant::now();
        while !self.is_over() {
            traffic::rest();
            if self.limit.is_some_and(|limit| start.elapsed() > limit) {
                unsafe { AtomicU32::from_ptr((self.word as *mut u32).add(1)) }.store(self.value, Ordering::Release);
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

type Pending = Arc<(Mutex<usize>, Condvar)>;

/// A queue of a device.
pub struct Stream {
    device: usize,
    queue: Mutex<Sender<(Instant, Op)>>,
    pending: Pending,
}

impl Stream {
    /// A new one's handle.
    pub fn create(device: usize) -> usize {
        memory::OBJECTS.fetch_add(1, Ordering::AcqRel);
        let (queue, ops) = channel();
        let pending = Pending::default();
        let counted = Arc::clone(&pending);
        thread::spawn(move || work(&ops, &counted));
        Box::into_raw(Box::new(Self { device, queue: Mutex::new(queue), pending })) as usize
    }

    /// Gives the handle back; what is queued is still done.
    pub unsafe fn destroy(handle: usize) -> Answer {
        if handle == 0 {
            return Err(INVALID_HANDLE);
        }
        memory::OBJECTS.fetch_sub(1, Ordering::AcqRel);
        drop(unsafe { Box::from_raw(handle as *mut Self) });
        Ok(())
    }

    /// The stream of a handle. The default stream is none of these.
    pub unsafe fn of<'a>(handle: usize) -> Answer<&'a Self> {
        unsafe { (handle as *const Self).as_ref() }.ok_or(INVALID_HANDLE)
    }

    /// The device whose stream it is.
    pub fn device(&self) -> usize {
        self.device
    }

    /// Queues.
    pub fn push(&self, op: Op) -> Answer {
        *self.pending.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.send((Instant::now(), op)).map_err(|_| INVALID_VALUE)
    }

    /// Waits for everything queued.
    pub fn wait(&self) {
        let mut left = self.pending.0.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 {
            left = self.pending.1.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether everything queued has ended.
    pub fn query(&self) -> Answer {
        let left = *self.pending.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left == 0 { Ok(()) } else { Err(NOT_READY) }
    }
}

/// The stream's thread.
fn work(ops: &Receiver<(Instant, Op)>, pending: &Pending) {
    let mut clock = Instant::now();
    for (queued, op) in ops {
        clock = perform(&op, clock.max(queued));
        drop(op);
        let mut left = pending.0.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left == 0 {
            traffic::rest();
        }
        pending.1.notify_all();
    }
}

/// Does one operation, begun at `start`; when it ended.
fn perform(op: &Op, start: Instant) -> Instant {
    match op {
        Op::Copy(copy) => copy.run(start),
        Op::WaitWord(wait) => {
            if wait.is_over() {
                return start;
            }
            wait.wait();
            start.max(Instant::now())
        }
        Op::WaitEvent(event, number) => event.wait_for(*number).map_or(start, |at| start.max(at)),
        Op::Record(event, number) => {
            event.reach(*number, start);
            start
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_reached_as_each_vendor_defines_it() {
        let mut word = u32::MAX;
        let mut over = |now: u32, value: u32, rule: Rule| {
            word = now;
            WaitWord { word: (&raw mut word) as usize, value, rule, limit: None }.is_over()
        };
        assert!(over(3, 3, Rule::Difference) && over(4, 3, Rule::Unsigned));
        assert!(!over(2, 3, Rule::Difference) && !over(2, 3, Rule::Unsigned));
        // Past the end of the numbers, only the difference knows that 1 comes after u32::MAX.
        assert!(over(1, u32::MAX, Rule::Difference) && !over(1, u32::MAX, Rule::Unsigned));
        assert!(!over(7, 3, Rule::Never));
    }
}
