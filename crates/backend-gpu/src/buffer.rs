//! A GPU's memory beside pinned host memory, with copies between the two on a stream of their own.
//!
//! The context is the primary one, as the runtimes' programs have it: a library that is handed the address finds it current. Dropping waits; what could not be
//! waited for is leaked.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use device::{Buffer, CallError, DeviceError, HostMemory};

use crate::areas::unsupported;
use crate::context::{self, Context};
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::stream::{Event, Stream};

/// What a copy reads and writes.
struct Memory<D: Driver> {
    device: DeviceMemory<D>,
    host: Box<dyn HostMemory>,
    stream: Stream<D>,
}

/// See [`device::Buffer`].
pub(crate) struct GpuBuffer<D: Driver> {
    context: Arc<Context<D>>,
    // None once it was leaked.
    memory: Option<Memory<D>>,
    len: usize,
    host_address: usize,
    address: usize,
    /// At the end of each copy queued since all had ended, and more that wait to be used.
    ends: Vec<Event<D>>,
    queued: usize,
}

impl<D: Driver> GpuBuffer<D> {
    /// As much memory on the device as the host memory has, which must be pinned.
    ///
    /// # Errors
    /// See [`device::Device::buffer`].
    pub(crate) fn new(context: &Arc<Context<D>>, mut host: Box<dyn HostMemory>) -> Result<Self, DeviceError> {
        let range = host.bytes_mut();
        let (len, host_address) = (range.len(), range.as_mut_ptr().expose_provenance());
        if host.kind() == device::MemoryKind::Pageable {
            return Err(unsupported("a buffer beside pageable memory", "a queued copy needs it pinned"));
        }
        let device = DeviceMemory::new(context, len)?;
        let address = D::word(device.address()) as usize;
        let memory = Memory { device, host, stream: Stream::new(context)? };
        Ok(Self {
            context: Arc::clone(context),
            memory: Some(memory),
            len,
            host_address,
            address,
            ends: Vec::new(),
            queued: 0,
        })
    }

    fn memory(&mut self) -> Result<&mut Memory<D>, DeviceError> {
        self.memory.as_mut().ok_or_else(|| unsupported("this copy", "its memory was given up after a failure"))
    }

    fn queue(&mut self, range: &Range<usize>, to_host: bool) -> Result<(), DeviceError> {
        if range.start > range.end || range.end > self.len {
            let reason = format!("bytes {} to {} were asked for of {}", range.start, range.end, self.len);
            return Err(unsupported("this copy", reason));
        }
        if self.ends.len() == self.queued {
            self.ends.push(Event::new(&self.context)?);
        }
        let (context, at) = (Arc::clone(&self.context), self.queued);
        let memory = self.memory()?;
        let address = D::offset(memory.device.address(), range.start);
        let part = memory.host.bytes_mut()[range.clone()].as_mut_ptr().cast();
        let stream = memory.stream.handle();
        // SAFETY: the range is inside both; they and the stream live until the stream has been waited for, or are leaked, and nobody looks at
        // the host's meanwhile: `host` waits first.
        unsafe {
            let driver = context.enter()?;
            match to_host {
                true => driver.copy_d2h_async(part, address, range.len(), stream),
                false => driver.copy_h2d_async(address, part.cast_const(), range.len(), stream),
            }?;
        }
        self.queued += 1;
        let end = &self.ends[at];
        let memory = self.memory.as_ref().ok_or_else(|| unsupported("this copy", "its memory was given up"))?;
        Ok(end.record(&memory.stream)?)
    }

    fn synchronize(&mut self) -> Result<(), CallError> {
        self.memory.as_ref().map_or(Ok(()), |memory| memory.stream.synchronize())
    }
}

impl<D: Driver> Buffer for GpuBuffer<D> {
    fn address(&self) -> usize {
        self.address
    }

    fn host_address(&self) -> usize {
        self.host_address
    }

    fn len(&self) -> usize {
        self.len
    }

    fn shared_thread(&mut self) {
        context::forget_current();
    }

    fn host(&mut self) -> Result<&mut [u8], DeviceError> {
        self.settle()?;
        Ok(self.memory()?.host.bytes_mut())
    }

    fn queue_to_host(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        self.queue(&range, true)
    }

    fn queue_to_device(&mut self, range: Range<usize>) -> Result<(), DeviceError> {
        self.queue(&range, false)
    }

    fn wait_for(&mut self, copies: usize) -> Result<(), DeviceError> {
        let Some(last) = copies.min(self.queued).checked_sub(1) else { return Ok(()) };
        if copies >= self.queued {
            return Ok(self.synchronize()?);
        }
        while !self.ends[last].is_reached()? {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        if self.queued > 0 {
            self.synchronize()?;
            self.queued = 0;
        }
        Ok(())
    }
}

impl<D: Driver> Drop for GpuBuffer<D> {
    fn drop(&mut self) {
        if self.queued > 0 && self.synchronize().is_err() {
            mem::forget(self.memory.take());
        }
    }
}
