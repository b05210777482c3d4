//! The timed region: rounds one after the other until every rank has enough. It neither allocates, formats,
//! prints nor summarises; it leaves in the `Timeline` when each round ended.
//!
//! A rank that has its rounds says so and goes on copying until all have theirs: nobody's last rounds run
//! without the contention they are to be measured in. Alone, the group is one and nobody waits.
//!
//! Times of events stay floating point: whole microseconds would be a bias. Where copies share a mark,
//! figures are of one copy, and the document says how many shared it.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use ranks::Ranks;

use crate::clock;
use crate::common_window::Timeline;
use crate::config::{FIXED_ROUNDS, MAX_ROUNDS};
use crate::failure::Failure;
use crate::timing::{Lanes, Timing};
use crate::work::Work;

/// A block lasts at least so long: the resolution of an event is about 0.5 µs, far below 0.1 % of it; and
/// blocks differ by more than their rounds do, so that longer ones say no more.
const BLOCK_NS: f64 = 4e6;
/// A mark on a device ends rounds that last at least so long: 200 times the resolution of an event.
const QUEUED_ROUND_NS: f64 = 100e3;
/// At most so many rounds are queued behind a latch: a deeper queue can fill the driver's, whose enqueue then
/// blocks.
const QUEUE_ROUNDS: u32 = 128;
/// Marks of two lanes, at least, before it is known how far apart they are: the first round of each does not
/// count (`common_window`), and one may be twice as slow as the other.
const LANES_MARKS: usize = 5;
/// At most so many for lanes that are far apart: where one takes more than seven times as long as the other,
/// no block has a whole round of it in the time of both.
const LANES_MOST_MARKS: usize = 16;
/// How long a block of two lanes lasts at least.
const LANES_NS: f64 = 2.0 * BLOCK_NS;
/// Marks of ranks that share the machine, at least: the first round of each does not count (`common_window`).
const SHARED_MARKS: usize = 3;
/// Ranks that share the machine do so for at least this long: that they started microseconds apart is then
/// below 0.1 %.
pub(crate) const SHARED_NS: f64 = 20e6;
/// And at most so long, however far apart they start: what is before the last start does not count, and each
/// rank has its rounds after it, so that longer blocks only have more in them and take their time.
pub(crate) const LONGEST_SHARED_NS: f64 = 2.5 * SHARED_NS;
/// How far ahead the queue is filled while it runs: long enough to survive a scheduler's tick, short enough
/// to stop soon.
const AHEAD_NS: f64 = 500e3;
/// A rank goes on for others that are up to so many times slower.
const FAR_AHEAD: usize = 16;
/// The longest list of host-timed rounds: a rank that waits for a much slower one stops listing here, not its
/// block's meaning.
const HOST_ROUNDS: usize = 1 << 18;

/// Who is at work in a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Company {
    /// One rank, one lane.
    None,
    /// One rank with two lanes; how many times as long as the other's the slower one's rounds took last.
    Lanes { apart: Option<f64> },
    /// Several ranks of this node, for at least this long.
    Ranks { lasting_ns: f64 },
}

/// How much one block takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// The clock.
    pub timing: Timing,
    /// Marks that are enough.
    pub marks: usize,
    /// A rank among others has done its part after this long too, with [`SHARED_MARKS`]: otherwise one that
    /// became slower would keep all others working. `None`: after its marks alone.
    pub enough_ns: Option<f64>,
    /// Rounds that end with one mark.
    pub rounds: u32,
    /// How many marks are queued ahead.
    pub ahead: usize,
}

impl Effort {
    /// For rounds that were seen to last `round_ns` each; `fixed` rounds if the user said how many, more if
    /// ranks that share the machine need more to be together.
    pub(crate) fn new(timing: Timing, round_ns: f64, company: Company, fixed: Option<usize>) -> Self {
        let round_ns = round_ns.max(1.0);
        let rounds = match timing {
            Timing::Device if fixed.is_none() => (QUEUED_ROUND_NS / round_ns).ceil().clamp(1.0, 32.0) as u32,
            _ => 1,
        };
        let lasts = round_ns * f64::from(rounds);
        let (least, lasting) = match company {
            Company::None => (1, BLOCK_NS),
            Company::Lanes { apart } => (apart.map_or(LANES_MARKS, lanes_marks), LANES_NS),
            Company::Ranks { lasting_ns } => (SHARED_MARKS, lasting_ns),
        };

        let enough = (lasting / lasts).ceil() as usize;
        let marks = fixed.unwrap_or(enough).max(least);
        let most = if timing == Timing::Device { FIXED_ROUNDS } else { HOST_ROUNDS };
        let enough_ns = match company {
            Company::Ranks { lasting_ns } if fixed.is_none() => Some(lasting_ns),
            _ => None,
        };
        let ahead = (AHEAD_NS / lasts).ceil().clamp(2.0, f64::from(QUEUE_ROUNDS / rounds)) as usize;
        Self { timing, marks: marks.clamp(1, most), enough_ns, rounds, ahead }
    }

    /// Whether a rank has done its part with so many marks, so long after its start.
    fn is_done(&self, marks: usize, elapsed_ns: u64) -> bool {
        let in_time = |enough_ns| elapsed_ns as f64 >= enough_ns && marks >= SHARED_MARKS;
        marks >= self.marks || self.enough_ns.is_some_and(in_time)
    }

    /// Whether one round of `round_ns` is a block by itself.
    pub(crate) fn is_one_round(round_ns: f64) -> bool {
        round_ns >= BLOCK_NS
    }

    /// The most marks a block may list.
    fn capacity(&self) -> usize {
        if self.timing == Timing::Device {
            MAX_ROUNDS
        } else {
            HOST_ROUNDS.min(self.marks.saturating_mul(FAR_AHEAD))
        }
    }
}

/// Both lanes have as many marks, and the time of both ends with the faster one's last: the slower one has
/// ended two by then, of which one counts, where it takes `apart` times as long.
fn lanes_marks(apart: f64) -> usize {
    ((2.0 * apart).ceil() as usize + 1).min(LANES_MOST_MARKS)
}

/// Makes room for a block's marks, so that timing it allocates nothing.
pub(crate) fn make_room(timeline: &mut Timeline, effort: &Effort) {
    for marks in &mut timeline.marks {
        marks.clear();
        marks.reserve(effort.capacity());
    }
    timeline.needed = effort.marks;
}

/// Queues the first rounds behind the latch, for device timing; how many marks that makes.
pub(crate) fn queue(work: &mut dyn Work, effort: &Effort) -> Result<usize, Failure> {
    if effort.timing == Timing::Host {
        return Ok(0);
    }
    let first =
        effort.marks.min((QUEUE_ROUNDS / (effort.rounds * work.operations_a_round())).max(1) as usize);
    work.hold()?;
    (0..first).try_for_each(|_| work.enqueue(effort.rounds))?;
    Ok(first)
}

/// A rank's part in a block. The others go on until each has done its part, so it is done once, and also by a
/// rank that ends with an error or a panic: an arrival that is missing would be missing in every later block.
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

/// Runs a block: `queued` marks are waiting behind the latch already.
pub(crate) fn block(
    work: &mut dyn Work,
    effort: &Effort,
    queued: usize,
    group: &dyn Ranks,
    interrupted: &AtomicBool,
    timeline: &mut Timeline,
) -> Result<(), Failure> {
    match effort.timing {
        Timing::Host => host_timed(work, effort, group, interrupted, timeline),
        Timing::Device => device_timed(work, effort, queued, group, interrupted, timeline),
    }
}

fn host_timed(
    work: &mut dyn Work,
    effort: &Effort,
    group: &dyn Ranks,
    interrupted: &AtomicBool,
    timeline: &mut Timeline,
) -> Result<(), Failure> {
    let most = effort.capacity();
    let mut part = Part { group, done: false };
    let [ends, other] = &mut timeline.marks;
    let start = clock::now_ns();
    timeline.start_ns = start;

    loop {
        work.round()?;
        let elapsed_ns = clock::now_ns() - start;
        ends.push(elapsed_ns as f64);
        if !part.done && effort.is_done(ends.len(), elapsed_ns) {
            timeline.needed = ends.len();
            part.done();
        }
        if !part.done && !interrupted.load(Ordering::Relaxed) {
            continue;
        }
        if group.all_arrived() || ends.len() >= most || interrupted.load(Ordering::Relaxed) {
            break;
        }
    }

    // A blocking round of two lanes ends when both have: each lane's marks are the same.
    if work.lanes() == Lanes::Two {
        other.extend_from_slice(ends);
    }
    Ok(())
}

fn device_timed(
    work: &mut dyn Work,
    effort: &Effort,
    queued: usize,
    group: &dyn Ranks,
    interrupted: &AtomicBool,
    timeline: &mut Timeline,
) -> Result<(), Failure> {
    let mut queued = queued;
    let mut part = Part { group, done: false };
    // A rank that is served far more often than another stops waiting for it here.
    let most = MAX_ROUNDS.min(effort.marks.saturating_mul(FAR_AHEAD).max(queued + 1));
    timeline.start_ns = clock::now_ns();
    work.release()?;

    loop {
        let ended = work.ended()?;
        if !part.done && effort.is_done(ended, clock::now_ns().saturating_sub(timeline.start_ns)) {
            timeline.needed = ended.min(effort.marks);
            part.done();
        }
        if (part.done && group.all_arrived()) || queued >= most || interrupted.load(Ordering::Relaxed) {
            break;
        }
        // Alone, exactly the rounds asked for; with others, on until all have theirs.
        let wanted = if group.size() == 1 { effort.marks } else { most };
        if queued < wanted && queued < ended + effort.ahead.max(1) {
            work.enqueue(effort.rounds)?;
            queued += 1;
        }
    }

    part.done();
    work.finish(&mut timeline.marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: Company = Company::Ranks { lasting_ns: SHARED_NS };

    #[test]
    fn a_block_lasts_four_milliseconds_by_more_rounds_not_by_larger_ones() {
        let effort = Effort::new(Timing::Host, 14_000.0, Company::None, None);
        assert_eq!((effort.marks, effort.rounds), (286, 1));
        let effort = Effort::new(Timing::Device, 2_400_000.0, Company::None, None);
        assert_eq!((effort.marks, effort.rounds, effort.ahead), (2, 1, 2));
        assert_eq!(Effort::new(Timing::Device, 9_700_000.0, Company::None, None).marks, 1);
    }

    #[test]
    fn short_queued_rounds_share_a_mark() {
        let effort = Effort::new(Timing::Device, 10_000.0, Company::None, None);
        assert_eq!((effort.marks, effort.rounds), (40, 10));
        assert!(effort.ahead * effort.rounds as usize <= QUEUE_ROUNDS as usize);
    }

    #[test]
    fn ranks_that_share_the_machine_run_long_enough_to_be_together() {
        assert_eq!(Effort::new(Timing::Device, 6_700_000.0, SHARED, None).marks, SHARED_MARKS);
        assert_eq!(
            Effort::new(Timing::Device, 6_700_000.0, Company::Lanes { apart: None }, None).marks,
            LANES_MARKS
        );
        assert_eq!(Effort::new(Timing::Device, 100_000.0, SHARED, None).marks, 200);
        assert_eq!(Effort::new(Timing::Host, 3_700_000.0, Company::None, None).marks, 2);
        let longer = Company::Ranks { lasting_ns: LONGEST_SHARED_NS };
        assert_eq!(Effort::new(Timing::Host, 2_000_000.0, longer, None).marks, 25);
    }

    #[test]
    fn a_rank_among_others_that_is_slower_than_it_was_ends_its_part_in_time_with_three_rounds() {
        let effort = Effort::new(Timing::Host, 1e6, SHARED, None);
        assert_eq!(
            (effort.marks, effort.is_done(19, 19_000_000), effort.is_done(20, 19_500_000)),
            (20, false, true)
        );
        assert!(effort.is_done(3, SHARED_NS as u64) && !effort.is_done(2, 2 * SHARED_NS as u64));
        let asked = Effort::new(Timing::Host, 1e6, SHARED, Some(20));
        assert!(!asked.is_done(19, 10 * SHARED_NS as u64), "what the user asked for is done");
    }

    #[test]
    fn lanes_have_as_many_rounds_as_leave_the_slower_one_a_whole_one_after_its_first() {
        let marks =
            |apart| Effort::new(Timing::Device, 9.7e6, Company::Lanes { apart: Some(apart) }, None).marks;
        assert_eq!([1.0, 1.02, 1.5, 2.0, 3.0, 40.0].map(marks), [3, 4, 4, 5, 7, LANES_MOST_MARKS]);
        for apart in [1.0, 1.1, 1.49, 1.51, 2.9, 7.0] {
            assert!(marks(apart) as f64 >= 2.0 * apart, "{apart}");
        }
    }

    #[test]
    fn a_fixed_count_is_that_count() {
        let effort = Effort::new(Timing::Device, 10_000.0, Company::None, Some(17));
        assert_eq!((effort.marks, effort.rounds), (17, 1));
        assert_eq!(Effort::new(Timing::Device, 10_000.0, SHARED, Some(3)).marks, SHARED_MARKS);
        assert_eq!(Effort::new(Timing::Device, 10_000.0, SHARED, Some(100)).marks, 100);
    }
}
