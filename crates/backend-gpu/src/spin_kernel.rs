//! The kernel that holds a stream, where the driver has one: loaded in a context, unloaded on drop.

use std::sync::Arc;
use std::time::Duration;

use device::{CallError, DeviceError};

use crate::context::Context;
use crate::driver::Driver;
use crate::stream::Stream;

/// How long the spin kernel holds: longer than any batch takes to be queued, shorter than a user's patience.
pub(crate) const SPIN_LIMIT: Duration = Duration::from_secs(20);

/// The loaded kernel.
pub(crate) struct SpinKernel<D: Driver> {
    context: Arc<Context<D>>,
    kernel: D::SpinKernel,
}

impl<D: Driver> SpinKernel<D> {
    /// Loads it.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where the driver has none, or the call that failed.
    pub(crate) fn load(context: &Arc<Context<D>>) -> Result<Self, DeviceError> {
        let kernel = context.enter()?.spin_kernel_load()?;
        Ok(Self { context: Arc::clone(context), kernel })
    }

    /// Holds the stream until the first word has reached the ticket.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The words must outlive the kernel's run.
    pub(crate) unsafe fn launch(&self, stream: &Stream<D>, words: D::Address, ticket: u32) -> Result<(), CallError> {
        let limit_ns = SPIN_LIMIT.as_nanos() as u64;
        // SAFETY: the stream lives, and the caller keeps the words.
        unsafe { self.context.enter()?.spin_kernel_launch(&self.kernel, stream.handle(), words, ticket, limit_ns) }
    }
}

// SAFETY: the handles are tokens for the driver, whose functions may be called by any thread (see `Driver`); nothing changes after
// `load`.
unsafe impl<D: Driver> Send for SpinKernel<D> {}
// SAFETY: as above.
unsafe impl<D: Driver> Sync for SpinKernel<D> {}

impl<D: Driver> Drop for SpinKernel<D> {
    fn drop(&mut self) {
        if let Ok(driver) = self.context.enter() {
            // SAFETY: loaded once, unloaded once; whoever launched it has waited for it.
            let _ = unsafe { driver.spin_kernel_unload(&self.kernel) };
        }
    }
}
