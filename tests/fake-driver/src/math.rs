//! What the vendors' libraries of matrices and transforms do, as far as the backends call them: each call is
//! a launch of the kernel that computes the same. It is strict: what those kernels do not compute (other
//! factors, other edges, transposed matrices) is an error.

use std::ffi::{c_int, c_void};

use crate::code::{Answer, INVALID_VALUE, give};
use crate::compute::{Launch, NAMES};
use crate::stream::Stream;
use crate::{context, hip, memory};

use std::sync::atomic::Ordering;

/// A handle, or what a plan's number stands for.
struct Handle {
    stream: usize,
    /// Of a plan: the kind and number of transforms.
    transforms: Option<(c_int, c_int)>,
}

fn make(transforms: Option<(c_int, c_int)>) -> *mut Handle {
    memory::OBJECTS.fetch_add(1, Ordering::AcqRel);
    Box::into_raw(Box::new(Handle { stream: 0, transforms }))
}

unsafe fn destroy(handle: *mut Handle) -> Answer {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    drop(unsafe { Box::from_raw(handle) });
    memory::OBJECTS.fetch_sub(1, Ordering::AcqRel);
    Ok(())
}

unsafe fn of<'a>(handle: *mut Handle) -> Answer<&'a mut Handle> {
    unsafe { handle.as_mut() }.ok_or(INVALID_VALUE)
}

/// Queues the kernel of this name with these words.
fn launch(device: usize, stream: usize, name: &str, blocks: u32, words: &mut [u64]) -> Answer {
    let kernel = NAMES.iter().position(|known| known.to_bytes() == name.as_bytes()).ok_or(INVALID_VALUE)?;
    let mut parameters: Vec<*mut c_void> = words.iter_mut().map(|word| (&raw mut *word).cast()).collect();
    let launch = unsafe { Launch::new(device, kernel, blocks, parameters.as_mut_ptr()) }?;
    unsafe { Stream::of(stream) }?.push(move || launch.run())
}

/// Matrices by columns: operations, edges, and the addresses of the first, the second and the result.
struct Gemm {
    operations: [c_int; 2],
    edges: [c_int; 6],
    factors: [f64; 2],
    addresses: [usize; 3],
}

impl Gemm {
    unsafe fn queue(&self, handle: *mut Handle, device: usize, name: &str, as_it_is: c_int) -> Answer {
        let n = self.edges[0];
        let plain = self.operations == [as_it_is; 2] && self.factors == [1.0, 0.0];
        if !plain || n <= 0 || n % 128 != 0 || self.edges.iter().any(|edge| *edge != n) {
            return Err(INVALID_VALUE);
        }
        let [first, second, result] = self.addresses.map(|address| address as u64);
        // By rows the two change places.
        let tiles = (n / 128 * (n / 128)) as u32;
        launch(device, unsafe { of(handle) }?.stream, name, tiles, &mut [second, first, result, n as u64])
    }
}

macro_rules! matrices {
    ($on:path, $as_it_is:literal, $create:ident, $destroy:ident, $set_stream:ident, $($gemm:ident: $real:ty = $kernel:literal),+) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $create(handle: *mut *mut Handle) -> c_int {
            $on(stringify!($create), |_| give(handle, Ok(make(None))))
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $destroy(handle: *mut Handle) -> c_int {
            $on(stringify!($destroy), |_| unsafe { destroy(handle) })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set_stream(handle: *mut Handle, stream: usize) -> c_int {
            $on(stringify!($set_stream), |_| {
                unsafe { of(handle) }?.stream = stream;
                Ok(())
            })
        }

        $(#[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the manual's signature")]
        unsafe extern "C" fn $gemm(
            handle: *mut Handle,
            operation_a: c_int,
            operation_b: c_int,
            m: c_int,
            n: c_int,
            k: c_int,
            alpha: *const $real,
            a: usize,
            lda: c_int,
            b: usize,
            ldb: c_int,
            beta: *const $real,
            c: usize,
            ldc: c_int,
        ) -> c_int {
            $on(stringify!($gemm), |device| {
                let gemm = Gemm {
                    operations: [operation_a, operation_b],
                    edges: [m, n, k, lda, ldb, ldc],
                    factors: unsafe { [f64::from(*alpha), f64::from(*beta)] },
                    addresses: [a, b, c],
                };
                unsafe { gemm.queue(handle, device, $kernel, $as_it_is) }
            })
        })+
    };
}

matrices!(
    context::on_device,
    0,
    cublasCreate_v2,
    cublasDestroy_v2,
    cublasSetStream_v2,
    cublasSgemm_v2: f32 = "numabench_sgemm",
    cublasDgemm_v2: f64 = "numabench_dgemm"
);
matrices!(
    hip::on_device,
    111,
    rocblas_create_handle,
    rocblas_destroy_handle,
    rocblas_set_stream,
    rocblas_sgemm: f32 = "numabench_sgemm",
    rocblas_dgemm: f64 = "numabench_dgemm"
);

/// The version that all of them tell.
unsafe fn property(which: c_int, value: *mut c_int) -> c_int {
    crate::code::of(give(value, [12, 3, 4].get(which as usize).copied().ok_or(INVALID_VALUE)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetProperty(which: c_int, value: *mut c_int) -> c_int {
    unsafe { property(which, value) }
}

/// Plans of cuFFT are numbers: those of their addresses do not fit.
static PLANS: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());

fn plan(number: c_int) -> Answer<*mut Handle> {
    let plans = PLANS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    plans.get(number as usize).map(|address| *address as *mut Handle).ok_or(INVALID_VALUE)
}

/// The numbers of single and double precision, and that of forward.
const KINDS: [c_int; 2] = [0x29, 0x69];
const FORWARD: c_int = -1;

fn planned(points: c_int, kind: c_int, count: c_int) -> Answer<*mut Handle> {
    // Two transforms a block of the kernel.
    let known = points == 512 && KINDS.contains(&kind) && count > 0 && count % 2 == 0;
    if known { Ok(make(Some((kind, count)))) } else { Err(INVALID_VALUE) }
}

unsafe fn transform(
    plan: *mut Handle,
    device: usize,
    kind: c_int,
    [from, to]: [usize; 2],
    direction: c_int,
) -> Answer {
    let handle = unsafe { of(plan) }?;
    match handle.transforms {
        Some((made_for, count)) if made_for == kind && direction == FORWARD => {
            let name = if kind == KINDS[0] { "numabench_fft" } else { "numabench_fft_double" };
            launch(device, handle.stream, name, (count / 2) as u32, &mut [from as u64, to as u64])
        }
        _ => Err(INVALID_VALUE),
    }
}

macro_rules! transforms {
    ($on:path, $plan:ty, $known:expr, $new:expr, $make:ident, $destroy:ident, $set_stream:ident, $property:ident, $single:ident, $double:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $make(to: *mut $plan, points: c_int, kind: c_int, count: c_int) -> c_int {
            $on(stringify!($make), |_| give(to, planned(points, kind, count).map($new)))
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $destroy(plan: $plan) -> c_int {
            $on(stringify!($destroy), |_| unsafe { destroy($known(plan)?) })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set_stream(plan: $plan, stream: usize) -> c_int {
            $on(stringify!($set_stream), |_| {
                unsafe { of($known(plan)?) }?.stream = stream;
                Ok(())
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $property(which: c_int, value: *mut c_int) -> c_int {
            unsafe { property(which, value) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $single(plan: $plan, from: usize, to: usize, direction: c_int) -> c_int {
            $on(stringify!($single), |device| unsafe {
                transform($known(plan)?, device, KINDS[0], [from, to], direction)
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $double(plan: $plan, from: usize, to: usize, direction: c_int) -> c_int {
            $on(stringify!($double), |device| unsafe {
                transform($known(plan)?, device, KINDS[1], [from, to], direction)
            })
        }
    };
}

transforms!(
    context::on_device,
    c_int,
    plan,
    |handle: *mut Handle| {
        let mut plans = PLANS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        plans.push(handle as usize);
        plans.len() as c_int - 1
    },
    cufftPlan1d,
    cufftDestroy,
    cufftSetStream,
    cufftGetProperty,
    cufftExecC2C,
    cufftExecZ2Z
);
transforms!(
    hip::on_device,
    *mut Handle,
    Ok::<*mut Handle, c_int>,
    |handle: *mut Handle| handle,
    hipfftPlan1d,
    hipfftDestroy,
    hipfftSetStream,
    hipfftGetProperty,
    hipfftExecC2C,
    hipfftExecZ2Z
);
