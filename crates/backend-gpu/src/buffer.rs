//! A GPU's memory beside pinned host memory, with copies between the two on a stream of their own.
//!
//! The context is the primary one, as the runtimes' programs have it: a library that is handed the address
//! finds it current. Dropping waits; what could not be waited for is leaked.

use std::ops::Range;
use std::sync::Arc;

use device::{Buffer, DeviceError, HostMemory};

use crate::context::{self, Context};
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::host_range::HostRange;
use crate::stream::{Event, Stream};
use crate::unsupported::unsupported;

/// See [`device::Buffer`].
pub(crate) struct GpuBuffer<D: Driver> {
    context: Arc<Context<D>>,
    device: DeviceMemory<D>,
    host: HostRange,
    stream: Stream<D>,
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
    pub(crate) fn new(context: &Arc<Context<D>>, host: Box<dyn HostMemory>) -> Result<Self, DeviceError> {
        let host = HostRange::new(host);
        if !host.is_pinned() {
            return Err(unsupported("a buffer beside pageable memory", "a queued copy needs it pinned"));
        }
        let device = DeviceMemory::new(context, host.len())?;
        let (address, stream) = (D::word(device.address()) as usize, Stream::new(context)?);
        Ok(Self { context: Arc::clone(context), device, host, stream, address, ends: Vec::new(), queued: 0 })
    }

    fn queue(&mut self, range: &Range<usize>, to_host: bool) -> Result<(), DeviceError> {
        if range.start > range.end || range.end > self.host.len() {
            let reason =
                format!("bytes {} to {} were asked for of {}", range.start, range.end, self.host.len());
            return Err(unsupported("this copy", reason));
        }

        if self.ends.len() == self.queued {
            self.ends.push(Event::new(&self.context)?);
        }
        let (end, part) = (&self.ends[self.queued], (&self.host, range.clone()));

        // From here on something may be under way, whatever the calls answer.
        self.queued += 1;
        match to_host {
            true => self.device.queue_read(range.start, part, &self.stream),
            false => self.device.queue_write(range.start, part, &self.stream),
        }?;
        Ok(end.record(&self.stream)?)
    }
}

impl<D: Driver> Buffer for GpuBuffer<D> {
    fn address(&self) -> usize {
        self.address
    }

    fn host_address(&self) -> usize {
        self.host.address()
    }

    fn len(&self) -> usize {
        self.host.len()
    }

    fn shared_thread(&mut self) {
        context::forget_current();
    }

    fn host(&mut self) -> Result<&mut [u8], DeviceError> {
        self.settle()?;
        Ok(self.host.bytes_mut())
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
            return Ok(self.stream.synchronize()?);
        }
        while !self.ends[last].is_reached()? {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        if self.queued > 0 {
            self.stream.synchronize()?;
            self.queued = 0;
        }
        Ok(())
    }
}

impl<D: Driver> Drop for GpuBuffer<D> {
    fn drop(&mut self) {
        // What could not be waited for is kept (`in_flight`).
        let _ = self.settle();
    }
}
