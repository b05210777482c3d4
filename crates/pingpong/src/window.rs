//! What counts of a block: the rounds inside the time in which every rank (and both directions) were at work.
//!
//! ```text
//! rank 0   |--1--|--2--|--3--|--4--|
//! rank 1      |---1---|---2---|---3---|
//! window      [ latest start .. earliest end ]
//! counted  rank 0: 2, 3, 4      rank 1: 1, 2
//! ```
//!
//! A rank's rate is its whole rounds in the window over the time from the first one's start to the last one's end, so that a round
//! cut by the window's edge biases nothing. How much of the whole time was common is published as the overlap.

use device::{Direction, Marks};
use stats::sample::Block;

/// What one rank did in one block: when it started, and when each round ended after that.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    /// The start on the node's clock.
    pub start_ns: u64,
    /// Ends of rounds (with two directions at once: of both), nanoseconds after the start.
    pub marks: Marks,
}

/// The spans of all ranks in one block, on the node's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub latest_start_ns: u64,
    pub earliest_end_ns: u64,
    pub earliest_start_ns: u64,
    pub latest_end_ns: u64,
}

impl Timeline {
    /// When the last round that counts ended; with two directions the one that ended first.
    pub(crate) fn end_ns(&self) -> u64 {
        let last = |marks: &[f64]| marks.last().copied();
        let end = match (last(&self.marks.first_ns), last(&self.marks.second_ns)) {
            (Some(first), Some(second)) => first.min(second),
            (first, second) => first.or(second).unwrap_or(0.0),
        };
        self.start_ns + end as u64
    }

    /// Whether the marks are times that can have passed in `passed_ns` on the node's clock: drivers have given events times that are no
    /// numbers, negative, or astronomic. Clocks differ by far less than what is allowed here.
    pub(crate) fn is_possible(&self, passed_ns: u64) -> bool {
        let most = passed_ns as f64 * 1.05 + 1e6;
        self.marks.first_ns.iter().chain(&self.marks.second_ns).all(|mark| (0.0..=most).contains(mark))
    }

    /// This rank's own span as a window: nobody else to overlap with.
    pub(crate) fn own_window(&self) -> Window {
        let (start, end) = (self.start_ns, self.end_ns());
        Window { latest_start_ns: start, earliest_end_ns: end, earliest_start_ns: start, latest_end_ns: end }
    }
}

impl Window {
    /// The share of the whole time that was common, 0..=1.
    pub(crate) fn overlap(&self) -> f64 {
        let common = self.earliest_end_ns.saturating_sub(self.latest_start_ns) as f64;
        let whole = self.latest_end_ns.saturating_sub(self.earliest_start_ns) as f64;
        if whole > 0.0 { common / whole } else { 0.0 }
    }

    /// How far apart the ranks started, nanoseconds.
    pub(crate) fn skew_ns(&self) -> f64 {
        self.latest_start_ns.saturating_sub(self.earliest_start_ns) as f64
    }
}

/// The block that counts; `None` when no whole round lies in the window.
pub(crate) fn counted(
    timeline: &Timeline,
    window: &Window,
    direction: Direction,
    bytes: usize,
    copies: u32,
) -> Option<Block> {
    let from = window.latest_start_ns.saturating_sub(timeline.start_ns) as f64;
    // The clock counts whole nanoseconds, marks have fractions: one nanosecond of grace keeps a rank's own last round.
    let to = window.earliest_end_ns.saturating_sub(timeline.start_ns) as f64 + 1.0;
    let first = span(&timeline.marks.first_ns, from, to)?;
    let round_bytes = bytes as f64 * f64::from(copies);
    let elapsed_ns = first.elapsed_ns;
    let bytes = if direction == Direction::Bidirectional {
        // Each direction's own rate over the common time: the one that finished early does not dilute the other.
        let second = span(&timeline.marks.second_ns, from, to)?;
        let rate = |span: &Span| span.round_ns.len() as f64 * round_bytes / span.elapsed_ns;
        (rate(&first) + rate(&second)) * elapsed_ns
    } else {
        first.round_ns.len() as f64 * round_bytes * direction.legs() as f64
    };
    let start_ns = timeline.start_ns + first.from_ns as u64;
    let end_ns = timeline.start_ns + (first.from_ns + elapsed_ns) as u64;
    let round_ns = first.round_ns.iter().map(|ns| ns / f64::from(copies)).collect();
    Some(Block { start_ns, end_ns, elapsed_ns, bytes: bytes.round() as u64, round_ns, copies_per_round: copies })
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
        Timeline { start_ns, marks: Marks { first_ns: first.to_vec(), second_ns: second.to_vec() } }
    }

    #[test]
    fn a_rank_alone_counts_every_round() {
        let alone = timeline(1000, &[10.0, 20.0, 40.0], &[]);
        let window = alone.own_window();
        let block = counted(&alone, &window, Direction::H2d, 100, 1);
        let want = Block {
            start_ns: 1000,
            end_ns: 1040,
            elapsed_ns: 40.0,
            bytes: 300,
            round_ns: vec![10.0, 10.0, 20.0],
            copies_per_round: 1,
        };
        assert_eq!(block, Some(want));
        assert_eq!((window.overlap(), window.skew_ns()), (1.0, 0.0));
    }

    #[test]
    fn only_whole_rounds_inside_the_common_time_count() {
        let (a, b) = (timeline(0, &[10.0, 20.0, 30.0, 40.0], &[]), timeline(5, &[20.0, 40.0], &[]));
        let window = Window { latest_start_ns: 5, earliest_end_ns: 40, earliest_start_ns: 0, latest_end_ns: 45 };
        let block = counted(&a, &window, Direction::RoundTrip, 8, 2);
        let block = block.map(|b| (b.round_ns, b.elapsed_ns, b.bytes));
        assert_eq!(block, Some((vec![5.0; 3], 30.0, 3 * 2 * 8 * 2)), "each mark ends two copies of 10 ns");
        let block = counted(&b, &window, Direction::RoundTrip, 8, 2);
        assert_eq!(block.map(|b| (b.round_ns.len(), b.elapsed_ns)), Some((1, 20.0)));
        assert_eq!(window.overlap(), 35.0 / 45.0);
    }

    #[test]
    fn both_directions_at_once_add_their_rates_over_the_common_time() {
        // H2D ends a copy every 10 ns, D2H every 20 ns: 100 bytes × (1/10 + 1/20) for the 40 ns both were at work.
        let both = timeline(0, &[10.0, 20.0, 30.0, 40.0], &[20.0, 40.0, 60.0]);
        let block = counted(&both, &both.own_window(), Direction::Bidirectional, 100, 1);
        assert_eq!(block.map(|b| (b.elapsed_ns, b.bytes)), Some((40.0, 600)));
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
        let window = Window { latest_start_ns: 50, earliest_end_ns: 10, earliest_start_ns: 0, latest_end_ns: 90 };
        assert_eq!(counted(&early, &window, Direction::H2d, 1, 1), None);
        assert_eq!(window.overlap(), 0.0);
    }
}
