//! What CUDA's driver API and HIP have in common, once: both are the same machine of devices, contexts,
//! streams, events and pinned memory, and differ in how the functions are called.
//!
//! A backend implements [`Driver`] on its table of functions ([`driver_functions`]), which it finds in a
//! library opened at run time ([`library`]); [`GpuPlatform`] makes the device contract of it. From the
//! outside in: the platform (`platform`, `enumerate`) opens devices (`device`), each in its context
//! (`context`); a device pins host memory (`host_memory`) and makes copiers (`copier`, between two devices
//! `peer`, whose areas stay for the next pair: `kept_areas`), which own device memory (`device_memory`,
//! `areas`), fill and compare it (`pattern_kernels`), queue copies (`queue`) on lanes (`lane`, `stream`) and
//! hold them back with a latch (`latch`), or have a kernel copy (`copy_kernel`); a `chaser` queues loads, a
//! `computer` the kernels of someone else's programs, and lets steps go on at once by `overlap`. `modules`
//! are the kernels. What a call that is queued uses is neither lent nor freed before it was waited for
//! (`in_flight`, `host_range`). [`trial`] is what the backends' `conformance` programs do.
//!
//! Left out: every function and constant of a driver, and all that only one of them has.

mod answerer;
mod areas;
mod buffer;
mod chaser;
mod computer;
mod context;
mod copier;
mod copy_kernel;
mod device;
mod device_memory;
mod driver;
mod enumerate;
mod host_memory;
mod host_range;
mod idle_queues;
mod in_flight;
mod kept_areas;
mod kernel;
mod lane;
mod latch;
pub mod library;
mod math_names;
mod modules;
mod overlap;
mod own_queue;
pub mod own_source;
mod pattern_kernels;
mod peer;
mod platform;
mod queue;
mod stream;
mod sync;
mod tickets;
pub mod trial;
mod unsupported;

pub use driver::{CopyBatch, Driver};
pub use kernel::{DriverKernel, LaunchGrid, parameters};
pub use latch::LatchChoice;
pub use library::{call_error, given, optional, required, simulation, text, uuid_text};
pub use math_names::MathNames;
pub use platform::GpuPlatform;

/// What [`driver_functions`] names; not for use by hand.
#[doc(hidden)]
pub mod parts {
    pub use device::{CallError, DeviceError};
    pub use libloading::Library;

    /// `CUDA_ERROR_NOT_READY` and `hipErrorNotReady`: not a failure, but the answer of a query to work that
    /// has not ended.
    pub const NOT_READY: i32 = 600;
}
