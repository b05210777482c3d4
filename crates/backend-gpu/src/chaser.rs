//! A GPU that follows a chain of loads through pinned host memory, with one thread of one kernel.
//!
//! Where the chase has come to is a word in device memory, which each launch goes on from. Dropping opens the latch and waits; what could not
//! be waited for is leaked.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use device::{CallError, Chaser, DeviceError, HostMemory, Marks, MemoryKind};

use crate::areas::unsupported;
use crate::context::Context;
use crate::copier::Tools;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::kernel::Kernel;
use crate::kernels::Kernels;
use crate::latch::Mechanism;
use crate::queue::{Queue, no_batch};
use crate::stream::Stream;

/// A chain, and the device that follows it.
pub(crate) struct GpuChaser<D: Driver> {
    context: Arc<Context<D>>,
    kernels: Rc<Kernels<D>>,
    latch: Result<Mechanism<D>, String>,
    // None once they were leaked.
    memory: Option<Box<dyn HostMemory>>,
    state: Option<DeviceMemory<D>>,
    /// The memory's and the state's addresses on the device.
    base: u64,
    at: u64,
    queue: Option<Queue<D>>,
}

impl<D: Driver> GpuChaser<D> {
    /// Takes over the memory; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::chaser`].
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        mut memory: Box<dyn HostMemory>,
    ) -> Result<Self, DeviceError> {
        const WHAT: &str = "the latency of a device's loads";
        let kernels = tools.kernels.as_ref().map_err(|reason| unsupported(WHAT, reason.clone()))?;
        if memory.kind() == MemoryKind::Pageable {
            return Err(unsupported(WHAT, "the memory is pageable, and a device reaches pinned memory only"));
        }
        if memory.bytes().len() < 8 {
            return Err(unsupported(WHAT, "the memory has no room for a chain: 8 bytes at least"));
        }
        let state = DeviceMemory::new(context, 8)?;
        state.write(0, &[0; 8])?;
        state.read(7, &mut [0])?;
        // SAFETY: the range is pinned for every device, and this value owns it.
        let base = unsafe { context.enter()?.host_on_device(memory.bytes_mut().as_mut_ptr().cast()) }?;
        Ok(Self {
            context: Arc::clone(context),
            kernels: Rc::clone(kernels),
            latch: tools.latch.clone(),
            memory: Some(memory),
            base: D::word(base),
            at: D::word(state.address()),
            state: Some(state),
            queue: None,
        })
    }

    fn settle(&mut self) -> Result<(), CallError> {
        self.queue.as_mut().map_or(Ok(()), Queue::settle)
    }

    fn need_queue(&mut self) -> Result<&mut Queue<D>, CallError> {
        match &mut self.queue {
            Some(queue) => Ok(queue),
            none => Ok(none.insert(Queue::new(&self.context, false)?)),
        }
    }

    /// Queues so many steps on a stream.
    fn steps(&self, steps: u64) -> impl Fn(&Stream<D>, &Stream<D>) -> Result<(), CallError> + use<D> {
        let (kernels, parameters) = (Rc::clone(&self.kernels), [self.base, steps, self.at]);
        move |stream, _| {
            // SAFETY: memory and state are this chaser's, which waits for the queue before it lends or frees them, or leaks them. The chain
            // is the caller's word.
            unsafe { kernels.launch(Kernel::Chase, 1, Some(stream), parameters) }
        }
    }
}

impl<D: Driver> Chaser for GpuChaser<D> {
    fn memory(&mut self) -> &mut [u8] {
        match (self.settle(), &mut self.memory) {
            (Ok(()), Some(memory)) => memory.bytes_mut(),
            _ => &mut [],
        }
    }

    fn at(&mut self) -> Result<u64, DeviceError> {
        self.settle()?;
        let mut at = [0; 8];
        let state = self.state.as_ref();
        state.ok_or_else(|| unsupported("this chase", "its memory was given up after a failure"))?.read(0, &mut at)?;
        Ok(u64::from_le_bytes(at))
    }

    fn round(&mut self, steps: u64) -> Result<(), DeviceError> {
        self.settle()?;
        let chase = self.steps(steps);
        // SAFETY: see `steps`.
        Ok(unsafe { self.need_queue()?.round(false, chase) }?)
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.settle()?;
        let latch = self.latch.as_ref();
        let mechanism = latch.map_err(|reason| unsupported("queueing loads", format!("it has no latch: {reason}")))?;
        let (mechanism, context) = (mechanism.clone(), Arc::clone(&self.context));
        self.need_queue()?.hold(&context, &mechanism)
    }

    fn enqueue(&mut self, steps: u64, rounds: u32) -> Result<(), DeviceError> {
        let chase = self.steps(steps);
        let Some(queue) = &mut self.queue else { return Err(no_batch("queueing loads")) };
        // SAFETY: see `steps`.
        let queued = unsafe { queue.enqueue(false, rounds, chase) };
        if queued.is_err() {
            queue.open();
        }
        queued
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        self.queue.iter_mut().for_each(Queue::open);
        Ok(())
    }

    fn rounds_ended(&mut self) -> Result<usize, DeviceError> {
        Ok(self.queue.as_mut().map_or(Ok(0), Queue::rounds_ended)?)
    }

    fn finish(&mut self, ends_ns: &mut Vec<f64>) -> Result<(), DeviceError> {
        self.settle()?;
        let mut marks = Marks { first_ns: mem::take(ends_ns), second_ns: Vec::new() };
        let queue = self.queue.as_mut().ok_or_else(|| no_batch("finishing a batch"));
        let finished = queue.and_then(|queue| queue.finish(&mut marks));
        *ends_ns = marks.first_ns;
        finished
    }
}

impl<D: Driver> Drop for GpuChaser<D> {
    fn drop(&mut self) {
        if self.settle().is_err() {
            mem::forget((self.memory.take(), self.state.take(), self.queue.take()));
        }
    }
}
