//! Streams: each a thread that does what is queued, one after the other.
//!
//! An operation takes the time that the device is described to take (`traffic`), or, without a description, as long as this machine
//! moves bytes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::chase::Chase;
use crate::code::{Answer, INVALID_HANDLE, NOT_READY};
use crate::copy::Copy;
use crate::event::{Event, QUERY};
use crate::{actor, clock, hold, memory};

/// What can be queued.
pub enum Op {
    Copy(Copy),
    Chase(Chase),
    WaitWord(WaitWord),
    WaitEvent(Arc<Event>, u32),
    Record(Arc<Event>, u32),
}

/// A wait for a word of memory.
#[derive(Clone, Copy)]
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
    /// Whether the word has come to the value.
    pub fn is_over(&self) -> bool {
        let now = unsafe { AtomicU32::from_ptr(self.word as *mut u32) }.load(Ordering::Acquire);
        match self.rule {
            Rule::Difference => now.wrapping_sub(self.value) as i32 >= 0,
            Rule::Unsigned => now >= self.value,
            Rule::Never => false,
        }
    }

    /// The word's address is what those who change it tell of.
    fn wait(&self) {
        let start = Instant::now();
        let is_late = || self.limit.is_some_and(|limit| start.elapsed() > limit);
        hold::while_held(self, || actor::watch(self.word, || self.is_over() || is_late()));
        if !self.is_over() {
            unsafe { AtomicU32::from_ptr((self.word as *mut u32).add(1)) }.store(self.value, Ordering::Release);
        }
    }
}

/// A queue of a device.
pub struct Stream {
    device: usize,
    line: Arc<Line>,
}

/// What is queued, and whether there will be more.
#[derive(Default)]
struct Line(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    ops: VecDeque<Op>,
    /// Of those queued, how many have not ended: one more than are still in `ops`, while one is being done.
    left: usize,
    closed: bool,
}

impl Line {
    /// Looks at it or changes it.
    fn with<T>(&self, act: impl FnOnce(&mut Queue) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes it, and tells who waits for it.
    fn change(&self, act: impl FnOnce(&mut Queue)) {
        self.with(act);
        actor::stir(self.address());
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Does everything that is queued, until it is closed: the stream's thread.
    fn work(&self) {
        loop {
            actor::wait(self.address(), None, || self.with(|queue| queue.closed || !queue.ops.is_empty()));
            let Some(op) = self.with(|queue| queue.ops.pop_front()) else { return };
            perform(&op);
            drop(op);
            self.change(|queue| queue.left -= 1);
        }
    }

    fn is_idle(&self) -> bool {
        self.with(|queue| queue.left == 0)
    }
}

impl Stream {
    /// A new one's handle.
    pub fn create(device: usize) -> usize {
        memory::OBJECTS.fetch_add(1, Ordering::AcqRel);
        let line = Arc::<Line>::default();
        let worked = Arc::clone(&line);
        thread::spawn(move || worked.work());
        Box::into_raw(Box::new(Self { device, line })) as usize
    }

    /// Gives the handle back; what is queued is still done.
    pub unsafe fn destroy(handle: usize) -> Answer {
        if handle == 0 {
            return Err(INVALID_HANDLE);
        }
        memory::OBJECTS.fetch_sub(1, Ordering::AcqRel);
        let stream = unsafe { Box::from_raw(handle as *mut Self) };
        stream.line.change(|queue| queue.closed = true);
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
        self.line.change(|queue| {
            queue.ops.push_back(op);
            queue.left += 1;
        });
        Ok(())
    }

    /// Waits for everything queued.
    pub fn wait(&self) {
        actor::wait(self.line.address(), None, || self.line.is_idle());
    }

    /// Whether everything queued has ended.
    pub fn query(&self) -> Answer {
        let idle = || self.line.is_idle();
        let is_idle = idle() || (clock::is_virtual() && actor::wait(self.line.address(), Some(QUERY), idle));
        if is_idle { Ok(()) } else { Err(NOT_READY) }
    }
}

/// Does one operation.
fn perform(op: &Op) {
    match op {
        Op::Copy(copy) => copy.run(),
        Op::Chase(chase) => chase.run(),
        Op::WaitWord(wait) => wait.wait(),
        Op::WaitEvent(event, number) => event.wait_for(*number),
        Op::Record(event, number) => event.reach(*number),
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
