//! A device's error as a rank's failure.

use device::DeviceError;
use engine::{Failure, Stage};

/// The failure that a device's error is at this stage.
pub fn failure(stage: Stage, error: &DeviceError) -> Failure {
    let (call, code) = match error {
        DeviceError::Call(call) | DeviceError::Pinning { call, .. } => (Some(call.call.to_owned()), Some(call.code)),
        _ => (None, None),
    };
    Failure { stage, call, code, message: error.to_string() }
}
