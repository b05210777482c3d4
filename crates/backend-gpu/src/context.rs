//! A device's primary context: retained when the device is opened, current on the thread that uses it,
//! released at the end.
//!
//! The primary context is the one cudaMemcpy and hipMemcpy use, so that numbers compare; its count of users
//! is the driver's, so ranks that share a device each retain it. Everything that lives in a context holds an
//! `Arc` of it, and enters it before each call: entering what is current costs a comparison.

use std::cell::Cell;
use std::sync::Arc;

use device::{CallError, MemoryInfo, PlatformKind};

use crate::driver::Driver;

thread_local! {
    // The driver and the number of the context this thread made current last. Nobody else in the process
    // talks to the driver.
    static CURRENT: Cell<Option<(PlatformKind, usize)>> = const { Cell::new(None) };
}

/// A retained primary context.
pub(crate) struct Context<D: Driver> {
    driver: Arc<D>,
    device: D::Device,
    handle: D::Context,
    /// What errors call the device, e.g. `GPU 0000:c1:00.0`.
    place: String,
}

// SAFETY: the handles are tokens for the driver, whose functions may be called by any thread (see `Driver`);
// nothing here changes after `retain`.
unsafe impl<D: Driver> Send for Context<D> {}
// SAFETY: as above.
unsafe impl<D: Driver> Sync for Context<D> {}

/// Whatever this thread remembers need not hold: another library was called.
pub(crate) fn forget_current() {
    CURRENT.set(None);
}

impl<D: Driver> Context<D> {
    /// Retains the device's primary context and makes it current on this thread.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn retain(driver: Arc<D>, device: D::Device, place: String) -> Result<Arc<Self>, CallError> {
        let handle = driver.context_retain(device)?;
        let context = Arc::new(Self { driver, device, handle, place });
        // Not by `enter`: a thread may remember a context of this number that has been destroyed since.
        context.set_current()?;
        Ok(context)
    }

    /// As this thread remembers it while it is current.
    fn name(&self) -> Option<(PlatformKind, usize)> {
        Some((D::KIND, D::context_number(self.handle)))
    }

    fn set_current(&self) -> Result<(), CallError> {
        // SAFETY: this context is retained.
        unsafe { self.driver.context_set_current(Some(self.handle)) }?;
        CURRENT.set(self.name());
        Ok(())
    }

    /// Makes this context the calling thread's, and gives the functions to call in it.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn enter(&self) -> Result<&D, CallError> {
        if CURRENT.get() != self.name() {
            self.set_current()?;
        }
        Ok(&self.driver)
    }

    /// The device.
    pub(crate) fn device(&self) -> D::Device {
        self.device
    }

    /// The context as the driver's functions take it.
    pub(crate) fn handle(&self) -> D::Context {
        self.handle
    }

    /// Lets this device reach the other one's memory; whether it can. Its own it reaches unasked: a driver
    /// refuses to enable that.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn reach(&self, other: &Self) -> Result<bool, CallError> {
        if self.name() == other.name() {
            return Ok(true);
        }
        let driver = self.enter()?;
        let can = driver.can_reach(self.device, other.device)?;
        if can {
            // SAFETY: the other context is retained as long as `other` lives.
            unsafe { driver.enable_reach(other.handle) }?;
        }
        Ok(can)
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
        self.enter()?.memory_info()
    }
}

impl<D: Driver> Drop for Context<D> {
    fn drop(&mut self) {
        // A destroyed context must not stay current; nothing can be done about a failure of either call.
        if CURRENT.get() == self.name() {
            // SAFETY: no context is needed for none to be current.
            let _ = unsafe { self.driver.context_set_current(None) };
            CURRENT.set(None);
        }
        // SAFETY: retained once in `retain`, released once here; everything made in it held an Arc and is
        // gone.
        let _ = unsafe { self.driver.context_release(self.device) };
    }
}
