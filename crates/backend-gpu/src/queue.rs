//! A copier's queue: a lane for each direction that moves at once, the latch that holds a batch back, and the time it is let go.
//!
//! Streams come first; the latch and the marks' events are made by the first batch. With both directions at once, D2H has a second lane,
//! which starts at the first one's start event: one latch, one origin for all marks.
//!
//! A queue knows whether something may still be in flight ([`Queue::settle`]), but owns none of the memory that is: whoever owns it asks
//! before it lends or frees it.

use std::sync::Arc;

use device::{CallError, DeviceError, Direction, MAX_ROUNDS, Marks};

use crate::context::Context;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::lane::Lane;
use crate::latch::{Latch, Mechanism};
use crate::spin_kernel::SPIN_LIMIT;
use crate::stream::Event;

/// The queue of one copier.
pub(crate) struct Queue<D: Driver> {
    first: Lane<D>,
    /// With both directions at once.
    second: Option<Lane<D>>,
    /// From the first batch on.
    gate: Option<Gate<D>>,
    batch: Option<Batch>,
    in_flight: bool,
}

/// What holds a batch back, and the time it is let go.
struct Gate<D: Driver> {
    latch: Latch<D>,
    start: Event<D>,
}

/// A batch between hold and finish: what its rounds are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Batch {
    Empty,
    OneWay,
    BothWays,
}

/// The copies of one round: from the host to an area, and from an area to the host.
pub(crate) struct Legs<'a, D: Driver> {
    pub(crate) write: Option<(&'a DeviceMemory<D>, *const u8)>,
    pub(crate) read: Option<(&'a DeviceMemory<D>, *mut u8)>,
    pub(crate) bytes: usize,
}

fn unsupported(what: &'static str, reason: impl Into<String>) -> DeviceError {
    DeviceError::Unsupported { what, reason: reason.into() }
}

/// No batch is open.
pub(crate) fn no_batch(what: &'static str) -> DeviceError {
    unsupported(what, "no batch is open: hold comes first")
}

impl<D: Driver> Queue<D> {
    /// An empty queue.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>, both_ways: bool) -> Result<Self, CallError> {
        let second = both_ways.then(|| Lane::new(context)).transpose()?;
        Ok(Self { first: Lane::new(context)?, second, gate: None, batch: None, in_flight: false })
    }

    /// Opens the latch and waits for what is queued. After a failure something may still be in flight; a later call asks again.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn settle(&mut self) -> Result<(), CallError> {
        if !self.in_flight {
            return Ok(());
        }
        self.open();
        let lanes = [Some(&self.first), self.second.as_ref()];
        // Both are waited for, whatever the first one says.
        let waited = lanes.map(|lane| lane.map_or(Ok(()), |lane| lane.stream().synchronize()));
        waited.into_iter().collect::<Result<(), _>>()?;
        self.in_flight = false;
        Ok(())
    }

    /// Opens the latch.
    pub(crate) fn open(&mut self) {
        if let Some(gate) = &mut self.gate {
            gate.latch.open();
        }
    }

    /// Begins a batch that is held back. What was queued before must have been waited for.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn hold(&mut self, context: &Arc<Context<D>>, mechanism: &Mechanism<D>) -> Result<(), DeviceError> {
        self.batch = None;
        self.first.reset()?;
        if let Some(second) = &mut self.second {
            second.reset()?;
        }
        let gate = match &mut self.gate {
            Some(gate) => gate,
            none => {
                let latch = Latch::new(context, mechanism.clone())?;
                none.insert(Gate { latch, start: Event::new(context)? })
            }
        };
        self.in_flight = true;
        gate.latch.close(self.first.stream())?;
        if let Err(error) = gate.start.record(self.first.stream()) {
            gate.latch.open();
            return Err(error.into());
        }
        self.batch = Some(Batch::Empty);
        Ok(())
    }

    /// Queues a round of the batch; a failure opens the latch.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a batch or for a round that does not fit it, or the call that failed.
    ///
    /// # Safety
    /// The legs' areas and ranges have so many bytes, the ranges are pinned, and all live, lent to nobody, until [`Queue::settle`] has
    /// succeeded.
    pub(crate) unsafe fn enqueue(
        &mut self,
        direction: Direction,
        legs: &Legs<'_, D>,
        copies: u32,
    ) -> Result<(), DeviceError> {
        let kind = if direction == Direction::Bidirectional { Batch::BothWays } else { Batch::OneWay };
        let (Some(batch), Some(gate)) = (self.batch, &self.gate) else { return Err(no_batch("queueing copies")) };
        if copies == 0 {
            return Err(unsupported("a round of 0 copies", "a round has at least one"));
        }
        if batch != Batch::Empty && batch != kind {
            let reason = "a batch is all bidirectional, or has no bidirectional round";
            return Err(unsupported("this round in this batch", reason));
        }
        if self.first.queued() >= MAX_ROUNDS {
            return Err(unsupported("a further round", format!("a batch has at most {MAX_ROUNDS}")));
        }
        self.in_flight = true;
        let second = self.second.as_mut().filter(|_| kind == Batch::BothWays);
        if let (Batch::Empty, Some(second)) = (batch, &second) {
            second.stream().wait_for(&gate.start)?;
        }
        self.batch = Some(kind);
        for _ in 0..copies {
            // SAFETY: the caller's word.
            unsafe { legs.queue(&self.first, second.as_deref().unwrap_or(&self.first)) }?;
        }
        self.first.mark()?;
        second.map_or(Ok(()), Lane::mark)?;
        Ok(())
    }

    /// One round outside a batch, waited for.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Queue::enqueue`].
    pub(crate) unsafe fn round(&mut self, direction: Direction, legs: &Legs<'_, D>) -> Result<(), CallError> {
        self.in_flight = true;
        let queued = match direction {
            Direction::Bidirectional => {
                let second = self.second.as_ref().unwrap_or(&self.first);
                // SAFETY: the caller's word.
                unsafe { legs.queue(&self.first, second) }
            }
            // SAFETY: the caller's word.
            _ => unsafe { legs.queue(&self.first, &self.first) },
        };
        let settled = self.settle();
        queued.and(settled)
    }

    /// How many of the batch's rounds have ended; does not block.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn rounds_ended(&mut self) -> Result<usize, CallError> {
        let ended = self.first.ended()?;
        match &mut self.second {
            Some(second) if second.queued() > 0 => Ok(ended.min(second.ended()?)),
            _ => Ok(ended),
        }
    }

    /// Ends the batch, which must have been waited for: its marks.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a batch, [`DeviceError::TimedOut`] for a latch that let go by itself, or the call that failed.
    pub(crate) fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError> {
        let (Some(_), Some(gate)) = (self.batch.take(), &self.gate) else { return Err(no_batch("finishing a batch")) };
        if gate.latch.gave_up() {
            let limit_ms = SPIN_LIMIT.as_millis() as u64;
            return Err(DeviceError::TimedOut { what: "holding copies back until the release", limit_ms });
        }
        self.first.ends(&gate.start, &mut marks.first_ns)?;
        marks.second_ns.clear();
        match &self.second {
            Some(second) => Ok(second.ends(&gate.start, &mut marks.second_ns)?),
            None => Ok(()),
        }
    }
}

impl<D: Driver> Legs<'_, D> {
    /// Queues each copy there is once.
    ///
    /// # Safety
    /// As [`Queue::enqueue`].
    unsafe fn queue(&self, writes: &Lane<D>, reads: &Lane<D>) -> Result<(), CallError> {
        if let Some((area, from)) = self.write {
            // SAFETY: the caller's word.
            unsafe { area.queue_write(from, self.bytes, writes.stream()) }?;
        }
        if let Some((area, to)) = self.read {
            // SAFETY: the caller's word.
            unsafe { area.queue_read(to, self.bytes, reads.stream()) }?;
        }
        Ok(())
    }
}
