//! A process on a GPU, as a driver's list has it. A file of its own, because those who read the lists and who
//! asks for them need it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PciAddress;

/// A process on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuUse {
    /// The process.
    pub pid: u32,
    /// The GPU.
    pub pci: PciAddress,
    /// Its memory on the GPU; null where the driver does not say.
    pub bytes: Option<u64>,
    /// Whose list: `NVML` or `KFD`.
    pub source: String,
}
