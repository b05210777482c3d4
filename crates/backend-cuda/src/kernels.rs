//! Which PTX texts are loaded: numabench's own kernels (`backend_gpu::own_source`: patterns, copies, chains
//! of loads, answers over flags), the kernel that spins as the latch's fallback (`spin_kernel.ptx`), and a
//! program's for the device that it runs on. The driver compiles a text for whatever the device is, and keeps
//! what it compiled.

use std::ffi::CStr;

use backend_gpu::DriverKernel;
use backend_gpu::own_source::PTX as OWN;
use cudarc::driver::sys::CUdevice;
use device::{CallError, DeviceError, KernelModule};

use crate::api::Api;
use crate::module::{Module, text};

const SPIN: &CStr = text(concat!(include_str!("spin_kernel.ptx"), "\0"));

/// Loads numabench's own in the current context, in the order of [`DriverKernel`].
///
/// # Errors
/// The call that failed.
pub(crate) fn own(api: &Api) -> Result<Module, CallError> {
    Module::load(api, OWN, &DriverKernel::ALL.map(DriverKernel::name))
}

/// Loads the one that spins.
///
/// # Errors
/// The call that failed.
pub(crate) fn spin(api: &Api) -> Result<Module, CallError> {
    Module::load(api, SPIN, &[c"numabench_hold"])
}

/// Loads a program's in the current context, which is of this device: the text for the highest compute
/// capability that the device has.
///
/// # Errors
/// [`DeviceError::Unsupported`] for a device older than every text, or the call that failed.
pub(crate) fn of_program(api: &Api, device: CUdevice, program: &KernelModule) -> Result<Module, DeviceError> {
    let capability = api.compute_capability(device)?;
    let text = program.ptx.iter().rev().find(|(least, _)| *least <= capability);
    let (_, text) = text.ok_or_else(|| DeviceError::Unsupported {
        what: "running a kernel",
        reason: format!(
            "its compute capability is {}.{}, and the kernels of {} are for {:.1} and above",
            capability / 10,
            capability % 10,
            program.name,
            program.ptx.first().map_or(0.0, |(least, _)| f64::from(*least) / 10.0)
        ),
    })?;
    Ok(Module::load(api, text, program.kernels)?)
}
