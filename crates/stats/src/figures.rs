//! A block in figures: what is kept of it where rounds are too many to keep.
//!
//! A rank keeps its own rounds and summarises them itself; what it sends on, and what a document holds of
//! each block, is this. On a thousand ranks the rounds would be gigabytes, their figures are a hundred bytes
//! a block.

use crate::block_interval::BlockValue;
use crate::interval::{quantile, sorted};
use crate::sample::Block;

/// A measured block without its rounds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BlockFigures {
    /// When the first counted round started, on the node's CLOCK_MONOTONIC_RAW.
    pub start_ns: u64,
    /// When the last counted round ended, on the same clock.
    pub end_ns: u64,
    /// How long the counted rounds took, by the clock of the timing in use.
    pub elapsed_ns: f64,
    /// Bytes moved in the counted rounds.
    pub bytes: u64,
    /// Rounds counted; each is `copies_per_round` copy rounds.
    pub rounds: u64,
    /// Copy rounds timed together.
    pub copies_per_round: u32,
    /// The number of the allocation whose memory it used: blocks with another number had fresh memory.
    pub allocation: u32,
    /// The fastest round, all its copies.
    pub min_round_ns: f64,
    /// The median round.
    pub median_round_ns: f64,
    /// The 95th percentile of the rounds (R's type 7).
    pub p95_round_ns: f64,
    /// The slowest round.
    pub max_round_ns: f64,
}

impl BlockFigures {
    /// The figures of a block; `None` if it holds no measurement ([`Block::is_measured`]).
    pub fn of(block: &Block) -> Option<Self> {
        if !block.is_measured() {
            return None;
        }
        let round_ns = sorted(&block.round_ns);

        // Rounds are listed for one copy round each; what was timed is the whole of it.
        let copies = f64::from(block.copies_per_round.max(1));
        let at = |q| quantile(&round_ns, q).map(|ns| ns * copies);

        Some(Self {
            start_ns: block.start_ns,
            end_ns: block.end_ns,
            elapsed_ns: block.elapsed_ns,
            bytes: block.bytes,
            rounds: block.rounds(),
            copies_per_round: block.copies_per_round,
            allocation: block.allocation,
            min_round_ns: at(0.0)?,
            median_round_ns: at(0.5)?,
            p95_round_ns: at(0.95)?,
            max_round_ns: at(1.0)?,
        })
    }

    /// The mean duration of one copy round.
    pub fn ns_per_round(&self) -> f64 {
        self.elapsed_ns / (self.rounds as f64 * f64::from(self.copies_per_round.max(1)))
    }

    /// The mean duration of one copy round, with the allocation it was on.
    pub fn value(&self) -> BlockValue {
        BlockValue { value: self.ns_per_round(), allocation: self.allocation }
    }

    /// Bytes over time.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed_ns * 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_of_a_block_what_the_block_says_of_itself() {
        let block = Block {
            start_ns: 5,
            end_ns: 12_005,
            elapsed_ns: 12_000.0,
            bytes: 24_000,
            round_ns: vec![1_500.0, 500.0, 1_000.0],
            copies_per_round: 4,
            allocation: 2,
        };

        let figures = BlockFigures::of(&block).unwrap_or_else(|| panic!("the block has no figures"));
        assert_eq!(
            (figures.ns_per_round(), figures.bytes_per_s()),
            (block.ns_per_round(), block.bytes_per_s())
        );
        assert_eq!(
            (figures.min_round_ns, figures.median_round_ns, figures.max_round_ns),
            (2_000.0, 4_000.0, 6_000.0)
        );
        assert_eq!((figures.rounds, figures.copies_per_round, figures.allocation), (3, 4, 2));
    }

    #[test]
    fn a_block_that_holds_no_measurement_has_no_figures() {
        assert_eq!(BlockFigures::of(&Block::default()), None);
    }

    #[test]
    fn a_thousand_ranks_of_two_thousand_blocks_fit_in_a_quarter_of_a_gibibyte() {
        assert!(size_of::<BlockFigures>() * 1024 * 2000 <= 256 << 20);
    }
}
