//! Numbers of a GPU that NVML gives by a field's number and a scope. nvml-wrapper's own call asks for scope 0 alone.

use nvml_wrapper::Device;
use nvml_wrapper_sys::bindings::nvmlFieldValue_t;

/// The values of these fields in these scopes; `None` for one that the device does not have.
pub(super) fn values<const N: usize>(device: &Device<'_>, fields: [(u32, u32); N]) -> [Option<u64>; N] {
    let Ok(ask) = device.nvml().lib().nvmlDeviceGetFieldValues.as_ref() else { return [None; N] };
    // SAFETY: a structure of integers and a union of numbers, for which zeros are values.
    let mut asked: [nvmlFieldValue_t; N] = unsafe { std::mem::zeroed() };
    for (value, (field, scope)) in asked.iter_mut().zip(fields) {
        (value.fieldId, value.scopeId) = (field, scope);
    }
    // SAFETY: the function comes from the library that made the handle, and both are kept by `device` during the call; it writes N values.
    let code = unsafe { ask(device.handle(), N as i32, asked.as_mut_ptr()) };
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
