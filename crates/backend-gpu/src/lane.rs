//! One direction's queue: a stream, and an event at the end of each round.
//!
//! All events exist before the first round is queued: making one costs as much as queueing a copy, and would
//! be paid while the device runs.

use std::sync::Arc;

use device::{CallError, MAX_ROUNDS};

use crate::context::Context;
use crate::driver::Driver;
use crate::stream::{Event, Stream};

/// A stream and the marks of the rounds queued on it.
pub(crate) struct Lane<D: Driver> {
    context: Arc<Context<D>>,
    stream: Stream<D>,
    events: Vec<Event<D>>,
    queued: usize,
    ended: usize,
}

impl<D: Driver> Lane<D> {
    /// An empty lane.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Result<Self, CallError> {
        let stream = Stream::new(context)?;
        Ok(Self { context: Arc::clone(context), stream, events: Vec::new(), queued: 0, ended: 0 })
    }

    /// The stream that copies are queued on.
    pub(crate) fn stream(&self) -> &Stream<D> {
        &self.stream
    }

    /// Makes the events that are not there yet, and forgets the rounds of an earlier batch, which must have
    /// been waited for.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn reset(&mut self) -> Result<(), CallError> {
        while self.events.len() < MAX_ROUNDS {
            self.events.push(Event::new(&self.context)?);
        }
        self.forget();
        Ok(())
    }

    /// Forgets those rounds.
    pub(crate) fn forget(&mut self) {
        (self.queued, self.ended) = (0, 0);
    }

    /// How many rounds are queued or have ended.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Ends a round: a mark after what has been queued. Without room for it (see [`MAX_ROUNDS`]) nothing is
    /// marked.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn mark(&mut self) -> Result<(), CallError> {
        if let Some(event) = self.events.get(self.queued) {
            event.record(&self.stream)?;
            self.queued += 1;
        }
        Ok(())
    }

    /// How many rounds have ended; does not block.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn ended(&mut self) -> Result<usize, CallError> {
        // In order, so the first that is not reached is the last to be asked for.
        for event in &self.events[self.ended..self.queued] {
            if !event.is_reached()? {
                break;
            }
            self.ended += 1;
        }
        Ok(self.ended)
    }

    /// Writes when each round ended, in ns since `origin`. Everything queued must have been waited for.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn ends(&self, origin: &Event<D>, ends_ns: &mut Vec<f64>) -> Result<(), CallError> {
        ends_ns.clear();
        let mut since_origin = 0.0;
        let mut earlier = origin;
        for event in &self.events[..self.queued] {
            since_origin += event.ns_since(earlier)?;
            ends_ns.push(since_origin);
            earlier = event;
        }
        Ok(())
    }
}
