//! Questions to NVML that nvml-wrapper 0.13 has no call for, or one that does not answer: through the
//! functions and handles that it keeps.
//!
//! Each function comes from the library that made the handle, and the borrow of `device` or `nvml` keeps both
//! during the call. One that this driver has not is an absent answer.

use std::mem::zeroed;

use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{
    nvmlConfComputeSystemState_t, nvmlDevice_t, nvmlFieldValue_t, nvmlGpuFabricInfo_t,
};

/// The library's own name for the device.
fn handle(device: &Device<'_>) -> nvmlDevice_t {
    // SAFETY: it is only given back to the library that made it, while `device` is borrowed.
    unsafe { device.handle() }
}

/// The values of these fields in these scopes; `None` for one that the device does not have. nvml-wrapper's
/// own call asks for scope 0 alone.
pub fn values<const N: usize>(device: &Device<'_>, fields: [(u32, u32); N]) -> [Option<u64>; N] {
    let Ok(ask) = device.nvml().lib().nvmlDeviceGetFieldValues.as_ref() else { return [None; N] };
    // SAFETY: a structure of integers and a union of numbers, for which zeros are values.
    let mut asked: [nvmlFieldValue_t; N] = unsafe { zeroed() };
    for (value, (field, scope)) in asked.iter_mut().zip(fields) {
        (value.fieldId, value.scopeId) = (field, scope);
    }

    // SAFETY: see the top; it writes N values.
    let code = unsafe { ask(handle(device), N as i32, asked.as_mut_ptr()) };

    asked.map(|value| {
        let number = match value.valueType {
            // SAFETY: the type says which member was written; each is inside the union, which began as zeros.
            1 => u64::from(unsafe { value.value.uiVal }),
            // SAFETY: as above.
            2 | 3 => unsafe { value.value.ullVal },
            _ => return None,
        };
        (code == 0 && value.nvmlReturn == 0).then_some(number)
    })
}

/// The kind of device at the other end of a link; `None` where the driver does not say. nvml-wrapper's own
/// call for it writes the answer into a temporary and always says "unknown".
pub fn remote_kind(device: &Device<'_>, link: u32) -> Option<u32> {
    let ask = device.nvml().lib().nvmlDeviceGetNvLinkRemoteDeviceType.as_ref().ok()?;
    let mut kind = u32::MAX;
    // SAFETY: see the top; `kind` is an unsigned int that outlives the call. A link that is none is an error
    // code.
    let code = unsafe { ask(handle(device), link, &raw mut kind) };
    (code == 0).then_some(kind)
}

/// Whether a row of memory waits for the next reset to be replaced, and whether one could not be.
pub fn remapped_rows(device: &Device<'_>) -> Option<(bool, bool)> {
    let ask = device.nvml().lib().nvmlDeviceGetRemappedRows.as_ref().ok()?;
    let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
    // SAFETY: see the top; it writes four unsigned ints that outlive the call.
    let code = unsafe {
        ask(handle(device), &raw mut corrected, &raw mut uncorrected, &raw mut pending, &raw mut failed)
    };
    (code == 0).then_some((pending != 0, failed != 0))
}

/// Where the GPU is in joining its fabric (`NVML_GPU_FABRIC_STATE_…`), and with which code it ended.
pub fn fabric(device: &Device<'_>) -> Option<(u8, u32)> {
    let ask = device.nvml().lib().nvmlDeviceGetGpuFabricInfo.as_ref().ok()?;
    // SAFETY: a structure of bytes and integers, for which zeros are values.
    let mut info: nvmlGpuFabricInfo_t = unsafe { zeroed() };
    // SAFETY: see the top; it writes one structure of this type.
    let code = unsafe { ask(handle(device), &raw mut info) };
    (code == 0).then_some((info.state, info.status))
}

/// Whether the machine is in confidential computing mode.
pub fn confidential(nvml: &Nvml) -> Option<bool> {
    let ask = nvml.lib().nvmlSystemGetConfComputeState.as_ref().ok()?;
    // SAFETY: a structure of integers, for which zeros are values.
    let mut state: nvmlConfComputeSystemState_t = unsafe { zeroed() };
    // SAFETY: see the top; it writes one structure of this type.
    let code = unsafe { ask(&raw mut state) };
    (code == 0).then_some(state.ccFeature != 0)
}
