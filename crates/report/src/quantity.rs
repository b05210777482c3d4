//! What a row of the flat table counts, and its unit: bytes that were moved, the time of one access, or the work of a kernel in that kernel's own unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Document;
use crate::case::Case;
use crate::kernels::{KernelFigures, RESIDENT, WorkUnit};
use crate::settings::Direction;

/// What a figure measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Quantity {
    /// The rate of copies, reads and writes, bytes/s.
    #[default]
    #[serde(rename = "bandwidth")]
    Bandwidth,
    /// The time of one load, one handover between cores, or one round trip of a flag, ns: no rate says anything of it.
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

    fn of_work(unit: WorkUnit) -> Self {
        match unit {
            WorkUnit::Flop => Self::FlopRate,
            WorkUnit::Byte => Self::KernelBandwidth,
            WorkUnit::Key => Self::KeyRate,
            WorkUnit::Newer => Self::WorkRate,
        }
    }
}

/// What a round of a case counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundCount {
    /// What its figures measure.
    pub quantity: Quantity,
    /// How much work a round is, in the kernel's own count; `None` where a round's bytes are what counts.
    pub amount: Option<f64>,
}

impl RoundCount {
    /// What the rounds of a case count.
    pub fn of<B>(document: &Document<B>, case: &Case<B>) -> Self {
        let plain = |quantity| Self { quantity, amount: None };
        match case.direction {
            Direction::Load | Direction::CoreToCore | Direction::CoreToGpu => plain(Quantity::Latency),
            Direction::Kernel => {
                let work = document.kernels.iter().find_map(|kernel| work_of(kernel, case.group.as_deref()?));
                work.unwrap_or(plain(Quantity::KernelBandwidth))
            }
            _ => plain(Quantity::Bandwidth),
        }
    }

    /// The figure of a round that takes `ns` and moves its bytes at `bytes_per_s`, in the quantity's unit.
    pub(crate) fn value(self, ns: f64, bytes_per_s: f64) -> f64 {
        match (self.quantity, self.amount) {
            (Quantity::Latency, _) => ns,
            (_, Some(amount)) => amount / ns * 1e9,
            (_, None) => bytes_per_s,
        }
    }
}

/// The work of a round of a kernel's case, where the group is one of its.
fn work_of(kernel: &KernelFigures, group: &str) -> Option<RoundCount> {
    let rest = group.strip_prefix(&kernel.name)?;
    let runs = match rest {
        RESIDENT => 1.0,
        _ if rest.is_empty() || rest.starts_with(',') => f64::from(kernel.iterations),
        _ => return None,
    };
    Some(RoundCount { quantity: Quantity::of_work(kernel.unit), amount: Some(kernel.amount * runs) })
}
