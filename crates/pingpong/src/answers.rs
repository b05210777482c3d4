//! How long a flag takes from a core to a device and back: the CPU writes a word in pinned host memory, a
//! kernel of the device sees it and writes it to another one, and the CPU sees that.
//!
//! The memory of a row is one page of its node, pinned once for each allocation. A block has words that no
//! block of the page used before, as long as there are some: where a line lies in the cache depends on its
//! address. The kernel runs from before the block until after it. Each answer is the question's own number,
//! so that every round trip is proven by itself; at the end the device has answered the last one.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::answerer::QUESTION_BYTES;
use device::{Answerer, HostMemory, MemoryKind, Platform};
use engine::{
    Bound, Failure, Latch, ObservedPlacement, PageCheck, PagesPerNode, PlacingRules, Site, Suite, TimeSpent,
    Timing, Trouble, Work, Worker, no_memory,
};
use placement::TargetId;
use topo::gpu_condition::GpuConditions;

use crate::devices::Devices;
use crate::fault::{allocating, measuring};
use crate::host_range::{self, Want};

/// Round trips between two readings of the clock.
const TRIPS_A_CALL: u32 = 64;
/// The memory of a row.
const PAGE_BYTES: usize = 4096;
/// What a round trip moves: a word there and a word back.
pub const ANSWER_BYTES: usize = 16;

/// One figure: a rank asks, a device answers, over memory of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerCase {
    /// The rank.
    pub rank: usize,
    /// The device.
    pub target: TargetId,
    /// The NUMA node of the flags.
    pub node: u32,
}

/// Answers of devices as a suite.
pub struct AnswerSuite {
    cases: Vec<AnswerCase>,
    pus: BTreeMap<usize, u32>,
    platform: Arc<dyn Platform>,
    rules: PlacingRules,
}

impl AnswerSuite {
    /// These cases by these ranks.
    pub fn new(
        cases: Vec<AnswerCase>,
        workers: &[Worker],
        platform: &Arc<dyn Platform>,
        rules: &PlacingRules,
    ) -> Self {
        let pus = workers.iter().map(|worker| (worker.rank, worker.pu)).collect();
        // A page of flags is no huge one, and nobody has to help with it.
        let rules = PlacingRules { one_node: rules.one_node, ..PlacingRules::default() };
        Self { cases, pus, platform: Arc::clone(platform), rules }
    }
}

impl Suite for AnswerSuite {
    fn cases(&self) -> Vec<engine::Case> {
        self.cases.iter().enumerate().map(|(index, case)| engine::Case::by(index, vec![case.rank])).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let pu = self.pus.get(&worker.rank).copied().unwrap_or(worker.pu);
        let first = self.cases.iter().find(|case| case.rank == worker.rank).map(|case| case.target);
        let devices = Devices::new(&self.platform, first)?;
        Ok(Box::new(AnswerSite { held: None, page: None, devices, pu, suite: self }))
    }
}

/// A row's flags, which go from device to device.
struct Page {
    node: u32,
    allocation: u32,
    /// Blocks that have used it.
    blocks: usize,
    /// The memory, while no device has it.
    memory: Option<Box<dyn HostMemory>>,
}

/// One rank's end: the page at hand, and the device that answers over it.
struct AnswerSite {
    // Dropped in this order: what uses a device before the device.
    held: Option<(usize, Box<dyn Answerer>)>,
    page: Option<Page>,
    devices: Devices,
    pu: u32,
    suite: Arc<AnswerSuite>,
}

impl AnswerSite {
    /// Takes the memory from the device that has it; what could not be waited for is given up.
    fn put_down(&mut self) {
        let Some((_, answerer)) = self.held.take() else { return };
        let memory = answerer.into_host();
        match &mut self.page {
            Some(page) if memory.is_some() => page.memory = memory,
            _ => self.page = None,
        }
    }
}

impl Site for AnswerSite {
    fn latch(&self) -> Option<Latch> {
        self.devices.latch(None)
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
        let AnswerCase { target, node, .. } = self.suite.cases[setup];
        let is_there = |page: &Page| (page.node, page.allocation) == (node, allocation);
        let fresh = !self.page.as_ref().is_some_and(is_there);
        if !fresh && self.held.as_ref().is_some_and(|(held, _)| *held == setup) {
            return Ok(false);
        }
        self.put_down();
        let can = self.devices.open(target)?.capabilities();
        can.memory(MemoryKind::Pinned).and_then(|()| can.loads.clone()).map_err(Trouble::Skipped)?;

        if fresh || self.page.is_none() {
            self.page = None;
            let device = self.devices.open(target)?;
            let want = Want { kind: MemoryKind::Pinned, len: PAGE_BYTES, nodes: node.into() };
            let memory = Some(host_range::allocate(bound, device, &want, &self.suite.rules, spent)?);
            self.page = Some(Page { node, allocation, blocks: 0, memory });
        }

        let memory = self.page.as_mut().and_then(|page| page.memory.take()).ok_or_else(no_memory)?;
        let answerer = self.devices.open(target)?.answerer(memory).map_err(|error| {
            // The memory went with it.
            self.page = None;
            allocating(error)
        })?;
        self.held = Some((setup, answerer));
        Ok(fresh)
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some((_, answerer)) = &mut self.held {
            seen.pages = PagesPerNode::of(answerer.memory(), how, false);
        }
        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        let (setup, _) = self.held.as_ref()?;
        seen.mismatch(self.pu, self.suite.cases[*setup].node, None)
    }

    fn work(&mut self, _case: usize, _pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let page = self.page.as_mut().ok_or_else(no_memory)?;
        let offset = page.blocks % (PAGE_BYTES / QUESTION_BYTES) * QUESTION_BYTES;
        page.blocks += 1;
        let (_, answerer) = self.held.as_mut().ok_or_else(no_memory)?;
        answerer.start(offset).map_err(measuring)?;
        Ok(Box::new(Answers { answerer: &mut **answerer, rounds: 0, answering: true }))
    }
}

/// One block of round trips.
struct Answers<'a> {
    answerer: &'a mut dyn Answerer,
    rounds: u64,
    answering: bool,
}

impl Drop for Answers<'_> {
    fn drop(&mut self) {
        if self.answering {
            // Whoever left without verifying has its own reason to tell.
            drop(self.answerer.stop());
        }
    }
}

impl Work for Answers<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        ANSWER_BYTES as f64
    }

    fn rounds_a_call(&self) -> u32 {
        TRIPS_A_CALL
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.answerer.trips(TRIPS_A_CALL).map_err(measuring)?;
        self.rounds += 1;
        Ok(())
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        self.answering = false;
        let (answered, asked) =
            (self.answerer.stop().map_err(measuring)?, self.rounds * u64::from(TRIPS_A_CALL));
        if answered != asked {
            let why = format!("the device's last answer is {answered} where {asked} questions were asked");
            return Err(Trouble::Invalid(why));
        }
        Ok(asked * ANSWER_BYTES as u64)
    }
}
