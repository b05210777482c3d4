//! What copies and loads are queued on: a lane for each direction that moves at once, the latch that holds a
//! batch back, and the time it is let go.
//!
//! Streams come first; the latch and the marks' events are made by the first batch. With both directions at
//! once, D2H has a second lane, which starts at the first one's start event: one latch, one origin for all
//! marks.
//!
//! A queue knows whether something may still be in flight ([`Queue::settle`]), but owns none of the memory
//! that is: whoever owns it asks before it lends or frees it.

use std::sync::Arc;

use device::{CallError, DeviceError, MAX_ROUNDS, Marks};

use crate::context::Context;
use crate::driver::Driver;
use crate::lane::Lane;
use crate::latch::{Latch, Mechanism};
use crate::modules::SPIN_LIMIT;
use crate::stream::{Event, Stream};
use crate::unsupported::unsupported;

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

    /// Whether both directions can move at once on it.
    pub(crate) fn is_both_ways(&self) -> bool {
        self.second.is_some()
    }

    /// Forgets the last batch, which must have been waited for.
    pub(crate) fn forget(&mut self) {
        self.batch = None;
        self.first.forget();
        self.second.iter_mut().for_each(Lane::forget);
    }

    /// Opens the latch and waits for what is queued. After a failure something may still be in flight; a
    /// later call asks again.
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
    pub(crate) fn hold(
        &mut self,
        context: &Arc<Context<D>>,
        mechanism: &Mechanism<D>,
    ) -> Result<(), DeviceError> {
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

    /// Queues a round of the batch: `times` times what `queue` queues on the first lane's stream and, both
    /// ways, on the second's (one way the two are the same).
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] without a batch or for a round that does not fit it, or the call that
    /// failed.
    ///
    pub(crate) fn enqueue(
        &mut self,
        both_ways: bool,
        times: u32,
        queue: impl Fn(&Stream<D>, &Stream<D>) -> Result<(), CallError>,
    ) -> Result<(), DeviceError> {
        let kind = if both_ways { Batch::BothWays } else { Batch::OneWay };
        let (Some(batch), Some(gate)) = (self.batch, &self.gate) else {
            return Err(no_batch("queueing copies"));
        };
        if times == 0 {
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
        for _ in 0..times {
            queue(self.first.stream(), second.as_deref().unwrap_or(&self.first).stream())?;
        }
        self.first.mark()?;
        second.map_or(Ok(()), Lane::mark)?;

        Ok(())
    }

    /// One round outside a batch, waited for.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn round(
        &mut self,
        both_ways: bool,
        queue: impl Fn(&Stream<D>, &Stream<D>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        self.in_flight = true;
        let second = self.second.as_ref().filter(|_| both_ways).unwrap_or(&self.first);
        let queued = queue(self.first.stream(), second.stream());
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
    /// [`DeviceError::Unsupported`] without a batch, [`DeviceError::TimedOut`] for a latch that let go by
    /// itself, or the call that failed.
    pub(crate) fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError> {
        let (Some(_), Some(gate)) = (self.batch.take(), &self.gate) else {
            return Err(no_batch("finishing a batch"));
        };
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
