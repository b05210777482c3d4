//! One rank's life: bind, open, and then pass after pass: allocate and place, prove, warm up, measure, prove again, verify.
//!
//! Every path through a pass meets the same barriers, whether the rank is well or not: one that failed goes on taking part as
//! someone who has nothing to bring, so that a failing rank ends its own results and nobody else's. Memory and devices are
//! only touched between barriers in which no latch holds, because a driver's allocation may wait for a held queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use device::{Device, DeviceError, Direction, MemoryKind, Platform};
use placement::{RankPlan, TargetId};
use ranks::{Aborted, Ranks, Solo};
use topo::model::Link;

use crate::bound::Bound;
use crate::buffers::{Buffers, Want};
use crate::case::Case;
use crate::config::{Amount, Order, RunConfig};
use crate::failure::{Failure, Stage};
use crate::measure::{self, Effort};
use crate::payload::Payload;
use crate::sample::{Sample, Trouble};
use crate::seen::Seen;
use crate::window::{Timeline, Window, counted};
use crate::{clock, run, schedule, sys};

/// Between agreeing on a start and the start itself: longer than it takes the last thread to wake up.
const START_MARGIN_NS: u64 = 500_000;
/// Rounds before a case's first block on fresh memory, and the time they may take.
const WARM_ROUNDS: u64 = 10;
const WARM_NS: u64 = 50_000_000;

/// One block of the case with this index, or why there is none.
pub(crate) type CaseBlock = (usize, Result<Sample, Trouble>);

/// What a rank tells the coordinator.
pub(crate) enum Report {
    /// It is bound and has its device open, or not.
    Started { rank: usize, thread_id: u32, latch: Option<device::Latch> },
    /// One pass is over.
    Pass { rank: usize, blocks: Vec<CaseBlock>, link: Option<Link> },
    /// It is gone.
    Ended { rank: usize },
}

/// What the coordinator answers after each pass.
pub(crate) enum Decision {
    /// Measure another pass of the cases that are not finished.
    Go { pass: u64, finished: Arc<Vec<bool>> },
    /// Enough.
    Stop,
}

/// Everything a rank needs.
pub(crate) struct Rank {
    pub plan: RankPlan,
    pub config: Arc<RunConfig>,
    pub cases: Arc<Vec<Case>>,
    pub platform: Arc<dyn Platform>,
    pub group: Box<dyn Ranks + Send>,
    pub interrupted: Arc<AtomicBool>,
    pub one_node: bool,
    /// Whether another rank uses the same device.
    pub shared_device: bool,
    pub reports: Sender<Report>,
    pub decisions: Receiver<Decision>,
}

/// Tells everyone when a rank leaves, however it leaves: a panic too must not keep the others waiting.
struct Farewell<'a> {
    rank: usize,
    group: &'a dyn Ranks,
    reports: &'a Sender<Report>,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.group.abort();
        }
        // A coordinator that gave up no longer listens.
        drop(self.reports.send(Report::Ended { rank: self.rank }));
    }
}

/// A rank that is bound, with its device open.
struct Ready {
    bound: Bound,
    device: Box<dyn Device>,
    buffers: Option<Buffers>,
    /// Cases warmed up on the present memory, each with the time one round took last.
    warm: Vec<Option<f64>>,
    timeline: Timeline,
}

impl Rank {
    /// Runs until the coordinator says stop. The thread this is called on is the rank.
    pub(crate) fn live(self) {
        let rank = self.plan.rank;
        let _farewell = Farewell { rank, group: &*self.group, reports: &self.reports };
        let mut ready = self.start();
        let latch = ready.as_ref().ok().map(|ready| ready.device.capabilities().latch.clone());
        let started = Report::Started { rank, thread_id: sys::thread_id(), latch };
        let mut present = self.reports.send(started).is_ok() && self.group.barrier().is_ok();
        while present {
            let Ok(Decision::Go { pass, finished }) = self.decisions.recv() else { break };
            present = match self.pass(&mut ready, pass, &finished) {
                Ok(blocks) => {
                    let link = self.link();
                    self.reports.send(Report::Pass { rank, blocks, link }).is_ok()
                }
                Err(Aborted) => false,
            };
        }
    }

    fn start(&self) -> Result<Ready, Failure> {
        let bound = Bound::to(self.plan.pu)?;
        let id = run::device_id(self.plan.target.id);
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
    ) -> Result<Vec<CaseBlock>, Aborted> {
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
                let outcome = self.block(ready, &before, case, pass)?;
                // A block that a signal cut short is no block.
                if !self.interrupted.load(Ordering::Relaxed) || outcome.is_err() {
                    all.push((case.index, outcome));
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
    fn prove_after(&self, ready: &mut Result<Ready, Failure>, blocks: &mut [CaseBlock]) {
        let Some(buffers) = ready.as_mut().ok().and_then(|ready| ready.buffers.as_mut()) else { return };
        let after = buffers.prove();
        for (_, outcome) in blocks {
            let Ok(sample) = outcome else { continue };
            match &after {
                Ok(seen) => match self.mismatch(seen) {
                    Some(mismatch) => *outcome = Err(Trouble::Misplaced(format!("after measuring: {mismatch}"))),
                    None => sample.after = Some(seen.clone()),
                },
                Err(failure) => *outcome = Err(failure.clone().into()),
            }
        }
    }

    /// One block of one case, by all ranks at once or one after the other.
    fn block(
        &self,
        ready: &mut Result<Ready, Failure>,
        before: &Result<Seen, Trouble>,
        case: &Case,
        pass: u64,
    ) -> Result<Result<Sample, Trouble>, Aborted> {
        let mut mine = match (ready.as_mut(), before) {
            (Ok(ready), Ok(seen)) => Ok((ready, seen)),
            (Err(failure), _) => Err(Trouble::Failed(failure.clone())),
            (_, Err(trouble)) => Err(trouble.clone()),
        };
        if case.order == Order::Simultaneous {
            return self.together(&mut mine, case, pass);
        }
        let mut outcome = Err(Trouble::Skipped("its turn did not come".to_owned()));
        for turn in 0..self.group.size() {
            if turn == self.group.rank() {
                outcome = match &mut mine {
                    Ok((ready, seen)) => self.alone(ready, seen, case, pass),
                    Err(trouble) => Err(trouble.clone()),
                };
            }
            self.group.barrier()?;
        }
        Ok(outcome)
    }

    fn alone(&self, ready: &mut Ready, seen: &Seen, case: &Case, pass: u64) -> Result<Sample, Trouble> {
        let effort = self.prepare(ready, case, pass, false)?;
        let queued = self.queue(ready, case, &effort)?;
        self.time(ready, case, &effort, queued, &Solo)?;
        let window = ready.timeline.own_window();
        self.conclude(ready, seen, case, pass, &effort, &window)
    }

    fn together(
        &self,
        mine: &mut Result<(&mut Ready, &Seen), Trouble>,
        case: &Case,
        pass: u64,
    ) -> Result<Result<Sample, Trouble>, Aborted> {
        let group = &*self.group;
        let effort = well(mine).and_then(|ready| self.prepare(ready, case, pass, true));
        group.barrier()?;
        // From here to the end of the timed region latches hold: nobody allocates.
        let queued = effort.and_then(|effort| Ok((effort, self.queue(well(mine)?, case, &effort)?)));
        let anyone_absent = group.max(u64::from(queued.is_err()))? > 0;
        let start = group.max(clock::now_ns())? + START_MARGIN_NS;
        let timed = match &queued {
            Ok((effort, queued)) => well(mine).and_then(|ready| {
                clock::spin_until(start);
                self.time(ready, case, effort, *queued, group)
            }),
            Err(trouble) => {
                group.arrive();
                Err(trouble.clone())
            }
        };
        let span = timed.as_ref().ok().and_then(|()| well(mine).ok());
        let window = self.window(span.map(|ready| (ready.timeline.start_ns, ready.timeline.end_ns())))?;
        let outcome = match (mine, queued, timed) {
            (Ok((ready, seen)), Ok((effort, _)), Ok(())) if !anyone_absent => {
                self.conclude(ready, seen, case, pass, &effort, &window)
            }
            (_, _, Err(trouble)) => Err(trouble),
            _ => Err(Trouble::Invalid("another rank failed, so not all copies were simultaneous".to_owned())),
        };
        // Verifying copies too: nobody begins the next block while somebody still does.
        group.barrier()?;
        Ok(outcome)
    }

    /// Collective: the common window of all ranks that measured. A minimum is the complement of a maximum.
    fn window(&self, span: Option<(u64, u64)>) -> Result<Window, Aborted> {
        let largest = |value: Option<u64>| self.group.max(value.unwrap_or(0));
        let smallest = |value: Option<u64>| Ok(u64::MAX - self.group.max(value.map_or(0, |v| u64::MAX - v))?);
        Ok(Window {
            latest_start_ns: largest(span.map(|(start, _)| start))?,
            earliest_end_ns: smallest(span.map(|(_, end)| end))?,
            earliest_start_ns: smallest(span.map(|(start, _)| start))?,
            latest_end_ns: largest(span.map(|(_, end)| end))?,
        })
    }

    /// Warms up on fresh memory, lays out the payload, and says how much the block takes.
    fn prepare(&self, ready: &mut Ready, case: &Case, pass: u64, shared: bool) -> Result<Effort, Trouble> {
        let timing = case
            .timing(self.config.timing, ready.device.capabilities(), self.shared_device)
            .map_err(Trouble::Skipped)?;
        let copier = copier(&mut ready.buffers)?;
        let warm_up = |error: DeviceError| Failure::device(Stage::WarmUp, &error);
        let mut round_ns = ready.warm[case.index];
        if round_ns.is_none() {
            let rounds = if let Amount::Fixed { warmup, .. } = self.config.amount { warmup } else { WARM_ROUNDS };
            let began = clock::now_ns();
            for round in 0..rounds.max(1) {
                let start = clock::now_ns();
                copier.round(case.direction, case.bytes).map_err(warm_up)?;
                let end = clock::now_ns();
                round_ns = Some((end - start) as f64);
                let adaptive = matches!(self.config.amount, Amount::Adaptive(_));
                if adaptive && round > 0 && end - began > WARM_NS {
                    break;
                }
            }
        }
        self.lay_out(copier, case, pass).map_err(|error| Failure::device(Stage::Verify, &error))?;
        // One round that does not count: laying out the payload left its cache lines behind.
        let start = clock::now_ns();
        copier.round(case.direction, case.bytes).map_err(warm_up)?;
        let latest = (clock::now_ns() - start) as f64;
        ready.warm[case.index] = Some(latest);
        let estimate = round_ns.map_or(latest, |earlier| earlier.min(latest));
        let effort = Effort::new(timing, estimate, shared, self.fixed_rounds(pass));
        measure::make_room(&mut ready.timeline, &effort);
        Ok(effort)
    }

    /// The rounds of this pass's block when the user fixed their number: spread as evenly as they go.
    fn fixed_rounds(&self, pass: u64) -> Option<usize> {
        let Amount::Fixed { reps, .. } = self.config.amount else { return None };
        let blocks = run::fixed_blocks(reps);
        let more = u64::from(pass < reps % blocks);
        Some((reps / blocks + more).max(1) as usize)
    }

    fn queue(&self, ready: &mut Ready, case: &Case, effort: &Effort) -> Result<usize, Trouble> {
        let copier = copier(&mut ready.buffers)?;
        Ok(measure::queue(copier, case, effort).map_err(|error| Failure::device(Stage::Measure, &error))?)
    }

    fn time(
        &self,
        ready: &mut Ready,
        case: &Case,
        effort: &Effort,
        queued: usize,
        group: &dyn Ranks,
    ) -> Result<(), Trouble> {
        let copier = copier(&mut ready.buffers)?;
        let timed = measure::block(copier, case, effort, queued, group, &self.interrupted, &mut ready.timeline);
        Ok(timed.map_err(|error| Failure::device(Stage::Measure, &error))?)
    }

    /// Cuts the block to the common window and compares the bytes.
    fn conclude(
        &self,
        ready: &mut Ready,
        seen: &Seen,
        case: &Case,
        pass: u64,
        effort: &Effort,
        window: &Window,
    ) -> Result<Sample, Trouble> {
        let verified_bytes = self.verify(ready, case, pass)?;
        let block = counted(&ready.timeline, window, case.direction, case.bytes, effort.copies).ok_or_else(|| {
            let why = "no whole round of this rank lies in the time in which all ranks were at work: the device served one \
                       rank's queue after the other's; --timing host lets them take turns";
            Trouble::Invalid(why.to_owned())
        })?;
        let shared = case.order == Order::Simultaneous && self.group.size() > 1;
        Ok(Sample {
            block,
            timing: effort.timing,
            allocation: ready.buffers.as_ref().map_or(0, |buffers| buffers.allocation),
            overlap: shared.then(|| window.overlap()),
            start_skew_ns: shared.then(|| window.skew_ns()),
            verified_bytes,
            before: Some(seen.clone()),
            after: None,
        })
    }

    /// Which bytes this block sends: to the device, and (both directions at once) from it.
    fn payloads(&self, case: &Case, pass: u64) -> (Payload, Payload) {
        let payload = |area| Payload::new(self.config.seed, self.plan.rank, case.direction, pass, area);
        (payload(0), payload(1))
    }

    /// Puts the payload where the block will read it and poison where the block will write.
    fn lay_out(&self, copier: &mut dyn device::Copier, case: &Case, pass: u64) -> Result<(), DeviceError> {
        if !self.config.verify {
            return Ok(());
        }
        let (sent, returned) = self.payloads(case, pass);
        let bytes = case.bytes;
        if case.direction == Direction::Bidirectional {
            returned.fill(&mut copier.source()[..bytes]);
            copier.preload(bytes)?;
            returned.poison(&mut copier.destination()[..bytes]);
        }
        sent.fill(&mut copier.source()[..bytes]);
        if case.direction == Direction::D2h {
            copier.round(Direction::H2d, bytes)?;
        }
        if matches!(case.direction, Direction::D2h | Direction::RoundTrip) {
            sent.poison(&mut copier.destination()[..bytes]);
        }
        Ok(())
    }

    /// Compares what arrived, on both sides, with what was sent; outside the timed region.
    fn verify(&self, ready: &mut Ready, case: &Case, pass: u64) -> Result<Option<u64>, Trouble> {
        if !self.config.verify {
            return Ok(None);
        }
        let copier = copier(&mut ready.buffers)?;
        let (sent, returned) = self.payloads(case, pass);
        let bytes = case.bytes;
        let mut compared = 0;
        if case.direction != Direction::H2d {
            let expected = if case.direction == Direction::Bidirectional { returned } else { sent };
            expected.verify(&copier.destination()[..bytes]).map_err(Trouble::Corrupt)?;
            compared += bytes as u64;
        }
        if matches!(case.direction, Direction::H2d | Direction::Bidirectional) {
            sent.poison(&mut copier.destination()[..bytes]);
            let fetched = copier.round(Direction::D2h, bytes);
            fetched.map_err(|error| Failure::device(Stage::Verify, &error))?;
            sent.verify(&copier.destination()[..bytes]).map_err(Trouble::Corrupt)?;
            compared += bytes as u64;
        }
        Ok(Some(compared))
    }
}

/// A rank that can take part in a block, or why it cannot.
fn well<'a>(mine: &'a mut Result<(&mut Ready, &Seen), Trouble>) -> Result<&'a mut Ready, Trouble> {
    match mine {
        Ok((ready, _)) => Ok(ready),
        Err(trouble) => Err(trouble.clone()),
    }
}

fn copier(buffers: &mut Option<Buffers>) -> Result<&mut dyn device::Copier, Trouble> {
    match buffers {
        Some(buffers) => Ok(&mut *buffers.copier),
        None => Err(Failure::new(Stage::Allocate, "no memory was made").into()),
    }
}
