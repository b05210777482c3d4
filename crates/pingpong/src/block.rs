//! One block of one case on one rank: warm up, lay out, wait for the others, time, cut to the common window, verify.
//!
//! Alone, ranks take turns and nobody else moves. Together, they agree on a start by the clock (a barrier's wake-ups are too
//! uneven), and nobody allocates or verifies while a latch holds. Every rank passes every barrier, well or not.

use device::{DeviceError, Direction};
use ranks::{Aborted, Ranks, Solo};

use crate::case::Case;
use crate::clock;
use crate::config::{Amount, Order, fixed_blocks};
use crate::delivery::Delivery;
use crate::failure::{Failure, Stage};
use crate::measure::{self, Effort};
use crate::measured::Measured;
use crate::rank::{Rank, Ready};
use crate::sample::{Sample, Trouble};
use crate::seen::Seen;
use crate::window::{Window, counted};

/// Between agreeing on a start and the start itself: longer than it takes the last thread to wake up.
const START_MARGIN_NS: u64 = 500_000;
/// Rounds before a case's first block on fresh memory, and the time they may take.
const WARM_ROUNDS: u64 = 10;
const WARM_NS: u64 = 50_000_000;

const IMPOSSIBLE: &str = "the clock that timed the block gave times that cannot be: no numbers, before the start, or later than now: \
                          try the other clock (--timing host)";

impl Rank {
    /// One block of one case, by all ranks at once or one after the other; a rank that is `out` of it lets its turn pass.
    pub(crate) fn block(
        &self,
        ready: &mut Result<Ready, Failure>,
        before: &Result<Seen, Trouble>,
        case: &Case,
        pass: u64,
        out: bool,
    ) -> Result<Result<Measured, Trouble>, Aborted> {
        let mut mine = match (ready.as_mut(), before) {
            (Ok(ready), Ok(_)) => Ok(ready),
            (Err(failure), _) => Err(Trouble::Failed(failure.clone())),
            (_, Err(trouble)) => Err(trouble.clone()),
        };
        if case.order == Order::Simultaneous {
            return self.together(&mut mine, case, pass);
        }
        let mut outcome = Err(Trouble::Skipped("its turn did not come".to_owned()));
        for turn in 0..self.group.size() {
            if turn == self.group.rank() && !out {
                outcome = match &mut mine {
                    Ok(ready) => self.alone(ready, case, pass),
                    Err(trouble) => Err(trouble.clone()),
                };
            }
            self.group.barrier()?;
        }
        Ok(outcome)
    }

    fn alone(&self, ready: &mut Ready, case: &Case, pass: u64) -> Result<Measured, Trouble> {
        let effort = self.prepare(ready, case, pass, false)?;
        let queued = self.queue(ready, case, &effort)?;
        self.time(ready, case, &effort, queued, &Solo)?;
        let window = ready.timeline.own_window();
        self.conclude(ready, case, pass, &effort, &window)
    }

    fn together(
        &self,
        mine: &mut Result<&mut Ready, Trouble>,
        case: &Case,
        pass: u64,
    ) -> Result<Result<Measured, Trouble>, Aborted> {
        let group = &*self.group;
        let effort = well(mine).and_then(|ready| self.prepare(ready, case, pass, true));
        group.barrier()?;
        // From here to the end of the timed region latches hold: nobody allocates.
        let queued = effort.and_then(|effort| Ok((effort, self.queue(well(mine)?, case, &effort)?)));
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
        let anyone_failed = group.max(u64::from(timed.is_err()))? > 0;
        let span = timed.as_ref().ok().and_then(|()| well(mine).ok());
        let window = self.window(span.map(|ready| (ready.timeline.start_ns, ready.timeline.end_ns())))?;
        let outcome = match (mine, queued, timed) {
            (Ok(ready), Ok((effort, _)), Ok(())) if !anyone_failed => {
                self.conclude(ready, case, pass, &effort, &window)
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
        let delivery = Delivery::new(self, case, pass);
        let mut round_ns = ready.warm[case.index];
        let copier = ready.copier()?;
        let warm_up = |error: DeviceError| Failure::device(Stage::WarmUp, &error);
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
        if self.config.verify {
            delivery.lay_out(copier).map_err(|error| Failure::device(Stage::Verify, &error))?;
        }
        // One round that does not count: laying out the payload left its cache lines behind (arming touches one in 64).
        let start = clock::now_ns();
        copier.round(case.direction, case.bytes).map_err(warm_up)?;
        let latest = (clock::now_ns() - start) as f64;
        if self.config.verify {
            delivery.arm(copier);
        }
        ready.warm[case.index] = Some(latest);
        let estimate = round_ns.map_or(latest, |earlier| earlier.min(latest));
        // Two directions at once are two that must be together, as ranks are.
        let both_ways = case.direction == Direction::Bidirectional;
        let effort = Effort::new(timing, estimate, shared || both_ways, self.fixed_rounds(pass));
        measure::make_room(&mut ready.timeline, &effort);
        Ok(effort)
    }

    /// The rounds of this pass's block when the user fixed their number: spread as evenly as they go.
    fn fixed_rounds(&self, pass: u64) -> Option<usize> {
        let Amount::Fixed { reps, .. } = self.config.amount else { return None };
        let blocks = fixed_blocks(reps);
        let more = u64::from(pass < reps % blocks);
        Some((reps / blocks + more).max(1) as usize)
    }

    fn queue(&self, ready: &mut Ready, case: &Case, effort: &Effort) -> Result<usize, Trouble> {
        let copier = ready.copier()?;
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
        let mut timeline = std::mem::take(&mut ready.timeline);
        // Before any copy can start: the block's own start is read after, on a busy machine milliseconds after.
        let began = clock::now_ns();
        let timed = measure::block(ready.copier()?, case, effort, queued, group, &self.interrupted, &mut timeline);
        let possible = timeline.is_possible(clock::now_ns().saturating_sub(began));
        ready.timeline = timeline;
        timed.map_err(|error| Failure::device(Stage::Measure, &error))?;
        if possible { Ok(()) } else { Err(Trouble::Invalid(IMPOSSIBLE.to_owned())) }
    }

    /// Cuts the block to the common window and compares the bytes.
    fn conclude(
        &self,
        ready: &mut Ready,
        case: &Case,
        pass: u64,
        effort: &Effort,
        window: &Window,
    ) -> Result<Measured, Trouble> {
        let delivery = Delivery::new(self, case, pass);
        let verified_bytes = if self.config.verify { Some(delivery.verify(ready.copier()?)?) } else { None };
        let block = counted(&ready.timeline, window, case.direction, case.bytes, effort.copies).ok_or_else(|| {
            let why = "no whole round of this rank lies in the time in which all ranks (and both directions) were at work: \
                       device or driver served one after the other";
            Trouble::Invalid(why.to_owned())
        })?;
        let shared = case.order == Order::Simultaneous && self.group.size() > 1;
        let allocation = ready.buffers.as_ref().map_or(0, |buffers| buffers.allocation);
        Measured::new(block, |block| Sample {
            block,
            timing: effort.timing,
            allocation,
            overlap: shared.then(|| window.overlap()),
            start_skew_ns: shared.then(|| window.skew_ns()),
            verified_bytes,
        })
    }
}

/// A rank that can take part in a block, or why it cannot.
fn well<'a>(mine: &'a mut Result<&mut Ready, Trouble>) -> Result<&'a mut Ready, Trouble> {
    match mine {
        Ok(ready) => Ok(ready),
        Err(trouble) => Err(trouble.clone()),
    }
}
