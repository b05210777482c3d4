//! The driver as a platform: found, initialised, its devices listed.

use std::ffi::c_int;
use std::sync::Arc;

use device::{Device, DeviceError, DeviceFacts, DeviceId, Platform, PlatformFacts, PlatformKind};

use crate::api::{Api, NO_DEVICE};
use crate::device::CudaDevice;
use crate::enumerate::{self, no_device};
use crate::latch::LatchChoice;
use crate::library;

/// The CUDA driver and the devices it shows this process.
pub struct CudaPlatform {
    api: Arc<Api>,
    facts: PlatformFacts,
    devices: Vec<DeviceFacts>,
    // The driver's handles, in the order of `devices`.
    handles: Vec<c_int>,
    latch: LatchChoice,
}

/// Loads the driver and lists its devices; makes no context.
///
/// # Errors
/// [`DeviceError::NoDriver`], [`DeviceError::StubDriver`], [`DeviceError::NoDevice`], [`DeviceError::MissingSymbol`], or the call
/// that failed.
pub fn load() -> Result<CudaPlatform, DeviceError> {
    load_with(LatchChoice::Auto)
}

/// As [`load`], with a say in the latch: what was not chosen is not tried.
///
/// # Errors
/// As [`load`].
pub fn load_with(latch: LatchChoice) -> Result<CudaPlatform, DeviceError> {
    let api = match Api::load(library::open()?) {
        Err(DeviceError::Call(error)) if error.code == NO_DEVICE => return Err(no_device("cuInit says so (code 100)")),
        loaded => Arc::new(loaded?),
    };
    let mut version: c_int = 0;
    // SAFETY: `version` is valid to write.
    unsafe { api.driver_get_version(&raw mut version) }?;
    let (handles, devices) = enumerate::devices(&api)?
        .into_iter()
        .map(|listed| (listed.handle, listed.facts))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    let facts = PlatformFacts {
        kind: PlatformKind::Cuda,
        // cuda.h: 1000 × major + 10 × minor.
        api_version: Some(format!("{}.{}", version / 1000, version % 1000 / 10)),
        simulated: api.simulation(),
    };
    Ok(CudaPlatform { api, facts, devices, handles, latch })
}

impl Platform for CudaPlatform {
    fn facts(&self) -> &PlatformFacts {
        &self.facts
    }

    fn devices(&self) -> &[DeviceFacts] {
        &self.devices
    }

    fn open(&self, id: DeviceId) -> Result<Box<dyn Device>, DeviceError> {
        let mut both = self.devices.iter().zip(&self.handles);
        let Some((facts, handle)) = both.find(|(facts, _)| facts.id == id) else {
            let present: Vec<String> = self.devices.iter().map(|facts| facts.id.to_string()).collect();
            return Err(DeviceError::UnknownDevice { asked: id.to_string(), present: present.join(", ") });
        };
        Ok(Box::new(CudaDevice::open(Arc::clone(&self.api), facts.clone(), *handle, self.latch)?))
    }
}
