//! The kernels (`kernels.ptx`): patterns in device memory, copies, chains of loads, answers over flags. The driver compiles the text for whatever the device is.

use std::ffi::CStr;
use std::ptr;

use backend_gpu::{Kernel, parameters};
use cudarc::driver::sys::CUstream;
use device::CallError;

use crate::api::Api;
use crate::module::{self, Module};

const PTX: &CStr = module::text(concat!(include_str!("kernels.ptx"), "\0"));

/// The loaded kernels, in the order of [`Kernel`].
pub(crate) type Kernels = Module;

/// Loads them in the current context.
///
/// # Errors
/// The call that failed.
pub(crate) fn load(api: &Api) -> Result<Kernels, CallError> {
    Module::load(api, PTX, &Kernel::ALL.map(Kernel::name))
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
    words: &mut [u64],
) -> Result<(), CallError> {
    let stream = stream.unwrap_or(ptr::null_mut());
    // SAFETY: each kernel takes words only, as many as the caller gives; the rest is the caller's word.
    unsafe { kernels.launch(api, kernel as usize, kernel.grid(threads), stream, parameters(words)) }
}
