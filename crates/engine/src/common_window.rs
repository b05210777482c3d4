//! What counts of a block: the rounds inside the time in which every rank (and both directions) were at work.
//!
//! ```text
//! rank 0   |--1--|--2--|--3--|--4--|
//! rank 1      |---1---|---2---|---3---|
//! window              [ all have ended their first round .. earliest end ]
//! counted  rank 0: 3, 4      rank 1: 2
//! ```
//!
//! The window of several ranks, or of both directions, begins where each has ended its first round: where a
//! device serves ranks in turns, the first round of the one that is served first is as fast as if it were
//! alone, and where two kernels copy at once, the second one waits for room at first. Four ranks on one GPU
//! had rounds of a quarter, a half and three quarters of the others' time there; both ways at once by kernels
//! came to 4 % less with the first of three rounds than with six.
//!
//! A rank's rate is its whole rounds in the window over the time from the first one's start to the last one's
//! end, so that a round cut by the window's edge biases nothing. A rank that has its rounds goes on until all
//! have theirs; so the time that matters begins with the last start and ends when the last rank has its
//! rounds, and how much of that time was common to all is published as the overlap. What earlier ranks did
//! before the last start counts for nothing and against nothing: a host that does not run all of its virtual
//! CPUs at once starts ranks milliseconds apart.

use stats::sample::Block;

use crate::timing::Lanes;

/// What one rank did in one block: when it started, and when each round ended after that.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    /// The start on the node's clock.
    pub start_ns: u64,
    /// Ends of rounds on each lane, nanoseconds after the start; the second is empty where there is one lane.
    pub marks: [Vec<f64>; 2],
    /// How many rounds were to be measured; further ones only keep the others company.
    pub needed: usize,
}

/// The spans of all ranks in one block, on the node's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub latest_start_ns: u64,
    /// What begins earlier does not count.
    pub counts_from_ns: u64,
    pub earliest_end_ns: u64,
    pub earliest_start_ns: u64,
    /// When the last rank had the rounds it was to measure.
    pub latest_needed_ns: u64,
}

impl Timeline {
    /// From when on this rank's rounds are like its later ones: its start, or the end of its lanes' first
    /// rounds where there are `others` or two lanes, unless there is none after them.
    pub(crate) fn counts_from_ns(&self, others: bool) -> u64 {
        let company = others || self.marks.iter().all(|marks| marks.len() > 1);
        // Whole nanoseconds below it: the rank's own second round begins there.
        let first = self.over_lanes(|marks| marks.first().copied(), f64::max) as u64;
        self.start_ns + if company { first } else { 0 }
    }

    /// When the last round ended; with two lanes on the one that ended first.
    pub(crate) fn end_ns(&self) -> u64 {
        self.start_ns + self.over_lanes(|marks| marks.last().copied(), f64::min) as u64
    }

    /// When the rounds that were to be measured were done, on both lanes.
    pub(crate) fn needed_ns(&self) -> u64 {
        let needed = |marks: &[f64]| marks.get(self.needed.max(1) - 1).or(marks.last()).copied();
        self.start_ns + self.over_lanes(needed, f64::max) as u64
    }

    /// How many times as long as the other's the slower lane's rounds took; `None` where there is one lane.
    pub(crate) fn lanes_apart(&self) -> Option<f64> {
        let round = |marks: &[f64]| marks.last().map(|end| end / marks.len() as f64).filter(|ns| *ns > 0.0);
        let [one, other] = [round(&self.marks[0])?, round(&self.marks[1])?];
        Some(one.max(other) / one.min(other))
    }

    /// What a rank brings to the window, of which the largest of each over all ranks make it: a minimum is
    /// the complement of a maximum.
    pub(crate) fn brings(&self, others: bool) -> [u64; 5] {
        let start = self.start_ns;
        [start, self.counts_from_ns(others), self.needed_ns(), u64::MAX - self.end_ns(), u64::MAX - start]
    }

    fn over_lanes(&self, of: impl Fn(&[f64]) -> Option<f64>, choose: fn(f64, f64) -> f64) -> f64 {
        self.marks.iter().filter_map(|marks| of(marks)).reduce(choose).unwrap_or(0.0)
    }

    /// Whether the marks are times that can have passed in `passed_ns` on the node's clock: drivers have
    /// given events times that are no numbers, negative, or astronomic. Clocks differ by far less than what
    /// is allowed here.
    pub(crate) fn is_possible(&self, passed_ns: u64) -> bool {
        let most = passed_ns as f64 * 1.05 + 1e6;
        self.marks.iter().flatten().all(|mark| (0.0..=most).contains(mark))
    }

    /// This rank's own span as a window: nobody else to overlap with.
    pub(crate) fn own_window(&self) -> Window {
        let (start, end) = (self.start_ns, self.end_ns());
        Window {
            latest_start_ns: start,
            counts_from_ns: self.counts_from_ns(false),
            earliest_end_ns: end,
            earliest_start_ns: start,
            latest_needed_ns: end,
        }
    }
}

impl Window {
    /// The window of the largest of each value that the ranks bring ([`Timeline::brings`]).
    pub(crate) fn of_largest(
        [latest_start_ns, counts_from_ns, latest_needed_ns, end, start]: [u64; 5],
    ) -> Self {
        Self {
            latest_start_ns,
            counts_from_ns,
            earliest_end_ns: u64::MAX - end,
            earliest_start_ns: u64::MAX - start,
            latest_needed_ns,
        }
    }

    /// The share of the time from the last start until the last rank had its rounds in which all ranks were
    /// at work, 0..=1.
    pub(crate) fn overlap(&self) -> f64 {
        let together = self.earliest_end_ns.min(self.latest_needed_ns);
        let common = together.saturating_sub(self.latest_start_ns) as f64;
        let whole = self.latest_needed_ns.saturating_sub(self.latest_start_ns) as f64;
        if whole > 0.0 { common / whole } else { 0.0 }
    }

    /// How far apart the ranks started, nanoseconds.
    pub(crate) fn skew_ns(&self) -> f64 {
        self.latest_start_ns.saturating_sub(self.earliest_start_ns) as f64
    }
}

/// The block that counts; `None` when no whole mark lies in the window. A mark ends `rounds` rounds of
/// `bytes_a_round` each.
pub(crate) fn counted(
    timeline: &Timeline,
    window: &Window,
    lanes: Lanes,
    bytes_a_round: f64,
    rounds: u32,
) -> Option<Block> {
    let from = window.counts_from_ns.saturating_sub(timeline.start_ns) as f64;
    // The clock counts whole nanoseconds, marks have fractions: one nanosecond of grace keeps a rank's own
    // last round.
    let to = window.earliest_end_ns.saturating_sub(timeline.start_ns) as f64 + 1.0;
    let first = span(&timeline.marks[0], from, to)?;
    let counted = first.round_ns.len() as f64;
    let (ways, stretch) = match lanes {
        Lanes::Two => {
            // Each lane's own rate over the common time: the one that finished early does not dilute the
            // other. A round of both takes what its bytes take at the rates of both added up.
            let second = span(&timeline.marks[1], from, to)?;
            let rate = |span: &Span| span.round_ns.len() as f64 / span.elapsed_ns;
            (2.0, 2.0 * rate(&first) / (rate(&first) + rate(&second)))
        }
        Lanes::One => (1.0, 1.0),
    };

    let start_ns = timeline.start_ns + first.from_ns as u64;
    let end_ns = timeline.start_ns + (first.from_ns + first.elapsed_ns) as u64;
    let round_ns = first.round_ns.iter().map(|ns| ns * stretch / f64::from(rounds)).collect();
    let elapsed_ns = first.elapsed_ns * stretch;
    let bytes = (counted * ways * bytes_a_round * f64::from(rounds)).round() as u64;
    Some(Block { start_ns, end_ns, elapsed_ns, bytes, round_ns, copies_per_round: rounds, allocation: 0 })
}

struct Span {
    from_ns: f64,
    elapsed_ns: f64,
    round_ns: Vec<f64>,
}

/// The whole rounds between `from` and `to`.
fn span(ends: &[f64], from: f64, to: f64) -> Option<Span> {
    let start_of = |round: usize| if round == 0 { 0.0 } else { ends[round - 1] };
    let first = (0..ends.len()).find(|round| start_of(*round) >= from)?;
    let after = ends.iter().rposition(|end| *end <= to)? + 1;
    if after <= first {
        return None;
    }
    let round_ns: Vec<f64> = (first..after).map(|round| ends[round] - start_of(round)).collect();
    let from_ns = start_of(first);
    Some(Span { from_ns, elapsed_ns: ends[after - 1] - from_ns, round_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(start_ns: u64, first: &[f64], second: &[f64]) -> Timeline {
        Timeline { start_ns, marks: [first.to_vec(), second.to_vec()], needed: first.len() }
    }

    #[test]
    fn a_rank_alone_counts_every_round() {
        let alone = timeline(1000, &[10.0, 20.0, 40.0], &[]);
        let window = alone.own_window();
        let block = counted(&alone, &window, Lanes::One, 100.0, 1);
        let want = Block {
            start_ns: 1000,
            end_ns: 1040,
            elapsed_ns: 40.0,
            bytes: 300,
            round_ns: vec![10.0, 10.0, 20.0],
            copies_per_round: 1,
            allocation: 0,
        };
        assert_eq!(block, Some(want));
        assert_eq!((window.overlap(), window.skew_ns()), (1.0, 0.0));
    }

    #[test]
    fn only_whole_rounds_inside_the_common_time_count() {
        let (a, b) = (timeline(0, &[10.0, 20.0, 30.0, 40.0], &[]), timeline(5, &[20.0, 40.0], &[]));
        let window = Window {
            latest_start_ns: 5,
            counts_from_ns: 5,
            earliest_end_ns: 40,
            earliest_start_ns: 0,
            latest_needed_ns: 45,
        };
        let block = counted(&a, &window, Lanes::One, 16.0, 2);
        let block = block.map(|b| (b.round_ns, b.elapsed_ns, b.bytes));
        assert_eq!(block, Some((vec![5.0; 3], 30.0, 3 * 2 * 8 * 2)), "each mark ends two copies of 10 ns");
        let block = counted(&b, &window, Lanes::One, 16.0, 2);
        assert_eq!(block.map(|b| (b.round_ns.len(), b.elapsed_ns)), Some((1, 20.0)));
        assert_eq!(window.overlap(), 35.0 / 40.0);
    }

    #[test]
    fn both_directions_at_once_add_their_rates_over_the_common_time() -> Result<(), &'static str> {
        // H2D ends a copy every 10 ns, D2H every 20 ns: two rounds of 100 bytes each way, at
        // 100 bytes × (1/10 + 1/20).
        let both = timeline(0, &[10.0, 20.0, 30.0, 40.0], &[20.0, 40.0, 60.0]);
        let turned = Timeline { marks: [both.marks[1].clone(), both.marks[0].clone()], ..both.clone() };
        for timeline in [both, turned] {
            let block = counted(&timeline, &timeline.own_window(), Lanes::Two, 100.0, 1).ok_or("no block")?;
            let (rate, rounds) = (block.bytes as f64 / block.elapsed_ns, block.round_ns.len() as f64);
            assert!((rate - 15.0).abs() < 1e-9, "{block:?}");
            assert!(
                (block.value().value - 200.0 / 15.0).abs() < 1e-9,
                "of both, whichever is first: {block:?}"
            );
            assert!((block.round_ns.iter().sum::<f64>() - rounds * 200.0 / 15.0).abs() < 1e-9, "{block:?}");
        }
        Ok(())
    }

    #[test]
    fn two_lanes_are_as_far_apart_as_their_rounds() {
        assert_eq!(timeline(0, &[10.0, 20.0], &[25.0, 40.0]).lanes_apart(), Some(2.0));
        assert_eq!(timeline(0, &[30.0], &[10.0, 20.0]).lanes_apart(), Some(3.0));
        assert_eq!(timeline(0, &[30.0], &[]).lanes_apart(), None);
    }

    #[test]
    fn rounds_that_only_keep_the_others_company_count_for_nothing_and_against_nothing() {
        // Two rounds were asked for; the fast rank went on until the slow one had both.
        let fast = Timeline { needed: 2, ..timeline(0, &[10.0, 20.0, 30.0, 40.0, 50.0], &[]) };
        let slow = Timeline { needed: 2, ..timeline(0, &[20.0, 40.0], &[]) };
        assert_eq!((fast.needed_ns(), slow.needed_ns()), (20, 40));
        let window = Window { earliest_end_ns: 40, ..slow.own_window() };
        assert_eq!(window.overlap(), 1.0);
        // One that stopped early leaves the other alone for half of its rounds.
        let left = Window { earliest_end_ns: 20, ..window };
        assert_eq!(left.overlap(), 0.5);
    }

    #[test]
    fn the_first_round_of_ranks_that_a_device_serves_in_turns_does_not_count() {
        // Copies of 10 ns by one engine: rank 0's, rank 1's, rank 2's, and again.
        let turns = |first: f64| timeline(0, &[first, first + 30.0, first + 60.0, first + 90.0], &[]);
        let ranks = [10.0, 20.0, 30.0].map(turns);
        let from = ranks.iter().map(|rank| rank.counts_from_ns(true)).max().unwrap_or(0);
        let window = Window { counts_from_ns: from, earliest_end_ns: 100, ..ranks[0].own_window() };
        let rounds = ranks
            .each_ref()
            .map(|rank| counted(rank, &window, Lanes::One, 1.0, 1).map(|block| block.round_ns));
        assert_eq!(rounds, [Some(vec![30.0; 2]), Some(vec![30.0]), Some(vec![30.0; 2])]);
        assert_eq!(ranks[0].counts_from_ns(false), 0);
    }

    #[test]
    fn marks_that_no_clock_can_give_are_not_possible() {
        let possible = |mark: f64| timeline(1000, &[10.0, mark], &[]).is_possible(5_000_000);
        assert!(possible(0.0) && possible(5e6) && possible(6e6));
        for mark in [f64::NAN, f64::INFINITY, -1.0, 7e6, 3e44] {
            assert!(!possible(mark), "{mark}");
        }
        assert!(!timeline(0, &[1.0], &[f64::NAN]).is_possible(10));
    }

    #[test]
    fn ranks_that_never_met_have_nothing_to_count() {
        let early = timeline(0, &[10.0], &[]);
        let window = Window {
            latest_start_ns: 50,
            counts_from_ns: 50,
            earliest_end_ns: 10,
            earliest_start_ns: 0,
            latest_needed_ns: 90,
        };
        assert_eq!(counted(&early, &window, Lanes::One, 1.0, 1), None);
        assert_eq!(window.overlap(), 0.0);
    }
}
