//! Kernels loaded in a device's context: its own, the one that holds a stream, and programs of someone else's. Unloaded on drop, unless one that was queued may still run.
//!
//! A program is kept for whoever computes with it next: compiling one takes a driver up to a second. Every parameter of every kernel but the one that holds is a 64-bit word
//! ([`Kernel`] says what each takes), which is all that a launch is told: that a kernel keeps to the memory that it is given is its source's word.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use device::{CallError, DeviceError, Program};

use crate::context::Context;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::host_range::HostRange;
use crate::in_flight::{InFlight, Moment, Progress};
use crate::kernel::{Grid, Kernel};
use crate::math::MathProgram;
use crate::stream::Stream;

/// How long the spin kernel holds: longer than any batch takes to be queued, shorter than a user's patience.
pub(crate) const SPIN_LIMIT: Duration = Duration::from_secs(20);

/// A parameter of a kernel.
pub(crate) enum Parameter<'a, D: Driver> {
    /// The device's own memory, from this byte on.
    Area(&'a DeviceMemory<D>, usize),
    /// Host memory that the device was asked for ([`HostRange::reach`]), from this byte on.
    Host(&'a HostRange, usize),
    /// A number.
    Number(u64),
}

impl<D: Driver> Parameter<'_, D> {
    /// As the kernel takes it that is queued now.
    fn word(&self, moment: &Moment) -> u64 {
        match self {
            Self::Area(area, offset) => D::word(area.queued(*offset, moment.clone())),
            // 0 is no address: a kernel that was given it fails, and writes nothing.
            Self::Host(range, offset) => range.queued_on_device(*offset, moment.clone()).unwrap_or(0),
            Self::Number(number) => *number,
        }
    }
}

/// A device's own kernels.
pub(crate) struct Kernels<D: Driver> {
    context: Arc<Context<D>>,
    kernels: D::Kernels,
    in_flight: InFlight,
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
        Ok(Self { context: Arc::clone(context), kernels, in_flight: InFlight::default() })
    }

    /// Queues a kernel for about `threads` threads.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn launch<const N: usize>(
        &self,
        kernel: Kernel,
        threads: u64,
        stream: &Stream<D>,
        parameters: [Parameter<'_, D>; N],
    ) -> Result<(), CallError> {
        self.queue(kernel, threads, (stream.queues(), Some(stream.handle())), parameters)
    }

    /// Queues a kernel on the default stream, where blocking copies come after it, and waits for it by reading a word that it may have written.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn run<const N: usize>(
        &self,
        kernel: Kernel,
        threads: u64,
        parameters: [Parameter<'_, D>; N],
        (area, at): (&DeviceMemory<D>, usize),
    ) -> Result<u64, CallError> {
        let (progress, mut word) = (Rc::new(Progress::default()), [0; 8]);
        self.queue(kernel, threads, (progress.queue(), None), parameters)?;
        area.read(at, &mut word)?;
        progress.waited();
        Ok(u64::from_le_bytes(word))
    }

    fn queue<const N: usize>(
        &self,
        kernel: Kernel,
        threads: u64,
        (moment, stream): (Moment, Option<D::Stream>),
        parameters: [Parameter<'_, D>; N],
    ) -> Result<(), CallError> {
        let driver = self.context.enter()?;
        let mut words = parameters.map(|parameter| parameter.word(&moment));
        self.in_flight.is_used(moment);
        // SAFETY: the stream lives, the kernels were loaded in this context, and neither they nor what the parameters address is given back before the kernel was waited for
        // (`in_flight`).
        unsafe { driver.kernel_launch(&self.kernels, kernel, threads, stream, &mut words) }
    }
}

/// The functions for unloading; none where something may still run, and then the context stays too.
fn unloads<'a, D: Driver>(context: &'a Arc<Context<D>>, in_flight: &InFlight) -> Option<&'a D> {
    if !in_flight.has_ended() {
        std::mem::forget(Arc::clone(context));
        return None;
    }
    context.enter().ok()
}

impl<D: Driver> Drop for Kernels<D> {
    fn drop(&mut self) {
        if let Some(driver) = unloads(&self.context, &self.in_flight) {
            // SAFETY: loaded once, unloaded once, and none of them runs.
            let _ = unsafe { driver.kernels_unload(&self.kernels) };
        }
    }
}

/// The kernel that holds a stream, where the driver has one.
pub(crate) struct SpinKernel<D: Driver> {
    context: Arc<Context<D>>,
    kernel: D::SpinKernel,
    in_flight: InFlight,
}

impl<D: Driver> SpinKernel<D> {
    /// Loads it.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where the driver has none, or the call that failed.
    pub(crate) fn load(context: &Arc<Context<D>>) -> Result<Self, DeviceError> {
        let kernel = context.enter()?.spin_kernel_load()?;
        Ok(Self { context: Arc::clone(context), kernel, in_flight: InFlight::default() })
    }

    /// Holds the stream until the first word has reached the ticket.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The words must outlive the kernel's run, which is the moment's.
    pub(crate) unsafe fn launch(
        &self,
        (stream, moment): (&Stream<D>, Moment),
        words: D::Address,
        ticket: u32,
    ) -> Result<(), CallError> {
        let (driver, limit_ns) = (self.context.enter()?, SPIN_LIMIT.as_nanos() as u64);
        self.in_flight.is_used(moment);
        // SAFETY: the stream lives, the kernel is not unloaded before it was waited for, and the caller keeps the words.
        unsafe { driver.spin_kernel_launch(&self.kernel, stream.handle(), words, ticket, limit_ns) }
    }
}

impl<D: Driver> Drop for SpinKernel<D> {
    fn drop(&mut self) {
        if let Some(driver) = unloads(&self.context, &self.in_flight) {
            // SAFETY: loaded once, unloaded once, and it does not run.
            let _ = unsafe { driver.spin_kernel_unload(&self.kernel) };
        }
    }
}

/// What launches run.
enum Code<D: Driver> {
    /// Kernels of ours.
    Kernels(D::Program),
    /// A vendor's library's routines; taken when it is given back.
    Library(Option<MathProgram<D>>),
}

/// A loaded program.
pub(crate) struct Loaded<D: Driver> {
    context: Arc<Context<D>>,
    code: Code<D>,
    in_flight: InFlight,
}

impl<D: Driver> Loaded<D> {
    /// Queues one of its kernels, by its number.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn launch<'a>(
        &self,
        kernel: usize,
        grid: Grid,
        stream: &Stream<D>,
        parameters: impl Iterator<Item = Parameter<'a, D>>,
    ) -> Result<(), CallError> {
        let (driver, moment, mut words) = (self.context.enter()?, stream.queues(), [0; device::MOST_ARGUMENTS]);
        for (word, parameter) in words.iter_mut().zip(parameters) {
            *word = parameter.word(&moment);
        }
        self.in_flight.is_used(moment);
        match &self.code {
            // SAFETY: as in `Kernels::queue`; a driver reads as many words as the kernel has parameters.
            Code::Kernels(program) => unsafe {
                driver.program_launch(program, kernel, grid, stream.handle(), &mut words)
            },
            // SAFETY: as in `Kernels::queue`; whoever computes with a library does so on one stream at a time.
            Code::Library(Some(library)) => unsafe {
                library.launch(kernel, D::stream_address(stream.handle()), &words)
            },
            Code::Library(None) => Ok(()),
        }
    }
}

impl<D: Driver> Drop for Loaded<D> {
    fn drop(&mut self) {
        let driver = unloads(&self.context, &self.in_flight);
        match (&mut self.code, driver) {
            (Code::Kernels(program), Some(driver)) => {
                // SAFETY: loaded once, unloaded once, and none of its kernels runs.
                let _ = unsafe { driver.program_unload(program) };
            }
            (Code::Kernels(_), None) => {}
            (Code::Library(library), Some(_)) => drop(library.take()),
            // What it would give back may be in use, or there is no context to do it in.
            (Code::Library(library), None) => std::mem::forget(library.take()),
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
        let driver = context.enter()?;
        let code = match program.library {
            None => Code::Kernels(driver.program_load(context.device(), program)?),
            Some(library) => Code::Library(Some(MathProgram::load(library)?)),
        };
        let loaded = Rc::new(Loaded { context: Arc::clone(&context), code, in_flight: InFlight::default() });
        self.loaded.borrow_mut().push((program.name, Rc::clone(&loaded)));
        Ok(loaded)
    }
}
