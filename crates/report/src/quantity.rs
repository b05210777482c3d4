//! What a row of the flat table counts, and its unit: bytes that were moved, the time of one access, or the
//! work of a kernel in that kernel's own unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernels::WorkUnit;

/// What a figure measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Quantity {
    /// The rate of copies, reads and writes, bytes/s.
    #[default]
    #[serde(rename = "bandwidth")]
    Bandwidth,
    /// The time of one load, one handover between cores, or one round trip of a flag, ns: no rate says
    /// anything of it.
    #[serde(rename = "latency")]
    Latency,
    /// The rate of a kernel that counts floating-point operations.
    #[serde(rename = "flop rate")]
    FlopRate,
    /// The rate of a kernel that counts bytes.
    #[serde(rename = "kernel bandwidth")]
    KernelBandwidth,
    /// The rate of a kernel that counts keys.
    #[serde(rename = "key rate")]
    KeyRate,
    /// The rate of a kernel that counts what a newer numabench knows, or that value itself.
    #[serde(rename = "work rate", other)]
    WorkRate,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FigureUnit {
    /// Bytes per second.
    #[default]
    #[serde(rename = "B/s")]
    BytesPerS,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Floating-point operations per second.
    #[serde(rename = "FLOP/s")]
    FlopPerS,
    /// Keys per second.
    #[serde(rename = "keys/s")]
    KeysPerS,
    /// What a newer numabench counts, per second.
    #[serde(rename = "1/s", other)]
    PerS,
}

impl Quantity {
    /// Its unit.
    pub fn unit(self) -> FigureUnit {
        match self {
            Self::Bandwidth | Self::KernelBandwidth => FigureUnit::BytesPerS,
            Self::Latency => FigureUnit::Ns,
            Self::FlopRate => FigureUnit::FlopPerS,
            Self::KeyRate => FigureUnit::KeysPerS,
            Self::WorkRate => FigureUnit::PerS,
        }
    }

    /// What a kernel's figures count; `None` of what is no kernel's.
    pub fn work(self) -> Option<WorkUnit> {
        match self {
            Self::Bandwidth | Self::Latency => None,
            Self::FlopRate => Some(WorkUnit::Flop),
            Self::KernelBandwidth => Some(WorkUnit::Byte),
            Self::KeyRate => Some(WorkUnit::Key),
            Self::WorkRate => Some(WorkUnit::Newer),
        }
    }

    /// The rate of a kernel that counts this.
    pub(crate) fn of_work(unit: WorkUnit) -> Self {
        match unit {
            WorkUnit::Flop => Self::FlopRate,
            WorkUnit::Byte => Self::KernelBandwidth,
            WorkUnit::Key => Self::KeyRate,
            WorkUnit::Newer => Self::WorkRate,
        }
    }
}
