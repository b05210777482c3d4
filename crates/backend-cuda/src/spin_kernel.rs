//! The kernel that spins: the latch's fallback.

use std::ffi::CStr;

use backend_gpu::Grid;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use device::CallError;

use crate::api::Api;
use crate::module::{self, Module};

const PTX: &CStr = module::text(concat!(include_str!("spin_kernel.ptx"), "\0"));
const ONE_THREAD: Grid = Grid { blocks: 1, threads: 1 };

/// The loaded kernel.
pub(crate) type SpinKernel = Module;

/// Loads it in the current context.
///
/// # Errors
/// The call that failed.
pub(crate) fn load(api: &Api) -> Result<SpinKernel, CallError> {
    Module::load(api, PTX, &[c"numabench_hold"])
}

/// Queues it.
///
/// # Errors
/// The call that failed.
///
/// # Safety
/// The stream is live, the words outlive the run, and the kernel was loaded in this context.
pub(crate) unsafe fn launch(
    api: &Api,
    kernel: &SpinKernel,
    stream: CUstream,
    mut words: CUdeviceptr,
    mut ticket: u32,
    mut limit_ns: u64,
) -> Result<(), CallError> {
    let parameters = [(&raw mut words).cast(), (&raw mut ticket).cast(), (&raw mut limit_ns).cast()];
    // SAFETY: the kernel takes a u64, a u32 and a u64, in this order; the rest is the caller's word.
    unsafe { kernel.launch(api, 0, ONE_THREAD, stream, parameters) }
}
