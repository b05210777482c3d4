//! A GPU that follows a chain of loads through pinned host memory or another GPU's, with one thread of one
//! kernel.
//!
//! Where the chase has come to is a word in device memory, which each launch goes on from. Dropping opens the
//! latch and waits; what could not be waited for is leaked.

use std::rc::Rc;
use std::sync::Arc;

use device::{CallError, Chaser, DeviceError, HostMemory};

use crate::context::Context;
use crate::copier::Tools;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::host_range::HostRange;
use crate::kernel::DriverKernel;
use crate::modules::{Kernels, Parameter};
use crate::own_queue::OwnQueue;
use crate::stream::Stream;
use crate::unsupported::unsupported;

/// The memory that a chain is in.
enum Chain<D: Driver> {
    Host(HostRange),
    /// Another device's.
    Peer(DeviceMemory<D>),
}

/// A chain, and the device that follows it.
pub(crate) struct GpuChaser<D: Driver> {
    kernels: Rc<Kernels<D>>,
    queue: OwnQueue<D>,
    // None once it was given back.
    chain: Option<Chain<D>>,
    /// The word that says where the chase is.
    state: DeviceMemory<D>,
}

impl<D: Driver> GpuChaser<D> {
    /// Takes over host memory; queues nothing.
    ///
    /// # Errors
    /// See [`device::Device::chaser`].
    pub(crate) fn over_host(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        memory: Box<dyn HostMemory>,
    ) -> Result<Self, DeviceError> {
        const WHAT: &str = "the latency of a device's loads";
        check(WHAT, tools, memory.bytes())?;
        let memory = HostRange::new(memory);
        memory.reach(WHAT, context)?;
        Self::new(context, tools, WHAT, Chain::Host(memory))
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
        Self::new(context, tools, WHAT, Chain::Peer(memory))
    }

    fn new(
        context: &Arc<Context<D>>,
        tools: &Tools<D>,
        what: &'static str,
        chain: Chain<D>,
    ) -> Result<Self, DeviceError> {
        let kernels = tools.kernels.as_ref().map_err(|reason| unsupported(what, reason.clone()))?;
        let state = DeviceMemory::new(context, 8)?;
        let mut chaser = Self {
            kernels: Rc::clone(kernels),
            queue: OwnQueue::new(context, tools, "queueing loads"),
            chain: Some(chain),
            state,
        };
        chaser.start_at(0)?;
        Ok(chaser)
    }
}

/// What queues so many steps on a stream.
fn steps<'a, D: Driver>(
    kernels: &'a Kernels<D>,
    chain: Option<&'a Chain<D>>,
    state: &'a DeviceMemory<D>,
    steps: u64,
) -> Result<impl Fn(&Stream<D>) -> Result<(), CallError> + use<'a, D>, DeviceError> {
    let chain = chain.ok_or_else(|| unsupported("this chase", "its memory was given back"))?;
    Ok(move |stream: &Stream<D>| {
        let base = match chain {
            Chain::Host(memory) => Parameter::Host(memory, 0),
            Chain::Peer(memory) => Parameter::Area(memory, 0),
        };
        // Where the chain leads is the caller's word.
        kernels.launch(
            DriverKernel::Chase,
            1,
            stream,
            [base, Parameter::Number(steps), Parameter::Area(state, 0)],
        )
    })
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
        match self.chain.as_mut()? {
            Chain::Host(memory) => memory.take(),
            Chain::Peer(_) => None,
        }
    }

    fn at(&mut self) -> Result<u64, DeviceError> {
        self.queue.settle()?;
        let mut at = [0; 8];
        self.state.read(0, &mut at)?;
        Ok(u64::from_le_bytes(at))
    }

    fn start_at(&mut self, offset: u64) -> Result<(), DeviceError> {
        self.queue.settle()?;
        self.state.write(0, &offset.to_le_bytes())?;
        // As above: a kernel that is queued later must see it.
        Ok(self.state.read(7, &mut [0])?)
    }

    fn round(&mut self, count: u64) -> Result<(), DeviceError> {
        self.queue.round(steps(&self.kernels, self.chain.as_ref(), &self.state, count)?)
    }

    fn hold(&mut self) -> Result<(), DeviceError> {
        self.queue.hold()
    }

    fn enqueue(&mut self, count: u64, rounds: u32) -> Result<(), DeviceError> {
        self.queue.enqueue(rounds, steps(&self.kernels, self.chain.as_ref(), &self.state, count)?)
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
        // What could not be waited for is kept (`in_flight`).
        let _ = self.queue.settle();
    }
}
