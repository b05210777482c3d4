//! Finds and opens the driver library.
//!
//! The soname comes first: `libcuda.so.1` is what every driver installs, while a plain `libcuda.so` on LD_LIBRARY_PATH is
//! often the toolkit's link-time stub. Trying that one too gives its users the message about stubs.

use std::error::Error;

use device::DeviceError;
use libloading::Library;

/// The name errors use.
pub(crate) const LIBRARY: &str = "libcuda.so.1";

/// Opens the driver library for the rest of the process's life.
///
/// # Errors
/// [`DeviceError::NoDriver`] with the loader's own words.
pub(crate) fn open() -> Result<&'static Library, DeviceError> {
    // SAFETY: loading runs the library's initialisers. The driver's are made to run in any process and at any time.
    let opened = unsafe { Library::new(LIBRARY) }.or_else(|error| {
        // SAFETY: as above.
        unsafe { Library::new("libcuda.so") }.map_err(|_| error)
    });
    match opened {
        // Never closed: the driver starts threads and registers exit handlers, and its functions are copied out.
        Ok(library) => Ok(Box::leak(Box::new(library))),
        // The loader's own text is the error's source.
        Err(error) => Err(DeviceError::NoDriver {
            library: LIBRARY,
            reason: format!(
                "{}; it comes with the NVIDIA driver: run on a GPU node (in a job that was given a GPU), or install the driver",
                error.source().map_or_else(|| error.to_string(), ToString::to_string)
            ),
        }),
    }
}
