//! Streams on which the steps of a round go on at once: one for copies of each direction, some for launches,
//! held together by events.
//!
//! An event may be recorded anew as soon as whoever waits for it has been queued: the drivers' waits are for
//! the record that was the last one when they were queued. So each stream needs one, whatever the number of
//! steps.

use std::cell::Cell;
use std::sync::Arc;

use device::{CallError, RoundStep};

use crate::context::Context;
use crate::driver::Driver;
use crate::stream::{Event, Stream};

/// Launches that go on at once: kernels of a part of a problem leave a part of the device idle.
const LAUNCHING: usize = 4;

/// A stream, and the event that others wait for.
struct Lane<D: Driver> {
    stream: Stream<D>,
    reached: Event<D>,
    /// Something was queued since the event was recorded last.
    is_ahead: Cell<bool>,
}

impl<D: Driver> Lane<D> {
    fn new(context: &Arc<Context<D>>) -> Result<Self, CallError> {
        Ok(Self { stream: Stream::new(context)?, reached: Event::new(context)?, is_ahead: Cell::new(false) })
    }

    /// Lets a stream wait for what is queued here, if that is new.
    fn before(&self, stream: &Stream<D>) -> Result<(), CallError> {
        if !self.is_ahead.replace(false) {
            return Ok(());
        }
        self.reached.record(&self.stream)?;
        stream.wait_for(&self.reached)
    }
}

/// The streams of one computer.
pub(crate) struct Overlap<D: Driver> {
    begun: Event<D>,
    to_device: Lane<D>,
    launching: Vec<Lane<D>>,
    to_host: Lane<D>,
    /// Queueing began, and did not come to its end: the streams have to be waited for by themselves.
    is_open: Cell<bool>,
}

impl<D: Driver> Overlap<D> {
    /// Streams on which nothing is queued.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Result<Self, CallError> {
        Ok(Self {
            begun: Event::new(context)?,
            to_device: Lane::new(context)?,
            launching: (0..LAUNCHING).map(|_| Lane::new(context)).collect::<Result<_, _>>()?,
            to_host: Lane::new(context)?,
            is_open: Cell::new(false),
        })
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane<D>> {
        [&self.to_device, &self.to_host].into_iter().chain(&self.launching)
    }

    /// Waits for what a failure has left here; what was queued to its end is waited for by its round's own
    /// stream.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn settle(&self) -> Result<(), CallError> {
        if self.is_open.get() {
            self.lanes().try_for_each(|lane| lane.stream.synchronize())?;
            self.is_open.set(false);
        }
        Ok(())
    }

    /// Queues steps, each behind what it needs: all behind what is on `stream`, and what follows there behind
    /// all of them.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn queue(
        &self,
        stream: &Stream<D>,
        steps: &[RoundStep],
        queue: impl Fn(&RoundStep, &Stream<D>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        self.is_open.set(true);
        self.begun.record(stream)?;
        for lane in self.lanes() {
            lane.stream.wait_for(&self.begun)?;
            lane.is_ahead.set(false);
        }

        // A launch needs all copies before it: its stream waits for the last of them, unless it has.
        let (mut copies, mut waited, mut launches) = (0_usize, [0_usize; LAUNCHING], 0_usize);

        for step in steps {
            let lane = match step {
                RoundStep::ToDevice(_) | RoundStep::ToDeviceAt(..) => {
                    copies += 1;
                    &self.to_device
                }
                RoundStep::ToHost(_) | RoundStep::ToHostFrom(..) => {
                    self.launching.iter().try_for_each(|lane| lane.before(&self.to_host.stream))?;
                    &self.to_host
                }
                RoundStep::Launch { .. }
                | RoundStep::Batch(_)
                | RoundStep::Prefetch { .. }
                | RoundStep::Overlapped(_) => {
                    let number = launches % LAUNCHING;
                    launches += 1;
                    let lane = &self.launching[number];
                    if waited[number] < copies {
                        if self.to_device.is_ahead.replace(false) {
                            self.to_device.reached.record(&self.to_device.stream)?;
                        }
                        lane.stream.wait_for(&self.to_device.reached)?;
                        waited[number] = copies;
                    }
                    lane
                }
            };
            lane.is_ahead.set(true);
            queue(step, &lane.stream)?;
        }

        self.lanes().try_for_each(|lane| lane.before(stream))?;
        self.is_open.set(false);
        Ok(())
    }
}
