//! The names of HIP's library.
//!
//! Sonames first, the newest first: a plain `libamdhip64.so` is there with development packages only, and may
//! be of another version than what the site's programs run on.

use backend_gpu::library;
use device::DeviceError;
use libloading::Library;

/// The name errors use.
const LIBRARY: &str = "libamdhip64.so";

/// Opens HIP's library for the rest of the process's life.
///
/// # Errors
/// [`DeviceError::NoDriver`] with the loader's own words.
pub(crate) fn open() -> Result<&'static Library, DeviceError> {
    let names = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", LIBRARY];
    let advice = "it comes with ROCm: load the site's rocm module on a node with AMD GPUs, or install ROCm's \
        HIP runtime";
    library::open(&names, LIBRARY, advice)
}
