//! A driver as a platform: its devices, listed.

use std::sync::Arc;

use device::{Device, DeviceError, DeviceFacts, DeviceId, MathLibrary, Platform, PlatformFacts};

use crate::device::GpuDevice;
use crate::driver::Driver;
use crate::enumerate;
use crate::latch::LatchChoice;
use crate::modules;

/// An initialised driver and the devices it shows this process.
pub struct GpuPlatform<D: Driver> {
    driver: Arc<D>,
    facts: PlatformFacts,
    devices: Vec<DeviceFacts>,
    // The driver's handles, in the order of `devices`.
    handles: Vec<D::Device>,
    latch: LatchChoice,
}

impl<D: Driver> GpuPlatform<D> {
    /// Lists the driver's devices; makes no context. What `latch` does not choose is not tried.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`], or the call that failed.
    pub fn new(driver: D, latch: LatchChoice) -> Result<Self, DeviceError> {
        let facts = PlatformFacts {
            kind: D::KIND,
            api_version: Some(driver.version()?),
            simulated: driver.simulation(),
        };
        let listed = enumerate::devices(&driver)?;
        let (handles, devices) = listed.into_iter().map(|listed| (listed.handle, listed.facts)).unzip();
        Ok(Self { driver: Arc::new(driver), facts, devices, handles, latch })
    }
}

impl<D: Driver> Platform for GpuPlatform<D> {
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
        Ok(Box::new(GpuDevice::open(Arc::clone(&self.driver), facts.clone(), *handle, self.latch)?))
    }
    fn math_library(&self, library: MathLibrary) -> Result<String, DeviceError> {
        modules::library_name::<D>(library)
    }
}
