//! A device's error as a rank's failure, or as the reason why a case is left out.

use device::DeviceError;
use engine::{Failure, Stage, Trouble};

/// The failure that a device's error is at this stage.
pub fn failure(stage: Stage, error: &DeviceError) -> Failure {
    let (call, code) = match error {
        DeviceError::Call(call) | DeviceError::Pinning { call, .. } => {
            (Some(call.call.to_owned()), Some(call.code))
        }
        _ => (None, None),
    };
    Failure { stage, call, code, message: error.to_string() }
}

/// The failure that a device's error is while it is measured.
pub fn measuring(error: DeviceError) -> Failure {
    failure(Stage::Measure, &error)
}

/// The same where what a block needs is laid out, or looked at afterwards.
pub fn verifying(error: DeviceError) -> Failure {
    failure(Stage::Verify, &error)
}

/// The same where memory is allocated.
pub fn allocating(error: DeviceError) -> Failure {
    failure(Stage::Allocate, &error)
}

/// What it means for a case where what the case needs is made: one that the device cannot do is skipped.
pub(crate) fn skipped_or_failed(error: DeviceError) -> Trouble {
    match error {
        DeviceError::Unsupported { .. } => Trouble::Skipped(error.to_string()),
        other => allocating(other).into(),
    }
}
