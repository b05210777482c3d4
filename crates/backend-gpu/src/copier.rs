//! Copies between one rank's host ranges and its GPU.
//!
//! Blocking rounds are the driver's own blocking copies on the default stream (cuMemcpyHtoD, hipMemcpyHtoD), as cudaMemcpy and
//! hipMemcpy are, so that the figures are those an application sees. Queued rounds run on a lane of the copier's own; with both directions at once, D2H has a second lane,
//! which starts at the first one's start event: one latch, one origin for all marks.
//!
//! Dropping opens the latch, waits for both lanes, and then frees. Where waiting fails, nobody knows whether the queued copies have ended: then
//! nothing that they read or write is ever freed, neither here nor by who would use the memory next.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use device::{CallError, Copier, DeviceError, Direction, HostPair, MAX_ROUNDS, Marks, MemoryKind};

use crate::context::Context;
use crate::device_memory::{DeviceMemory, out_of_memory};
use crate::driver::Driver;
use crate::lane::Lane;
use crate::latch::{Latch, Mechanism};
use crate::spin_kernel::SPIN_LIMIT;
use crate::stream::Event;

/// How much a new copier queues and reads back to have everything loaded that loads lazily.
const WARM_BYTES: usize = 1 << 20;

/// One rank's copier.
pub(crate) struct GpuCopier<D: Driver> {
    /// Not dropped by itself, nor is the host's: see `drop`.
    a: ManuallyDrop<DeviceMemory<D>>,
    b: Option<DeviceMemory<D>>,
    /// With pinned memory.
    first: Option<Lane<D>>,
    /// With pinned memory and both directions at once.
    second: Option<Lane<D>>,
    /// With pinned memory and a latch.
    gate: Option<Gate<D>>,
    batch: Option<Batch>,
    in_flight: bool,
    /// Blocking rounds wait on the own stream, not in the driver's blocking copy.
    takes_turns: bool,
    host: ManuallyDrop<HostPair>,
    len: usize,
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

fn unsupported(what: &'static str, reason: impl Into<String>) -> DeviceError {
    DeviceError::Unsupported { what, reason: reason.into() }
}

/// Without B there is no second lane either.
fn one_way_only() -> DeviceError {
    unsupported("moving both directions at once", "this copier was made for one direction at a time")
}

impl<D: Driver> GpuCopier<D> {
    /// Allocates the areas and moves every path's first bytes.
    ///
    /// # Errors
    /// See [`device::Device::copier`]; memory that does not fit is found first.
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        mechanism: Option<Mechanism<D>>,
        host: HostPair,
        bidirectional: bool,
    ) -> Result<Self, DeviceError> {
        let (len, other) = (host.source.bytes().len(), host.destination.bytes().len());
        if len == 0 || len != other {
            let reason =
                format!("the source has {len} bytes, the destination {other}; both must have the same, at least 1");
            return Err(unsupported("a copier of these host ranges", reason));
        }
        let asked_bytes = (len as u64).saturating_mul(if bidirectional { 2 } else { 1 });
        if asked_bytes > context.memory()?.free_bytes {
            return Err(out_of_memory(context, asked_bytes)?);
        }
        let pinned = [&host.source, &host.destination].iter().all(|range| range.kind() != MemoryKind::Pageable);
        if bidirectional && !pinned {
            let reason = "the driver stages pageable memory, one direction after the other; use pinned memory";
            return Err(unsupported("moving both directions at once", reason));
        }
        let gate = |mechanism| -> Result<Gate<D>, DeviceError> {
            Ok(Gate { latch: Latch::new(context, mechanism)?, start: Event::new(context)? })
        };
        let mut copier = Self {
            a: ManuallyDrop::new(DeviceMemory::new(context, len)?),
            b: bidirectional.then(|| DeviceMemory::new(context, len)).transpose()?,
            first: pinned.then(|| Lane::new(context)).transpose()?,
            second: bidirectional.then(|| Lane::new(context)).transpose()?,
            gate: mechanism.filter(|_| pinned).map(gate).transpose()?,
            batch: None,
            in_flight: false,
            takes_turns: false,
            host: ManuallyDrop::new(host),
            len,
        };
        copier.warm()?;
        Ok(copier)
    }

    /// Runs every path once; the destination is left as it was, the areas hold the source's bytes.
    fn warm(&mut self) -> Result<(), DeviceError> {
        let bytes = self.len.min(WARM_BYTES);
        let kept = self.host.destination.bytes()[..bytes].to_vec();
        self.round(Direction::H2d, self.len)?;
        self.round(Direction::D2h, bytes)?;
        let mut queued = vec![Direction::RoundTrip];
        if self.b.is_some() {
            self.preload(self.len)?;
            self.round(Direction::Bidirectional, bytes)?;
            queued.push(Direction::Bidirectional);
        }
        if self.gate.is_some() {
            for direction in queued {
                self.hold()?;
                self.enqueue(direction, bytes, 1)?;
                self.finish(&mut Marks::default())?;
            }
        }
        self.host.destination.bytes_mut()[..bytes].copy_from_slice(&kept);
        Ok(())
    }

    fn check_bytes(&self, bytes: usize) -> Result<(), DeviceError> {
        if bytes == 0 || bytes > self.len {
            let reason = format!("{bytes} bytes were asked for; this copier moves 1 to {} bytes", self.len);
            return Err(unsupported("this copy", reason));
        }
        Ok(())
    }

    /// Why nothing can be queued here.
    fn not_queued(&self) -> DeviceError {
        let reason = if self.first.is_none() {
            "the driver copies pageable memory before it returns; use pinned memory, or time it by the host's clock"
        } else {
            "it has no latch (see its capabilities)"
        };
        unsupported("queueing copies", reason)
    }

    /// Opens the latch and waits for what is queued.
    fn settle(&mut self) -> Result<(), CallError> {
        if !self.in_flight {
            return Ok(());
        }
        if let Some(gate) = &mut self.gate {
            gate.latch.open();
        }
        let lanes = [&self.first, &self.second];
        let waited = lanes.map(|lane| lane.as_ref().map_or(Ok(()), |lane| lane.stream().synchronize()));
        let settled: Result<(), CallError> = waited.into_iter().collect();
        // After a failure copies may still be under way: whoever comes next waits again.
        self.in_flight = settled.is_err();
        settled
    }

    fn queue_round(&mut self, direction: Direction, bytes: usize, copies: u32) -> Result<(), DeviceError> {
        self.check_bytes(bytes)?;
        let kind = if direction == Direction::Bidirectional { Batch::BothWays } else { Batch::OneWay };
        let (Some(first), Some(gate)) = (&mut self.first, &self.gate) else { return Err(self.not_queued()) };
        let batch = self.batch.ok_or_else(|| unsupported("queueing copies", "no batch is open: hold comes first"))?;
        if copies == 0 {
            return Err(unsupported("a round of 0 copies", "a round has at least one"));
        }
        if batch != Batch::Empty && batch != kind {
            let reason = "a batch is all bidirectional, or has no bidirectional round";
            return Err(unsupported("this round in this batch", reason));
        }
        if first.queued() >= MAX_ROUNDS {
            return Err(unsupported("a further round", format!("a batch has at most {MAX_ROUNDS}")));
        }
        let from = self.host.source.bytes().as_ptr();
        let to = self.host.destination.bytes_mut().as_mut_ptr();
        self.in_flight = true;
        if kind == Batch::BothWays {
            let (Some(second), Some(b)) = (&mut self.second, &self.b) else { return Err(one_way_only()) };
            if batch == Batch::Empty {
                second.stream().wait_for(&gate.start)?;
            }
            self.batch = Some(kind);
            for _ in 0..copies {
                // SAFETY: `bytes` fits both ranges and areas; they are this copier's and pinned, and every way to reach or
                // free them waits for the lanes first (`settle`).
                unsafe { self.a.queue_write(from, bytes, first.stream()) }?;
                // SAFETY: as above; B shares no byte with A.
                unsafe { b.queue_read(to, bytes, second.stream()) }?;
            }
            first.mark()?;
            second.mark()?;
        } else {
            self.batch = Some(kind);
            for _ in 0..copies {
                if direction != Direction::D2h {
                    // SAFETY: as above.
                    unsafe { self.a.queue_write(from, bytes, first.stream()) }?;
                }
                if direction != Direction::H2d {
                    // SAFETY: as above.
                    unsafe { self.a.queue_read(to, bytes, first.stream()) }?;
                }
            }
            first.mark()?;
        }
        Ok(())
    }

    /// One round that waits on this copier's own stream; only for pinned memory.
    fn round_on_own_stream(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        let legs: &[Direction] = match direction {
            Direction::H2d => &[Direction::H2d],
            Direction::D2h => &[Direction::D2h],
            Direction::RoundTrip => &[Direction::H2d, Direction::D2h],
            Direction::Bidirectional => return self.round_both_ways(bytes),
        };
        for leg in legs {
            let Some(first) = &self.first else { return Err(self.not_queued()) };
            self.in_flight = true;
            let queued = match leg {
                Direction::H2d => {
                    let from = self.host.source.bytes().as_ptr();
                    // SAFETY: `bytes` fits the range and the area; they are this copier's and pinned, and `settle` below
                    // waits for the stream, also after a failure.
                    unsafe { self.a.queue_write(from, bytes, first.stream()) }
                }
                _ => {
                    let to = self.host.destination.bytes_mut().as_mut_ptr();
                    // SAFETY: as above.
                    unsafe { self.a.queue_read(to, bytes, first.stream()) }
                }
            };
            let settled = self.settle();
            queued.and(settled)?;
        }
        Ok(())
    }

    fn round_both_ways(&mut self, bytes: usize) -> Result<(), DeviceError> {
        let (Some(first), Some(second), Some(b)) = (&self.first, &self.second, &self.b) else {
            return Err(one_way_only());
        };
        let from = self.host.source.bytes().as_ptr();
        let to = self.host.destination.bytes_mut().as_mut_ptr();
        self.in_flight = true;
        // SAFETY: `bytes` fits both ranges and areas; they are this copier's and pinned, and `settle` below waits for the
        // lanes, also when one of the two could not be queued.
        let queued = unsafe { self.a.queue_write(from, bytes, first.stream()) }
            // SAFETY: as above.
            .and_then(|()| unsafe { b.queue_read(to, bytes, second.stream()) });
        let settled = self.settle();
        Ok(queued.and(settled)?)
    }
}

impl<D: Driver> Copier for GpuCopier<D> {
    fn source(&mut self) -> &mut [u8] {
        // A fault of the queue shows again in the next call that can report one: the driver keeps it.
        let _ = self.settle();
        self.host.source.bytes_mut()
    }

    fn destination(&mut self) -> &mut [u8] {
        // As in `source`.
        let _ = self.settle();
        self.host.destination.bytes_mut()
    }

    fn take_turns(&mut self) {
        self.takes_turns = true;
    }

    fn preload(&mut self, bytes: usize) -> Result<(), DeviceError> {
        self.check_bytes(bytes)?;
        self.settle()?;
        let b = self.b.as_ref().ok_or_else(one_way_only)?;
        Ok(b.write(&self.host.source.bytes()[..bytes])?)
    }

    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        self.check_bytes(bytes)?;
        self.settle()?;
        if self.takes_turns && self.first.is_some() {
            return self.round_on_own_stream(direction, bytes);
        }
        match direction {
            Direction::H2d => self.a.write(&self.host.source.bytes()[..bytes])?,
            Direction::D2h => self.a.read(&mut self.host.destination.bytes_mut()[..bytes])?,
            Direction::RoundTrip => {
                self.a.write(&self.host.source.bytes()[..bytes])?;
                self.a.read(&mut self.host.destination.bytes_mut()[..bytes])?;
            }
            Direction::Bidirectional => self.round_both_ways(bytes)?,
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.settle()?;
        self.batch = None;
        let (Some(first), Some(gate)) = (&mut self.first, &mut self.gate) else { return Err(self.not_queued()) };
        first.reset()?;
        if let Some(second) = &mut self.second {
            second.reset()?;
        }
        self.in_flight = true;
        gate.latch.close(first.stream())?;
        if let Err(error) = gate.start.record(first.stream()) {
            gate.latch.open();
            return Err(error.into());
        }
        self.batch = Some(Batch::Empty);
        Ok(())
    }

    fn enqueue(&mut self, direction: Direction, bytes: usize, copies: u32) -> Result<(), DeviceError> {
        let queued = self.queue_round(direction, bytes, copies);
        if let (Err(_), Some(gate)) = (&queued, &mut self.gate) {
            gate.latch.open();
        }
        queued
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        match &mut self.gate {
            Some(gate) => gate.latch.open(),
            None => return Err(self.not_queued()),
        }
        Ok(())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        let Some(first) = &mut self.first else { return Err(self.not_queued()) };
        let ended = first.ended()?;
        match &mut self.second {
            Some(second) if second.queued() > 0 => Ok(ended.min(second.ended()?)),
            _ => Ok(ended),
        }
    }

    fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError> {
        self.settle()?;
        let (Some(first), Some(gate)) = (&self.first, &self.gate) else { return Err(self.not_queued()) };
        if self.batch.take().is_none() {
            return Err(unsupported("finishing a batch", "no batch is open: hold comes first"));
        }
        if gate.latch.gave_up() {
            let limit_ms = SPIN_LIMIT.as_millis() as u64;
            return Err(DeviceError::TimedOut { what: "holding copies back until the release", limit_ms });
        }
        first.ends(&gate.start, &mut marks.first_ns)?;
        marks.second_ns.clear();
        match &self.second {
            Some(second) => Ok(second.ends(&gate.start, &mut marks.second_ns)?),
            None => Ok(()),
        }
    }
}

impl<D: Driver> Drop for GpuCopier<D> {
    fn drop(&mut self) {
        if self.settle().is_err() {
            // The driver may still read and write all of it. A leak ends with the process; memory in use that is freed ends the process.
            std::mem::forget((self.b.take(), self.first.take(), self.second.take(), self.gate.take()));
            return;
        }
        // SAFETY: dropped once, here, and not used after it: `self` is gone when this returns.
        unsafe { ManuallyDrop::drop(&mut self.a) };
        // SAFETY: as above.
        unsafe { ManuallyDrop::drop(&mut self.host) };
    }
}
