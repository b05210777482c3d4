//! One rank's life: bind, open, and then pass after pass: allocate and place, prove, warm up, measure, prove again, verify.
//!
//! Every path through a pass meets the same barriers, whether the rank is well or not: one that failed goes on taking part as
//! someone who has nothing to bring, so that a failing rank ends its own results and nobody else's. Memory and devices are
//! only touched between barriers in which no latch holds, because a driver's allocation may wait for a held queue. What happens
//! between two barriers for one case is in `block`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use device::{Device, DeviceId, Direction, MemoryKind, Platform};
use placement::{RankPlan, TargetId};
use ranks::{Aborted, Ranks};
use stats::flag::TimerFacts;
use topo::model::Link;

use crate::bound::Bound;
use crate::buffers::{Buffers, Want};
use crate::case::Case;
use crate::config::RunConfig;
use crate::crew::Group;
use crate::failure::{Failure, Stage};
use crate::letter::{Decision, Report};
use crate::measured::{History, PassBlock};
use crate::payload::Payload;
use crate::sample::Trouble;
use crate::seen::Seen;
use crate::window::Timeline;
use crate::{schedule, sys};

/// Everything a rank needs.
pub(crate) struct Rank {
    pub plan: RankPlan,
    pub config: Arc<RunConfig>,
    pub cases: Arc<Vec<Case>>,
    pub platform: Arc<dyn Platform>,
    /// The ranks of its node.
    pub group: Group,
    pub interrupted: Arc<AtomicBool>,
    pub one_node: bool,
    /// Whether another rank uses the same device.
    pub shared_device: bool,
    /// The node's clock.
    pub timer: TimerFacts,
    pub reports: Sender<Report>,
    pub decisions: Receiver<Decision>,
}

/// Tells everyone when a rank leaves, however it leaves: a panic too must not keep the others waiting.
struct Farewell<'a> {
    rank: usize,
    group: &'a dyn Ranks,
    reports: &'a Sender<Report>,
    /// It leaves because another one gave up.
    aborted: bool,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        // First, so that the rank that is named is this one and not one that leaves because of it. A coordinator that gave up
        // no longer listens.
        drop(self.reports.send(Report::Ended { rank: self.rank, aborted: self.aborted }));
        if std::thread::panicking() {
            self.group.abort();
        }
    }
}

/// A rank that is bound, with its device open.
pub(crate) struct Ready {
    bound: Bound,
    pub device: Box<dyn Device>,
    pub buffers: Option<Buffers>,
    /// Cases warmed up on the present memory, each with the time one round took last.
    pub warm: Vec<Option<f64>>,
    pub timeline: Timeline,
}

impl Ready {
    /// The copier of the present memory.
    pub(crate) fn copier(&mut self) -> Result<&mut dyn device::Copier, Trouble> {
        match &mut self.buffers {
            Some(buffers) => Ok(&mut *buffers.copier),
            None => Err(Failure::new(Stage::Allocate, "no memory was made").into()),
        }
    }
}

impl Rank {
    /// Runs until the coordinator says stop. The thread this is called on is the rank.
    pub(crate) fn live(self) {
        let rank = self.plan.rank;
        let mut farewell = Farewell { rank, group: &*self.group, reports: &self.reports, aborted: false };
        let mut history = History::new(self.cases.len(), self.timer);
        let mut ready = self.start();
        let latch = ready.as_ref().ok().map(|ready| ready.device.capabilities().latch.clone());
        let started = Report::Started { rank, thread_id: sys::thread_id(), latch };
        if self.reports.send(started).is_err() {
            return;
        }
        if self.group.barrier().is_err() {
            farewell.aborted = true;
            return;
        }
        while let Ok(Decision::Go { pass, finished, out }) = self.decisions.recv() {
            let Ok(blocks) = self.pass(&mut ready, pass, &finished, &out) else {
                farewell.aborted = true;
                return;
            };
            let outcomes = blocks.into_iter().map(|block| history.keep(block)).collect();
            let signalled = self.interrupted.load(Ordering::Relaxed);
            let report = Report::Pass { rank, outcomes, link: self.link(), signalled };
            if self.reports.send(report).is_err() {
                return;
            }
        }
    }

    fn start(&self) -> Result<Ready, Failure> {
        let bound = Bound::to(self.plan.pu)?;
        let id = match self.plan.target.id {
            TargetId::Gpu(pci) => DeviceId::Pci(pci),
            TargetId::Node(node) => DeviceId::Node(node),
        };
        let device = self.platform.open(id).map_err(|error| Failure::device(Stage::Open, &error))?;
        let warm = vec![None; self.cases.len()];
        Ok(Ready { bound, device, buffers: None, warm, timeline: Timeline::default() })
    }

    /// The device's link, read while it is still awake from the pass.
    fn link(&self) -> Option<Link> {
        match self.plan.target.id {
            TargetId::Gpu(pci) => topo::link::of(pci),
            TargetId::Node(_) => None,
        }
    }

    fn pass(
        &self,
        ready: &mut Result<Ready, Failure>,
        pass: u64,
        finished: &[bool],
        out: &[bool],
    ) -> Result<Vec<PassBlock>, Aborted> {
        let mut all = Vec::new();
        for (kind, cases) in schedule::pass(&self.cases, finished, self.config.seed, pass) {
            if self.interrupted_by_anyone()? {
                break;
            }
            let before = self.allocate(ready, kind, schedule::allocation(pass));
            self.group.barrier()?;
            let first = all.len();
            for case in &cases {
                if self.interrupted_by_anyone()? {
                    break;
                }
                let measured = self.block(ready, &before, case, pass, out[case.index])?;
                // A block that a signal cut short is no block, and nobody's fault. What failed or arrived wrong did so all the same.
                let by_signal = self.interrupted.load(Ordering::Relaxed);
                if !(by_signal && matches!(measured, Ok(_) | Err(Trouble::Invalid(_)))) {
                    let seen = [before.as_ref().ok().cloned(), None];
                    all.push(PassBlock { case: case.index, measured, seen });
                }
            }
            self.prove_after(ready, &mut all[first..]);
            // Memory of another kind may be made next, which a driver may do only while no queue is held.
            self.group.barrier()?;
        }
        Ok(all)
    }

    /// Collective: whether any rank has seen a signal, so that all leave at the same place.
    fn interrupted_by_anyone(&self) -> Result<bool, Aborted> {
        Ok(self.group.max(u64::from(self.interrupted.load(Ordering::Relaxed)))? > 0)
    }

    /// Makes memory of `kind` unless it is there already, and looks where it lies.
    fn allocate(&self, ready: &mut Result<Ready, Failure>, kind: MemoryKind, allocation: u32) -> Result<Seen, Trouble> {
        let ready = ready.as_mut().map_err(|failure| failure.clone())?;
        if let Err(reason) = ready.device.capabilities().memory(kind) {
            return Err(Trouble::Skipped(reason));
        }
        let fits = |b: &Buffers| b.kind == kind && b.allocation == allocation;
        if !ready.buffers.as_ref().is_some_and(fits) {
            ready.buffers = None;
            ready.warm.fill(None);
            let want = Want {
                kind,
                len: self.config.largest(),
                node: self.plan.memory_node,
                huge_pages: self.config.huge_pages,
                one_node: self.one_node,
                bidirectional: self.config.bidirectional(),
            };
            let mut buffers = Buffers::new(&ready.bound, &*ready.device, &want, allocation)?;
            // Zeros can move faster than data (a page of zeros may be one shared page): every byte gets a value.
            Payload::new(self.config.seed, self.plan.rank, Direction::H2d, 0, 2).fill(buffers.copier.source());
            if self.shared_device {
                buffers.copier.take_turns();
            }
            ready.buffers = Some(buffers);
        }
        let buffers = ready.buffers.as_mut().ok_or_else(|| Failure::new(Stage::Allocate, "no memory was made"))?;
        let seen = buffers.prove()?;
        match self.mismatch(&seen) {
            Some(mismatch) => Err(Trouble::Misplaced(mismatch)),
            None => Ok(seen),
        }
    }

    /// What of a placement is not as planned.
    fn mismatch(&self, seen: &Seen) -> Option<String> {
        let device_node = match self.plan.target.id {
            TargetId::Node(node) => Some(node),
            TargetId::Gpu(_) => None,
        };
        seen.mismatch(self.plan.pu, self.plan.memory_node, device_node)
    }

    /// Looks again after the blocks of a pass: whatever moved meanwhile makes them invalid.
    fn prove_after(&self, ready: &mut Result<Ready, Failure>, blocks: &mut [PassBlock]) {
        let Some(buffers) = ready.as_mut().ok().and_then(|ready| ready.buffers.as_mut()) else { return };
        let after = buffers.prove();
        for block in blocks {
            if block.measured.is_err() {
                continue;
            }
            match &after {
                Ok(seen) => {
                    block.seen[1] = Some(seen.clone());
                    if let Some(mismatch) = self.mismatch(seen) {
                        block.measured = Err(Trouble::Misplaced(format!("after measuring: {mismatch}")));
                    }
                }
                Err(failure) => block.measured = Err(failure.clone().into()),
            }
        }
    }
}
