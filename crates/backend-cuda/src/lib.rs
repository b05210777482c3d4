//! NVIDIA GPUs through the CUDA driver API, which is opened at run time: one binary runs with and without a GPU.
//!
//! From the outside in: [`load`] gives the [`CudaPlatform`]; it opens devices (`device`), each on its primary context
//! (`context`); a device pins host memory (`host_memory`) and makes copiers (`copier`), which own device memory
//! (`device_memory`), queue copies on lanes (`lane`) and hold them back with a latch (`latch`). `api` is the driver's
//! functions, `library` how they are found.
//!
//! cudarc gives the driver's types and constants. Its functions are not used: they panic when the library or a symbol is
//! missing, and return result codes as a Rust enum, for which a code newer than the bindings is undefined behaviour. Here a
//! code is an integer until the end.
//!
//! Left out: kernels (but for the latch's fallback), managed memory, peer copies, and everything of NVML.

mod api;
mod context;
mod copier;
mod device;
mod device_memory;
mod enumerate;
mod host_memory;
mod lane;
mod latch;
mod library;
mod platform;
mod stream;

pub use latch::LatchChoice;
pub use platform::{CudaPlatform, load, load_with};
