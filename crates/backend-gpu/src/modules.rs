//! Kernels loaded in a device's context: its own, the one that holds a stream, and programs of someone
//! else's. Unloaded on drop, unless one that was queued may still run.
//!
//! A program is kept for whoever computes with it next: compiling one takes a driver up to a second. Every
//! parameter of every kernel but the one that holds is a 64-bit word ([`DriverKernel`] says what each takes),
//! which is all that a launch is told: that a kernel keeps to the memory that it is given is its source's
//! word.
//!
//! In the place of a program's kernels there may be a vendor's library of dense matrices or of Fourier
//! transforms, where it lies on the machine: opened by name at run time like a driver, and called on our
//! streams. What they compute with is what our own kernels take: matrices by rows, n by n, and transforms of
//! 512 points one behind the other. cuBLAS and rocBLAS take matrices by columns: C = A B by rows is C' = B'
//! A' by columns, so A and B change places. A handle has memory of its own that calls on two streams at once
//! would share, so a program is used by one stream at a time. The first calls load code and allocate, which
//! waits for the device: they must not be queued behind a latch.
//!
//! Some 550 lines because a launch is of either, and unsafe code has few homes.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use device::{CallError, DeviceError, KernelModule, MathLibrary};
use libloading::Library;

use crate::context::Context;
use crate::device_memory::DeviceMemory;
use crate::driver::Driver;
use crate::host_range::HostRange;
use crate::in_flight::{InFlight, Moment, Progress};
use crate::kernel::{DriverKernel, LaunchGrid};
use crate::library::{self, call_error, given, optional, required};
use crate::math_names::MathNames;
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
        kernel: DriverKernel,
        threads: u64,
        stream: &Stream<D>,
        parameters: [Parameter<'_, D>; N],
    ) -> Result<(), CallError> {
        self.queue(kernel, threads, (stream.queues(), Some(stream.handle())), parameters)
    }

    /// Queues a kernel on the default stream, where blocking copies come after it, and waits for it by
    /// reading a word that it may have written.
    ///
    /// # Errors
    /// The call that failed.
    pub(crate) fn run<const N: usize>(
        &self,
        kernel: DriverKernel,
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
        kernel: DriverKernel,
        threads: u64,
        (moment, stream): (Moment, Option<D::Stream>),
        parameters: [Parameter<'_, D>; N],
    ) -> Result<(), CallError> {
        let driver = self.context.enter()?;
        let mut words = parameters.map(|parameter| parameter.word(&moment));
        self.in_flight.is_used(moment);
        // SAFETY: the stream lives, the kernels were loaded in this context, and neither they nor what the
        // parameters address is given back before the kernel was waited for (`in_flight`).
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
        // SAFETY: the stream lives, the kernel is not unloaded before it was waited for, and the caller keeps
        // the words.
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
        grid: LaunchGrid,
        stream: &Stream<D>,
        parameters: impl Iterator<Item = Parameter<'a, D>>,
    ) -> Result<(), CallError> {
        let (driver, moment, mut words) =
            (self.context.enter()?, stream.queues(), [0; device::MOST_ARGUMENTS]);
        for (word, parameter) in words.iter_mut().zip(parameters) {
            *word = parameter.word(&moment);
        }
        self.in_flight.is_used(moment);

        match &self.code {
            // SAFETY: as in `Kernels::queue`; a driver reads as many words as the kernel has parameters.
            Code::Kernels(program) => unsafe {
                driver.program_launch(program, kernel, grid, stream.handle(), &mut words)
            },
            // SAFETY: as in `Kernels::queue`; whoever computes with a library does so on one stream at a
            // time.
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
    pub(crate) fn get(&self, program: &KernelModule) -> Result<Rc<Loaded<D>>, DeviceError> {
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

type Blas = *mut c_void;
type Make = unsafe extern "C" fn(*mut Blas) -> c_int;
type Destroy = unsafe extern "C" fn(Blas) -> c_int;
type SetStream = unsafe extern "C" fn(Blas, *mut c_void) -> c_int;
type Gemm<T> = unsafe extern "C" fn(
    Blas,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    *const c_void,
    c_int,
    *const c_void,
    c_int,
    *const T,
    *mut c_void,
    c_int,
) -> c_int;
type MakePlan<P> = unsafe extern "C" fn(*mut P, c_int, c_int, c_int) -> c_int;
type DestroyPlan<P> = unsafe extern "C" fn(P) -> c_int;
type SetPlanStream<P> = unsafe extern "C" fn(P, *mut c_void) -> c_int;
type Transform<P> = unsafe extern "C" fn(P, *mut c_void, *mut c_void, c_int) -> c_int;

/// Points of a transform.
const POINTS: c_int = 512;
/// `CUFFT_C2C` and `CUFFT_Z2Z`; hipFFT has the same.
const KINDS: [c_int; 2] = [0x29, 0x69];
/// `CUFFT_FORWARD`.
const FORWARD: c_int = -1;

/// The names of a driver's library of this kind.
fn names<D: Driver>(library: MathLibrary) -> &'static MathNames {
    match library {
        MathLibrary::Blas => &D::BLAS,
        MathLibrary::Fft => &D::FFT,
    }
}

fn open<D: Driver>(library: MathLibrary) -> Result<&'static Library, DeviceError> {
    let MathNames { name, files, from, .. } = names::<D>(library);
    let advice = format!(
        "it comes with {from}: put the folder of its libraries on LD_LIBRARY_PATH, or leave out --vendor"
    );
    library::open(files, name, &advice)
}

/// What the library is called, with its version where it tells.
///
/// # Errors
/// [`DeviceError::NoDriver`] where it is not on this machine.
pub(crate) fn library_name<D: Driver>(library: MathLibrary) -> Result<String, DeviceError> {
    let (opened, names) = (open::<D>(library)?, names::<D>(library));
    // SAFETY: library_types.h: cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value),
    // cufftGetProperty and hipfftGetProperty alike.
    let property: Option<unsafe extern "C" fn(c_int, *mut c_int) -> c_int> =
        unsafe { optional(opened, names.property) };
    let part = |which: c_int| {
        let mut value = 0;
        // SAFETY: the out-parameter is valid to write.
        (unsafe { property?(which, &raw mut value) } == 0).then_some(value)
    };

    // MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL.
    let version = part(0).zip(part(1)).zip(part(2));

    Ok(version.map_or_else(
        || names.name.to_owned(),
        |((major, minor), patch)| format!("{} {major}.{minor}.{patch}", names.name),
    ))
}

/// A failure of a library's call.
fn failed(call: &'static str, code: c_int) -> Result<(), CallError> {
    if code == 0 { Ok(()) } else { Err(call_error(call, code.into(), None, None)) }
}

/// A library's routines in the context that was current when it was made.
pub(crate) enum MathProgram<D: Driver> {
    Blas(Matrices),
    Fft(Transforms<D>),
}

impl<D: Driver> MathProgram<D> {
    /// Opens the library in the current context.
    ///
    /// # Errors
    /// The library is not there, lacks a function, or says no.
    pub(crate) fn load(library: MathLibrary) -> Result<Self, DeviceError> {
        let (opened, names) = (open::<D>(library)?, names::<D>(library));
        Ok(match library {
            MathLibrary::Blas => Self::Blas(Matrices::new(opened, names)?),
            MathLibrary::Fft => Self::Fft(Transforms::new(opened, names)?),
        })
    }

    /// Queues a routine: of matrices with the addresses of A, B, C and their edge, of transforms with those
    /// of input and result and how many they are.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The stream is alive and of the context that the program was made in, which is current; what the words
    /// address lives, lent to nobody, until the stream has been waited for, and other streams that it was
    /// used with have been.
    pub(crate) unsafe fn launch(
        &self,
        routine: usize,
        stream: *mut c_void,
        words: &[u64],
    ) -> Result<(), CallError> {
        let address = |at: usize| ptr::with_exposed_provenance_mut::<c_void>(words[at] as usize);
        match self {
            // SAFETY: the caller's word.
            Self::Blas(matrices) => unsafe {
                matrices.multiply(routine, stream, [address(0), address(1), address(2)], words[3] as c_int)
            },
            // SAFETY: the caller's word.
            Self::Fft(transforms) => unsafe {
                transforms.transform(routine, stream, [address(0), address(1)], words[2] as c_int)
            },
        }
    }
}

/// Dense matrices.
pub(crate) struct Matrices {
    names: &'static MathNames,
    handle: Blas,
    destroy: Destroy,
    set_stream: SetStream,
    single: Gemm<f32>,
    double: Gemm<f64>,
}

impl Matrices {
    fn new(library: &'static Library, names: &'static MathNames) -> Result<Self, DeviceError> {
        let needs = names.from;
        // SAFETY: cublas_api.h and rocblas-functions.h: the type above is theirs.
        let make: Make = unsafe { required(library, names.make, needs) }?;
        // SAFETY: as above.
        let destroy = unsafe { required(library, names.destroy, needs) }?;
        // SAFETY: as above.
        let set_stream = unsafe { required(library, names.set_stream, needs) }?;
        // SAFETY: as above.
        let single = unsafe { required(library, names.routines[0], needs) }?;
        // SAFETY: as above.
        let double = unsafe { required(library, names.routines[1], needs) }?;
        // SAFETY: the out-parameter is valid to write, and a context is current.
        let handle = given(ptr::null_mut(), |handle| failed(names.make, unsafe { make(handle) }))?;
        Ok(Self { names, handle, destroy, set_stream, single, double })
    }

    /// # Safety
    /// As [`MathProgram::launch`].
    unsafe fn multiply(
        &self,
        routine: usize,
        stream: *mut c_void,
        [a, b, c]: [*mut c_void; 3],
        n: c_int,
    ) -> Result<(), CallError> {
        let (handle, take) = (self.handle, self.names.not_transposed);
        // SAFETY: the handle lives, and the caller's word for the stream.
        failed(self.names.set_stream, unsafe { (self.set_stream)(handle, stream) })?;
        let code = if routine == 0 {
            // SAFETY: as above, and for the addresses; the factors are read before the call returns (pointers
            // to the host are the default).
            unsafe { (self.single)(handle, take, take, n, n, n, &1.0, b, n, a, n, &0.0, c, n) }
        } else {
            // SAFETY: as above.
            unsafe { (self.double)(handle, take, take, n, n, n, &1.0, b, n, a, n, &0.0, c, n) }
        };
        failed(self.names.routines[routine.min(1)], code)
    }
}

impl Drop for Matrices {
    fn drop(&mut self) {
        // SAFETY: made once, given back once; whoever used it has waited.
        unsafe { (self.destroy)(self.handle) };
    }
}

/// A plan for each precision and number of transforms.
type Plans<D> = Vec<((usize, c_int), <D as Driver>::FftPlan)>;

/// Fourier transforms.
pub(crate) struct Transforms<D: Driver> {
    names: &'static MathNames,
    make: MakePlan<D::FftPlan>,
    destroy: DestroyPlan<D::FftPlan>,
    set_stream: SetPlanStream<D::FftPlan>,
    routines: [Transform<D::FftPlan>; 2],
    plans: RefCell<Plans<D>>,
}

impl<D: Driver> Transforms<D> {
    fn new(library: &'static Library, names: &'static MathNames) -> Result<Self, DeviceError> {
        let needs = names.from;
        // SAFETY: cufft.h and hipfft.h: the type above is theirs, with the driver's type of a plan.
        let make = unsafe { required(library, names.make, needs) }?;
        // SAFETY: as above.
        let destroy = unsafe { required(library, names.destroy, needs) }?;
        // SAFETY: as above.
        let set_stream = unsafe { required(library, names.set_stream, needs) }?;
        // SAFETY: as above.
        let single = unsafe { required(library, names.routines[0], needs) }?;
        // SAFETY: as above.
        let double = unsafe { required(library, names.routines[1], needs) }?;
        Ok(Self { names, make, destroy, set_stream, routines: [single, double], plans: RefCell::default() })
    }

    /// # Safety
    /// As [`MathProgram::launch`].
    unsafe fn transform(
        &self,
        routine: usize,
        stream: *mut c_void,
        [from, to]: [*mut c_void; 2],
        count: c_int,
    ) -> Result<(), CallError> {
        let routine = routine.min(1);
        let mut plans = self.plans.borrow_mut();
        let known = plans.iter().find(|(of, _)| *of == (routine, count)).map(|(_, plan)| *plan);
        let plan = match known {
            Some(plan) => plan,
            None => {
                let make = |plan| {
                    // SAFETY: the out-parameter is valid to write, and a context is current.
                    let code = unsafe { (self.make)(plan, POINTS, KINDS[routine], count) };
                    failed(self.names.make, code)
                };
                let plan = given(D::NO_FFT_PLAN, make)?;
                plans.push(((routine, count), plan));
                plan
            }
        };

        // SAFETY: the plan lives, and the caller's word for the stream.
        failed(self.names.set_stream, unsafe { (self.set_stream)(plan, stream) })?;

        // SAFETY: as above, and for the addresses.
        failed(self.names.routines[routine], unsafe { (self.routines[routine])(plan, from, to, FORWARD) })
    }
}

impl<D: Driver> Drop for Transforms<D> {
    fn drop(&mut self) {
        for (_, plan) in self.plans.take() {
            // SAFETY: made once, given back once; whoever used it has waited.
            unsafe { (self.destroy)(plan) };
        }
    }
}
