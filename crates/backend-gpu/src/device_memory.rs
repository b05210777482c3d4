//! An area of device memory.

use std::ffi::c_void;
use std::sync::Arc;

use device::{CallError, DeviceError};

use crate::context::Context;
use crate::driver::Driver;
use crate::stream::Stream;

/// Bytes on the device, freed on drop. Whoever queues copies waits for them before dropping it.
pub(crate) struct DeviceMemory<D: Driver> {
    context: Arc<Context<D>>,
    address: D::Address,
}

/// An error for `asked_bytes` that do not fit the device now.
pub(crate) fn out_of_memory<D: Driver>(context: &Context<D>, asked_bytes: u64) -> Result<DeviceError, CallError> {
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
            Ok(address) => Ok(Self { context: Arc::clone(context), address }),
            Err(error) if error.code == D::OUT_OF_MEMORY => Err(out_of_memory(context, len as u64)?),
            Err(error) => Err(error.into()),
        }
    }

    /// The address of its first byte.
    pub(crate) fn address(&self) -> D::Address {
        self.address
    }

    /// Copies the range into the area from `offset` on, blocking as the driver defines it. A range beyond the area's end is a driver's
    /// error.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Result<(), CallError> {
        let to = D::offset(self.address, offset);
        // SAFETY: `from` is valid to read and has been read on return; the driver checks its own side.
        unsafe { self.context.enter()?.copy_h2d(to, from.as_ptr().cast(), from.len()) }
    }

    /// Copies the area's bytes from `offset` on into the range, blocking. A range beyond the area's end is a driver's error.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), CallError> {
        let from = D::offset(self.address, offset);
        // SAFETY: `to` is valid to write and has been written on return; the driver checks its own side.
        unsafe { self.context.enter()?.copy_d2h(to.as_mut_ptr().cast(), from, to.len()) }
    }

    /// Queues a copy of the range to the start of the area.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The range must be at most as long as the area, and must live, pinned and unwritten, until the stream has been waited
    /// for; so must the area.
    pub(crate) unsafe fn queue_write(&self, from: *const u8, len: usize, stream: &Stream<D>) -> Result<(), CallError> {
        // SAFETY: the caller keeps the range and the area.
        unsafe { self.context.enter()?.copy_h2d_async(self.address, from.cast::<c_void>(), len, stream.handle()) }
    }

    /// Queues a copy of the start of the area to the range.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`DeviceMemory::queue_write`], and nobody reads the range before the stream has been waited for.
    pub(crate) unsafe fn queue_read(&self, to: *mut u8, len: usize, stream: &Stream<D>) -> Result<(), CallError> {
        // SAFETY: the caller keeps the range and the area.
        unsafe { self.context.enter()?.copy_d2h_async(to.cast::<c_void>(), self.address, len, stream.handle()) }
    }
}

impl<D: Driver> Drop for DeviceMemory<D> {
    fn drop(&mut self) {
        if let Ok(driver) = self.context.enter() {
            // SAFETY: allocated in `new`, freed once. A failure leaves a leak that ends with the process.
            let _ = unsafe { driver.mem_free(self.address) };
        }
    }
}
