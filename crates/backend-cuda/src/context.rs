//! A device's primary context: retained when the device is opened, current on the thread that uses it, released at the end.
//!
//! The primary context is the one cudaMemcpy uses, so that numbers compare; its count of users is the driver's, so ranks that
//! share a device each retain it. Everything that lives in a context holds an `Arc` of it, and enters it before each call:
//! entering what is current costs a comparison.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUcontext, CUdevice};
use device::{CallError, MemoryInfo};

use crate::api::Api;

thread_local! {
    // The address of the context this thread made current last. Nobody else in the process talks to the driver.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// A retained primary context.
pub(crate) struct Context {
    api: Arc<Api>,
    device: CUdevice,
    handle: CUcontext,
    /// What errors call the device, e.g. `GPU 0000:c1:00.0`.
    place: String,
}

// SAFETY: the handle is a token for the driver, whose functions may be called by any thread; nothing here changes after
// `retain`.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the device's primary context and makes it current on this thread.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn retain(api: Arc<Api>, device: CUdevice, place: String) -> Result<Arc<Self>, CallError> {
        let mut handle: CUcontext = ptr::null_mut();
        // SAFETY: the device is one the driver listed; `handle` is valid to write.
        unsafe { api.device_primary_ctx_retain(&raw mut handle, device) }?;
        let context = Arc::new(Self { api, device, handle, place });
        // Not by `enter`: a thread may remember a context of this address that has been destroyed since.
        context.set_current(handle)?;
        Ok(context)
    }

    fn set_current(&self, handle: CUcontext) -> Result<(), CallError> {
        // SAFETY: the handle is null or this context's, which is retained.
        unsafe { self.api.ctx_set_current(handle) }?;
        CURRENT.set(handle.addr());
        Ok(())
    }

    /// Makes this context the calling thread's, and gives the functions to call in it.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn enter(&self) -> Result<&Api, CallError> {
        if CURRENT.get() != self.handle.addr() {
            self.set_current(self.handle)?;
        }
        Ok(&self.api)
    }

    /// What errors call the device.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Free and total device memory now.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn memory(&self) -> Result<MemoryInfo, CallError> {
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: both are valid to write.
        unsafe { self.enter()?.mem_get_info(&raw mut free, &raw mut total) }?;
        Ok(MemoryInfo { free_bytes: free as u64, total_bytes: total as u64 })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A destroyed context must not stay current; nothing can be done about a failure of either call.
        if CURRENT.get() == self.handle.addr() {
            let _ = self.set_current(ptr::null_mut());
        }
        // SAFETY: retained once in `retain`, released once here; everything made in it held an Arc and is gone.
        let _ = unsafe { self.api.device_primary_ctx_release(self.device) };
    }
}
