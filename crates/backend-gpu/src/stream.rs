//! Streams and events as owned values: made in a context, destroyed on drop.

use std::sync::Arc;

use device::CallError;

use crate::context::Context;
use crate::driver::Driver;

/// A queue of the device.
pub(crate) struct Stream<D: Driver> {
    context: Arc<Context<D>>,
    handle: D::Stream,
}

impl<D: Driver> Stream<D> {
    /// An empty stream that is independent of every other.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Result<Self, CallError> {
        let handle = context.enter()?.stream_create()?;
        Ok(Self { context: Arc::clone(context), handle })
    }

    /// The handle, live as long as `self`.
    pub(crate) fn handle(&self) -> D::Stream {
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
    pub(crate) fn wait_for(&self, event: &Event<D>) -> Result<(), CallError> {
        // SAFETY: both live, of one context.
        unsafe { self.context.enter()?.stream_wait_event(self.handle, event.handle) }
    }
}

impl<D: Driver> Drop for Stream<D> {
    fn drop(&mut self) {
        if let Ok(driver) = self.context.enter() {
            // SAFETY: made in `new`, destroyed once. Work still queued goes on, and what it uses is its owner's matter. A
            // failure leaves a leak that ends with the process.
            let _ = unsafe { driver.stream_destroy(self.handle) };
        }
    }
}

/// A time stamp the device takes.
pub(crate) struct Event<D: Driver> {
    context: Arc<Context<D>>,
    handle: D::Event,
}

impl<D: Driver> Event<D> {
    /// An event that has not been recorded.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Result<Self, CallError> {
        let handle = context.enter()?.event_create()?;
        Ok(Self { context: Arc::clone(context), handle })
    }

    /// Queues the time stamp.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn record(&self, stream: &Stream<D>) -> Result<(), CallError> {
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

    /// From `earlier` to this one in nanoseconds; both must have been reached. The drivers' unit is a `float` of
    /// milliseconds with a resolution of about 0.5 µs: over long spans the float is the coarser of the two, so sum short
    /// ones.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn ns_since(&self, earlier: &Self) -> Result<f64, CallError> {
        // SAFETY: both live, of one context.
        let milliseconds = unsafe { self.context.enter()?.event_elapsed_ms(earlier.handle, self.handle) }?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl<D: Driver> Drop for Event<D> {
    fn drop(&mut self) {
        if let Ok(driver) = self.context.enter() {
            // SAFETY: made in `new`, destroyed once; the driver keeps what a pending record needs.
            let _ = unsafe { driver.event_destroy(self.handle) };
        }
    }
}
