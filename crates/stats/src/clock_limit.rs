//! What holds a GPU's clocks down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What holds clocks down: NVML's policies, and the throttlers of AMD's firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The GPU draws as much power as it may.
    Power,
    /// It is as hot as it may be.
    Thermal,
    /// GPUs of one group run at the clock of the slowest.
    SyncBoost,
    /// The board draws as much as it may, or asks for it (PROCHOT).
    Board,
    /// Its voltage.
    Reliability,
    /// A value that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl Limit {
    /// All that this version knows, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Power, Self::Thermal, Self::SyncBoost, Self::Board, Self::Reliability];

    /// In words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Power => "its power limit",
            Self::Thermal => "its temperature",
            Self::SyncBoost => "the slowest GPU of its sync boost group",
            Self::Board => "its board's limit",
            Self::Reliability => "its voltage limit",
            Self::Newer => "a limit that this numabench does not know",
        }
    }
}
