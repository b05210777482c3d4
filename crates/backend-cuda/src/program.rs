//! A program's PTX for a device: the text for the highest compute capability that the device has. The driver compiles it, and keeps what it compiled.

use std::ffi::c_int;

use backend_gpu::given;
use cudarc::driver::sys::CUdevice;
use device::{DeviceError, Program};

use crate::api::Api;
use crate::module::Module;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const MAJOR: c_int = 75;
const MINOR: c_int = 76;

/// Loads it in the current context, which is of this device.
///
/// # Errors
/// [`DeviceError::Unsupported`] for a device older than every text, or the call that failed.
pub(crate) fn load(api: &Api, device: CUdevice, program: &Program) -> Result<Module, DeviceError> {
    // SAFETY: the out-parameter is valid to write.
    let attribute = |what| given(0, |value| unsafe { api.device_get_attribute(value, what, device) });
    let capability = (attribute(MAJOR)? * 10 + attribute(MINOR)?).unsigned_abs();
    let text = program.ptx.iter().rev().find(|(least, _)| *least <= capability);
    let (_, text) = text.ok_or_else(|| DeviceError::Unsupported {
        what: "running a kernel",
        reason: format!(
            "its compute capability is {}.{}, and the kernels of {} are for {} and above",
            capability / 10,
            capability % 10,
            program.name,
            program.ptx.first().map_or(0.0, |(least, _)| f64::from(*least) / 10.0)
        ),
    })?;
    Ok(Module::load(api, text, program.kernels)?)
}
