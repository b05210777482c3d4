//! What a GPU is under while something is measured on it: its link, what holds its clocks down, who else computes on it.
//!
//! [`GpuWatch`] reads it from time to time and [`GpuConditions`] is what was seen since the first reading, so that what happened between two
//! readings is not missed where the driver counts it. The link is sysfs's, the rest NVML's. AMD GPUs have counters of another kind
//! (`gpu_metrics`), which are not read.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stats::PciAddress;

use crate::gpu_class;
use crate::link;
use crate::model::Link;
use crate::nvml::{Counted, Counter};

/// Readings of NVML take at most this part of the time.
const SHARE: u32 = 25;

/// What holds a GPU's clocks down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Limit {
    /// It draws as much power as it may.
    Power,
    /// It is as hot as it may be.
    Thermal,
    /// GPUs of one group run at the clock of the slowest.
    SyncBoost,
    /// The board draws as much as it may.
    Board,
    /// Its voltage.
    Reliability,
}

impl Limit {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Power, Self::Thermal, Self::SyncBoost, Self::Board, Self::Reliability];
}

/// What was seen of a GPU from the first reading to the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuConditions {
    /// The GPU.
    pub pci: PciAddress,
    /// Its link at the last reading; `None` where the kernel shows none.
    pub link: Option<Link>,
    /// The link that could carry the least at any reading but the first, before which nothing was measured.
    pub lowest_link: Option<Link>,
    /// What the driver counted; or why it is not known.
    pub counted: Result<CountedConditions, String>,
}

/// What the driver counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedConditions {
    /// From the first reading to the last, ns.
    pub elapsed_ns: u64,
    /// How often it was read.
    pub readings: u32,
    /// For how long each limit held the clocks down meanwhile, ns; those that this GPU counts.
    pub held_ns: Vec<(Limit, u64)>,
    /// The lowest and the highest clock of the multiprocessors that was read, MHz.
    pub sm_mhz: Option<(u32, u32)>,
    /// The same of its memory.
    pub memory_mhz: Option<(u32, u32)>,
    /// Packets that went over PCIe once more.
    pub replays: Option<u32>,
    /// The most processes that computed on it, this one among them.
    pub processes: Option<u32>,
}

/// A GPU that is read from time to time.
pub struct GpuWatch {
    counter: Option<Counter>,
    first: Counted,
    began: Instant,
    /// When the driver was read last, and how long that took; the first reading, which wakes things up, is not counted.
    last: (Instant, Duration),
    seen: GpuConditions,
}

impl GpuWatch {
    /// Opens what there is to read of the GPU at this address, of this vendor (PCI id), and reads it for the first time.
    pub fn open(pci: PciAddress, vendor: u16) -> Self {
        let counter = match vendor {
            gpu_class::NVIDIA => Counter::open(pci),
            _ => Err("only NVML's counters are read".to_owned()),
        };
        let began = Instant::now();
        let first = counter.as_ref().map(Counter::read).unwrap_or_default();
        let counted = counter.as_ref().map(|_| begun(first)).map_err(Clone::clone);
        let seen = GpuConditions { pci, link: link::of(pci), lowest_link: None, counted };
        Self { counter: counter.ok(), first, began, last: (began, Duration::ZERO), seen }
    }

    /// Reads it again: the link, and the driver's counters unless that would take too much of the time.
    pub fn read(&mut self) {
        if let Some(now) = link::of(self.seen.pci) {
            let lowest = self.seen.lowest_link.take().into_iter().chain([now.clone()]);
            self.seen.lowest_link = lowest.min_by_key(link::lanes_times_rate);
            self.seen.link = Some(now);
        }
        let (at, took) = self.last;
        let (Some(counter), Ok(counted)) = (&self.counter, &mut self.seen.counted) else { return };
        if at.elapsed() < took * SHARE {
            return;
        }
        let begins = Instant::now();
        let now = counter.read();
        counted.add(self.first, now, begins - self.began);
        self.last = (Instant::now(), begins.elapsed());
    }

    /// What was seen so far.
    pub fn seen(&self) -> &GpuConditions {
        &self.seen
    }
}

fn begun(first: Counted) -> CountedConditions {
    let mut counted = CountedConditions::default();
    counted.add(first, first, Duration::ZERO);
    counted
}

impl CountedConditions {
    fn add(&mut self, first: Counted, now: Counted, after: Duration) {
        self.elapsed_ns = after.as_nanos() as u64;
        self.readings += 1;
        let held = |at: usize| Some(now.held_ns[at]?.saturating_sub(first.held_ns[at]?));
        self.held_ns = (0..).zip(Limit::ALL).filter_map(|(at, limit)| Some((limit, held(at)?))).collect();
        self.sm_mhz = widened(self.sm_mhz, now.sm_mhz);
        self.memory_mhz = widened(self.memory_mhz, now.memory_mhz);
        self.replays = now.replays.zip(first.replays).map(|(now, first)| now.saturating_sub(first)).or(self.replays);
        self.processes = self.processes.max(now.processes);
    }
}

fn widened(range: Option<(u32, u32)>, value: Option<u32>) -> Option<(u32, u32)> {
    match (range, value) {
        (Some((low, high)), Some(value)) => Some((low.min(value), high.max(value))),
        (range, value) => range.or(value.map(|value| (value, value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_told_from_the_first_reading_on_and_states_with_their_extremes() {
        let reading = |power: u64, sm: u32, processes: u32| Counted {
            held_ns: [Some(power), Some(7), None, None, None],
            sm_mhz: Some(sm),
            memory_mhz: None,
            replays: Some(3),
            processes: Some(processes),
        };
        let first = reading(1_000, 1980, 1);
        let mut counted = begun(first);
        counted.add(first, reading(1_200, 1200, 2), Duration::from_nanos(500));
        counted.add(first, reading(1_300, 1500, 1), Duration::from_nanos(900));
        assert_eq!(counted.held_ns, [(Limit::Power, 300), (Limit::Thermal, 0)], "what is not counted is left out");
        assert_eq!((counted.sm_mhz, counted.memory_mhz), (Some((1200, 1980)), None));
        assert_eq!((counted.elapsed_ns, counted.readings), (900, 3));
        assert_eq!((counted.replays, counted.processes), (Some(0), Some(2)));
    }

    #[test]
    fn a_gpu_that_nobody_counts_says_why() {
        let pci = PciAddress { domain: 0xfffe, bus: 0, device: 0, function: 0 };
        let amd = GpuWatch::open(pci, gpu_class::AMD);
        assert_eq!(amd.seen().counted, Err("only NVML's counters are read".to_owned()));
        assert!(GpuWatch::open(pci, gpu_class::NVIDIA).seen().counted.is_err(), "there is no such GPU");
    }
}
