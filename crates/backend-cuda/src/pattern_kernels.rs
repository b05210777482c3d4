//! The kernels that fill device memory with a pattern and compare it with one.

use std::ffi::CStr;
use std::ptr;

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use device::{CallError, Pattern};

use crate::api::Api;
use crate::module::{self, Grid, Module};

const PTX: &CStr = module::text(concat!(include_str!("pattern_kernels.ptx"), "\0"));
const FILL: usize = 0;
const COMPARE: usize = 1;
/// Enough threads for the widest device; each goes on to further words until there are none.
const BLOCKS: u64 = 1024;
const THREADS: u32 = 256;
/// Blocking copies run here too, so that they see what a kernel did.
const DEFAULT_STREAM: CUstream = ptr::null_mut();

/// The loaded kernels.
pub(crate) type PatternKernels = Module<2>;

/// Loads them in the current context.
///
/// # Errors
/// The call that failed.
pub(crate) fn load(api: &Api) -> Result<PatternKernels, CallError> {
    Module::load(api, PTX, [c"numabench_fill", c"numabench_compare"])
}

fn grid(words: u64) -> Grid {
    let blocks = words.div_ceil(u64::from(THREADS)).clamp(1, BLOCKS);
    Grid { blocks: blocks as u32, threads: THREADS }
}

/// Fills `words` words with the pattern's first ones; on the default stream.
///
/// # Errors
/// The call that failed.
///
/// # Safety
/// The words are the caller's device memory until the device is done, and the kernels were loaded in this context.
pub(crate) unsafe fn fill(
    api: &Api,
    kernels: &PatternKernels,
    mut address: CUdeviceptr,
    mut words: u64,
    pattern: Pattern,
) -> Result<(), CallError> {
    let grid = grid(words);
    let Pattern { mut key, mut page_key, mut invert } = pattern;
    let parameters = [
        (&raw mut address).cast(),
        (&raw mut words).cast(),
        (&raw mut key).cast(),
        (&raw mut page_key).cast(),
        (&raw mut invert).cast(),
    ];
    // SAFETY: the kernel takes these five u64 in this order; the rest is the caller's word.
    unsafe { kernels.launch(api, FILL, grid, DEFAULT_STREAM, parameters) }
}

/// Lowers the word at `lowest` to the index of the first of `words` words that is not the pattern's; on the default stream.
///
/// # Errors
/// The call that failed.
///
/// # Safety
/// As [`fill`], also for the word at `lowest`.
pub(crate) unsafe fn compare(
    api: &Api,
    kernels: &PatternKernels,
    mut address: CUdeviceptr,
    mut words: u64,
    pattern: Pattern,
    mut lowest: CUdeviceptr,
) -> Result<(), CallError> {
    let grid = grid(words);
    let Pattern { mut key, mut page_key, mut invert } = pattern;
    let parameters = [
        (&raw mut address).cast(),
        (&raw mut words).cast(),
        (&raw mut key).cast(),
        (&raw mut page_key).cast(),
        (&raw mut invert).cast(),
        (&raw mut lowest).cast(),
    ];
    // SAFETY: the kernel takes these six u64 in this order; the rest is the caller's word.
    unsafe { kernels.launch(api, COMPARE, grid, DEFAULT_STREAM, parameters) }
}
