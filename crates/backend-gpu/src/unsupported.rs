//! What a device cannot do, said in one way.

use device::DeviceError;

/// What cannot be done here, and why.
pub(crate) fn unsupported(what: &'static str, reason: impl Into<String>) -> DeviceError {
    DeviceError::Unsupported { what, reason: reason.into() }
}
