//! One reading of what a driver counts of a GPU at work, whichever driver it is.

use serde::{Deserialize, Serialize};

/// What holds a GPU's clocks down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Limit {
    /// It draws as much power as it may.
    Power,
    /// It is as hot as it may be.
    Thermal,
    /// GPUs of one group run at the clock of the slowest.
    SyncBoost,
    /// The board draws as much as it may, or asks for it (PROCHOT).
    Board,
    /// Its voltage.
    Reliability,
}

impl Limit {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Power, Self::Thermal, Self::SyncBoost, Self::Board, Self::Reliability];
}

/// A reading; `None` for what this GPU or driver does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// For how long clocks were held down since some time in the past, in the order of [`Limit::ALL`], ns.
    pub held_ns: [Option<u64>; 5],
    /// The clock of its multiprocessors.
    pub sm_mhz: Option<u32>,
    /// The clock of its memory.
    pub memory_mhz: Option<u32>,
    /// Packets that went over PCIe once more since some time in the past.
    pub replays: Option<u32>,
    /// Processes that compute on it.
    pub processes: Option<u32>,
}
