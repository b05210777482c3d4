//! A GPU that computes: the kernels of a program, on an area of its memory, between copies from and to pinned host memory.
//!
//! Whether the copies of a step lie inside the memory is checked when they are queued; where a kernel reads and writes is its program's word. Dropping opens
//! the latch and waits; what could not be waited for is leaked.

use std::mem;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use device::{Argument, CallError, Computer, DeviceError, HostMemory, MOST_ARGUMENTS, MemoryKind, Program, Step};

use crate::areas::unsupported;
use crate::context::{self, Context};
use crate::copier::Tools;
use crate::device_memory::{DeviceMemory, out_of_memory};
use crate::driver::Driver;
use crate::kernel::Grid;
use crate::overlap::Overlap;
use crate::own_queue::OwnQueue;
use crate::programs::{Loaded, Programs};
use crate::stream::{Event, Stream};

const WHAT: &str = "a computation on the device";

/// What the steps use.
struct Memory<D: Driver> {
    host: Box<dyn HostMemory>,
    area: DeviceMemory<D>,
    program: Rc<Loaded<D>>,
}

/// See [`device::Computer`].
pub(crate) struct GpuComputer<D: Driver> {
    context: Arc<Context<D>>,
    // None once it was leaked or given back.
    memory: Option<Memory<D>>,
    /// The start of the host range, which the area's is beside, and the lengths of both.
    host_start: *mut u8,
    host_len: usize,
    area_len: usize,
    kernels: usize,
    address: usize,
    queue: OwnQueue<D>,
    /// What is started and not timed by the device; made when it is first needed.
    started: Option<Stream<D>>,
    /// At the end of each start since all had ended, and more that wait to be used.
    ends: Vec<Event<D>>,
    starts: usize,
    /// What overlapped steps are queued on; made when they first are.
    lanes: Option<Rc<Overlap<D>>>,
}

impl<D: Driver> GpuComputer<D> {
    /// Takes over host memory, allocates the area, loads the program; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::computer`].
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        (tools, programs): (&Tools<D>, &Programs<D>),
        program: &Program,
        mut host: Box<dyn HostMemory>,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        if host.kind() == MemoryKind::Pageable {
            return Err(unsupported(WHAT, "a queued copy needs pinned memory, and this is pageable"));
        }
        let range = host.bytes_mut();
        let (host_start, host_len) = (range.as_mut_ptr(), range.len());
        if bytes < host_len {
            return Err(unsupported(WHAT, format!("{bytes} bytes on the device are fewer than the host's {host_len}")));
        }
        if bytes as u64 > context.memory()?.free_bytes {
            return Err(out_of_memory(context, bytes as u64)?);
        }
        let kernels = program.kernels.len();
        let program = programs.get(program)?;
        let memory = Memory { host, area: DeviceMemory::new(context, bytes)?, program };
        let queue = OwnQueue::new(context, tools, "queueing kernels");
        let (context, address) = (Arc::clone(context), D::word(memory.area.address()) as usize);
        Ok(Self {
            context,
            memory: Some(memory),
            host_start,
            host_len,
            area_len: bytes,
            kernels,
            address,
            queue,
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
    fn check(&self, steps: &[Step]) -> Result<(), DeviceError> {
        let fits = |range: &Range<usize>| range.start <= range.end && range.end <= self.host_len;
        let lies = |bytes: usize, at: usize| at.checked_add(bytes).is_some_and(|end| end <= self.area_len);
        for step in steps {
            let refused = match step {
                Step::Overlapped(inner) => match inner.iter().find(|step| matches!(step, Step::Overlapped(_))) {
                    Some(_) => "overlapped steps in overlapped steps".to_owned(),
                    None => {
                        self.check(inner)?;
                        continue;
                    }
                },
                Step::ToDeviceAt(range, at) | Step::ToHostFrom(range, at)
                    if !fits(range) || !lies(range.len(), *at) =>
                {
                    format!(
                        "bytes {} to {} at {at} were asked for of {} and {}",
                        range.start, range.end, self.host_len, self.area_len
                    )
                }
                Step::ToDevice(range) | Step::ToHost(range) if !fits(range) => {
                    format!("bytes {} to {} were asked for of {}", range.start, range.end, self.host_len)
                }
                Step::Launch { kernel, .. } if *kernel >= self.kernels => format!("the program has no kernel {kernel}"),
                Step::Launch { arguments, .. } if arguments.len() > MOST_ARGUMENTS => {
                    format!("{} arguments were given, {MOST_ARGUMENTS} are the most", arguments.len())
                }
                Step::Launch { arguments, .. } => {
                    let outside = |argument: &&Argument| matches!(argument, Argument::Area(at) if *at >= self.area_len);
                    match arguments.iter().find(outside) {
                        Some(argument) => format!("{argument:?} lies beyond the area's {} bytes", self.area_len),
                        None => continue,
                    }
                }
                Step::ToDevice(_) | Step::ToHost(_) | Step::ToDeviceAt(..) | Step::ToHostFrom(..) => continue,
            };
            return Err(unsupported(WHAT, refused));
        }
        Ok(())
    }

    /// Queues the steps, which were checked, on a stream.
    fn queue_steps(
        &mut self,
        steps: &[Step],
    ) -> Result<impl Fn(&Stream<D>) -> Result<(), CallError> + use<D>, DeviceError> {
        let memory =
            self.memory.as_ref().ok_or_else(|| unsupported(WHAT, "its memory was given up after a failure"))?;
        if steps.iter().any(|step| matches!(step, Step::Overlapped(_))) && self.lanes.is_none() {
            self.lanes = Some(Rc::new(Overlap::new(&self.context)?));
        }
        let lanes = self.lanes.clone();
        let (context, area, program) = (Arc::clone(&self.context), memory.area.address(), Rc::clone(&memory.program));
        let (host, steps) = (self.host_start, steps.to_vec());
        Ok(move |stream: &Stream<D>| {
            let driver = context.enter()?;
            let to_device = |driver: &D, stream: &Stream<D>, range: &Range<usize>, at: usize| {
                // SAFETY: the range was checked to lie in both; they are the computer's, which waits for the queue before it lends or frees them, or leaks
                // them.
                unsafe {
                    let from = host.add(range.start).cast_const().cast();
                    driver.copy_h2d_async(D::offset(area, at), from, range.len(), stream.handle())
                }
            };
            let to_host = |driver: &D, stream: &Stream<D>, range: &Range<usize>, at: usize| {
                // SAFETY: as above.
                unsafe {
                    let to = host.add(range.start).cast();
                    driver.copy_d2h_async(to, D::offset(area, at), range.len(), stream.handle())
                }
            };
            let queue = |step: &Step, stream: &Stream<D>| match step {
                Step::ToDevice(range) => to_device(driver, stream, range, range.start),
                Step::ToDeviceAt(range, at) => to_device(driver, stream, range, *at),
                Step::ToHost(range) => to_host(driver, stream, range, range.start),
                Step::ToHostFrom(range, at) => to_host(driver, stream, range, *at),
                Step::Launch { kernel, blocks, threads, arguments } => {
                    let mut words = [0; MOST_ARGUMENTS];
                    for (word, argument) in words.iter_mut().zip(arguments) {
                        *word = match argument {
                            Argument::Area(at) => D::word(D::offset(area, *at)),
                            Argument::Number(number) => *number,
                        };
                    }
                    let grid = Grid { blocks: *blocks, threads: *threads };
                    // SAFETY: the area lives as above; that the kernel keeps to it is its program's word.
                    unsafe { program.launch(*kernel, grid, stream, &mut words) }
                }
                // `check` lets none through.
                Step::Overlapped(_) => Ok(()),
            };
            steps.iter().try_for_each(|step| match (step, &lanes) {
                (Step::Overlapped(steps), Some(lanes)) => lanes.queue(stream, steps, queue),
                _ => queue(step, stream),
            })
        })
    }
}

impl<D: Driver> Computer for GpuComputer<D> {
    fn host(&mut self) -> &mut [u8] {
        match (self.wait_for_all(), &mut self.memory) {
            (Ok(()), Some(memory)) => memory.host.bytes_mut(),
            _ => &mut [],
        }
    }

    fn into_host(mut self: Box<Self>) -> Option<Box<dyn HostMemory>> {
        // What could not be waited for is leaked on drop.
        self.wait_for_all().ok()?;
        self.memory.take().map(|memory| memory.host)
    }

    fn address(&self) -> usize {
        self.address
    }

    fn host_address(&self) -> usize {
        self.host_start.expose_provenance()
    }

    fn shared_thread(&mut self) {
        context::forget_current();
    }

    fn start(&mut self, steps: &[Step]) -> Result<(), DeviceError> {
        self.check(steps)?;
        let act = self.queue_steps(steps)?;
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
        act(stream)?;
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

    fn round(&mut self, steps: &[Step]) -> Result<(), DeviceError> {
        self.check(steps)?;
        self.wait_for_all()?;
        let act = self.queue_steps(steps)?;
        self.queue.round(act)
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.queue.hold()
    }

    fn enqueue(&mut self, steps: &[Step], rounds: u32) -> Result<(), DeviceError> {
        self.check(steps)?;
        let act = self.queue_steps(steps)?;
        self.queue.enqueue(rounds, act)
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
        if self.wait_for_all().is_err() {
            mem::forget(self.memory.take());
            mem::forget(self.started.take());
            mem::forget(self.lanes.take());
            self.queue.leak();
        }
    }
}
