//! Programs of kernels, loaded once in a device's context and kept for whoever computes with them next: compiling one takes a driver up to a second.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use device::{CallError, DeviceError, Program};

use crate::context::Context;
use crate::driver::Driver;
use crate::kernel::Grid;
use crate::stream::Stream;

/// A loaded program, unloaded on drop.
pub(crate) struct Loaded<D: Driver> {
    context: Arc<Context<D>>,
    program: D::Program,
}

impl<D: Driver> Loaded<D> {
    /// Queues one of its kernels, by its number.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The parameters are the kernel's, and what they address lives, lent to nobody, until the stream has been waited for.
    pub(crate) unsafe fn launch(
        &self,
        kernel: usize,
        grid: Grid,
        stream: &Stream<D>,
        parameters: &mut [u64],
    ) -> Result<(), CallError> {
        let driver = self.context.enter()?;
        // SAFETY: the stream lives, the program was loaded in this context; the rest is the caller's word.
        unsafe { driver.program_launch(&self.program, kernel, grid, stream.handle(), parameters) }
    }
}

impl<D: Driver> Drop for Loaded<D> {
    fn drop(&mut self) {
        if let Ok(driver) = self.context.enter() {
            // SAFETY: loaded once, unloaded once; whoever launched a kernel of it has waited, or has leaked its own share of this.
            let _ = unsafe { driver.program_unload(&self.program) };
        }
    }
}

/// A program that is loaded, by its name.
type Named<D> = (&'static str, Rc<Loaded<D>>);

/// The programs of one device, by name.
pub(crate) struct Programs<D: Driver> {
    context: Arc<Context<D>>,
    loaded: RefCell<Vec<Named<D>>>,
}

impl<D: Driver> Programs<D> {
    /// None yet.
    pub(crate) fn new(context: &Arc<Context<D>>) -> Self {
        Self { context: Arc::clone(context), loaded: RefCell::default() }
    }

    /// The program, loaded when it is first asked for.
    ///
    /// # Errors
    /// As [`Driver::program_load`].
    pub(crate) fn get(&self, program: &Program) -> Result<Rc<Loaded<D>>, DeviceError> {
        if let Some((_, loaded)) = self.loaded.borrow().iter().find(|(name, _)| *name == program.name) {
            return Ok(Rc::clone(loaded));
        }
        let context = Arc::clone(&self.context);
        let made = context.enter()?.program_load(context.device(), program)?;
        let loaded = Rc::new(Loaded { context, program: made });
        self.loaded.borrow_mut().push((program.name, Rc::clone(&loaded)));
        Ok(loaded)
    }
}
