//! A GPU that follows a chain of loads through pinned host memory or another GPU's, with one thread of one kernel.
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

/// The memory that a chain is in.
enum Chain<D: Driver> {
    Host(Box<dyn HostMemory>),
    /// Another device's.
    Peer {
        _lives: DeviceMemory<D>,
    },
}

/// A chain, and the device that follows it.
pub(crate) struct GpuChaser<D: Driver> {
    kernels: Rc<Kernels<D>>,
    // None once they were leaked or given back.
    chain: Option<Chain<D>>,
    state: Option<DeviceMemory<D>>,
    /// The chain's and the state's addresses on the device.
    base: u64,
    at: u64,
    queue: OwnQueue<D>,
}

impl<D: Driver> GpuChaser<D> {
    /// Takes over host memory; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::chaser`].
    pub(crate) fn over_host(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        mut memory: Box<dyn HostMemory>,
    ) -> Result<Self, DeviceError> {
        const WHAT: &str = "the latency of a device's loads";
        check(WHAT, tools, memory.bytes())?;
        if memory.kind() == MemoryKind::Pageable {
            return Err(unsupported(WHAT, "the memory is pageable, and a device reaches pinned memory only"));
        }
        // SAFETY: the range is pinned for every device, and this value owns it.
        let base = unsafe { context.enter()?.host_on_device(memory.bytes_mut().as_mut_ptr().cast()) }?;
        Self::new(context, tools, WHAT, base, Chain::Host(memory))
    }

    /// Writes a chain to memory of another device; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::peer_chaser`].
    pub(crate) fn over_peer(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        owner: &Arc<Context<D>>,
        chain: &[u8],
    ) -> Result<Self, DeviceError> {
        const WHAT: &str = "the latency of loads between devices";
        check(WHAT, tools, chain)?;
        if !context.reach(owner)? {
            return Err(unsupported(WHAT, "the device that loads cannot reach the other one's memory"));
        }
        let memory = DeviceMemory::new(owner, chain.len())?;
        memory.write(0, chain)?;
        // A driver may return when the bytes are staged; reading waits for all of them.
        memory.read(chain.len() - 1, &mut [0])?;
        Self::new(context, tools, WHAT, memory.address(), Chain::Peer { _lives: memory })
    }

    fn new(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        what: &'static str,
        base: D::Address,
        chain: Chain<D>,
    ) -> Result<Self, DeviceError> {
        let kernels = tools.kernels.as_ref().map_err(|reason| unsupported(what, reason.clone()))?;
        let state = DeviceMemory::new(context, 8)?;
        let mut chaser = Self {
            kernels: Rc::clone(kernels),
            chain: Some(chain),
            base: D::word(base),
            at: D::word(state.address()),
            state: Some(state),
            queue: OwnQueue::new(context, tools, "queueing loads"),
        };
        chaser.start_at(0)?;
        Ok(chaser)
    }

    /// The word that says where the chase is.
    fn state(&self) -> Result<&DeviceMemory<D>, DeviceError> {
        self.state.as_ref().ok_or_else(|| unsupported("this chase", "its memory was given up after a failure"))
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

/// Whether there is a kernel that follows chains, and room for one.
fn check<D: Driver>(what: &'static str, tools: &Tools<D>, memory: &[u8]) -> Result<(), DeviceError> {
    tools.kernels.as_ref().map_err(|reason| unsupported(what, reason.clone()))?;
    if memory.len() < 8 {
        return Err(unsupported(what, "the memory has no room for a chain: 8 bytes at least"));
    }
    Ok(())
}

impl<D: Driver> Chaser for GpuChaser<D> {
    fn memory(&mut self) -> &mut [u8] {
        match (self.queue.settle(), &mut self.chain) {
            (Ok(()), Some(Chain::Host(memory))) => memory.bytes_mut(),
            _ => &mut [],
        }
    }

    fn into_host(mut self: Box<Self>) -> Option<Box<dyn HostMemory>> {
        // What could not be waited for is leaked on drop.
        self.queue.settle().ok()?;
        match self.chain.take()? {
            Chain::Host(memory) => Some(memory),
            Chain::Peer { .. } => None,
        }
    }

    fn at(&mut self) -> Result<u64, DeviceError> {
        self.queue.settle()?;
        let mut at = [0; 8];
        self.state()?.read(0, &mut at)?;
        Ok(u64::from_le_bytes(at))
    }

    fn start_at(&mut self, offset: u64) -> Result<(), DeviceError> {
        self.queue.settle()?;
        let state = self.state()?;
        state.write(0, &offset.to_le_bytes())?;
        // As above: a kernel that is queued later must see it.
        Ok(state.read(7, &mut [0])?)
    }

    fn round(&mut self, steps: u64) -> Result<(), DeviceError> {
        let chase = self.steps(steps);
        self.queue.round(chase)
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.queue.hold()
    }

    fn enqueue(&mut self, steps: u64, rounds: u32) -> Result<(), DeviceError> {
        let chase = self.steps(steps);
        self.queue.enqueue(rounds, chase)
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
            // The kernel too: it may still run, and the last one who has it would unload it.
            mem::forget((self.chain.take(), self.state.take(), Rc::clone(&self.kernels)));
            self.queue.leak();
        }
    }
}
