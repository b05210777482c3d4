//! The stage of a rank's work at which something failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The steps of a case, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Binding the thread to its PU.
    Bind,
    /// Opening the device.
    Open,
    /// Allocating, placing and pinning memory.
    Allocate,
    /// Proving the placement, before or after.
    Prove,
    /// Warming up.
    WarmUp,
    /// Measuring.
    Measure,
    /// Comparing the bytes.
    Verify,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl Stage {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Open => "open",
            Self::Allocate => "allocate",
            Self::Prove => "prove",
            Self::WarmUp => "warm-up",
            Self::Measure => "measure",
            Self::Verify => "verify",
            Self::Newer => "newer",
        }
    }
}
