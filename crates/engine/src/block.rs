//! One block of one case on one rank: warm up, lay out, wait for the others, time, cut to the common window,
//! verify. Some 420 lines because the steps of a block are one order, and each is a short function.
//!
//! Alone, ranks take turns and nobody else moves. Together, they agree on a start by the clock (a barrier's
//! wake-ups are too uneven), and nobody allocates or verifies while a latch holds. Every rank passes every
//! barrier, well or not.

use std::hint;

use ranks::{Aborted, Ranks, Solo};
use stats::sample::Block;
use stats::stage::Stage;
use stats::time_spent::TimeSpent;

use crate::case::{Case, Order};
use crate::clock;
use crate::common_window::{Timeline, Window, counted};
use crate::config::{Amount, fixed_blocks};
use crate::failure::Failure;
use crate::measure::{self, Company, Effort, LONGEST_SHARED_NS, SHARED_NS};
use crate::measured::Measured;
use crate::observed_placement::ObservedPlacement;
use crate::rank::{Pace, Rank, Ready, Warmth};
use crate::sample::{BlockDetail, Sample, Trouble};
use crate::timing::{Lanes, Timing};
use crate::work::Work;

/// Between agreeing on a start and the start itself: longer than it takes the last thread of most machines to
/// wake up.
const START_MARGIN_NS: u64 = 500_000;
/// Where that was too short, the start is when the last one is awake, or this much later: one that is gone
/// keeps nobody waiting. (A host that takes a seventh to a third of the time of 64 virtual CPUs starts them
/// 6 to 16 ms apart.)
const AWAKE_NS: u64 = 20_000_000;
/// How often a rank that is awake looks for the others before it lets another thread of its PU go on.
const LOOKS: u32 = 1 << 10;
/// A block of ranks at once lasts so many times as long as they started apart (2 %).
const TIMES_SKEW: f64 = 50.0;
/// A block of which less was common to all ranks measured something else than was asked.
pub const LEAST_OVERLAP: f64 = 0.95;
/// Rounds before a case's very first block, and the time they may take: links and clocks wake up. On later
/// allocations the one round that does not count is enough.
const WARM_ROUNDS: u64 = 10;
const WARM_NS: u64 = 10_000_000;

const IMPOSSIBLE: &str = "the clock that timed the block gave times that cannot be: no numbers, before the \
    start, or later than now (`--timing host`, where a command has it, takes the host's clock)";
const NEVER_AT_ONCE: &str = "this rank ended no whole round while all ranks (and both directions) were at \
    work: the device or driver served them one after the other";

impl Rank {
    /// One block of one case, by all its ranks at once or one after the other; a rank that is `out` of it
    /// lets its turn pass. `None` for a rank that takes no part in the case. Whether a rank has seen a signal
    /// comes with the block's last wait: each wait wakes all threads of a node.
    pub(crate) fn block(
        &self,
        ready: &mut Result<Ready, Failure>,
        before: &Result<ObservedPlacement, Trouble>,
        case: &Case,
        pass: u64,
        out: bool,
    ) -> Result<(Option<Result<Measured, Trouble>>, bool), Aborted> {
        let member = case.has(self.worker.rank);
        let mut mine = match (ready.as_mut(), before) {
            (Ok(ready), Ok(_)) => Ok(ready),
            (Err(failure), _) => Err(Trouble::Failed(failure.clone())),
            (_, Err(trouble)) => Err(trouble.clone()),
        };
        if case.order == Order::Simultaneous {
            let (outcome, interrupted) = self.together(mine, case, pass, member)?;
            return Ok((member.then_some(outcome), interrupted));
        }
        let mut interrupted = false;
        let mut outcome = Err(Trouble::Skipped("its turn did not come".to_owned()));

        for turn in self.members_here(case) {
            if turn == self.group.rank() && !out {
                outcome = match &mut mine {
                    Ok(ready) => self.alone(ready, case, pass),
                    Err(trouble) => Err(trouble.clone()),
                };
            }
            interrupted |= self.interrupted_by_anyone()?;
        }
        Ok((member.then_some(outcome), interrupted))
    }

    /// The places in this node's group of the ranks that take part in a case: everyone goes through the same
    /// ones.
    fn members_here<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = usize> + 'a {
        (0..self.group.size()).filter(|place| self.node.get(*place).is_none_or(|rank| case.has(*rank)))
    }

    fn alone(&self, ready: &mut Ready, case: &Case, pass: u64) -> Result<Measured, Trouble> {
        let mut turn = Warming::begin(self, ready, case, pass)?.prepare(false)?;
        turn.queue()?;
        turn.time(&Solo)?;
        let window = turn.timeline.own_window();
        turn.conclude(&window, None)
    }

    fn together(
        &self,
        mine: Result<&mut Ready, Trouble>,
        case: &Case,
        pass: u64,
        member: bool,
    ) -> Result<(Result<Measured, Trouble>, bool), Aborted> {
        let group = &*self.group;
        let others = self.members_here(case).count() > 1;
        let warming = if member {
            mine.and_then(|ready| Warming::begin(self, ready, case, pass))
        } else {
            Err(Trouble::Skipped("it takes no part".to_owned()))
        };

        // A queue that is warmed up holds its latch for a moment, and nobody else's copies may run into that.
        group.barrier()?;
        let mut turn = warming.and_then(|warming| warming.prepare(others));
        group.barrier()?;

        // From here to the end of the timed region latches hold: nobody allocates.
        if let Ok(ready) = &mut turn
            && let Err(trouble) = ready.queue()
        {
            turn = Err(trouble);
        }

        let start = group.max(clock::now_ns())? + START_MARGIN_NS;
        let timed = match &mut turn {
            Ok(turn) => {
                start_awake(group, start);
                turn.time(group)
            }
            Err(trouble) => {
                // Once for the start, once for the rounds.
                group.arrive();
                group.arrive();
                Err(trouble.clone())
            }
        };

        let timeline = turn.as_ref().ok().filter(|_| timed.is_ok()).map(|turn| &*turn.timeline);
        let (window, anyone_failed) = self.window(timeline, others, member && timed.is_err())?;
        let outcome = match (turn, timed) {
            (Ok(turn), Ok(())) if !anyone_failed => turn.conclude(&window, others.then_some(&window)),
            (_, Err(trouble)) | (Err(trouble), _) => Err(trouble),
            _ => Err(Trouble::AnotherFailed),
        };

        // Verifying uses the device too: nobody begins the next block while somebody still does.
        let interrupted = self.interrupted_by_anyone()?;
        Ok((outcome, interrupted))
    }

    /// Collective: the common window of all ranks that measured, and whether any failed; `others`: they are
    /// several. All in one round, because each wakes all threads of a node.
    fn window(
        &self,
        timeline: Option<&Timeline>,
        others: bool,
        failed: bool,
    ) -> Result<(Window, bool), Aborted> {
        let [start, counts_from, needed, end, begin] =
            timeline.map_or([0; 5], |timeline| timeline.brings(others));
        let own = [start, counts_from, needed, end, begin, u64::from(failed)];
        let [start, counts_from, needed, end, begin, failed] = self.group.max_of_each(own)?;
        Ok((Window::of_largest([start, counts_from, needed, end, begin]), failed > 0))
    }

    /// Whether a block of this work needs no round before it that does not count, once there was one: laying
    /// out leaves nothing that a round would pay for, and a round is a block by itself.
    fn needs_none_before(&self, work: &dyn Work, round_ns: f64) -> bool {
        let may_be_none = work.calls_before() == 0 && !work.tells_host_time();
        may_be_none && matches!(self.config.amount, Amount::Adaptive(_)) && Effort::is_one_round(round_ns)
    }

    /// The rounds of a case's next block, after so many, when the user fixed their number: spread as evenly
    /// as they go.
    fn fixed_rounds(&self, blocks_before: u64) -> Option<usize> {
        let Amount::Fixed { reps, .. } = self.config.amount else { return None };
        let blocks = fixed_blocks(reps);
        let more = u64::from(blocks_before < reps % blocks);
        Some((reps / blocks + more).max(1) as usize)
    }
}

/// A rank's part in one block before it is warm.
struct Warming<'a> {
    rank: &'a Rank,
    work: Box<dyn Work + 'a>,
    warmth: &'a mut Warmth,
    pace: &'a mut Pace,
    timeline: &'a mut Timeline,
    spent: &'a mut TimeSpent,
    allocation: u32,
}

impl<'a> Warming<'a> {
    /// Makes the work, and where it is new and a queue times it, queues a round once: what a queue loads
    /// lazily is loaded before anything is timed by it.
    fn begin(rank: &'a Rank, ready: &'a mut Ready, case: &Case, pass: u64) -> Result<Self, Trouble> {
        let Ready { site, warm, pace, timeline, spent, allocation, .. } = ready;
        let mut work = site.work(case.index, pass)?;
        let warmth = &mut warm[case.index];
        if work.timing() == Timing::Device && *warmth == Warmth::Cold {
            let round_ns = clock::timed(&mut spent.warm_up_ns, || queue_once(&mut *work)).map_err(cold)?;
            // It is as good a round before the first block as one that the host waits for.
            if rank.needs_none_before(&*work, round_ns) {
                *warmth = Warmth::Fresh { round_ns };
            }
        }
        let pace = &mut pace[case.index];
        Ok(Self { rank, work, warmth, pace, timeline, spent, allocation: *allocation })
    }

    /// Warms up where that is due, lays out what the block will move, and says how much the block takes.
    fn prepare(self, shared: bool) -> Result<Turn<'a>, Trouble> {
        let Self { rank, mut work, warmth, pace, timeline, spent, allocation } = self;
        // Rounds that do not count: laying out what will be moved left its cache lines behind (arming touches
        // one in 64). Where it left none, and a round is a block by itself, the earlier ones were enough, on
        // whatever memory.
        let before = work.calls_before();
        let warmed = clock::timed(&mut spent.warm_up_ns, || warm_up(rank, &mut *work, warmth));
        let earlier = warmed.map_err(cold)?;
        if rank.config.verify {
            clock::timed(&mut spent.lay_out_ns, || work.lay_out())?;
        }

        // Among others the first round of the block does not count either: where one before is enough, it is
        // that one.
        let is_known =
            shared && pace.among_others_ns.is_some() && matches!(rank.config.amount, Amount::Adaptive(_));
        let first_is_enough = before <= 1 && work.timing() == Timing::Host && !work.tells_host_time();
        let is_warm =
            |round_ns: &f64| (is_known && first_is_enough) || rank.needs_none_before(&*work, *round_ns);
        let latest = match earlier.filter(is_warm) {
            Some(round_ns) => round_ns,
            None => {
                let rounds =
                    || (1..before).try_fold(timed_round(&mut *work)?, |_, _| timed_round(&mut *work));
                clock::timed(&mut spent.warm_up_ns, rounds).map_err(cold)?
            }
        };

        if rank.config.verify {
            clock::timed(&mut spent.lay_out_ns, || work.arm())?;
        }
        *warmth = Warmth::Warm { round_ns: latest };
        let company = match work.lanes() {
            _ if shared => Company::Ranks { lasting_ns: pace.lasting_ns.unwrap_or(SHARED_NS) },
            Lanes::Two => Company::Lanes { apart: pace.lanes_apart },
            Lanes::One => Company::None,
        };
        let alone = earlier.map_or(latest, |earlier| earlier.min(latest));
        let estimate = pace.among_others_ns.filter(|_| shared).unwrap_or(alone);
        let fixed = rank.fixed_rounds(pace.blocks);
        let fixed = work.rounds_at_most().map(|most| fixed.map_or(most, |fixed| fixed.min(most))).or(fixed);
        let effort = Effort::new(work.timing(), estimate, company, fixed);
        measure::make_room(timeline, &effort);
        let host_round_ns = (work.tells_host_time() && effort.timing == Timing::Device).then_some(latest);
        Ok(Turn { rank, work, pace, timeline, spent, effort, queued: 0, allocation, host_round_ns })
    }
}

fn cold(failure: Failure) -> Failure {
    failure.at(Stage::WarmUp)
}

/// A rank's part in one block: the work and what it is timed with.
struct Turn<'a> {
    rank: &'a Rank,
    work: Box<dyn Work + 'a>,
    pace: &'a mut Pace,
    timeline: &'a mut Timeline,
    spent: &'a mut TimeSpent,
    effort: Effort,
    /// Marks queued behind the latch.
    queued: usize,
    allocation: u32,
    host_round_ns: Option<f64>,
}

impl Turn<'_> {
    fn queue(&mut self) -> Result<(), Trouble> {
        self.queued = measure::queue(&mut *self.work, &self.effort)?;
        Ok(())
    }

    fn time(&mut self, group: &dyn Ranks) -> Result<(), Trouble> {
        let Self { rank, work, timeline, spent, effort, queued, .. } = self;
        // Before any round can start: the block's own start is read after, on a busy machine milliseconds
        // after.
        let began = clock::now_ns();
        let timed = measure::block(&mut **work, effort, *queued, group, &rank.interrupted, timeline);
        let took = clock::now_ns().saturating_sub(began);
        spent.measure_ns += took;
        timed?;
        if timeline.is_possible(took) { Ok(()) } else { Err(Trouble::Invalid(IMPOSSIBLE.to_owned())) }
    }

    /// Verifies, and cuts the block to the common window; `together`: the window of ranks that were to be at
    /// once.
    fn conclude(self, window: &Window, together: Option<&Window>) -> Result<Measured, Trouble> {
        let Self { rank, mut work, pace, timeline, spent, effort, allocation, host_round_ns, .. } = self;
        let host = host_round_ns.map(BlockDetail::HostNs);
        let told = clock::timed(&mut spent.prove_ns, || host.or_else(|| work.block_detail()));
        let verified_bytes = if rank.config.verify {
            Some(clock::timed(&mut spent.verify_ns, || work.verify())?)
        } else {
            None
        };
        pace.lanes_apart = timeline.lanes_apart();
        let rounds = effort.rounds * work.rounds_a_call().max(1);
        let block = counted(timeline, window, work.lanes(), work.bytes_a_round(), rounds);

        if let Some(window) = together {
            let apart = block.is_none() || window.overlap() < LEAST_OVERLAP;
            pace.lasting_ns =
                Some(next_lasting(pace.lasting_ns.unwrap_or(SHARED_NS), window.skew_ns(), apart));
        }

        let block = block.ok_or_else(|| Trouble::NotAtOnce(NEVER_AT_ONCE.to_owned()))?;
        let block = Block { allocation, ..block };
        if together.is_some() {
            let a_call = f64::from(work.rounds_a_call().max(1));
            pace.among_others_ns = stats::interval::median(&block.round_ns).map(|round_ns| round_ns * a_call);
        }

        let measured = Measured::new(block, |block| Sample {
            block,
            timing: effort.timing,
            overlap: together.map(Window::overlap),
            start_skew_ns: together.map(Window::skew_ns),
            verified_bytes,
            told,
        })?;
        pace.blocks += 1;
        Ok(measured)
    }
}

/// Why ranks were not at once.
pub fn too_little_overlap(overlap: f64) -> String {
    let [percent, least] = [overlap, LEAST_OVERLAP].map(|part| part * 100.0);
    format!("all ranks were at work in only {percent:.1} % of the time, {least:.0} % are needed")
}

/// How long the next block of ranks at once lasts: so long that they start within 2 % of it of each other,
/// and twice as long as the last one where they were
/// `apart` in it.
fn next_lasting(last_ns: f64, skew_ns: f64, apart: bool) -> f64 {
    let again = if apart { 2.0 * last_ns } else { last_ns / 2.0 };
    again.max(TIMES_SKEW * skew_ns).clamp(SHARED_NS, LONGEST_SHARED_NS)
}

/// Awaits a start that was agreed on, awake, until every rank is: waking up takes as long as the host lets
/// it, and a rank that is not awake has not started.
fn start_awake(group: &dyn Ranks, start_ns: u64) {
    group.arrive();
    let mut looks = 0_u32;
    loop {
        let now = clock::now_ns();
        if (now >= start_ns && group.all_arrived()) || now >= start_ns + AWAKE_NS {
            return;
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS) {
            // Ranks that share a PU wait for each other here.
            std::thread::yield_now();
        } else {
            hint::spin_loop();
        }
    }
}

/// Warms a case up on fresh memory; the time one round took last, where that is known.
fn warm_up(rank: &Rank, work: &mut dyn Work, warmth: &Warmth) -> Result<Option<f64>, Failure> {
    let (rounds, limit_ns) = match (warmth, rank.config.amount) {
        (Warmth::Warm { round_ns }, _) => return Ok(Some(*round_ns)),
        (Warmth::Fresh { round_ns }, _) if rank.needs_none_before(work, *round_ns) => {
            return Ok(Some(*round_ns));
        }
        // The round that does not count is the last of them.
        (_, Amount::Fixed { warmup, .. }) => (warmup.saturating_sub(1), u64::MAX),
        (Warmth::Cold, Amount::Adaptive(_)) => (WARM_ROUNDS, WARM_NS),
        (Warmth::Fresh { .. }, Amount::Adaptive(_)) => (0, WARM_NS),
    };

    let began = clock::now_ns();
    let mut latest = None;

    for _ in 0..rounds {
        latest = Some(timed_round(work)?);
        if clock::now_ns() - began > limit_ns {
            break;
        }
    }
    Ok(latest)
}

/// Queues a round; how long it took by the device's clock, which is no longer than by the host's.
fn queue_once(work: &mut dyn Work) -> Result<f64, Failure> {
    let start = clock::now_ns();
    let mut marks = [Vec::with_capacity(1), Vec::with_capacity(1)];
    work.hold()?;
    work.enqueue(1)?;
    work.finish(&mut marks)?;
    let took = (clock::now_ns() - start) as f64;
    Ok(marks.iter().flatten().copied().fold(0.0, f64::max).min(took))
}

fn timed_round(work: &mut dyn Work) -> Result<f64, Failure> {
    let start = clock::now_ns();
    work.round()?;
    Ok((clock::now_ns() - start) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_longer_after_one_in_which_ranks_were_apart_and_as_short_as_usual_again_later() {
        assert_eq!(next_lasting(SHARED_NS, 400.0, false), SHARED_NS, "microseconds apart");
        assert_eq!(next_lasting(SHARED_NS, 600e3, false), 30e6, "2 % of it");
        assert_eq!(next_lasting(SHARED_NS, 13e6, false), LONGEST_SHARED_NS);
        assert_eq!(next_lasting(SHARED_NS, 0.0, true), 2.0 * SHARED_NS);
        assert_eq!(next_lasting(LONGEST_SHARED_NS, 0.0, false), LONGEST_SHARED_NS / 2.0);
    }
}
