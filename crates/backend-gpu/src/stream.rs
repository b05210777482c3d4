//! Streams and events as owned values: made in a context, destroyed on drop.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use device::CallError;

use crate::context::Context;
use crate::driver::Driver;
use crate::in_flight::{Moment, Progress};

/// What is said with a failure of a wait.
const KEPT: &str =
    "what was queued may still run, so its memory and kernels are kept until this process ends";

/// A queue of the device.
pub(crate) struct Stream<D: Driver> {
    context: Arc<Context<D>>,
    handle: D::Stream,
    progress: Rc<Progress>,
}

impl<D: Driver> Stream<D> {
    /// An empty stream that is independent of every other.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Result<Self, CallError> {
        let handle = context.enter()?.stream_create()?;
        Ok(Self { context: Arc::clone(context), handle, progress: Rc::default() })
    }

    /// The handle, live as long as `self`.
    pub(crate) fn handle(&self) -> D::Stream {
        self.handle
    }

    /// Counts what is queued next: said before the call, which may queue and fail.
    pub(crate) fn queues(&self) -> Moment {
        self.progress.queue()
    }

    /// Waits for everything queued.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn synchronize(&self) -> Result<(), CallError> {
        let driver = self.context.enter()?;
        // SAFETY: the stream lives.
        unsafe { driver.stream_synchronize(self.handle) }
            .map_err(|error| CallError { text: format!("{}; {KEPT}", error.text), ..error })?;
        self.progress.waited();
        Ok(())
    }

    /// Whether everything queued has ended.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn is_idle(&self) -> Result<bool, CallError> {
        let driver = self.context.enter()?;
        // SAFETY: the stream lives.
        let is_idle = unsafe { driver.stream_query(self.handle) }?;
        if is_idle {
            self.progress.waited();
        }
        Ok(is_idle)
    }

    /// Lets what is queued from here on wait for an event of another stream.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn wait_for(&self, event: &Event<D>) -> Result<(), CallError> {
        let driver = self.context.enter()?;
        // SAFETY: both live, of one context.
        unsafe { driver.stream_wait_event(self.handle, event.handle) }?;
        self.progress.come_after(&event.after.borrow());
        Ok(())
    }
}

impl<D: Driver> Drop for Stream<D> {
    fn drop(&mut self) {
        if !self.progress.has_ended() {
            // A driver may wait for what is queued, or not; the context stays.
            std::mem::forget(Arc::clone(&self.context));
        } else if let Ok(driver) = self.context.enter() {
            // SAFETY: made in `new`, destroyed once, and nothing is queued. A failure leaves a leak that ends
            // with the process.
            let _ = unsafe { driver.stream_destroy(self.handle) };
        }
    }
}

/// A time stamp the device takes.
pub(crate) struct Event<D: Driver> {
    context: Arc<Context<D>>,
    handle: D::Event,
    /// What it comes after, once it was recorded.
    after: RefCell<Vec<Moment>>,
}

impl<D: Driver> Event<D> {
    /// An event that has not been recorded.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Result<Self, CallError> {
        let handle = context.enter()?.event_create()?;
        Ok(Self { context: Arc::clone(context), handle, after: RefCell::default() })
    }

    /// Queues the time stamp.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn record(&self, stream: &Stream<D>) -> Result<(), CallError> {
        let driver = self.context.enter()?;
        // SAFETY: both live, of one context.
        unsafe { driver.event_record(self.handle, stream.handle) }?;
        stream.progress.before(&mut self.after.borrow_mut());
        Ok(())
    }

    /// Whether the device has taken the time stamp that was queued last.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    pub(crate) fn is_reached(&self) -> Result<bool, CallError> {
        let driver = self.context.enter()?;
        // SAFETY: the event lives.
        unsafe { driver.event_query(self.handle) }
    }

    /// From `earlier` to this one in nanoseconds; both must have been reached. The drivers' unit is a `float`
    /// of milliseconds with a resolution of about 0.5 µs: over long spans the float is the coarser of the
    /// two, so sum short ones.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn ns_since(&self, earlier: &Self) -> Result<f64, CallError> {
        let driver = self.context.enter()?;
        // SAFETY: both live, of one context.
        let milliseconds = unsafe { driver.event_elapsed_ms(earlier.handle, self.handle) }?;
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
