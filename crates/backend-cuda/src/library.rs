//! The names of the driver library.
//!
//! The soname comes first: `libcuda.so.1` is what every driver installs, while a plain `libcuda.so` on
//! LD_LIBRARY_PATH is often the toolkit's link-time stub. Trying that one too gives its users the message
//! about stubs.

use backend_gpu::library;
use device::DeviceError;
use libloading::Library;

/// The name errors use.
pub(crate) const LIBRARY: &str = "libcuda.so.1";

/// Opens the driver library for the rest of the process's life.
///
/// # Errors
/// [`DeviceError::NoDriver`] with the loader's own words.
pub(crate) fn open() -> Result<&'static Library, DeviceError> {
    let advice = "it comes with the NVIDIA driver: run on a GPU node (in a job that was given a GPU), or \
        install the driver";
    library::open(&[LIBRARY, "libcuda.so"], LIBRARY, advice)
}
