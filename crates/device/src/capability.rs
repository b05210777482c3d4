//! What a device can and cannot do, each "cannot" with its reason, so that a plan never asks for it.

use crate::MemoryKind;

/// How queued copies are held back until the whole queue is there.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Latch {
    /// The driver's stream-memory wait on a pinned flag (cuStreamWaitValue32 / hipStreamWaitValue32).
    StreamWait,
    /// A kernel that spins on the flag, with a timeout.
    SpinKernel,
    /// None: only host timing is possible.
    None {
        /// Why.
        reason: String,
    },
}

impl Latch {
    /// As documents name it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::StreamWait => "stream-wait",
            Self::SpinKernel => "spin-kernel",
            Self::None { .. } => "none",
        }
    }
}

/// What one opened device can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The latch for device timing.
    pub latch: Latch,
    /// Whether the device itself can fill and compare an area ([`crate::Copier::fill`]), or why not.
    pub patterns: Result<(), String>,
    /// Whether the device can follow a chain of loads ([`crate::Device::chaser`]), or why not.
    pub loads: Result<(), String>,
    /// Whether both directions can move at once on one copier, or why not.
    pub bidirectional: Result<(), String>,
    /// The memory kinds there are, each with the reason if it is missing.
    pub memory: [(MemoryKind, Result<(), String>); 5],
}

impl Capabilities {
    /// Whether memory of this kind can be had, or why not.
    pub fn memory(&self, kind: MemoryKind) -> Result<(), String> {
        self.memory.iter().find(|(k, _)| *k == kind).map_or(Ok(()), |(_, can)| can.clone())
    }
}
