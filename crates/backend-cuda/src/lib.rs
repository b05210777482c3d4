//! NVIDIA GPUs through the CUDA driver API, which is opened at run time: one binary runs with and without a
//! GPU.
//!
//! [`load`] gives the platform; all that it does is `backend-gpu`'s, and is the same for HIP. Here is what is
//! CUDA's own: `library` (how the driver is found), `api` (its functions), `driver` (how the shared files
//! call them), `module` (kernels loaded from PTX text), `kernels` (which texts).
//!
//! cudarc gives the driver's types and constants. Its functions are not used: they panic when the library or
//! a symbol is missing, and return result codes as a Rust enum, for which a code newer than the bindings is
//! undefined behaviour. Here a code is an integer until the end.
//!
//! Left out: kernels but these, and everything of NVML.

mod api;
mod driver;
mod kernels;
mod library;
mod module;

use backend_gpu::{Driver, GpuPlatform};
use device::DeviceError;

pub use backend_gpu::LatchChoice;

/// The CUDA driver and the devices it shows this process.
pub type CudaPlatform = GpuPlatform<api::Api>;

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: i64 = 100;

/// Loads the driver and lists its devices; makes no context.
///
/// # Errors
/// [`DeviceError::NoDriver`], [`DeviceError::StubDriver`], [`DeviceError::NoDevice`],
/// [`DeviceError::MissingSymbol`], or the call that failed.
pub fn load() -> Result<CudaPlatform, DeviceError> {
    load_with(LatchChoice::Auto)
}

/// As [`load`], with a say in the latch: what was not chosen is not tried.
///
/// # Errors
/// As [`load`].
pub fn load_with(latch: LatchChoice) -> Result<CudaPlatform, DeviceError> {
    let api = match api::Api::load(library::open()?) {
        Err(DeviceError::Call(error)) if error.code == NO_DEVICE => {
            return Err(api::Api::no_device("cuInit says so (code 100)"));
        }
        loaded => loaded?,
    };
    GpuPlatform::new(api, latch)
}
