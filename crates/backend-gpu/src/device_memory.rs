//! An area of device memory.

use std::ops::Range;
use std::sync::Arc;

use device::{Batch, CallError, DeviceError};

use crate::context::Context;
use crate::driver::{CopyBatch, Driver};
use crate::host_range::HostRange;
use crate::in_flight::{InFlight, Moment};
use crate::stream::Stream;

/// Bytes on the device, freed on drop unless they are in flight.
pub(crate) struct DeviceMemory<D: Driver> {
    context: Arc<Context<D>>,
    address: D::Address,
    len: usize,
    in_flight: InFlight,
}

/// An error for `asked_bytes` that do not fit the device now.
pub(crate) fn out_of_memory<D: Driver>(
    context: &Context<D>,
    asked_bytes: u64,
) -> Result<DeviceError, CallError> {
    let memory = context.memory()?;
    Ok(DeviceError::OutOfMemory {
        place: context.place().to_owned(),
        asked_bytes,
        free_bytes: memory.free_bytes,
        total_bytes: memory.total_bytes,
    })
}

impl<D: Driver> DeviceMemory<D> {
    /// Allocates; what is in it is not defined.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], or the call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>, len: usize) -> Result<Self, DeviceError> {
        match context.enter()?.mem_alloc(len) {
            Ok(address) => {
                Ok(Self { context: Arc::clone(context), address, len, in_flight: InFlight::default() })
            }
            Err(error) if error.code == D::OUT_OF_MEMORY => Err(out_of_memory(context, len as u64)?),
            Err(error) => Err(error.into()),
        }
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether something that is queued may still use it.
    pub(crate) fn is_in_flight(&self) -> bool {
        !self.in_flight.has_ended()
    }

    /// The address of its first byte, which says where it is and is nothing to copy by.
    pub(crate) fn address(&self) -> D::Address {
        self.address
    }

    /// The address of the byte at `offset`, as a call takes it that is queued now.
    pub(crate) fn queued(&self, offset: usize, moment: Moment) -> D::Address {
        self.in_flight.is_used(moment);
        D::offset(self.address, offset)
    }

    /// Copies the range into the area from `offset` on, blocking as the driver defines it. A range beyond the
    /// area's end is a driver's error.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Result<(), CallError> {
        let (driver, to) = (self.context.enter()?, D::offset(self.address, offset));
        // SAFETY: `from` is valid to read and has been read on return; the driver checks its own side.
        unsafe { driver.copy_h2d(to, from.as_ptr().cast(), from.len()) }
    }

    /// Copies the area's bytes from `offset` on into the range, blocking. A range beyond the area's end is a
    /// driver's error.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), CallError> {
        let (driver, from) = (self.context.enter()?, D::offset(self.address, offset));
        // SAFETY: `to` is valid to write and has been written on return; the driver checks its own side.
        unsafe { driver.copy_d2h(to.as_mut_ptr().cast(), from, to.len()) }
    }

    /// Refuses a part that is not of this area.
    fn check(&self, at: usize, len: usize) {
        assert!(
            at.checked_add(len).is_some_and(|end| end <= self.len),
            "{len} bytes at {at} of {}",
            self.len
        );
    }

    /// Queues a copy of a part of pinned host memory to `at`.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Panics
    /// The part does not lie in both, or the host memory is pageable.
    pub(crate) fn queue_write(
        &self,
        at: usize,
        (from, part): (&HostRange, Range<usize>),
        stream: &Stream<D>,
    ) -> Result<(), CallError> {
        self.check(at, part.len());
        let (driver, moment, len) = (self.context.enter()?, stream.queues(), part.len());
        let (to, from) = (self.queued(at, moment.clone()), from.queued(part, moment));
        // SAFETY: both have so many bytes, and are neither lent nor freed before the stream was waited for
        // (`in_flight`); the stream lives.
        unsafe { driver.copy_h2d_async(to, from, len, stream.handle()) }
    }

    /// Queues a copy of the bytes from `at` on to a part of pinned host memory.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Panics
    /// As [`DeviceMemory::queue_write`].
    pub(crate) fn queue_read(
        &self,
        at: usize,
        (to, part): (&HostRange, Range<usize>),
        stream: &Stream<D>,
    ) -> Result<(), CallError> {
        self.check(at, part.len());
        let (driver, moment, len) = (self.context.enter()?, stream.queues(), part.len());
        let (from, to) = (self.queued(at, moment.clone()), to.queued(part, moment));
        // SAFETY: as in `queue_write`.
        unsafe { driver.copy_d2h_async(to, from, len, stream.handle()) }
    }

    /// Queues copies between parts of pinned host memory and of the area, in no order, by one call, which the
    /// driver has ([`Driver::can_batch`]). `room` keeps its arrays from call to call.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Panics
    /// A part does not lie in both, or the host memory is pageable.
    pub(crate) fn queue_batch(
        &self,
        batch: &Batch,
        (host, room): (&HostRange, &mut CopyBatch),
        stream: &Stream<D>,
    ) -> Result<(), CallError> {
        let (driver, moment) = (self.context.enter()?, stream.queues());
        let (memory, area) = (host.queued(0..host.len(), moment.clone()), self.queued(0, moment));
        let CopyBatch { to, from, bytes } = room;
        let (in_area, in_host) = if batch.to_device { (to, from) } else { (from, to) };
        in_area.clear();
        in_host.clear();
        bytes.clear();

        for (host_at, area_at) in &batch.at {
            self.check(*area_at, batch.bytes);
            assert!(
                host_at.checked_add(batch.bytes).is_some_and(|end| end <= host.len()),
                "{host_at} of the host's"
            );
            in_host.push(memory.wrapping_byte_add(*host_at).expose_provenance() as u64);
            in_area.push(D::word(D::offset(area, *area_at)));
            bytes.push(batch.bytes);
        }

        // SAFETY: as in `queue_write`, for each of them.
        unsafe { driver.copy_batch_async(room, stream.handle()) }
    }

    /// Queues a copy of the first `len` bytes to another device's area, or another one of this device, on a
    /// stream of the context that copies.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Panics
    /// One of them has fewer bytes.
    pub(crate) fn queue_copy(
        &self,
        to: &Self,
        len: usize,
        (context, stream): (&Context<D>, &Stream<D>),
    ) -> Result<(), CallError> {
        self.check(0, len);
        to.check(0, len);
        let (driver, moment) = (context.enter()?, stream.queues());
        let from = (self.queued(0, moment.clone()), self.context.handle());
        let to = (to.queued(0, moment), to.context.handle());
        // SAFETY: both areas have so many bytes and are not freed before the stream was waited for
        // (`in_flight`); the stream lives.
        unsafe { driver.copy_peer_async(to, from, len, stream.handle()) }
    }
}

impl<D: Driver> Drop for DeviceMemory<D> {
    fn drop(&mut self) {
        if self.is_in_flight() {
            // A device may still read and write it, in a context that therefore stays.
            std::mem::forget(Arc::clone(&self.context));
        } else if let Ok(driver) = self.context.enter() {
            // SAFETY: allocated in `new`, freed once, and nothing that is queued uses it. A failure leaves a
            // leak that ends with the process.
            let _ = unsafe { driver.mem_free(self.address) };
        }
    }
}
