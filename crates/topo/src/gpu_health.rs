//! What NVIDIA's driver says of its GPUs' settings and memory: modes, limits, errors that wait for a restart,
//! who uses them.
//!
//! NVML is opened once and closed again; no CUDA context is made and no setting is changed. A value that the
//! GPU, the driver or the user's rights do not give is `None`. Left out: clocks and temperatures, which
//! `gpu_condition` watches during a measurement.

use stats::PciAddress;

/// What the driver says of a node's GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuHealth {
    /// Whether the node runs its GPUs in confidential computing mode.
    pub confidential: Option<bool>,
    /// The GPUs, in the driver's order.
    pub gpus: Vec<OneGpu>,
    /// Every two GPUs.
    pub peers: Vec<PeerAccess>,
}

/// What the driver says of one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneGpu {
    /// Its address.
    pub pci: PciAddress,
    /// Whether the driver keeps it initialised while nobody uses it.
    pub persistent: Option<bool>,
    /// Whether it is divided by MIG, now and after the next reset.
    pub mig: Option<(bool, bool)>,
    /// Whether its memory has error correction, now and after the next reset.
    pub ecc: Option<(bool, bool)>,
    /// Errors of its memory that were not corrected, since the driver was loaded.
    pub uncorrected: Option<u64>,
    /// Whether pages or rows of its memory are to be taken out of use at the next reset.
    pub repair_pending: Option<bool>,
    /// Whether a row could not be replaced.
    pub repair_failed: Option<bool>,
    /// How many processes may compute on it.
    pub compute_mode: Option<ComputeMode>,
    /// The power limit that is enforced and the default one, mW.
    pub power_mw: Option<(u32, u32)>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Where it is in joining the NVLink fabric; `None` without one.
    pub fabric: Option<FabricState>,
    /// The processes that compute on it, in the ids of the first PID namespace; `None` where the driver gives
    /// no list.
    pub processes: Option<Vec<u32>>,
}

/// How many processes may compute on a GPU (`nvmlComputeMode_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputeMode {
    /// Any.
    Any,
    /// One at a time.
    One,
    /// None.
    Prohibited,
}

/// A GPU and the fabric of NVLink switches (`nvmlGpuFabricState_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricState {
    /// It has not begun, or has not ended: fabric manager has not let it in.
    NotJoined,
    /// It is in, or was refused with this NVML code.
    Ended(u32),
}

/// Whether two GPUs can read and write each other's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAccess {
    /// The one.
    pub one: PciAddress,
    /// The other.
    pub other: PciAddress,
    /// Why not, in the driver's word; `None` where they can.
    pub refused: Option<String>,
}
