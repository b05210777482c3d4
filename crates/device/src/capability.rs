//! What a device can and cannot do, each "cannot" with its reason, so that a plan never asks for it.

use stats::latch::Latch;

use crate::MemoryKind;

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
