//! Loads of host memory by a GPU, each waiting for the one before it: what one load takes, from each GPU to
//! the memory of each node.
//!
//! A rank's range is placed and pinned once for each allocation and node, holds one chain (`chain`) and goes
//! from device to device; it stays while other ranks are measured. Each device goes on along the chain where
//! it stopped itself, whatever the others did meanwhile: it meets a line again only after a turn of its own.
//!
//! A round is a kernel of 4,096 loads by one thread, behind a latch, by the device's clock; so quantiles are
//! over kernels and not over single loads. The range must be larger than the device's L2. Cases are of the
//! first phase: a matrix measures them, by a second thread on the row's PU, before large copies are queued.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::{Chaser, HostMemory, MemoryKind, Platform};
use engine::{
    Bound, Failure, Latch, ObservedPlacement, PageCheck, PagesPerNode, PlacingRules, Site, Stage, Suite,
    TimeSpent, Trouble, Work, Worker, clock, no_memory,
};
use placement::TargetId;
use topo::gpu_condition::GpuConditions;

use crate::chain::{Cycle, LoadWork};
use crate::devices::Devices;
use crate::fault::allocating;
use crate::host_range::{self, Want};

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
    rules: PlacingRules,
    seed: u64,
}

impl LoadSuite {
    /// These cases by these ranks.
    pub fn new(
        cases: Vec<LoadCase>,
        workers: Vec<Worker>,
        platform: &Arc<dyn Platform>,
        rules: PlacingRules,
        seed: u64,
    ) -> Self {
        Self { cases, workers, platform: Arc::clone(platform), rules, seed }
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
        self.cases.iter().enumerate().map(|(index, case)| engine::Case::by(index, vec![case.rank])).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let pu = self.workers.iter().find(|other| other.rank == worker.rank).map_or(worker.pu, |own| own.pu);
        let first = self.cases.iter().find(|case| case.rank == worker.rank).map(|case| case.target);
        let devices = Devices::new(&self.platform, first)?;
        Ok(Box::new(LoadSite { held: None, range: None, devices, pu, suite: self }))
    }
}

/// A range with a chain, which goes from device to device.
struct Range {
    node: u32,
    bytes: usize,
    allocation: u32,
    cycle: Cycle,
    /// Where each device that has followed it stopped, by offset.
    stopped: BTreeMap<TargetId, u64>,
    /// The memory, while no device has it.
    memory: Option<Box<dyn HostMemory>>,
}

/// One rank's end: the range at hand, and the device that follows its chain.
struct LoadSite {
    // Dropped in this order: what uses a device before the device.
    held: Option<(usize, Box<dyn Chaser>)>,
    range: Option<Range>,
    devices: Devices,
    pu: u32,
    suite: Arc<LoadSuite>,
}

impl LoadSite {
    /// Takes the memory from the device that has it. What could not be waited for is given up, and the chain
    /// with it.
    fn put_down(&mut self) {
        let Some((setup, mut chaser)) = self.held.take() else { return };
        let target = self.suite.cases[setup].target;
        let stopped = chaser.at();
        let memory = chaser.into_host();
        match (&mut self.range, stopped, memory) {
            (Some(range), Ok(at), Some(memory)) => {
                range.stopped.insert(target, at);
                range.memory = Some(memory);
            }
            _ => self.range = None,
        }
    }

    /// The range that a case needs: the one there is, or one made anew; and whether it was.
    fn need(
        &mut self,
        bound: &Bound,
        case: LoadCase,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<(&mut Range, bool), Trouble> {
        let LoadCase { target, node, bytes, .. } = case;
        let is_it = |range: &Range| (range.node, range.bytes, range.allocation) == (node, bytes, allocation);
        let fresh = !self.range.as_ref().is_some_and(is_it);
        if fresh {
            // Freed before as much again is allocated.
            clock::timed(&mut spent.allocate_ns, || self.range = None);
            let LoadSuite { rules, seed, .. } = &*self.suite;
            let device = self.devices.open(target)?;
            let want = Want { kind: MemoryKind::Pinned, len: bytes, nodes: node.into() };
            let mut memory = host_range::allocate(bound, device, &want, rules, spent)?;
            let seed = stats::random::mix(seed ^ stats::random::mix(u64::from(allocation) + 1));
            let cycle = clock::timed(&mut spent.lay_out_ns, || Cycle::new(memory.bytes_mut(), seed))?;
            let memory = Some(memory);
            self.range = Some(Range { node, bytes, allocation, cycle, stopped: BTreeMap::new(), memory });
        }

        Ok((self.range.as_mut().ok_or_else(no_memory)?, fresh))
    }
}

impl Site for LoadSite {
    fn latch(&self) -> Option<Latch> {
        self.devices.latch(self.held.as_ref().map(|(setup, _)| self.suite.cases[*setup].target))
    }

    fn read_links(&mut self) {
        if let Some((setup, _)) = &self.held {
            self.devices.read_links(&[self.suite.cases[*setup].target]);
        }
    }

    fn conditions(&mut self) -> Vec<GpuConditions> {
        self.devices.conditions()
    }

    fn set_up(
        &mut self,
        bound: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        let is_there = self.range.as_ref().is_some_and(|range| range.allocation == allocation);
        if is_there && self.held.as_ref().is_some_and(|(held, _)| *held == setup) {
            return Ok(false);
        }
        self.put_down();
        let case = self.suite.cases[setup];
        let can = self.devices.open(case.target)?.capabilities();
        can.memory(MemoryKind::Pinned).and_then(|()| can.loads.clone()).map_err(Trouble::Skipped)?;
        let (range, fresh) = self.need(bound, case, allocation, spent)?;
        let memory =
            range.memory.take().ok_or_else(|| Failure::new(Stage::Allocate, "its memory is elsewhere"))?;
        let at = range.stopped.get(&case.target).copied().unwrap_or(0);
        let device = self.devices.open(case.target)?;
        let made = device.chaser(memory).and_then(|mut chaser| chaser.start_at(at).map(|()| chaser));
        let chaser = made.map_err(|error| {
            // The memory went with it.
            self.range = None;
            allocating(error)
        })?;
        self.held = Some((setup, chaser));

        Ok(fresh)
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some((_, chaser)) = &mut self.held {
            seen.pages = PagesPerNode::of(chaser.memory(), how, false);
        }
        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        let (setup, _) = self.held.as_ref()?;
        seen.mismatch(self.pu, self.suite.cases[*setup].node, None)
    }

    fn work(&mut self, _case: usize, _pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let (setup, chaser) = self.held.as_mut().ok_or_else(no_memory)?;
        let timing = self.devices.timing(self.suite.cases[*setup].target);
        let range = self.range.as_ref().ok_or_else(no_memory)?;
        Ok(Box::new(LoadWork::new(&mut **chaser, &range.cycle, timing)))
    }
}
