//! Settings and memory errors of the GPUs, and which of them reach each other: what `nvidia-smi -q` shows, in
//! one opening of the library.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{
    ComputeMode as NvmlComputeMode, EccCounter, MemoryError, P2pCapabilitiesIndex, P2pStatus,
};
use stats::PciAddress;

use super::{LIBRARY, devices, opened};
use crate::gpu_health::{ComputeMode, FabricState, GpuHealth, OneGpu, PeerAccess};

/// `NVML_GPU_FABRIC_STATE_COMPLETED`; 0 is "not supported", 1 and 2 come before it.
const FABRIC_ENDED: u8 = 3;

/// What NVML says on this machine.
///
/// # Errors
/// Why it says nothing.
pub fn health() -> Result<GpuHealth, String> {
    health_from(LIBRARY.as_ref())
}

pub(super) fn health_from(library: &OsStr) -> Result<GpuHealth, String> {
    let nvml = opened(library)?;
    let failed =
        |error| format!("{} does not say how many GPUs there are: {error}", library.to_string_lossy());
    let devices = devices(&nvml).map_err(failed)?;
    let mut peers = Vec::new();

    for (at, (one, device)) in devices.iter().enumerate() {
        for (other, peer) in &devices[at + 1..] {
            let Ok(status) = device.p2p_status(peer, P2pCapabilitiesIndex::Read) else { continue };
            peers.push(PeerAccess { one: *one, other: *other, refused: refused(&status) });
        }
    }

    Ok(GpuHealth {
        confidential: sys::nvml::confidential(&nvml),
        gpus: devices.iter().map(|(pci, device)| gpu(*pci, device)).collect(),
        peers,
    })
}

fn gpu(pci: PciAddress, device: &Device<'_>) -> OneGpu {
    let rows = sys::nvml::remapped_rows(device);
    let pages = device.are_pages_pending_retired().ok();
    let power = device.enforced_power_limit().ok().zip(device.power_management_limit_default().ok());
    let processes = device.running_compute_processes().ok();

    OneGpu {
        pci,
        persistent: device.is_in_persistent_mode().ok(),
        mig: device.mig_mode().ok().map(|mode| (mode.current != 0, mode.pending != 0)),
        ecc: device.is_ecc_enabled().ok().map(|state| (state.currently_enabled, state.pending_enabled)),
        uncorrected: device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).ok(),
        repair_pending: rows.map(|(pending, _)| pending).or(pages),
        repair_failed: rows.map(|(_, failed)| failed),
        compute_mode: device.compute_mode().ok().map(compute_mode),
        power_mw: power,
        memory_bytes: device.memory_info().ok().map(|memory| memory.total),
        fabric: fabric(device),
        processes: processes
            .map(|all| all.iter().map(|one| one.pid).collect::<BTreeSet<u32>>().into_iter().collect()),
    }
}

fn compute_mode(mode: NvmlComputeMode) -> ComputeMode {
    match mode {
        NvmlComputeMode::Default => ComputeMode::Any,
        NvmlComputeMode::ExclusiveThread | NvmlComputeMode::ExclusiveProcess => ComputeMode::One,
        NvmlComputeMode::Prohibited => ComputeMode::Prohibited,
    }
}

fn refused(status: &P2pStatus) -> Option<String> {
    match status {
        P2pStatus::Ok => None,
        other => Some(format!("{other:?}")),
    }
}

/// Where the GPU is in joining its fabric; `None` where it has none (state 0) or the driver has no word for
/// it.
fn fabric(device: &Device<'_>) -> Option<FabricState> {
    match sys::nvml::fabric(device)? {
        (FABRIC_ENDED, status) => Some(FabricState::Ended(status)),
        (1 | 2, _) => Some(FabricState::NotJoined),
        _ => None,
    }
}
