//! Loads of one GPU's memory by another, each waiting for the one before it: what one load takes over the way
//! between them.
//!
//! A rank is a GPU, which follows a chain (`chain`) in memory of another one. The chain is laid out once for
//! each allocation on the host, and written to the owner's memory before each block, so that no two pairs'
//! memory is there at a time. A block's loads are those of the lines that were written first: what the
//! owner's cache still holds of the writing are the last ones.
//!
//! nvbandwidth's test of the same walks 1 MiB again and again, which the owner's L2 answers. A range larger
//! than that cache is answered by the owner's memory, so the figures differ (docs/measurements/two-gpus.md);
//! one that the cache holds is answered by the cache, as written before the block.

use std::sync::Arc;

use device::{Chaser, Platform};
use engine::{
    Bound, Failure, Latch, ObservedPlacement, PageCheck, Site, Suite, TimeSpent, Trouble, Work, Worker,
    clock, no_memory,
};
use placement::TargetId;
use topo::gpu_condition::GpuConditions;

use crate::chain::{Cycle, LoadWork};
use crate::devices::Devices;
use crate::fault::skipped_or_failed;

/// A case: a rank's GPU loads from another one's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerLoadCase {
    /// The rank that asks for it.
    pub rank: usize,
    /// The device that loads: the rank's own.
    pub by: TargetId,
    /// The device whose memory it is.
    pub owner: TargetId,
}

/// Loads between devices as a suite.
pub struct PeerLoadSuite {
    cases: Vec<PeerLoadCase>,
    workers: Vec<Worker>,
    platform: Arc<dyn Platform>,
    range: usize,
    seed: u64,
}

impl PeerLoadSuite {
    /// These cases by these ranks, over a range of so many bytes.
    pub fn new(
        cases: Vec<PeerLoadCase>,
        workers: Vec<Worker>,
        platform: &Arc<dyn Platform>,
        range: usize,
        seed: u64,
    ) -> Self {
        Self { cases, workers, platform: Arc::clone(platform), range, seed }
    }
}

impl Suite for PeerLoadSuite {
    fn cases(&self) -> Vec<engine::Case> {
        self.cases.iter().enumerate().map(|(index, case)| engine::Case::by(index, vec![case.rank])).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let own = self.workers.iter().find(|other| other.rank == worker.rank).copied().unwrap_or(*worker);
        let first = self.cases.iter().find(|case| case.rank == own.rank).map(|case| case.by);
        let devices = Devices::new(&self.platform, first)?;
        Ok(Box::new(PeerLoadSite { held: None, chain: None, devices, own, suite: self }))
    }
}

/// A chain as it is laid out on the host, of one allocation.
struct Chain {
    allocation: u32,
    bytes: Vec<u8>,
    cycle: Cycle,
}

/// One rank's end: the chain, and the device that follows it in the owner's memory.
struct PeerLoadSite {
    // Dropped in this order: what uses devices before them.
    held: Option<(usize, Box<dyn Chaser>)>,
    chain: Option<Chain>,
    devices: Devices,
    own: Worker,
    suite: Arc<PeerLoadSuite>,
}

impl Site for PeerLoadSite {
    fn latch(&self) -> Option<Latch> {
        self.devices.latch(None)
    }

    fn read_links(&mut self) {
        if let Some((setup, _)) = &self.held {
            let PeerLoadCase { by, owner, .. } = self.suite.cases[*setup];
            self.devices.read_links(&[by, owner]);
        }
    }

    fn conditions(&mut self) -> Vec<GpuConditions> {
        self.devices.conditions()
    }

    fn set_up(
        &mut self,
        _: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        let is_there = self.chain.as_ref().is_some_and(|chain| chain.allocation == allocation);
        if is_there && self.held.as_ref().is_some_and(|(held, _)| *held == setup) {
            return Ok(false);
        }
        self.held = None;
        let PeerLoadCase { by, owner, .. } = self.suite.cases[setup];
        self.devices.open(by)?.capabilities().loads.clone().map_err(Trouble::Skipped)?;
        self.devices.open(owner)?;

        if !is_there {
            let mut bytes = vec![0; self.suite.range];
            let seed = stats::random::mix(self.suite.seed ^ stats::random::mix(u64::from(allocation) + 1));
            let cycle = clock::timed(&mut spent.lay_out_ns, || Cycle::new(&mut bytes, seed))?;
            self.chain = Some(Chain { allocation, bytes, cycle });
        }

        let (by, owner) = self.devices.get(by).zip(self.devices.get(owner)).ok_or_else(no_memory)?;
        let chain = self.chain.as_ref().ok_or_else(no_memory)?;
        let made = clock::timed(&mut spent.allocate_ns, || by.peer_chaser(owner, &chain.bytes));
        self.held = Some((setup, made.map_err(skipped_or_failed)?));
        Ok(true)
    }

    fn set_aside(&mut self) {
        self.held = None;
    }

    fn look(&mut self, _how: PageCheck) -> Result<ObservedPlacement, Failure> {
        ObservedPlacement::thread()
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        // No host memory takes part, so that any node will do.
        seen.mismatch(self.own.pu, 0, None)
    }

    fn work(&mut self, _case: usize, _pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let (setup, chaser) = self.held.as_mut().ok_or_else(no_memory)?;
        let timing = self.devices.timing(self.suite.cases[*setup].by);
        let chain = self.chain.as_ref().ok_or_else(no_memory)?;
        Ok(Box::new(LoadWork::new(&mut **chaser, &chain.cycle, timing)))
    }
}
