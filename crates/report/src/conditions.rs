//! What a GPU was under while it was measured: held down clocks, other processes, a link of fewer lanes.
//!
//! A figure measured on a GPU that was throttled or shared is right, and is not what the GPU can do. Flags
//! mark the results; `analysis::throttling` names the GPU and the cause in a sentence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::clock_limit::Limit;
use stats::flag::Flag;

/// Clocks that were held down for less than this part of the time are not worth a word.
const THROTTLED: f64 = 0.01;

/// What a GPU was under from the first reading, before its first copy, to the last one, after the last pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// From the first reading to the last, ns.
    pub elapsed_ns: u64,
    /// How often it was read; what is counted is not missed between two readings.
    pub readings: u32,
    /// For how long something held its clocks down; one entry for each limit that the driver counts.
    pub held_back: Vec<HeldBack>,
    /// The clock of its multiprocessors, as read; of several dies the slowest's.
    pub sm_clock_mhz: Option<ClockRange>,
    /// The clock of its memory, as read.
    pub memory_clock_mhz: Option<ClockRange>,
    /// Packets that went over PCIe once more; null where that is not counted.
    pub replays: Option<u32>,
    /// The most processes at once that computed on it beside this launch's; null where the driver does not
    /// say.
    pub other_processes: Option<u32>,
    /// The least that its link was at any reading after a pass; null where the kernel shows none.
    pub lowest_link: Option<LowestLink>,
}

/// Time for which a limit held clocks down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBack {
    /// The limit.
    pub limit: Limit,
    /// How long, ns.
    pub ns: u64,
}

/// The lowest and the highest that was read, MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRange {
    /// The lowest.
    pub low: u32,
    /// The highest.
    pub high: u32,
}

/// A PCIe link at its least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LowestLink {
    /// Generation.
    pub generation: Option<u8>,
    /// Lanes.
    pub width: Option<u8>,
}

impl Conditions {
    /// What held the clocks down longest, and for what part of the time; `None` where that is too little for
    /// a word.
    pub fn throttled(&self) -> Option<(Limit, f64)> {
        let longest = self.held_back.iter().max_by_key(|held| held.ns)?;
        let share = longest.ns as f64 / self.elapsed_ns.max(1) as f64;
        (share >= THROTTLED).then_some((longest.limit, share.min(1.0)))
    }

    /// What a comparison of two runs looks at: `nothing`, or what it was, without how much.
    pub fn held_back_by(&self) -> String {
        let throttled = self.throttled().map(|(limit, _)| limit.description());
        let shared = self.other_processes.filter(|others| *others > 0).map(|_| "other processes");
        let all: Vec<&str> = throttled.into_iter().chain(shared).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(" and ") }
    }

    /// The flags of figures that were measured under these conditions.
    pub fn flags(&self) -> Vec<Flag> {
        let throttled = self.throttled().map(|_| Flag::Throttled);
        let shared = self.other_processes.filter(|others| *others > 0).map(|_| Flag::SharedGpu);
        throttled.into_iter().chain(shared).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(ns: &[(Limit, u64)]) -> Conditions {
        Conditions {
            elapsed_ns: 1_000_000,
            readings: 2,
            held_back: ns.iter().map(|(limit, ns)| HeldBack { limit: *limit, ns: *ns }).collect(),
            sm_clock_mhz: None,
            memory_clock_mhz: None,
            replays: None,
            other_processes: Some(0),
            lowest_link: None,
        }
    }

    #[test]
    fn a_gpu_is_throttled_from_a_hundredth_of_the_time_on_and_by_what_took_longest() {
        assert_eq!(held(&[]).throttled(), None, "nothing is counted");
        assert_eq!(held(&[(Limit::Power, 9_000), (Limit::Thermal, 0)]).throttled(), None);
        let most = held(&[(Limit::Power, 10_000), (Limit::Thermal, 250_000)]);
        assert_eq!(most.throttled(), Some((Limit::Thermal, 0.25)));
        assert_eq!(most.flags(), [Flag::Throttled]);
        assert_eq!(Conditions { other_processes: Some(2), ..held(&[]) }.flags(), [Flag::SharedGpu]);
    }
}
