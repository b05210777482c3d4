//! A device's queues that wait for their next user, so that many copiers one after the other make what one
//! makes: a queue is thousands of events, streams and a pinned word for the latch.

use std::cell::RefCell;
use std::sync::Arc;

use device::CallError;

use crate::context::Context;
use crate::driver::Driver;
use crate::queue::Queue;

/// Queues of one device, of which nothing is in flight.
pub(crate) struct IdleQueues<D: Driver> {
    context: Arc<Context<D>>,
    idle: RefCell<Vec<Queue<D>>>,
}

impl<D: Driver> IdleQueues<D> {
    /// None yet.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Self {
        Self { context: Arc::clone(context), idle: RefCell::default() }
    }

    /// One that waits, or a new one.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn take(&self, both_ways: bool) -> Result<Queue<D>, CallError> {
        let mut idle = self.idle.borrow_mut();
        match idle.iter().position(|queue| queue.is_both_ways() == both_ways) {
            Some(at) => Ok(idle.swap_remove(at)),
            None => Queue::new(&self.context, both_ways),
        }
    }

    /// Keeps one that was waited for ([`Queue::settle`]).
    pub(crate) fn keep(&self, mut queue: Queue<D>) {
        queue.forget();
        self.idle.borrow_mut().push(queue);
    }
}
