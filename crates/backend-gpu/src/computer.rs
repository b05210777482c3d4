//! A GPU that computes: the kernels of a program, on an area of its memory, between copies from and to pinned
//! host memory.
//!
//! Whether the copies of a step lie inside the memory is checked when they are queued; where a kernel reads
//! and writes is its program's word. Dropping opens the latch and waits; what could not be waited for is
//! leaked.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use device::{
    Argument, CallError, Computer, DeviceError, HostMemory, KernelModule, MOST_ARGUMENTS, RoundStep,
};

use crate::context::{self, Context};
use crate::copier::Tools;
use crate::device_memory::{DeviceMemory, out_of_memory};
use crate::driver::{CopyBatch, Driver};
use crate::host_range::HostRange;
use crate::kernel::LaunchGrid;
use crate::modules::{Loaded, Parameter};
use crate::overlap::Overlap;
use crate::own_queue::OwnQueue;
use crate::stream::{Event, Stream};
use crate::unsupported::unsupported;

const WHAT: &str = "a computation on the device";

/// What the steps use.
struct Memory<D: Driver> {
    host: HostRange,
    area: DeviceMemory<D>,
    program: Rc<Loaded<D>>,
    /// The arrays of the last batch.
    batch: RefCell<CopyBatch>,
}

/// See [`device::Computer`].
pub(crate) struct GpuComputer<D: Driver> {
    context: Arc<Context<D>>,
    queue: OwnQueue<D>,
    memory: Memory<D>,
    area_len: usize,
    kernels: usize,
    address: usize,
    /// What is started and not timed by the device; made when it is first needed.
    started: Option<Stream<D>>,
    /// At the end of each start since all had ended, and more that wait to be used.
    ends: Vec<Event<D>>,
    starts: usize,
    /// What overlapped steps are queued on; made when they first are.
    lanes: Option<Overlap<D>>,
}

impl<D: Driver> GpuComputer<D> {
    /// Takes over host memory, allocates the area, loads the program; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::computer`].
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        program: &KernelModule,
        host: Box<dyn HostMemory>,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        let host = HostRange::new(host);
        if !host.is_pinned() {
            return Err(unsupported(WHAT, "a queued copy needs pinned memory, and this is pageable"));
        }
        if bytes as u64 > context.memory()?.free_bytes {
            return Err(out_of_memory(context, bytes as u64)?);
        }
        let kernels = program.kernels.len();
        let program = tools.programs.get(program)?;
        let memory =
            Memory { host, area: DeviceMemory::new(context, bytes)?, program, batch: RefCell::default() };
        let queue = OwnQueue::new(context, tools, "queueing kernels");
        let (context, address) = (Arc::clone(context), D::word(memory.area.address()) as usize);

        Ok(Self {
            context,
            queue,
            memory,
            area_len: bytes,
            kernels,
            address,
            started: None,
            ends: Vec::new(),
            starts: 0,
            lanes: None,
        })
    }

    /// Waits for both queues.
    fn wait_for_all(&mut self) -> Result<(), CallError> {
        self.queue.settle()?;
        if self.starts > 0 {
            self.started.as_ref().map_or(Ok(()), Stream::synchronize)?;
            self.starts = 0;
        }
        self.lanes.as_ref().map_or(Ok(()), |lanes| lanes.settle())
    }

    /// Whether every step has its bytes and its kernel.
    fn check(&self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        let host_len = self.memory.host.len();
        let fits = |range: &Range<usize>| range.start <= range.end && range.end <= host_len;
        let lies = |bytes: usize, at: usize| at.checked_add(bytes).is_some_and(|end| end <= self.area_len);
        for step in steps {
            let refused = match step {
                RoundStep::Overlapped(inner) => {
                    match inner.iter().find(|step| matches!(step, RoundStep::Overlapped(_))) {
                        Some(_) => "overlapped steps in overlapped steps".to_owned(),
                        None => {
                            self.check(inner)?;
                            continue;
                        }
                    }
                }
                RoundStep::ToDeviceAt(range, at) | RoundStep::ToHostFrom(range, at)
                    if !fits(range) || !lies(range.len(), *at) =>
                {
                    format!(
                        "bytes {} to {} at {at} were asked for of {} and {}",
                        range.start, range.end, host_len, self.area_len
                    )
                }
                RoundStep::ToDevice(range) | RoundStep::ToHost(range)
                    if !fits(range) || !lies(range.len(), range.start) =>
                {
                    format!(
                        "bytes {} to {} were asked for of {host_len} and {}",
                        range.start, range.end, self.area_len
                    )
                }
                RoundStep::Prefetch { range, .. } if !fits(range) || range.is_empty() => {
                    format!("bytes {} to {} were asked for of {host_len}", range.start, range.end)
                }
                RoundStep::Prefetch { .. } if !self.memory.host.moves() => {
                    "the memory's pages do not move".to_owned()
                }
                RoundStep::Launch { kernel, .. } if *kernel >= self.kernels => {
                    format!("the program has no kernel {kernel}")
                }
                RoundStep::Launch { arguments, .. } if arguments.len() > MOST_ARGUMENTS => {
                    format!("{} arguments were given, {MOST_ARGUMENTS} are the most", arguments.len())
                }
                RoundStep::Launch { arguments, .. } => {
                    let outside = |argument: &&Argument| match argument {
                        Argument::Area(at) => *at >= self.area_len,
                        Argument::Host(at) => *at >= host_len,
                        Argument::Number(_) => false,
                    };
                    match arguments.iter().find(outside) {
                        Some(argument) => {
                            format!(
                                "{argument:?} lies beyond the area's {} or the host's {host_len} bytes",
                                self.area_len
                            )
                        }
                        None => {
                            if arguments.iter().any(|argument| matches!(argument, Argument::Host(_))) {
                                self.memory.host.reach(WHAT, &self.context)?;
                            }
                            continue;
                        }
                    }
                }
                RoundStep::Batch(batch) => {
                    let out = |(host, area): &&(usize, usize)| {
                        !fits(&(*host..host.saturating_add(batch.bytes))) || !lies(batch.bytes, *area)
                    };
                    match (self.context.enter()?.can_batch(), batch.at.iter().find(out)) {
                        (Err(why), _) => why,
                        (Ok(()), Some((host, area))) => {
                            format!(
                                "{} bytes at {host} and {area} were asked for of {host_len} and {}",
                                batch.bytes, self.area_len
                            )
                        }
                        (Ok(()), None) if batch.at.is_empty() => "a batch of no copies".to_owned(),
                        (Ok(()), None) => continue,
                    }
                }
                RoundStep::ToDevice(_)
                | RoundStep::ToHost(_)
                | RoundStep::ToDeviceAt(..)
                | RoundStep::ToHostFrom(..)
                | RoundStep::Prefetch { .. } => continue,
            };
            return Err(unsupported(WHAT, refused));
        }

        Ok(())
    }

    /// The streams of overlapped steps, where there are such steps.
    fn need_lanes(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        if overlap(steps) && self.lanes.is_none() {
            self.lanes = Some(Overlap::new(&self.context)?);
        }
        Ok(())
    }
}

/// Whether there are steps that overlap.
fn overlap(steps: &[RoundStep]) -> bool {
    steps.iter().any(|step| matches!(step, RoundStep::Overlapped(_)))
}

/// What queues the steps, which were checked, on a stream.
fn queued<'a, D: Driver>(
    memory: &'a Memory<D>,
    (context, lanes): (&'a Context<D>, Option<&'a Overlap<D>>),
    steps: &'a [RoundStep],
) -> impl Fn(&Stream<D>) -> Result<(), CallError> + use<'a, D> {
    let Memory { host, area, program, batch } = memory;
    move |stream: &Stream<D>| {
        let queue = |step: &RoundStep, stream: &Stream<D>| match step {
            RoundStep::ToDevice(range) => area.queue_write(range.start, (host, range.clone()), stream),
            RoundStep::ToDeviceAt(range, at) => area.queue_write(*at, (host, range.clone()), stream),
            RoundStep::ToHost(range) => area.queue_read(range.start, (host, range.clone()), stream),
            RoundStep::ToHostFrom(range, at) => area.queue_read(*at, (host, range.clone()), stream),
            RoundStep::Launch { kernel, blocks, threads, arguments } => {
                let parameters = arguments.iter().map(|argument| match argument {
                    Argument::Area(at) => Parameter::Area(area, *at),
                    Argument::Host(at) => Parameter::Host(host, *at),
                    Argument::Number(number) => Parameter::Number(*number),
                });
                program.launch(*kernel, LaunchGrid { blocks: *blocks, threads: *threads }, stream, parameters)
            }
            RoundStep::Batch(copies) => area.queue_batch(copies, (host, &mut batch.borrow_mut()), stream),
            RoundStep::Prefetch { range, to_device } => {
                host.queue_prefetch(range.clone(), *to_device, (context, stream))
            }
            // `check` lets none through.
            RoundStep::Overlapped(_) => Ok(()),
        };

        steps.iter().try_for_each(|step| match (step, lanes) {
            (RoundStep::Overlapped(steps), Some(lanes)) => lanes.queue(stream, steps, queue),
            _ => queue(step, stream),
        })
    }
}

impl<D: Driver> Computer for GpuComputer<D> {
    fn host(&mut self) -> &mut [u8] {
        // None where waiting failed.
        let _ = self.wait_for_all();
        self.memory.host.bytes_mut()
    }

    fn into_host(mut self: Box<Self>) -> Option<Box<dyn HostMemory>> {
        // What could not be waited for is kept (`in_flight`).
        let _ = self.wait_for_all();
        self.memory.host.take()
    }

    fn address(&self) -> usize {
        self.address
    }

    fn host_address(&self) -> usize {
        self.memory.host.address()
    }

    fn shared_thread(&mut self) {
        context::forget_current();
    }

    fn can_batch(&self) -> Result<(), String> {
        self.context.enter().map_err(|error| error.to_string())?.can_batch()
    }

    fn start(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        self.check(steps)?;
        self.need_lanes(steps)?;
        if self.ends.len() == self.starts {
            self.ends.push(Event::new(&self.context)?);
        }
        let stream = match &mut self.started {
            Some(stream) => stream,
            none => none.insert(Stream::new(&self.context)?),
        };
        // From here on something may be under way, whatever the calls answer.
        let end = self.starts;
        self.starts += 1;
        queued(&self.memory, (&self.context, self.lanes.as_ref()), steps)(stream)?;
        Ok(self.ends[end].record(stream)?)
    }

    fn wait_for(&mut self, starts: usize) -> Result<(), DeviceError> {
        let Some(last) = starts.min(self.starts).checked_sub(1) else { return Ok(()) };
        while !self.ends[last].is_reached()? {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        Ok(self.wait_for_all()?)
    }

    fn round(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        self.check(steps)?;
        self.wait_for_all()?;
        self.need_lanes(steps)?;
        self.queue.round(queued(&self.memory, (&self.context, self.lanes.as_ref()), steps))
    }

    fn hold(&mut self, steps: &[RoundStep]) -> Result<(), DeviceError> {
        // A driver that has no further channel makes a stream only once its queues are idle, and waits for
        // that: behind a closed latch for ever (CUDA 13.0, from some 25 such computers of a GPU on).
        self.need_lanes(steps)?;
        self.queue.hold()
    }

    fn enqueue(&mut self, steps: &[RoundStep], rounds: u32) -> Result<(), DeviceError> {
        self.check(steps)?;
        if overlap(steps) && self.lanes.is_none() {
            self.queue.release();
            return Err(DeviceError::Unsupported {
                what: "queuing steps that overlap",
                reason: "their streams are made by `hold`, which was not told of them".to_owned(),
            });
        }
        self.queue.enqueue(rounds, queued(&self.memory, (&self.context, self.lanes.as_ref()), steps))
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        self.queue.release();
        Ok(())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        self.queue.rounds_ended()
    }

    fn finish(&mut self, ends_ns: &mut Vec<f64>) -> Result<(), DeviceError> {
        self.queue.finish(ends_ns)
    }
}

impl<D: Driver> Drop for GpuComputer<D> {
    fn drop(&mut self) {
        // What could not be waited for is kept (`in_flight`).
        let _ = self.wait_for_all();
    }
}
