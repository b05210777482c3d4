//! Memory that moves as a suite: a rank is a thread on a PU, and it and each GPU touch memory that both
//! reach, by turns.

use std::sync::Arc;

use device::{Computer, Device, HostMemory, MemoryHome, MemoryKind, Platform};
use engine::{
    Bound, Case, Failure, Latch, ObservedPlacement, PageCheck, PagesPerNode, PlacedMemory, Site, Suite,
    TimeSpent, Trouble, Work, Worker, clock, no_memory,
};
use pingpong::{Devices, allocating};
use placement::TargetId;
use topo::gpu_condition::GpuConditions;

use crate::compute::lent;
use crate::moving::{self, Moving, SUMS_BYTES};
use crate::program::MOVING;
use crate::rank_place::{self, RankPlace};
use crate::touching::Touching;

/// A case: a rank, and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovingCase {
    /// What is touched, and how.
    pub moving: Moving,
    /// The rank.
    pub rank: usize,
    /// The device.
    pub target: TargetId,
}

/// Touches of memory that moves.
pub struct MovingSuite {
    cases: Vec<MovingCase>,
    places: Vec<RankPlace>,
    platform: Arc<dyn Platform>,
    huge_pages: bool,
}

impl MovingSuite {
    /// These cases by these ranks. `huge_pages`: whether system memory may use them.
    pub fn new(
        cases: Vec<MovingCase>,
        places: Vec<RankPlace>,
        platform: &Arc<dyn Platform>,
        huge_pages: bool,
    ) -> Self {
        Self { cases, places, platform: Arc::clone(platform), huge_pages }
    }

    /// The most that is allocated at one time, bytes, which the host must have and the device too: one rank's
    /// memory goes before the next one's is made.
    pub fn bytes(&self) -> u64 {
        self.cases.iter().map(|case| case.moving.memory_bytes() as u64).max().unwrap_or(0)
    }

    /// Memory that nobody has touched, and the kernels that touch it.
    fn make(&self, device: &dyn Device, moving: Moving) -> Result<Box<dyn Computer>, Failure> {
        let len = moving.memory_bytes();
        let memory: Box<dyn HostMemory> = match moving.kind {
            MemoryKind::System => {
                let mapping = PlacedMemory::untouched(len, self.huge_pages)?.into_mapping();
                device.adopt(MemoryKind::System, Box::new(mapping)).map_err(allocating)?
            }
            _ => device.allocate_managed(len).map_err(allocating)?,
        };
        device.computer(&MOVING, memory, SUMS_BYTES).map_err(allocating)
    }
}

impl Suite for MovingSuite {
    fn cases(&self) -> Vec<Case> {
        let case = |(index, case): (usize, &MovingCase)| {
            let of = |case: &MovingCase| (case.rank, case.target, case.moving.kind, case.moving.bytes);
            let setup = self.cases.iter().position(|other| of(other) == of(case)).unwrap_or(index);
            Case { setup, ..Case::by(index, vec![case.rank]) }
        };
        self.cases.iter().enumerate().map(case).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let targets = self.cases.iter().map(|case| (case.rank, case.target));
        let (place, devices) = rank_place::opened(&self.places, targets, worker.rank, &self.platform)?;
        Ok(Box::new(MovingSite { held: None, devices, place, suite: self }))
    }
}

/// Memory with what touches it, and what it is for.
struct Held {
    computer: Option<Box<dyn Computer>>,
    setup: usize,
    allocation: u32,
}

/// One rank's end.
struct MovingSite {
    // Dropped in this order: what uses a device before the device.
    held: Option<Held>,
    devices: Devices,
    place: RankPlace,
    suite: Arc<MovingSuite>,
}

impl Site for MovingSite {
    fn latch(&self) -> Option<Latch> {
        self.devices.latch(self.held.as_ref().map(|held| self.suite.cases[held.setup].target))
    }

    fn read_links(&mut self) {
        if let Some(held) = &self.held {
            self.devices.read_links(&[self.suite.cases[held.setup].target]);
        }
    }

    fn conditions(&mut self) -> Vec<GpuConditions> {
        self.devices.conditions()
    }

    fn set_up(
        &mut self,
        _bound: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        if self.held.as_ref().is_some_and(|held| (held.setup, held.allocation) == (setup, allocation)) {
            return Ok(false);
        }
        self.set_aside();
        let MovingCase { moving, target, .. } = self.suite.cases[setup];
        let device = self.devices.open(target)?;
        let can = device.capabilities();
        can.memory(moving.kind).and_then(|()| can.loads.clone()).map_err(Trouble::Skipped)?;
        let mut computer = clock::timed(&mut spent.allocate_ns, || self.suite.make(device, moving))?;
        let words = lent(computer.host(), moving.bytes).map_err(allocating)?;
        clock::timed(&mut spent.lay_out_ns, || moving::write(words, 0));
        self.held = Some(Held { computer: Some(computer), setup, allocation });
        Ok(true)
    }

    fn set_aside(&mut self) {
        self.held = None;
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some(Held { computer: Some(computer), setup, .. }) = &mut self.held {
            let bytes = self.suite.cases[*setup].moving.bytes;
            if let Some(words) = computer.host().get(..bytes) {
                seen.pages = PagesPerNode::of(words, how, true);
            }
        }
        Ok(seen)
    }

    /// Where pages lie is what is asked here, and no fault.
    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        self.held.as_ref()?;
        let RankPlace { pu, node, .. } = self.place;
        ObservedPlacement { pages: PagesPerNode::default(), ..seen.clone() }.mismatch(pu, node, None)
    }

    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let MovingCase { moving, target, .. } = self.suite.cases[case];
        let (held, suite) = (self.held.as_mut().ok_or_else(no_memory)?, &self.suite);
        let device = self.devices.get(target).ok_or_else(no_memory)?;
        let own_node = match device.facts().memory_home {
            MemoryHome::Node(node) => Some(node),
            MemoryHome::Device | MemoryHome::Shared => None,
        };
        let make = Box::new(move || suite.make(device, moving));
        Ok(Box::new(Touching::new(&mut held.computer, make, moving, own_node, (case, pass))))
    }
}
