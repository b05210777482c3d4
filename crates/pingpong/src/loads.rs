//! Loads of host memory by a GPU, each waiting for the one before it: what one load takes, from each GPU to the memory of each node.
//!
//! The memory holds a cycle of lines (`device::Chaser`), every line once a turn, so that none is in a cache from the turn before as long as
//! the range is larger than the GPU's L2. Lines that follow each other lie within the same 2 MiB: a load then pays for the way to the
//! memory and not for a page walk, as in a program that uses one buffer after the other. What proves the work: the cycle's order is kept,
//! so where the device must be after so many loads is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::{Chaser, MemoryKind, Platform};
use engine::{
    Bound, Failure, Helpers, Latch, Look, Order, Pages, Seen, Site, Stage, Suite, TimeSpent, Timing, Trouble, Work,
    Worker,
};
use placement::TargetId;
use stats::random::SplitMix64;
use topo::gpu_condition::GpuConditions;

use crate::devices::Devices;
use crate::fault::failure;
use crate::host_range::{self, Want};

/// The distance of two loads, bytes: the line of a GPU's L2.
pub const LOAD_LINE_BYTES: usize = 128;
/// Loads of one kernel: a launch is then below a thousandth of them.
pub const LOADS_A_KERNEL: u32 = 4096;
/// Lines of one window come one after the other, bytes.
const WINDOW: usize = 2 << 20;
const WORD: usize = 8;

/// A case: a rank's GPU loads from a range on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadCase {
    /// The rank that asks for it.
    pub rank: usize,
    /// The device that loads.
    pub target: TargetId,
    /// The NUMA node of the range, OS index.
    pub node: u32,
    /// The range, bytes.
    pub bytes: usize,
}

/// Loads as a suite.
pub struct LoadSuite {
    cases: Vec<LoadCase>,
    workers: Vec<Worker>,
    platform: Arc<dyn Platform>,
    helpers: Helpers,
    one_node: bool,
    huge_pages: bool,
    seed: u64,
}

impl LoadSuite {
    /// These cases by these ranks. `one_node`: the machine has one NUMA node only; `helpers`: PUs that may help to touch memory.
    pub fn new(
        cases: Vec<LoadCase>,
        workers: Vec<Worker>,
        platform: &Arc<dyn Platform>,
        (helpers, one_node, huge_pages): (Helpers, bool, bool),
        seed: u64,
    ) -> Self {
        Self { cases, workers, platform: Arc::clone(platform), helpers, one_node, huge_pages, seed }
    }

    /// The most memory that `node` must have at one time, bytes: each rank has one range.
    pub fn bytes_on(&self, node: u32) -> u64 {
        let mut largest: BTreeMap<usize, u64> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| case.node == node) {
            let mine = largest.entry(case.rank).or_default();
            *mine = (*mine).max(case.bytes as u64);
        }
        largest.values().sum()
    }
}

impl Suite for LoadSuite {
    fn cases(&self) -> Vec<engine::Case> {
        let case = |(index, case): (usize, &LoadCase)| engine::Case {
            index,
            order: Order::Alone,
            setup: index,
            phase: 0,
            members: Some(vec![case.rank]),
        };
        self.cases.iter().enumerate().map(case).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let pu = self.workers.iter().find(|other| other.rank == worker.rank).map_or(worker.pu, |own| own.pu);
        let mut devices = Devices::new(&self.platform);
        let first = self.cases.iter().find(|case| case.rank == worker.rank).map(|case| case.target);
        if let Some(target) = first {
            devices.open(target)?;
        }
        Ok(Box::new(LoadSite { chain: None, held: None, devices, pu, first, suite: self }))
    }
}

/// The order of a chain's lines.
struct Cycle {
    /// The place of each line in the cycle.
    place: Vec<u32>,
}

impl Cycle {
    /// Writes a random cycle over all lines of `memory`, window after window; it begins at offset 0.
    fn new(memory: &mut [u8], seed: u64) -> Self {
        let lines = memory.len() / LOAD_LINE_BYTES;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        let mut random = SplitMix64::new(seed);
        order.chunks_mut(WINDOW / LOAD_LINE_BYTES).for_each(|window| random.shuffle(window));
        // The chase begins at the first line.
        if let Some(first) = order.iter().position(|line| *line == 0) {
            order.swap(0, first);
        }
        let mut place = vec![0; lines];
        for (number, line) in order.iter().enumerate() {
            place[*line as usize] = number as u32;
            let next = order[(number + 1) % lines] as usize * LOAD_LINE_BYTES;
            let from = *line as usize * LOAD_LINE_BYTES;
            memory[from..from + WORD].copy_from_slice(&(next as u64).to_le_bytes());
        }
        Self { place }
    }

    /// Which load of the cycle comes next at this offset; `None` for an offset where no line is.
    fn number(&self, offset: u64) -> Option<u64> {
        let line = usize::try_from(offset).ok()?;
        let whole = line.is_multiple_of(LOAD_LINE_BYTES);
        whole.then(|| self.place.get(line / LOAD_LINE_BYTES).copied().map(u64::from)).flatten()
    }
}

/// One rank's end: the chain of the setup at hand, and the device that follows it.
struct LoadSite {
    // Dropped in this order: what uses a device before the device.
    held: Option<Box<dyn Chaser>>,
    chain: Option<(usize, u32, Cycle)>,
    devices: Devices,
    pu: u32,
    /// The device of its first case.
    first: Option<TargetId>,
    suite: Arc<LoadSuite>,
}

impl LoadSite {
    /// The device at hand.
    fn target(&self) -> Option<TargetId> {
        self.chain.as_ref().map(|(setup, ..)| self.suite.cases[*setup].target).or(self.first)
    }
}

impl Site for LoadSite {
    fn latch(&self) -> Option<Latch> {
        self.devices.latch(self.target()?)
    }

    fn conditions(&mut self) -> Vec<GpuConditions> {
        self.devices.conditions()
    }

    fn set_up(&mut self, bound: &Bound, setup: usize, allocation: u32, spent: &mut TimeSpent) -> Result<bool, Trouble> {
        if self.chain.as_ref().is_some_and(|(held, there, _)| (*held, *there) == (setup, allocation)) {
            return Ok(false);
        }
        // Freed before as much again is allocated.
        self.held = None;
        self.chain = None;
        let LoadCase { target, node, bytes, .. } = self.suite.cases[setup];
        let LoadSuite { helpers, one_node, huge_pages, seed, .. } = &*self.suite;
        let device = self.devices.open(target)?;
        let kind = MemoryKind::Pinned;
        device.capabilities().memory(kind).map_err(Trouble::Skipped)?;
        let want = Want { kind, len: bytes, node, huge_pages: *huge_pages, one_node: *one_node };
        let mut memory = host_range::allocate(bound, device, &want, helpers, spent)?;
        let seed = stats::random::mix(seed ^ stats::random::mix(u64::from(allocation) + 1));
        let cycle = spent.on(|spent| &mut spent.lay_out_ns, || Cycle::new(memory.bytes_mut(), seed));
        let chaser = device.chaser(memory).map_err(|error| match error {
            device::DeviceError::Unsupported { .. } => Trouble::Skipped(error.to_string()),
            other => failure(Stage::Allocate, &other).into(),
        })?;
        self.held = Some(chaser);
        self.chain = Some((setup, allocation, cycle));
        Ok(true)
    }

    fn set_aside(&mut self) {
        self.held = None;
        self.chain = None;
    }

    fn look(&mut self, how: Look) -> Result<Seen, Failure> {
        let mut seen = Seen::thread()?;
        if let Some(chaser) = &mut self.held {
            seen.pages = Pages::of(chaser.memory(), how, false);
        }
        Ok(seen)
    }

    fn mismatch(&self, seen: &Seen) -> Option<String> {
        let (setup, ..) = self.chain.as_ref()?;
        seen.mismatch(self.pu, self.suite.cases[*setup].node, None)
    }

    fn work(&mut self, _case: usize, _pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let nothing = || Trouble::from(Failure::new(Stage::Allocate, "no memory was made"));
        let (setup, _, cycle) = self.chain.as_ref().ok_or_else(nothing)?;
        let timing = match self.devices.latch(self.suite.cases[*setup].target) {
            Some(Latch { reason: None, .. }) => Timing::Device,
            _ => Timing::Host,
        };
        let chaser = self.held.as_deref_mut().ok_or_else(nothing)?;
        Ok(Box::new(LoadWork { chaser, cycle, timing, began: 0, loads: 0 }))
    }
}

/// One block of loads.
struct LoadWork<'a> {
    chaser: &'a mut dyn Chaser,
    cycle: &'a Cycle,
    timing: Timing,
    began: u64,
    loads: u64,
}

fn measuring(error: device::DeviceError) -> Failure {
    failure(Stage::Measure, &error)
}

impl Work for LoadWork<'_> {
    fn timing(&self) -> Timing {
        self.timing
    }

    fn bytes_a_round(&self) -> f64 {
        LOAD_LINE_BYTES as f64
    }

    fn rounds_a_call(&self) -> u32 {
        LOADS_A_KERNEL
    }

    /// Where the chase is, and so where it must be after the block.
    fn lay_out(&mut self) -> Result<(), Failure> {
        let at = self.chaser.at().map_err(measuring)?;
        (self.began, self.loads) = (self.cycle.number(at).unwrap_or(u64::MAX), 0);
        Ok(())
    }

    fn arm(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.loads += u64::from(LOADS_A_KERNEL);
        self.chaser.round(u64::from(LOADS_A_KERNEL)).map_err(measuring)
    }

    fn hold(&mut self) -> Result<(), Failure> {
        self.chaser.hold().map_err(measuring)
    }

    fn enqueue(&mut self, rounds: u32) -> Result<(), Failure> {
        self.loads += u64::from(LOADS_A_KERNEL) * u64::from(rounds);
        self.chaser.enqueue(u64::from(LOADS_A_KERNEL), rounds).map_err(measuring)
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.chaser.release().map_err(measuring)
    }

    fn ended(&mut self) -> Result<usize, Failure> {
        self.chaser.rounds_ended().map_err(measuring)
    }

    fn finish(&mut self, [first, _]: &mut [Vec<f64>; 2]) -> Result<(), Failure> {
        self.chaser.finish(first).map_err(measuring)
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let at = self.chaser.at().map_err(measuring)?;
        let lines = self.cycle.place.len().max(1) as u64;
        let (got, expected) = (self.cycle.number(at), self.began.wrapping_add(self.loads) % lines);
        if got != Some(expected) {
            let got = got.map_or("nowhere".to_owned(), |load| format!("at load {load}"));
            let why = format!("after {} loads the device is {got} of the cycle, not at {expected}", self.loads);
            return Err(Trouble::Invalid(why));
        }
        Ok(self.loads * WORD as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_has_every_line_once_window_after_window_and_begins_at_the_first() {
        let lines = 3 * WINDOW / LOAD_LINE_BYTES;
        let mut memory = vec![0; lines * LOAD_LINE_BYTES];
        let cycle = Cycle::new(&mut memory, 7);
        let (mut at, mut seen) = (0_u64, vec![false; lines]);
        for number in 0..lines as u64 {
            assert_eq!(cycle.number(at), Some(number));
            let line = at as usize / LOAD_LINE_BYTES;
            assert!(!std::mem::replace(&mut seen[line], true), "line {line} twice");
            assert_eq!(at as usize / WINDOW, number as usize * LOAD_LINE_BYTES / WINDOW, "within its window");
            let word: [u8; 8] = memory[at as usize..][..8].try_into().expect("8 bytes");
            at = u64::from_le_bytes(word);
        }
        assert_eq!(at, 0, "and ends where it began");
        assert_eq!(cycle.number(64), None, "between two lines is none");
        let order = |seed| Cycle::new(&mut memory.clone(), seed).place;
        assert_ne!(order(1), order(2));
    }
}
