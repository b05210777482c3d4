//! The kernels (`kernels.ptx`): patterns in device memory, copies, chains of loads. The driver compiles the text for whatever the device is.

use std::ffi::{CStr, c_void};
use std::ptr;

use backend_gpu::Kernel;
use cudarc::driver::sys::CUstream;
use device::CallError;

use crate::api::Api;
use crate::module::{self, Grid, Module};

const PTX: &CStr = module::text(concat!(include_str!("kernels.ptx"), "\0"));
/// Enough threads for the widest device; each goes on to further words until there are none.
const BLOCKS: u64 = 1024;
const THREADS: u32 = 256;
/// The most parameters of any kernel.
const PARAMETERS: usize = 6;

/// The loaded kernels, in the order of [`Kernel`].
pub(crate) type Kernels = Module<4>;

/// Loads them in the current context.
///
/// # Errors
/// The call that failed.
pub(crate) fn load(api: &Api) -> Result<Kernels, CallError> {
    Module::load(api, PTX, [c"numabench_fill", c"numabench_compare", c"numabench_copy", c"numabench_chase"])
}

/// Queues one on a stream, or on the default one.
///
/// # Errors
/// The call that failed.
///
/// # Safety
/// As [`backend_gpu::Driver::kernel_launch`].
pub(crate) unsafe fn launch(
    api: &Api,
    kernels: &Kernels,
    kernel: Kernel,
    threads: u64,
    stream: Option<CUstream>,
    parameters: &mut [u64],
) -> Result<(), CallError> {
    let grid = match kernel {
        Kernel::Chase => Grid { blocks: 1, threads: 1 },
        _ => Grid { blocks: threads.div_ceil(u64::from(THREADS)).clamp(1, BLOCKS) as u32, threads: THREADS },
    };
    let mut pointers = [ptr::null_mut::<c_void>(); PARAMETERS];
    for (pointer, parameter) in pointers.iter_mut().zip(parameters) {
        *pointer = ptr::from_mut(parameter).cast();
    }
    // SAFETY: each kernel takes words only, as many as the caller gives; the rest is the caller's word.
    unsafe { kernels.launch(api, kernel as usize, grid, stream.unwrap_or(ptr::null_mut()), pointers) }
}
