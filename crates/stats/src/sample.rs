//! What was measured, before anything is concluded from it: one block of rounds.
//!
//! The block is the unit of inference: rounds of one block share an allocation, a warm-up and a moment, and
//! are autocorrelated; blocks are taken in random order and stand for repetitions. Every round is kept all
//! the same.

use crate::block_interval::BlockValue;

/// The counted rounds of one case on one rank, without a pause between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// When the first counted round started, on the node's CLOCK_MONOTONIC_RAW.
    pub start_ns: u64,
    /// When the last counted round ended, on the same clock.
    pub end_ns: u64,
    /// How long the counted rounds took, by the clock of the timing in use (host or device).
    pub elapsed_ns: f64,
    /// Bytes moved in the counted rounds; a round trip moves its size twice.
    pub bytes: u64,
    /// The duration of each counted round, in the order they ran: of one copy round where several are timed
    /// together.
    pub round_ns: Vec<f64>,
    /// How many copy rounds each entry of `round_ns` is the mean of; 0 counts as 1. Short queued copies share
    /// a mark.
    pub copies_per_round: u32,
    /// The number of the allocation whose memory it used: blocks with another number had fresh memory.
    pub allocation: u32,
}

impl Block {
    /// How many rounds were counted.
    pub fn rounds(&self) -> u64 {
        self.round_ns.len() as u64
    }

    /// How many copy rounds those are, where several are timed together.
    pub fn copy_rounds(&self) -> f64 {
        self.round_ns.len() as f64 * f64::from(self.copies_per_round.max(1))
    }

    /// The mean duration of one copy round; not finite in a block that is not [`Block::is_measured`].
    pub fn ns_per_round(&self) -> f64 {
        self.elapsed_ns / self.copy_rounds()
    }

    /// The mean duration of one copy round, with the allocation it was on.
    pub fn value(&self) -> BlockValue {
        BlockValue { value: self.ns_per_round(), allocation: self.allocation }
    }

    /// Bytes over time; not finite in a block that is not [`Block::is_measured`].
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed_ns * 1e9
    }

    /// Whether the block holds a measurement: at least one round, and only positive finite times.
    pub fn is_measured(&self) -> bool {
        let time = |ns: f64| ns.is_finite() && ns > 0.0;
        !self.round_ns.is_empty() && time(self.elapsed_ns) && self.round_ns.iter().all(|ns| time(*ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_gives_the_mean_round_and_the_rate() {
        let block =
            Block { bytes: 8_000, elapsed_ns: 4_000.0, round_ns: vec![1_500.0, 2_500.0], ..Block::default() };
        assert_eq!((block.rounds(), block.ns_per_round()), (2, 2_000.0));
        assert_eq!(block.bytes_per_s(), 2e9);
        assert!(block.is_measured());
    }

    #[test]
    fn copies_that_share_a_mark_are_counted_one_by_one() {
        let block = Block {
            elapsed_ns: 8_000.0,
            round_ns: vec![1_000.0, 1_000.0],
            copies_per_round: 4,
            ..Block::default()
        };
        assert_eq!(block.ns_per_round(), 1_000.0);
    }

    #[test]
    fn a_block_without_rounds_or_time_is_no_measurement() {
        let good = Block { bytes: 4, elapsed_ns: 1.0, round_ns: vec![1.0], ..Block::default() };
        assert!(good.is_measured());
        assert!(!Block::default().is_measured());
        for ns in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(!Block { elapsed_ns: ns, ..good.clone() }.is_measured(), "elapsed {ns}");
            assert!(!Block { round_ns: vec![1.0, ns], ..good.clone() }.is_measured(), "round {ns}");
        }
    }
}
