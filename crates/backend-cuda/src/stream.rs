//! Streams and events as owned values: made in a context, destroyed on drop.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUevent, CUstream};
use device::CallError;

use crate::context::Context;

/// `CU_STREAM_NON_BLOCKING`: no implicit order with the default stream, on which blocking copies run.
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DEFAULT`: with time stamps.
const EVENT_DEFAULT: u32 = 0;

/// A queue of the device.
pub(crate) struct Stream {
    context: Arc<Context>,
    handle: CUstream,
}

impl Stream {
    /// An empty stream that is independent of every other.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, CallError> {
        let mut handle: CUstream = ptr::null_mut();
        // SAFETY: `handle` is valid to write.
        unsafe { context.enter()?.stream_create(&raw mut handle, NON_BLOCKING) }?;
        Ok(Self { context: Arc::clone(context), handle })
    }

    /// The handle, live as long as `self`.
    pub(crate) fn handle(&self) -> CUstream {
        self.handle
    }

    /// Waits for everything queued.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn synchronize(&self) -> Result<(), CallError> {
        // SAFETY: the stream lives.
        unsafe { self.context.enter()?.stream_synchronize(self.handle) }
    }

    /// Whether everything queued has ended.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn is_idle(&self) -> Result<bool, CallError> {
        // SAFETY: the stream lives.
        unsafe { self.context.enter()?.stream_query(self.handle) }
    }

    /// Lets what is queued from here on wait for an event of another stream.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn wait_for(&self, event: &Event) -> Result<(), CallError> {
        // SAFETY: both live, of one context; the flags must be 0.
        unsafe { self.context.enter()?.stream_wait_event(self.handle, event.handle, 0) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // SAFETY: made in `new`, destroyed once. Work still queued goes on, and what it uses is its owner's matter. A
            // failure leaves a leak that ends with the process.
            let _ = unsafe { api.stream_destroy(self.handle) };
        }
    }
}

/// A time stamp the device takes.
pub(crate) struct Event {
    context: Arc<Context>,
    handle: CUevent,
}

impl Event {
    /// An event that has not been recorded.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, CallError> {
        let mut handle: CUevent = ptr::null_mut();
        // SAFETY: `handle` is valid to write.
        unsafe { context.enter()?.event_create(&raw mut handle, EVENT_DEFAULT) }?;
        Ok(Self { context: Arc::clone(context), handle })
    }

    /// Queues the time stamp.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn record(&self, stream: &Stream) -> Result<(), CallError> {
        // SAFETY: both live, of one context.
        unsafe { self.context.enter()?.event_record(self.handle, stream.handle) }
    }

    /// Whether the device has taken the time stamp that was queued last.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn is_reached(&self) -> Result<bool, CallError> {
        // SAFETY: the event lives.
        unsafe { self.context.enter()?.event_query(self.handle) }
    }

    /// From `earlier` to this one in nanoseconds; both must have been reached. The driver's unit is a `float` of
    /// milliseconds with a resolution of about 0.5 µs: over long spans the float is the coarser of the two, so sum short
    /// ones.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn ns_since(&self, earlier: &Self) -> Result<f64, CallError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both live, of one context; `milliseconds` is valid to write.
        unsafe { self.context.enter()?.event_elapsed_time(&raw mut milliseconds, earlier.handle, self.handle) }?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // SAFETY: made in `new`, destroyed once; the driver keeps what a pending record needs.
            let _ = unsafe { api.event_destroy(self.handle) };
        }
    }
}
