//! Finds and opens the driver library.
//!
//! The soname comes first: `libcuda.so.1` is what every driver installs, while a plain `libcuda.so` on LD_LIBRARY_PATH is
//! often the toolkit's link-time stub. Trying that one too gives its users the message about stubs.

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
        Err(error) => Err(DeviceError::NoDriver {
            library: LIBRARY,
            reason: format!(
                "{}; it comes with the NVIDIA driver: run on a GPU node (in a job that was given a GPU), or install the driver",
                with_causes(&error)
            ),
        }),
    }
}

/// The loader's own text lies in the error's source.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
