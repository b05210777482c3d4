//! One reading of what a driver counts of a GPU at work, whichever driver it is.

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
