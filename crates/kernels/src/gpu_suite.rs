//! Kernels on GPUs as a suite: a rank is a thread on a PU with memory on a node, and measures every GPU from
//! there.
//!
//! Host memory is placed and pinned once for each allocation, as large as the largest problem needs, and goes
//! from device to device and from kernel to kernel. What a kernel needs is written there when its turn comes,
//! and copied to the device.
//!
//! A vendor's library computes on one stream, so nothing is overlapped with it. Its first calls, which load
//! code and allocate, are made when the input is there and before anything is timed.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::{BytePattern, Computer, HostMemory, KernelModule, MemoryKind, Platform, RoundStep};
use engine::{
    Bound, Case, Failure, Latch, ObservedPlacement, PageCheck, PagesPerNode, PlacingRules, Site, Stage,
    Suite, TimeSpent, Trouble, Work, Worker, clock, no_memory,
};
use pingpong::{Devices, Want, allocate, allocating, failure};
use placement::TargetId;
use topo::gpu_condition::GpuConditions;

use crate::case::{GpuCase, GpuRound};
use crate::compute::{COPY_BYTES, Compute};
use crate::kernel::{By, Kernel};
use crate::made::{self, Made};
use crate::pieces::TransferMethod;
use crate::problem::{Layout, Problem};
use crate::program::PIECES;
use crate::rank_place::{self, RankPlace};
use crate::sending::Sending;
use crate::size::ProblemSize;

/// Kernels on GPUs.
pub struct GpuSuite {
    cases: Vec<GpuCase>,
    places: Vec<RankPlace>,
    made: BTreeMap<Kernel, Arc<Made>>,
    /// The node where inputs are kept, if they are, and their bytes.
    shelf: Option<u32>,
    kept_bytes: usize,
    platform: Arc<dyn Platform>,
    rules: PlacingRules,
}

impl GpuSuite {
    /// These cases by these ranks, with problems of this size by that.
    pub fn new(
        cases: Vec<GpuCase>,
        places: Vec<RankPlace>,
        (by, size): (By, ProblemSize),
        platform: &Arc<dyn Platform>,
        rules: PlacingRules,
    ) -> Self {
        let kernels = cases.iter().filter_map(|case| case.what.kernel());
        let made = |kernel: Kernel| (kernel, Arc::new(Made::new(kernel.problem(by, size))));
        let made: BTreeMap<_, _> = kernels.map(made).collect();
        let kept_bytes = made::kept_bytes(made.values().map(|made| &made.problem));
        let shelf = places.first().filter(|_| kept_bytes > 0).map(|place| place.node);
        Self { cases, places, made, shelf, kept_bytes, platform: Arc::clone(platform), rules }
    }

    /// A problem that is measured.
    pub fn problem(&self, kernel: Kernel) -> Option<&Arc<dyn Problem>> {
        self.made.get(&kernel).map(|made| &made.problem)
    }

    fn layouts(&self) -> impl Iterator<Item = Layout> {
        self.made.values().map(|made| made.problem.layout())
    }

    /// The host memory of one rank, bytes.
    pub fn host_bytes(&self) -> usize {
        let pieces = self.cases.iter().filter_map(|case| match case.what {
            GpuRound::Pieces(pieces) => Some(pieces.memory_bytes()),
            _ => None,
        });
        let least = if self.made.is_empty() { 0 } else { COPY_BYTES };
        self.layouts().map(|layout| layout.host_bytes()).chain(pieces).fold(least, usize::max)
    }

    /// The most that a device must have at one time, bytes: a rank makes its area while the one before it
    /// gives up its own.
    pub fn device_bytes(&self) -> u64 {
        let largest = self.layouts().map(|layout| layout.device_bytes()).max().unwrap_or(0);
        largest.max(self.host_bytes()) as u64 * self.places.len().min(2) as u64
    }

    /// The host memory that a node must have, bytes.
    pub fn bytes_on(&self, node: u32) -> u64 {
        let kept = if self.shelf == Some(node) { self.kept_bytes } else { 0 };
        (self.places.iter().filter(|place| place.node == node).count() * self.host_bytes() + kept) as u64
    }

    fn program(&self, what: GpuRound) -> Result<&'static KernelModule, Failure> {
        if let GpuRound::Pieces(_) = what {
            return Ok(&PIECES);
        }
        // A copy needs no kernel, and is made by whichever program is there.
        let own = what.kernel().and_then(|kernel| self.problem(kernel));
        let own = own.or_else(|| self.made.values().next().map(|made| &made.problem));
        let missing = || Failure::new(Stage::Allocate, "no kernel is to be measured");
        own.map(|problem| problem.program()).ok_or_else(missing)
    }
}

impl Suite for GpuSuite {
    fn cases(&self) -> Vec<Case> {
        let case = |(index, case): (usize, &GpuCase)| {
            // With transfers and without use the same data, so they are measured one after the other.
            let alike = |other: &GpuCase| {
                (other.rank, other.target, other.what.kernel())
                    == (case.rank, case.target, case.what.kernel())
            };
            let setup = self.cases.iter().position(alike).unwrap_or(index);
            Case { setup, ..Case::by(index, vec![case.rank]) }
        };
        self.cases.iter().enumerate().map(case).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let targets = self.cases.iter().map(|case| (case.rank, case.target));
        let (place, devices) = rank_place::opened(&self.places, targets, worker.rank, &self.platform)?;
        Ok(Box::new(GpuSite { held: None, memory: None, devices, place, suite: self }))
    }
}

/// Host memory that waits for its next computer.
struct Idle {
    memory: Box<dyn HostMemory>,
    allocation: u32,
    /// Whose input lies there.
    holds: Option<Kernel>,
}

/// A computer and what it is for.
struct Held {
    computer: Box<dyn Computer>,
    setup: usize,
    allocation: u32,
    holds: Option<Kernel>,
    /// What lies there of pieces.
    laid: Option<BytePattern>,
}

/// One rank's end.
struct GpuSite {
    // Dropped in this order: what uses a device before the device.
    held: Option<Held>,
    memory: Option<Idle>,
    devices: Devices,
    place: RankPlace,
    suite: Arc<GpuSuite>,
}

impl GpuSite {
    /// Takes the memory from the device that has it; what could not be waited for is given up.
    fn put_down(&mut self) {
        let Some(Held { computer, allocation, holds, .. }) = self.held.take() else { return };
        self.memory = computer.into_host().map(|memory| Idle { memory, allocation, holds });
    }

    /// The memory that there is, or new memory; and whether it is new.
    fn need(
        &mut self,
        bound: &Bound,
        target: TargetId,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<(Idle, bool), Failure> {
        match self.memory.take() {
            Some(idle) if idle.allocation == allocation => return Ok((idle, false)),
            // Freed before as much again is allocated.
            other => clock::timed(&mut spent.allocate_ns, || drop(other)),
        }
        let want =
            Want { kind: MemoryKind::Pinned, len: self.suite.host_bytes(), nodes: self.place.node.into() };
        let memory = allocate(bound, self.devices.open(target)?, &want, &self.suite.rules, spent)?;
        Ok((Idle { memory, allocation, holds: None }, true))
    }
}

impl Site for GpuSite {
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
        bound: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        if self.held.as_ref().is_some_and(|held| (held.setup, held.allocation) == (setup, allocation)) {
            return Ok(false);
        }
        clock::timed(&mut spent.allocate_ns, || self.put_down());
        let GpuCase { what, target, .. } = self.suite.cases[setup];
        let can = self.devices.open(target)?.capabilities();
        can.memory(MemoryKind::Pinned).and_then(|()| can.loads.clone()).map_err(Trouble::Skipped)?;
        let made = what.kernel().and_then(|kernel| self.suite.made.get(&kernel)).cloned();
        let problem = made.as_ref().map(|made| &made.problem);
        let (Idle { mut memory, mut holds, .. }, fresh) = self.need(bound, target, allocation, spent)?;

        if let Some(made) = made.as_ref().filter(|_| holds != what.kernel()) {
            let input = &mut memory.bytes_mut()[..made.problem.layout().input];
            made.lay_out(bound, input, self.suite.shelf, &self.suite.rules, spent)?;
            holds = what.kernel();
        }

        // A copy leaves its own bytes there.
        holds = holds.filter(|_| problem.is_some());
        let bytes = problem.map_or(0, |problem| problem.layout().device_bytes()).max(memory.bytes().len());
        let program = self.suite.program(what)?;
        let device = self.devices.open(target)?;
        let made = clock::timed(&mut spent.allocate_ns, || device.computer(program, memory, bytes));
        let mut computer = made.map_err(allocating)?;

        if let Some(problem) = problem {
            let copied = computer.round(&[RoundStep::ToDevice(0..problem.layout().input)]);
            copied.map_err(allocating)?;
            if problem.program().library.is_some() {
                // A library loads and allocates when it is first called, and waits for the device: not behind
                // a latch.
                let once = computer.round(&problem.launches());
                once.map_err(|error| failure(Stage::WarmUp, &error))?;
            }
        }

        self.held = Some(Held { computer, setup, allocation, holds, laid: None });
        Ok(fresh)
    }

    fn set_aside(&mut self) {
        // The device's area goes; what is placed and pinned stays.
        self.put_down();
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some(held) = &mut self.held {
            seen.pages = PagesPerNode::of(held.computer.host(), how, false);
        }
        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        self.held.as_ref()?;
        seen.mismatch(self.place.pu, self.place.node, None)
    }

    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let held = self.held.as_mut().ok_or_else(no_memory)?;
        let GpuCase { what, target, .. } = self.suite.cases[case];
        if let GpuRound::Pieces(pieces) = what {
            if pieces.way == TransferMethod::Batch {
                held.computer.can_batch().map_err(Trouble::Skipped)?;
            }
            let Held { computer, laid, .. } = held;
            return Ok(Box::new(Sending::new(
                &mut **computer,
                pieces,
                laid,
                (&self.suite.rules.helpers, pass),
            )));
        }

        let timing = self.devices.timing(target);
        let made = what.kernel().and_then(|kernel| self.suite.made.get(&kernel)).cloned();
        let made = (made, &self.suite.rules.helpers);
        Ok(Box::new(Compute::new(&mut *held.computer, what, made, (timing, pass))))
    }
}
