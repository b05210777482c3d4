//! A device's kernels: loaded in its context, launched by whoever needs one, unloaded on drop.
//!
//! Every parameter of every kernel is a 64-bit word, so that one launch serves all of them ([`Kernel`] says what each takes).

use std::sync::Arc;

use device::{CallError, DeviceError};

use crate::context::Context;
use crate::driver::Driver;
use crate::kernel::Kernel;
use crate::stream::Stream;

/// The loaded kernels.
pub(crate) struct Kernels<D: Driver> {
    context: Arc<Context<D>>,
    kernels: D::Kernels,
}

impl<D: Driver> Kernels<D> {
    /// Loads them.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) fn load(context: &Arc<Context<D>>) -> Result<Self, String> {
        let kernels = context.enter().map_err(DeviceError::from).and_then(D::kernels_load);
        let kernels = kernels.map_err(|error| match error {
            DeviceError::Unsupported { reason, .. } => reason,
            other => other.to_string(),
        })?;
        Ok(Self { context: Arc::clone(context), kernels })
    }

    /// Queues a kernel for about `threads` threads, on a stream or on the default one, where blocking copies come after it.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The parameters are the kernel's (see [`Kernel`]), and what they address lives, lent to nobody, until the stream has been waited for.
    pub(crate) unsafe fn launch<const N: usize>(
        &self,
        kernel: Kernel,
        threads: u64,
        stream: Option<&Stream<D>>,
        mut parameters: [u64; N],
    ) -> Result<(), CallError> {
        let driver = self.context.enter()?;
        // SAFETY: the stream lives, the kernels were loaded in this context; the rest is the caller's word.
        unsafe { driver.kernel_launch(&self.kernels, kernel, threads, stream.map(Stream::handle), &mut parameters) }
    }
}

impl<D: Driver> Drop for Kernels<D> {
    fn drop(&mut self) {
        if let Ok(driver) = self.context.enter() {
            // SAFETY: loaded once, unloaded once; whoever launched one has waited for it.
            let _ = unsafe { driver.kernels_unload(&self.kernels) };
        }
    }
}
