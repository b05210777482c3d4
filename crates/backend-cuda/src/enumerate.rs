//! Which devices the driver shows: identities by PCI address, without making a context on any of them.

use std::env;
use std::ffi::{CStr, c_char, c_int};

use cudarc::driver::sys::CUdevice;
use device::{DeviceError, DeviceFacts, DeviceId};
use stats::PciAddress;

use crate::api::Api;

/// `CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID`, since CUDA 12.2; older drivers refuse it.
const HOST_NUMA_ID: c_int = 134;

/// A device of the driver: what is said of it, and its handle.
pub(crate) struct Listed {
    pub(crate) facts: DeviceFacts,
    pub(crate) handle: CUdevice,
}

/// Every device, in PCI order. The instances of a partitioned (MIG) GPU share its address and keep the driver's order.
///
/// # Errors
/// [`DeviceError::NoDevice`] for an empty list, or the call that failed.
pub(crate) fn devices(api: &Api) -> Result<Vec<Listed>, DeviceError> {
    let mut count: c_int = 0;
    // SAFETY: `count` is valid to write.
    unsafe { api.device_get_count(&raw mut count) }?;
    if count <= 0 {
        return Err(no_device("it counts 0"));
    }
    let mut listed = (0..count).map(|ordinal| device(api, ordinal)).collect::<Result<Vec<_>, _>>()?;
    listed.sort_by_key(|device| (device.facts.id, device.facts.runtime_index));
    Ok(listed)
}

/// [`DeviceError::NoDevice`] with what is the matter most often.
pub(crate) fn no_device(answer: &str) -> DeviceError {
    let reason = match env::var_os("CUDA_VISIBLE_DEVICES") {
        Some(value) => format!(
            "{answer} with CUDA_VISIBLE_DEVICES=\"{}\": unset it, or name devices that exist (nvidia-smi -L lists them)",
            value.to_string_lossy()
        ),
        None => format!("{answer}: see whether nvidia-smi lists any, and whether this job was given a GPU"),
    };
    DeviceError::NoDevice { driver: "CUDA", reason }
}

fn device(api: &Api, ordinal: c_int) -> Result<Listed, DeviceError> {
    let mut handle: CUdevice = 0;
    // SAFETY: `handle` is valid to write.
    unsafe { api.device_get(&raw mut handle, ordinal) }?;
    // SAFETY: the buffer is valid for the length that goes with it.
    let name = text(|buffer, len| unsafe { api.device_get_name(buffer, len, handle) })?;
    // SAFETY: as above.
    let address = text(|buffer, len| unsafe { api.device_get_pci_bus_id(buffer, len, handle) })?;
    let mut total_bytes: usize = 0;
    // SAFETY: `total_bytes` is valid to write.
    unsafe { api.device_total_mem(&raw mut total_bytes, handle) }?;
    let mut host_node: c_int = -1;
    // SAFETY: `host_node` is valid to write. A driver that does not know the attribute leaves nothing to say.
    let host_node = unsafe { api.device_get_attribute(&raw mut host_node, HOST_NUMA_ID, handle) }
        .ok()
        .and_then(|()| u32::try_from(host_node).ok());
    let pci: PciAddress = address.parse().map_err(|error: stats::pci_address::PciAddressError| {
        DeviceError::Unsupported { what: "identifying a device", reason: format!("the driver's address: {error}") }
    })?;
    let facts = DeviceFacts {
        id: DeviceId::Pci(pci),
        name,
        uuid: api.uuid(handle),
        runtime_index: u32::try_from(ordinal).ok(),
        total_bytes: total_bytes as u64,
        host_node,
    };
    Ok(Listed { facts, handle })
}

/// A text that the driver writes into a buffer.
fn text<E>(write: impl FnOnce(*mut c_char, c_int) -> Result<(), E>) -> Result<String, E> {
    // A zero byte more than the driver is told of, so that a text that fills the buffer still ends.
    let mut buffer = [0_u8; 257];
    write(buffer.as_mut_ptr().cast::<c_char>(), 256)?;
    let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
    Ok(text.to_string_lossy().trim().to_owned())
}
