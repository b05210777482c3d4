//! One rank's devices and host memory, kept from block to block and handed to the copier of the cases under
//! way.
//!
//! A device is opened once. Host ranges are placed and pinned once for each allocation and node, and go from
//! copier to copier: the next device gets the very memory that the one before had.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::{Copier, CopyBy, DeviceError, DeviceFacts, HostPair, MemoryHome, MemoryKind};
use engine::{
    Bound, DevicePages, Failure, Latch, MemoryNodes, ObservedPlacement, Order, PageCheck, PagesPerNode, Site,
    SpreadMemory, Stage, Suite, TimeSpent, Trouble, Work, Worker, clock, no_memory,
};
use placement::{RankPlan, TargetId};
use topo::coherence::Coherence;
use topo::gpu_condition::GpuConditions;

use crate::case::CopyCase;
use crate::cells::CopyEnds;
use crate::delivery::{Delivery, PIECE_BYTES, Source};
use crate::devices::Devices;
use crate::fault::{allocating, skipped_or_failed};
use crate::host_range::{self, Want};
use crate::suite::{CopySuite, Need};
use crate::work::CopyWork;

/// One rank's end.
pub(crate) struct CopySite {
    // Dropped in this order: what uses a device before the device.
    held: Option<Held>,
    idle: Option<Idle>,
    devices: Devices,
    piece: Vec<u8>,
    plan: RankPlan,
    suite: Arc<CopySuite>,
    /// The largest copy of each setup for which its GPU had free memory.
    room: BTreeMap<usize, Room>,
}

/// What a setup has room for.
struct Room {
    bytes: usize,
    /// Why larger copies do not fit, where there are some.
    why_not: String,
}

/// A copier and what it was made for.
struct Held {
    copier: Box<dyn Copier>,
    setup: usize,
    cell: CopyEnds,
    ranges: Ranges,
    source: Source,
    shares_device: bool,
    /// What moves the bytes at present.
    by: CopyBy,
}

/// Host memory that waits for its next copier.
struct Idle {
    host: HostPair,
    ranges: Ranges,
    source: Source,
}

/// Which host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ranges {
    kind: MemoryKind,
    node: u32,
    len: usize,
    source: bool,
    destination: bool,
    allocation: u32,
}

impl CopySite {
    /// Opens the rank's own device.
    pub(crate) fn open(suite: Arc<CopySuite>, plan: RankPlan, _by: &Bound) -> Result<Self, Failure> {
        let devices = Devices::new(&suite.platform, Some(plan.target.id))?;
        Ok(Self {
            held: None,
            idle: None,
            devices,
            piece: vec![0; PIECE_BYTES],
            plan,
            suite,
            room: BTreeMap::new(),
        })
    }

    /// The host memory asked for: what is there, with what lies in it, or made anew.
    fn host(
        &mut self,
        bound: &Bound,
        cell: CopyEnds,
        ranges: Ranges,
        spent: &mut TimeSpent,
    ) -> Result<(HostPair, Option<Source>), Failure> {
        match self.idle.take() {
            Some(Idle { host, ranges: there, source }) if there == ranges => return Ok((host, Some(source))),
            // Freed before as much again is allocated.
            other => clock::timed(&mut spent.allocate_ns, || drop(other)),
        }
        let device = self.devices.open(cell.target)?;
        let nodes = self.plan.spread.clone().unwrap_or_else(|| ranges.node.into());
        let want = Want { kind: ranges.kind, len: ranges.len, nodes };
        let mut range = || host_range::allocate(bound, device, &want, &self.suite.rules, spent);
        let source = ranges.source.then(&mut range).transpose()?;
        let destination = ranges.destination.then(&mut range).transpose()?;
        Ok((HostPair { source, destination }, None))
    }

    /// How long the ranges of a setup are: as its largest copy, or as the largest for which its GPU has free
    /// memory. It is asked once, so that a setup keeps its memory.
    fn len(&mut self, setup: usize, target: TargetId, spent: &mut TimeSpent) -> Result<usize, Trouble> {
        let Need { len, bidirectional, .. } = self.suite.needs[setup];
        if !self.suite.skips_large() {
            return Ok(len);
        }

        if !self.room.contains_key(&setup) {
            // What another setup holds is given back before this one is made.
            clock::timed(&mut spent.allocate_ns, || self.put_down());
            let free = match target {
                TargetId::Gpu(_) => {
                    self.devices.open(target)?.memory().map_err(skipped_or_failed)?.free_bytes
                }
                TargetId::Node(_) => u64::MAX,
            };
            let most = usize::try_from(free / if bidirectional { 2 } else { 1 }).unwrap_or(usize::MAX);
            let bytes = self.suite.largest_in(setup, most.min(len));
            let why_not = match self.suite.why_no_room() {
                Some(why) if bytes == len => why.to_owned(),
                _ => {
                    let shown = stats::units::about_size(free as f64);
                    // What a context takes is little: so many bytes are not said to be there and too few.
                    let is_nearly = |case: &CopyCase| {
                        case.bytes as u64 > free && stats::units::about_size(case.bytes as f64) == shown
                    };
                    let less = if self.suite.copies().iter().any(is_nearly) { "less than " } else { "" };
                    format!("does not fit: {less}{shown} free on the GPU")
                }
            };
            self.room.insert(setup, Room { bytes, why_not });
        }

        match self.room.get(&setup) {
            Some(Room { bytes: 0, why_not }) => Err(Trouble::Skipped(why_not.clone())),
            Some(Room { bytes, .. }) => Ok(*bytes),
            None => Ok(len),
        }
    }

    /// How these ranges are to lie over several nodes.
    fn spread_memory(&self, nodes: &MemoryNodes, ranges: &Ranges) -> SpreadMemory {
        SpreadMemory {
            nodes: nodes.clone(),
            range_bytes: ranges.len,
            ranges: u64::from(ranges.source) + u64::from(ranges.destination),
            huge_pages: self.suite.rules.huge_pages,
        }
    }

    /// Takes the copier apart and keeps its host memory.
    fn put_down(&mut self) {
        if let Some(Held { copier, ranges, source, .. }) = self.held.take() {
            self.idle = Some(Idle { host: copier.into_host(), ranges, source });
        }
    }
}

/// Whether the kernel may know where a GPU's memory lies: it shares memory with its CPU.
fn may_be_located(device: &DeviceFacts) -> bool {
    device.memory_home != MemoryHome::Device || Coherence::by_name(&device.name).is_some()
}

impl Suite for CopySuite {
    fn cases(&self) -> Vec<engine::Case> {
        let case = |(case, setup): (&CopyCase, &usize)| engine::Case {
            index: case.index,
            order: case.order,
            setup: *setup,
            phase: self.setups[*setup].phase,
            members: self.setups[*setup].cells.members(),
            most_blocks: self.config.alone_blocks.filter(|_| case.order == Order::Alone),
        };
        self.copies().iter().zip(&self.setup_of).map(case).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let plan = self.plan(worker.rank).cloned();
        let plan =
            plan.ok_or_else(|| Failure::new(Stage::Open, format!("rank {} has no place here", worker.rank)))?;
        Ok(Box::new(CopySite::open(Arc::clone(&self), plan, bound)?))
    }

    fn allocation(&self, pass: u64) -> u32 {
        if self.fresh_each_pass() { pass as u32 } else { engine::allocation(pass) }
    }
}

impl Site for CopySite {
    fn latch(&self) -> Option<Latch> {
        self.devices.latch(None)
    }

    fn read_links(&mut self) {
        if let Some(held) = &self.held {
            self.devices.read_links(&[held.cell.target]);
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
        let rank = self.plan.rank;
        let cell = self.suite.cell(rank, setup);
        let cell = cell.ok_or_else(|| Trouble::Skipped(format!("rank {rank} takes no part")))?;
        let kind = self.suite.setups[setup].kind;
        let len = self.len(setup, cell.target, spent)?;
        let Need { source, destination, bidirectional, .. } = self.suite.needs[setup];
        let ranges = Ranges { kind, node: cell.memory_node, len, source, destination, allocation };
        if self.held.as_ref().is_some_and(|held| held.setup == setup && held.ranges == ranges) {
            return Ok(false);
        }
        clock::timed(&mut spent.allocate_ns, || self.put_down());
        self.devices.open(cell.target)?.capabilities().memory(kind).map_err(Trouble::Skipped)?;
        let (host, source) = self.host(bound, cell, ranges, spent)?;
        let fresh = source.is_none();
        let shares_device = self.suite.shares_device(rank, setup, cell.target);
        let device = self.devices.open(cell.target)?;
        let made = clock::timed(&mut spent.allocate_ns, || device.copier(host, bidirectional));
        let mut copier = match made {
            Ok(copier) => copier,
            // What is free can be in pieces: the next smaller copy may fit.
            Err(DeviceError::OutOfMemory { asked_bytes, .. }) if self.suite.skips_large() => {
                let why_not = format!(
                    "does not fit: the GPU's driver has no {} at once",
                    stats::units::size(asked_bytes)
                );
                self.room.insert(setup, Room { bytes: self.suite.largest_in(setup, len - 1), why_not });
                return self.set_up(bound, setup, allocation, spent);
            }
            Err(error) => return Err(allocating(error).into()),
        };
        if shares_device {
            copier.take_turns();
        }

        if fresh {
            // Zeros can move faster than data (a page of zeros may be one shared page): every page gets a
            // value.
            let pattern = device::BytePattern::new(self.suite.config.engine.seed);
            pattern.fill_page_words(copier.source());
            pattern.fill_page_words(copier.destination());
        }

        let source = source.unwrap_or_else(|| Source::of(self.suite.config.engine.seed, rank, allocation));
        self.held = Some(Held { copier, setup, cell, ranges, source, shares_device, by: CopyBy::default() });
        Ok(fresh)
    }

    fn set_aside(&mut self) {
        if self.suite.fresh_each_pass() {
            self.held = None;
            self.idle = None;
        }
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some(held) = &mut self.held {
            // One range at a time: the copier lends each by `&mut`, because nobody may hold one while it
            // writes the other.
            // Of spread memory a sample would be of one node: it has a step.
            let movable = held.ranges.kind == MemoryKind::Pageable || self.plan.spread.is_some();
            seen.pages = PagesPerNode::of(held.copier.source(), how, movable);
            seen.pages.merge(PagesPerNode::of(held.copier.destination(), how, movable));
            let device = self.devices.get(held.cell.target).map(|device| device.facts());
            seen.device_pages = match held.copier.device_area() {
                Some(area) => Some(DevicePages::OfNode(PagesPerNode::of(area, how, true))),
                None if device.is_some_and(may_be_located) => {
                    Some(DevicePages::OfGpu(PagesPerNode::of_device(&held.copier.device_addresses())))
                }
                None => None,
            };
        }

        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        let cell = self.held.as_ref().map_or_else(|| CopyEnds::of(&self.plan), |held| held.cell);
        let device_node = match cell.target {
            TargetId::Node(node) => Some(node),
            TargetId::Gpu(_) => None,
        };
        match (&self.plan.spread, &self.held) {
            (Some(nodes), Some(held)) => {
                seen.mismatch_spread(self.plan.pu, &self.spread_memory(nodes, &held.ranges), device_node)
            }
            _ => seen.mismatch(self.plan.pu, cell.memory_node, device_node),
        }
    }

    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let case = self.suite.copies()[case];
        let (rank, config) = (self.plan.rank, &self.suite.config);
        let held = self.held.as_mut().ok_or_else(no_memory)?;
        if let Some(room) = self.room.get(&held.setup).filter(|room| case.bytes > room.bytes) {
            return Err(Trouble::Skipped(room.why_not.clone()));
        }
        let device = self.devices.get(held.cell.target);
        let device = device.ok_or_else(|| Failure::new(Stage::Open, "its device is not open"))?;
        let can = device.capabilities();
        let timing = case.timing(config.timing, can, held.shares_device).map_err(Trouble::Skipped)?;
        if held.by != case.by {
            held.copier.copy_by(case.by).map_err(skipped_or_failed)?;
            held.by = case.by;
        }
        let delivery =
            Delivery::new(config.engine.seed, rank, &case, pass, can.patterns.is_ok(), &held.source);
        let Held { copier, source, .. } = held;

        Ok(Box::new(CopyWork {
            copier: &mut **copier,
            case,
            timing,
            delivery,
            source,
            piece: &mut self.piece,
        }))
    }
}
