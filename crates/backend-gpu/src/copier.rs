//! Copies between one rank's host ranges and its GPU.
//!
//! Blocking rounds are the driver's own blocking copies on the default stream (cuMemcpyHtoD, hipMemcpyHtoD),
//! as cudaMemcpy and hipMemcpy are, so that the figures are those an application sees; so are stores and
//! fetches. Queued rounds run on a `queue` that is the copier's alone from the first of them on, and goes to
//! the device's next copier (`idle_queues`). Patterns are written and compared by kernels
//! (`pattern_kernels`).
//!
//! Dropping opens the latch, waits, and then frees. Where waiting failed, a driver may still read and write
//! what is queued: the areas, the host ranges, the latch's words and the kernels are then kept, because
//! nothing tells when they could be freed (`in_flight`).

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use device::{Area, BytePattern, CallError, Copier, CopyBy, DeviceError, Direction, HostPair, Marks};

use crate::areas::{Areas, Ranges, no_destination, no_source};
use crate::context::Context;
use crate::copy_kernel::CopyKernel;
use crate::device_memory::{DeviceMemory, out_of_memory};
use crate::driver::Driver;
use crate::host_range::HostRange;
use crate::idle_queues::IdleQueues;
use crate::latch::Mechanism;
use crate::modules::{Kernels, Programs};
use crate::pattern_kernels::PatternKernels;
use crate::queue::{Queue, no_batch};
use crate::unsupported::unsupported;

/// One rank's copier.
pub(crate) struct GpuCopier<D: Driver> {
    context: Arc<Context<D>>,
    areas: Areas<D>,
    host: Ranges,
    tools: Tools<D>,
    /// Taken when something is first queued.
    queue: Option<Queue<D>>,
    /// Blocking rounds wait on the own stream, not in the driver's blocking copy.
    takes_turns: bool,
    /// The kernel that copies in the place of the copy engines.
    kernel: Option<CopyKernel<D>>,
}

/// What a device found out once for all its copiers.
pub(crate) struct Tools<D: Driver> {
    /// How a batch is held back, or why it cannot be.
    pub(crate) latch: Result<Mechanism<D>, String>,
    /// Its kernels, or why there are none.
    pub(crate) kernels: Result<Rc<Kernels<D>>, String>,
    /// What fills and compares areas, or why nothing does.
    pub(crate) patterns: Result<Rc<PatternKernels<D>>, String>,
    /// Queues that no copier has.
    pub(crate) queues: Rc<IdleQueues<D>>,
    /// Programs that were loaded.
    pub(crate) programs: Rc<Programs<D>>,
}

// Derived, it would ask a driver to be Clone.
impl<D: Driver> Clone for Tools<D> {
    fn clone(&self) -> Self {
        let Self { latch, kernels, patterns, queues, programs } = self;
        Self {
            latch: latch.clone(),
            kernels: kernels.clone(),
            patterns: patterns.clone(),
            queues: Rc::clone(queues),
            programs: Rc::clone(programs),
        }
    }
}

/// Whether a driver can reach all ranges by itself.
fn is_pinned(host: &Ranges) -> bool {
    [&host.source, &host.destination].into_iter().flatten().all(HostRange::is_pinned)
}

/// Writes bytes that every later copy sees: the driver may return when they are staged, and queues do not
/// wait for that; reading does.
fn land<D: Driver>(area: &DeviceMemory<D>, offset: usize, from: &[u8]) -> Result<(), CallError> {
    let Some(last) = from.len().checked_sub(1) else { return Ok(()) };
    area.write(offset, from)?;
    area.read(offset + last, &mut [0])
}

impl<D: Driver> GpuCopier<D> {
    /// Allocates the areas; queues and copies nothing.
    ///
    /// # Errors
    /// See [`device::Device::copier`]; memory that does not fit is found first.
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        tools: Tools<D>,
        host: HostPair,
        bidirectional: bool,
    ) -> Result<Self, DeviceError> {
        let len = host.common_len()?;
        let asked_bytes = (len as u64).saturating_mul(if bidirectional { 2 } else { 1 });
        if asked_bytes > context.memory()?.free_bytes {
            return Err(out_of_memory(context, asked_bytes)?);
        }
        if bidirectional && host.ranges().count() < 2 {
            let reason = "it needs a source and a destination, and one of them is missing";
            return Err(unsupported("moving both directions at once", reason));
        }
        let HostPair { source, destination } = host;
        let host =
            Ranges { source: source.map(HostRange::new), destination: destination.map(HostRange::new) };

        if bidirectional && !is_pinned(&host) {
            let reason =
                "the driver stages pageable memory, one direction after the other; use pinned memory";
            return Err(unsupported("moving both directions at once", reason));
        }

        let a = Some(DeviceMemory::new(context, len)?);
        let b = bidirectional.then(|| DeviceMemory::new(context, len)).transpose()?;
        let (context, areas) = (Arc::clone(context), Areas { a, b, len });
        Ok(Self { context, areas, host, tools, queue: None, takes_turns: false, kernel: None })
    }

    /// Opens the latch and waits for what is queued.
    fn settle(&mut self) -> Result<(), CallError> {
        self.queue.as_mut().map_or(Ok(()), Queue::settle)
    }

    /// Refuses what cannot be queued here.
    fn check_latch(&self) -> Result<&Mechanism<D>, DeviceError> {
        if !is_pinned(&self.host) {
            let reason = "the driver copies pageable memory before it returns; use pinned memory, or time it \
                by the host's clock";
            return Err(unsupported("queueing copies", reason));
        }
        self.tools
            .latch
            .as_ref()
            .map_err(|reason| unsupported("queueing copies", format!("it has no latch: {reason}")))
    }

    /// Takes a queue where there is none yet.
    fn need_queue(&mut self) -> Result<&mut Queue<D>, CallError> {
        match &mut self.queue {
            Some(queue) => Ok(queue),
            none => Ok(none.insert(self.tools.queues.take(self.areas.b.is_some())?)),
        }
    }

    /// One round that waits on this copier's own stream; only for pinned memory.
    fn round_on_own_stream(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        // What is refused makes no stream.
        self.areas.legs(&self.host, direction, bytes)?;
        self.need_queue()?;
        let Some(queue) = &mut self.queue else { return Ok(()) };
        let legs: &[Direction] = match &direction {
            Direction::RoundTrip => &[Direction::H2d, Direction::D2h],
            one => std::slice::from_ref(one),
        };
        for leg in legs {
            let mut legs = self.areas.legs(&self.host, *leg, bytes)?;
            legs.kernel = self.kernel.as_ref();
            queue.round(*leg == Direction::Bidirectional, |writes, reads| legs.queue(writes, reads))?;
        }
        Ok(())
    }

    fn patterns(&self) -> Result<&PatternKernels<D>, DeviceError> {
        let patterns = self.tools.patterns.as_ref();
        Ok(patterns.map_err(|reason| unsupported("filling and comparing on the device", reason.clone()))?)
    }
}

impl<D: Driver> Copier for GpuCopier<D> {
    fn source(&mut self) -> &mut [u8] {
        match (self.settle(), &mut self.host.source) {
            (Ok(()), Some(range)) => range.bytes_mut(),
            // A fault of the queue shows again in the next call that can report one.
            _ => &mut [],
        }
    }

    fn destination(&mut self) -> &mut [u8] {
        match (self.settle(), &mut self.host.destination) {
            (Ok(()), Some(range)) => range.bytes_mut(),
            // As in `source`.
            _ => &mut [],
        }
    }

    fn device_addresses(&self) -> Vec<Range<usize>> {
        self.areas.addresses()
    }

    fn take_turns(&mut self) {
        self.takes_turns = true;
    }

    fn copy_by(&mut self, by: CopyBy) -> Result<(), DeviceError> {
        self.settle()?;
        self.kernel = None;
        let Some(kernel) = CopyKernel::new(&self.tools.kernels, &self.tools.programs, by)? else {
            return Ok(());
        };

        if !is_pinned(&self.host) {
            return Err(unsupported(by.what(), "a device reaches pinned memory only, and this is pageable"));
        }
        for range in [&self.host.source, &self.host.destination].into_iter().flatten() {
            range.reach(by.what(), &self.context)?;
        }
        self.kernel = Some(kernel);
        Ok(())
    }

    fn store(&mut self, area: Area, offset: usize, from: &[u8]) -> Result<(), DeviceError> {
        self.settle()?;
        Ok(land(self.areas.part(area, offset, from.len())?, offset, from)?)
    }

    fn fetch(&mut self, area: Area, offset: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        self.settle()?;
        let memory = self.areas.part(area, offset, into.len())?;
        if into.is_empty() { Ok(()) } else { Ok(memory.read(offset, into)?) }
    }

    fn pull(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        self.areas.check_bytes(bytes)?;
        self.settle()?;
        let source = self.host.source.as_mut().ok_or_else(no_source)?;
        Ok(self.areas.get(area)?.read(0, &mut source.bytes_mut()[..bytes])?)
    }

    fn push(&mut self, area: Area, bytes: usize) -> Result<(), DeviceError> {
        self.areas.check_bytes(bytes)?;
        self.settle()?;
        let destination = self.host.destination.as_mut().ok_or_else(no_destination)?;
        Ok(land(self.areas.get(area)?, 0, &destination.bytes_mut()[..bytes])?)
    }

    fn fill(&mut self, area: Area, pattern: BytePattern, bytes: usize) -> Result<(), DeviceError> {
        self.areas.check_bytes(bytes)?;
        self.settle()?;
        let (words, rest) = (bytes / 8, bytes % 8);
        self.patterns()?.fill(self.areas.get(area)?, pattern, words as u64)?;
        self.store(area, words * 8, &pattern.word(words as u64).to_le_bytes()[..rest])
    }

    fn compare(
        &mut self,
        area: Area,
        pattern: BytePattern,
        bytes: usize,
    ) -> Result<Option<u64>, DeviceError> {
        self.areas.check_bytes(bytes)?;
        self.settle()?;
        let (words, rest) = (bytes / 8, bytes % 8);
        if let Some(index) = self.patterns()?.compare(self.areas.get(area)?, pattern, words as u64)? {
            return Ok(Some(index * 8));
        }
        let (expected, mut got) = (pattern.word(words as u64).to_le_bytes(), [0; 8]);
        self.fetch(area, words * 8, &mut got[..rest])?;
        Ok((got[..rest] != expected[..rest]).then_some(words as u64 * 8))
    }

    fn into_host(mut self: Box<Self>) -> HostPair {
        // What could not be waited for is kept (`in_flight`).
        let _ = self.settle();
        let memory = |range: &mut Option<HostRange>| range.as_mut().and_then(HostRange::take);
        HostPair { source: memory(&mut self.host.source), destination: memory(&mut self.host.destination) }
    }

    fn round(&mut self, direction: Direction, bytes: usize) -> Result<(), DeviceError> {
        self.areas.check_bytes(bytes)?;
        self.settle()?;
        if direction == Direction::Bidirectional
            || self.kernel.is_some()
            || (self.takes_turns && is_pinned(&self.host))
        {
            return self.round_on_own_stream(direction, bytes);
        }

        if direction != Direction::D2h {
            let source = self.host.source.as_mut().ok_or_else(no_source)?;
            self.areas.get(Area::A)?.write(0, &source.bytes_mut()[..bytes])?;
        }
        if direction != Direction::H2d {
            let destination = self.host.destination.as_mut().ok_or_else(no_destination)?;
            self.areas.get(Area::A)?.read(0, &mut destination.bytes_mut()[..bytes])?;
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.settle()?;
        let mechanism = self.check_latch()?.clone();
        let context = Arc::clone(&self.context);
        self.need_queue()?.hold(&context, &mechanism)
    }

    fn enqueue(&mut self, direction: Direction, bytes: usize, copies: u32) -> Result<(), DeviceError> {
        self.check_latch()?;
        let Some(queue) = &mut self.queue else { return Err(no_batch("queueing copies")) };
        let checked = self.areas.check_bytes(bytes);
        let legs = checked.and_then(|()| self.areas.legs(&self.host, direction, bytes));
        let both_ways = direction == Direction::Bidirectional;
        let queued = legs.and_then(|mut legs| {
            legs.kernel = self.kernel.as_ref();
            queue.enqueue(both_ways, copies, |writes, reads| legs.queue(writes, reads))
        });
        if queued.is_err() {
            queue.open();
        }
        queued
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        self.check_latch()?;
        self.queue.iter_mut().for_each(Queue::open);
        Ok(())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        self.check_latch()?;
        Ok(self.queue.as_mut().map_or(Ok(0), Queue::rounds_ended)?)
    }

    fn finish(&mut self, marks: &mut Marks) -> Result<(), DeviceError> {
        self.settle()?;
        self.check_latch()?;
        self.queue.as_mut().ok_or_else(|| no_batch("finishing a batch"))?.finish(marks)
    }
}

impl<D: Driver> Drop for GpuCopier<D> {
    fn drop(&mut self) {
        // What could not be waited for is kept (`in_flight`), and no other copier is given such a queue.
        if self.settle().is_ok() {
            self.queue.take().into_iter().for_each(|queue| self.tools.queues.keep(queue));
        }
    }
}
