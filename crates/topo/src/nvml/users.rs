//! The processes that have a context on a GPU, with their memory there: the list at the end of `nvidia-smi`.

use std::ffi::OsStr;

use nvml_wrapper::enums::device::UsedGpuMemory;

use super::{LIBRARY, devices, opened};
use crate::gpu_use::GpuUse;

/// What NVML lists on this machine.
///
/// # Errors
/// Why it lists nothing.
pub(crate) fn uses() -> Result<Vec<GpuUse>, String> {
    uses_from(LIBRARY.as_ref())
}

pub(super) fn uses_from(library: &OsStr) -> Result<Vec<GpuUse>, String> {
    let nvml = opened(library)?;
    let failed =
        |error| format!("{} does not say which processes use a GPU: {error}", library.to_string_lossy());
    let mut uses = Vec::new();

    for (pci, device) in devices(&nvml).map_err(failed)? {
        uses.extend(device.running_compute_processes().map_err(failed)?.into_iter().map(|one| GpuUse {
            pid: one.pid,
            pci,
            bytes: match one.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes),
                UsedGpuMemory::Unavailable => None,
            },
            source: "NVML".to_owned(),
        }));
    }
    Ok(uses)
}
