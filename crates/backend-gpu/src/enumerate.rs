//! Which devices the driver shows: identities by PCI address, without making a context on any of them.

use std::ffi::c_int;

use device::{CallError, DeviceError, DeviceFacts, DeviceId};
use stats::PciAddress;

use crate::driver::Driver;

/// A device of the driver: what is said of it, and its handle.
pub(crate) struct Listed<D: Driver> {
    pub(crate) facts: DeviceFacts,
    pub(crate) handle: D::Device,
}

/// Every device, in PCI order. Parts of one GPU that share its address (instances of MIG) keep the driver's
/// order.
///
/// # Errors
/// [`DeviceError::NoDevice`] for an empty list, or the call that failed.
pub(crate) fn devices<D: Driver>(driver: &D) -> Result<Vec<Listed<D>>, DeviceError> {
    let count = driver.device_count()?;
    if count <= 0 {
        return Err(D::no_device("it counts 0"));
    }
    let handles = (0..count).map(|ordinal| driver.device(ordinal)).collect::<Result<Vec<_>, _>>()?;
    let addresses = handles.iter().map(|handle| address(driver, *handle));
    let mut addresses = addresses.collect::<Result<Vec<_>, _>>()?;
    D::tell_parts_apart(&mut addresses);
    let known = (0..count).zip(handles).zip(addresses);
    let mut listed = known
        .map(|((ordinal, handle), pci)| Ok(Listed { facts: facts(driver, ordinal, handle, pci)?, handle }))
        .collect::<Result<Vec<Listed<D>>, CallError>>()?;
    listed.sort_by_key(|device| (device.facts.id, device.facts.runtime_index));
    Ok(listed)
}

fn address<D: Driver>(driver: &D, handle: D::Device) -> Result<PciAddress, DeviceError> {
    let address = driver.device_pci_address(handle)?;
    address.parse().map_err(|error: stats::pci_address::PciAddressError| DeviceError::Unsupported {
        what: "identifying a device",
        reason: format!("the driver's address: {error}"),
    })
}

fn facts<D: Driver>(
    driver: &D,
    ordinal: c_int,
    handle: D::Device,
    pci: PciAddress,
) -> Result<DeviceFacts, CallError> {
    Ok(DeviceFacts {
        id: DeviceId::Pci(pci),
        name: driver.device_name(handle)?,
        uuid: driver.device_uuid(handle),
        runtime_index: u32::try_from(ordinal).ok(),
        total_bytes: driver.device_total_bytes(handle)? as u64,
        host_node: driver.device_host_node(handle),
        memory_home: driver.device_memory_home(handle),
    })
}
