//! The timed region: rounds one after the other until every rank has enough. It neither allocates, formats, prints nor
//! summarises; what it returns is when each round ended.
//!
//! A rank that has its rounds says so and goes on copying until all have theirs: nobody's last rounds run without the
//! contention they are to be measured in. Alone, the group is one and nobody waits.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use device::{Copier, DeviceError, Direction, MAX_ROUNDS};
use ranks::Ranks;

use crate::case::{Case, Timing};
use crate::clock;
use crate::config::FIXED_ROUNDS;
use crate::window::Timeline;

/// A sample lasts at least so long: event resolution is about 0.5 µs, so that is far below 0.1 % of it.
const BLOCK_NS: f64 = 10e6;
/// A round queued on a device lasts at least so long: 200 times the resolution of an event.
const QUEUED_ROUND_NS: f64 = 100e3;
/// At most so many copies are queued behind a latch: a deeper queue can fill the driver's, whose enqueue then blocks.
const QUEUE_COPIES: u32 = 128;
/// Ranks that end a block together end within a round or two of each other: with 40 rounds that is within 95 %.
const SHARED_ROUNDS: usize = 40;
/// How far ahead the queue is filled while it runs: long enough to survive a scheduler's tick, short enough to stop soon.
const AHEAD_NS: f64 = 500e3;
/// A rank goes on for others that are up to so many times slower.
const FAR_AHEAD: usize = 16;
/// The longest list of host-timed rounds: a rank that waits for a much slower one stops listing here, not its block's meaning.
const HOST_ROUNDS: usize = 1 << 18;

/// How much one block takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// The clock.
    pub timing: Timing,
    /// Rounds at least.
    pub rounds: usize,
    /// Copies in a round.
    pub copies: u32,
    /// How many rounds are queued ahead.
    pub ahead: usize,
}

impl Effort {
    /// For rounds that were seen to last `round_ns` each; `fixed` rounds if the user said how many, more if ranks that share the
    /// machine need more to be together.
    pub(crate) fn new(timing: Timing, round_ns: f64, shared: bool, fixed: Option<usize>) -> Self {
        let round_ns = round_ns.max(1.0);
        let copies = match timing {
            Timing::Device if fixed.is_none() => (QUEUED_ROUND_NS / round_ns).ceil().clamp(1.0, 32.0) as u32,
            _ => 1,
        };
        let lasts = round_ns * f64::from(copies);
        let enough = (BLOCK_NS / lasts).ceil() as usize;
        let rounds = fixed.unwrap_or(enough).max(if shared { SHARED_ROUNDS } else { 1 });
        let most = if timing == Timing::Device { FIXED_ROUNDS } else { HOST_ROUNDS };
        let ahead = (AHEAD_NS / lasts).ceil().clamp(2.0, f64::from(QUEUE_COPIES / copies)) as usize;
        Self { timing, rounds: rounds.clamp(1, most), copies, ahead }
    }

    /// The most rounds a block may list.
    fn capacity(&self) -> usize {
        if self.timing == Timing::Device { MAX_ROUNDS } else { HOST_ROUNDS.min(self.rounds.saturating_mul(FAR_AHEAD)) }
    }
}

/// Makes room for a block's marks, so that timing it allocates nothing.
pub(crate) fn make_room(timeline: &mut Timeline, effort: &Effort) {
    for marks in [&mut timeline.marks.first_ns, &mut timeline.marks.second_ns] {
        marks.clear();
        marks.reserve(effort.capacity());
    }
}

/// Queues the first rounds behind the latch, for device timing.
pub(crate) fn queue(copier: &mut dyn Copier, case: &Case, effort: &Effort) -> Result<usize, DeviceError> {
    if effort.timing == Timing::Host {
        return Ok(0);
    }
    let first = effort.rounds.min((QUEUE_COPIES / (effort.copies * case.direction.legs() as u32)).max(1) as usize);
    copier.hold()?;
    (0..first).try_for_each(|_| copier.enqueue(case.direction, case.bytes, effort.copies))?;
    Ok(first)
}

/// A rank's part in a block. The others go on until each has done its part, so it is done once, and also by a rank that
/// ends with an error or a panic: an arrival that is missing would be missing in every later block.
struct Part<'a> {
    group: &'a dyn Ranks,
    done: bool,
}

impl Part<'_> {
    fn done(&mut self) {
        if !mem::replace(&mut self.done, true) {
            self.group.arrive();
        }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.done();
    }
}

/// Runs a block: `queued` rounds are waiting behind the latch already.
pub(crate) fn block(
    copier: &mut dyn Copier,
    case: &Case,
    effort: &Effort,
    queued: usize,
    group: &dyn Ranks,
    interrupted: &AtomicBool,
    timeline: &mut Timeline,
) -> Result<(), DeviceError> {
    match effort.timing {
        Timing::Host => host_timed(copier, case, effort, group, interrupted, timeline),
        Timing::Device => device_timed(copier, case, effort, queued, group, interrupted, timeline),
    }
}

fn host_timed(
    copier: &mut dyn Copier,
    case: &Case,
    effort: &Effort,
    group: &dyn Ranks,
    interrupted: &AtomicBool,
    timeline: &mut Timeline,
) -> Result<(), DeviceError> {
    let (direction, bytes, most) = (case.direction, case.bytes, effort.capacity());
    let mut part = Part { group, done: false };
    let ends = &mut timeline.marks.first_ns;
    let start = clock::now_ns();
    timeline.start_ns = start;
    loop {
        copier.round(direction, bytes)?;
        ends.push((clock::now_ns() - start) as f64);
        if ends.len() < effort.rounds && !interrupted.load(Ordering::Relaxed) {
            continue;
        }
        if ends.len() >= effort.rounds {
            part.done();
        }
        if group.all_arrived() || ends.len() >= most || interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    // A blocking round of both directions ends when both have: each direction's marks are the same.
    if direction == Direction::Bidirectional {
        timeline.marks.second_ns.extend_from_slice(&timeline.marks.first_ns);
    }
    Ok(())
}

fn device_timed(
    copier: &mut dyn Copier,
    case: &Case,
    effort: &Effort,
    queued: usize,
    group: &dyn Ranks,
    interrupted: &AtomicBool,
    timeline: &mut Timeline,
) -> Result<(), DeviceError> {
    let mut queued = queued;
    let mut part = Part { group, done: false };
    // A rank that is served far more often than another stops waiting for it here.
    let most = MAX_ROUNDS.min(effort.rounds.saturating_mul(FAR_AHEAD).max(queued + 1));
    timeline.start_ns = clock::now_ns();
    copier.release()?;
    loop {
        let ended = copier.rounds_ended()?;
        if ended >= effort.rounds {
            part.done();
        }
        if (part.done && group.all_arrived()) || queued >= most || interrupted.load(Ordering::Relaxed) {
            break;
        }
        // Alone, exactly the rounds asked for; with others, on until all have theirs.
        let wanted = if group.size() == 1 { effort.rounds } else { most };
        if queued < wanted && queued < ended + effort.ahead.max(1) {
            copier.enqueue(case.direction, case.bytes, effort.copies)?;
            queued += 1;
        }
    }
    part.done();
    copier.finish(&mut timeline.marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_lasts_ten_milliseconds_by_more_rounds_not_by_larger_ones() {
        let effort = Effort::new(Timing::Host, 14_000.0, false, None);
        assert_eq!((effort.rounds, effort.copies), (715, 1));
        let effort = Effort::new(Timing::Device, 2_400_000.0, false, None);
        assert_eq!((effort.rounds, effort.copies, effort.ahead), (5, 1, 2));
    }

    #[test]
    fn short_queued_copies_share_a_mark() {
        let effort = Effort::new(Timing::Device, 10_000.0, false, None);
        assert_eq!((effort.rounds, effort.copies), (100, 10));
        assert!(effort.ahead * effort.copies as usize <= QUEUE_COPIES as usize);
    }

    #[test]
    fn ranks_that_share_the_machine_run_enough_rounds_to_overlap() {
        assert_eq!(Effort::new(Timing::Device, 6_700_000.0, true, None).rounds, SHARED_ROUNDS);
        assert_eq!(Effort::new(Timing::Host, 6_700_000.0, false, None).rounds, 2);
    }

    #[test]
    fn a_fixed_count_is_that_count() {
        let effort = Effort::new(Timing::Device, 10_000.0, false, Some(17));
        assert_eq!((effort.rounds, effort.copies), (17, 1));
        assert_eq!(Effort::new(Timing::Device, 10_000.0, true, Some(17)).rounds, SHARED_ROUNDS);
        assert_eq!(Effort::new(Timing::Device, 10_000.0, true, Some(100)).rounds, 100);
    }
}
