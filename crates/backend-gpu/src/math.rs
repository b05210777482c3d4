//! A vendor's libraries of dense matrices and Fourier transforms, where they lie on the machine: opened by name at run time like a driver, and called on our streams.
//!
//! CUDA's and HIP's have the same functions under other names, so a driver gives the names. What they compute with is what our own kernels take: matrices by rows, n by n, and
//! transforms of 512 points one behind the other. cuBLAS and rocBLAS take matrices by columns: C = A B by rows is C' = B' A' by columns, so A and B change places.
//!
//! A handle has memory of its own that calls on two streams at once would share, so a program is used by one stream at a time. The first calls load code and allocate, which
//! waits for the device: they must not be queued behind a latch.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr;

use device::{CallError, DeviceError, MathLibrary};
use libloading::Library;

use crate::driver::Driver;
use crate::library::{self, call_error, given, optional, required};

/// What a vendor calls a library and its functions.
#[derive(Clone, Copy, Debug)]
pub struct MathNames {
    /// The library, as messages name it.
    pub name: &'static str,
    /// The files that are looked for, the first one first.
    pub files: &'static [&'static str],
    /// What comes with it: the reason to look there.
    pub from: &'static str,
    /// Makes a handle, or a plan of many transforms.
    pub make: &'static str,
    /// Gives it back.
    pub destroy: &'static str,
    /// The stream that its calls are queued on.
    pub set_stream: &'static str,
    /// The routines, single precision first.
    pub routines: [&'static str; 2],
    /// A part of the version's number by its place, where there is such a function.
    pub property: &'static str,
    /// The library's number for a matrix that is taken as it is; of no meaning for transforms.
    pub not_transposed: c_int,
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
    let advice =
        format!("it comes with {from}: put the folder of its libraries on LD_LIBRARY_PATH, or leave out --vendor");
    library::open(files, name, &advice)
}

/// What the library is called, with its version where it tells.
///
/// # Errors
/// [`DeviceError::NoDriver`] where it is not on this machine.
pub(crate) fn name<D: Driver>(library: MathLibrary) -> Result<String, DeviceError> {
    let (opened, names) = (open::<D>(library)?, names::<D>(library));
    // SAFETY: library_types.h: cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value), cufftGetProperty and hipfftGetProperty alike.
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

    /// Queues a routine: of matrices with the addresses of A, B, C and their edge, of transforms with those of input and result and how many they are.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The stream is alive and of the context that the program was made in, which is current; what the words address lives, lent to nobody, until the stream has been
    /// waited for, and other streams that it was used with have been.
    pub(crate) unsafe fn launch(&self, routine: usize, stream: *mut c_void, words: &[u64]) -> Result<(), CallError> {
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
            // SAFETY: as above, and for the addresses; the factors are read before the call returns (pointers to the host are the default).
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

/// Fourier transforms.
pub(crate) struct Transforms<D: Driver> {
    names: &'static MathNames,
    make: MakePlan<D::FftPlan>,
    destroy: DestroyPlan<D::FftPlan>,
    set_stream: SetPlanStream<D::FftPlan>,
    routines: [Transform<D::FftPlan>; 2],
    /// A plan for each precision and number of transforms.
    plans: RefCell<Vec<((usize, c_int), D::FftPlan)>>,
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
                // SAFETY: the out-parameter is valid to write, and a context is current.
                let make = |plan| failed(self.names.make, unsafe { (self.make)(plan, POINTS, KINDS[routine], count) });
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
