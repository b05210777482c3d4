//! A GPU that follows a chain of loads through pinned host memory, with one thread of one kernel.
//!
//! Where the chase has come to is a word in device memory, which each launch goes on from. Dropping opens the latch and waits; what could not
//! be waited for is leaked.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use device::{CallError, Chaser, DeviceError, HostMemory, MemoryKind};

use crate::areas::unsupported;
use crate::context::Context;
use crate::copier::Tools;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::kernel::Kernel;
use crate::kernels::Kernels;
use crate::own_queue::OwnQueue;
use crate::stream::Stream;

/// A chain, and the device that follows it.
pub(crate) struct GpuChaser<D: Driver> {
    kernels: Rc<Kernels<D>>,
    // None once they were leaked.
    memory: Option<Box<dyn HostMemory>>,
    state: Option<DeviceMemory<D>>,
    /// The memory's and the state's addresses on the device.
    base: u64,
    at: u64,
    queue: OwnQueue<D>,
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
            kernels: Rc::clone(kernels),
            memory: Some(memory),
            base: D::word(base),
            at: D::word(state.address()),
            state: Some(state),
            queue: OwnQueue::new(context, tools, "queueing loads"),
        })
    }

    /// Queues so many steps on a stream.
    fn steps(&self, steps: u64) -> impl Fn(&Stream<D>) -> Result<(), CallError> + use<D> {
        let (kernels, parameters) = (Rc::clone(&self.kernels), [self.base, steps, self.at]);
        move |stream| {
            // SAFETY: memory and state are this chaser's, which waits for the queue before it lends or frees them, or leaks them. The chain
            // is the caller's word.
            unsafe { kernels.launch(Kernel::Chase, 1, Some(stream), parameters) }
        }
    }
}

impl<D: Driver> Chaser for GpuChaser<D> {
    fn memory(&mut self) -> &mut [u8] {
        match (self.queue.settle(), &mut self.memory) {
            (Ok(()), Some(memory)) => memory.bytes_mut(),
            _ => &mut [],
        }
    }

    fn at(&mut self) -> Result<u64, DeviceError> {
        self.queue.settle()?;
        let mut at = [0; 8];
        let state = self.state.as_ref();
        state.ok_or_else(|| unsupported("this chase", "its memory was given up after a failure"))?.read(0, &mut at)?;
        Ok(u64::from_le_bytes(at))
    }

    fn round(&mut self, steps: u64) -> Result<(), DeviceError> {
        let chase = self.steps(steps);
        // SAFETY: see `steps`.
        unsafe { self.queue.round(chase) }
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.queue.hold()
    }

    fn enqueue(&mut self, steps: u64, rounds: u32) -> Result<(), DeviceError> {
        let chase = self.steps(steps);
        // SAFETY: see `steps`.
        unsafe { self.queue.enqueue(rounds, chase) }
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

impl<D: Driver> Drop for GpuChaser<D> {
    fn drop(&mut self) {
        if self.queue.settle().is_err() {
            mem::forget((self.memory.take(), self.state.take()));
            self.queue.leak();
        }
    }
}
