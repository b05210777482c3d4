//! The queue of one kind of work that goes one way, taken when it is first needed and kept for the next user:
//! what copies between devices and chains of loads have in common.
//!
//! Left out: two ways at once and memory that cannot be queued, which only copies between host and device
//! have (`copier`).

use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use device::{CallError, DeviceError, Marks};

use crate::context::Context;
use crate::copier::Tools;
use crate::driver::Driver;
use crate::idle_queues::IdleQueues;
use crate::latch::Mechanism;
use crate::queue::{Queue, no_batch};
use crate::stream::Stream;
use crate::unsupported::unsupported;

/// A queue, or what it takes to have one.
pub(crate) struct OwnQueue<D: Driver> {
    context: Arc<Context<D>>,
    idle: Rc<IdleQueues<D>>,
    latch: Result<Mechanism<D>, String>,
    /// What is queued, in words: `queueing loads`.
    what: &'static str,
    queue: Option<Queue<D>>,
}

impl<D: Driver> OwnQueue<D> {
    pub(crate) fn new(context: &Arc<Context<D>>, tools: &Tools<D>, what: &'static str) -> Self {
        let (idle, latch) = (Rc::clone(&tools.queues), tools.latch.clone());
        Self { context: Arc::clone(context), idle, latch, what, queue: None }
    }

    /// The context that it is on.
    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.context
    }

    /// Opens the latch and waits for what is queued.
    ///
    /// # Errors
    /// The wait failed: what is queued may still be going on.
    pub(crate) fn settle(&mut self) -> Result<(), CallError> {
        self.queue.as_mut().map_or(Ok(()), Queue::settle)
    }

    fn need(&mut self) -> Result<&mut Queue<D>, CallError> {
        match &mut self.queue {
            Some(queue) => Ok(queue),
            none => Ok(none.insert(self.idle.take(false)?)),
        }
    }

    /// One round, waited for.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn round(
        &mut self,
        act: impl Fn(&Stream<D>) -> Result<(), CallError>,
    ) -> Result<(), DeviceError> {
        self.settle()?;
        Ok(self.need()?.round(false, |stream, _| act(stream))?)
    }

    /// Closes the latch.
    ///
    /// # Errors
    /// There is none, or a call failed.
    pub(crate) fn hold(&mut self) -> Result<(), DeviceError> {
        self.settle()?;
        let latch = self.latch.as_ref();
        let mechanism =
            latch.map_err(|reason| unsupported(self.what, format!("it has no latch: {reason}")))?.clone();
        let context = Arc::clone(&self.context);
        self.need()?.hold(&context, &mechanism)
    }

    /// Queues rounds behind the latch, which a failure opens.
    ///
    /// # Errors
    /// No batch was begun, or a call failed.
    pub(crate) fn enqueue(
        &mut self,
        rounds: u32,
        act: impl Fn(&Stream<D>) -> Result<(), CallError>,
    ) -> Result<(), DeviceError> {
        let Some(queue) = &mut self.queue else { return Err(no_batch(self.what)) };
        let queued = queue.enqueue(false, rounds, |stream, _| act(stream));
        if queued.is_err() {
            queue.open();
        }
        queued
    }

    /// Opens the latch.
    pub(crate) fn release(&mut self) {
        self.queue.iter_mut().for_each(Queue::open);
    }

    /// How many rounds have ended.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        Ok(self.queue.as_mut().map_or(Ok(0), Queue::rounds_ended)?)
    }

    /// Ends the batch: when each round ended, ns by the device's clock.
    ///
    /// # Errors
    /// No batch was begun, or a call failed.
    pub(crate) fn finish(&mut self, ends_ns: &mut Vec<f64>) -> Result<(), DeviceError> {
        self.settle()?;
        let mut marks = Marks { first_ns: mem::take(ends_ns), second_ns: Vec::new() };
        let queue = self.queue.as_mut().ok_or_else(|| no_batch("finishing a batch"));
        let finished = queue.and_then(|queue| queue.finish(&mut marks));
        *ends_ns = marks.first_ns;
        finished
    }
}

impl<D: Driver> Drop for OwnQueue<D> {
    fn drop(&mut self) {
        // Only one that was waited for goes to the next user.
        if let Some(mut queue) = self.queue.take()
            && queue.settle().is_ok()
        {
            self.idle.keep(queue);
        }
    }
}
