//! What a case's blocks say, in numbers.
//!
//! The median and its interval are over blocks, the unit of inference; mean, deviation and percentiles
//! describe the rounds. Rates are total bytes over total time, never a mean of rates (Hoefler and Belli,
//! SC15, rule 3).

use crate::alpha::CONFIDENCE;
use crate::block_interval::{BlockValue, block_interval, values};
use crate::interval::{Interval, mean_and_squares, median, quantile, sorted};
use crate::outlier;
use crate::sample::Block;

/// The numbers of one case on one rank.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Summary {
    /// How many blocks were measured.
    pub blocks: u64,
    /// How many rounds were counted in all blocks.
    pub rounds: u64,
    /// Bytes moved in all counted rounds.
    pub bytes: u64,
    /// How long all counted rounds took.
    pub elapsed_ns: f64,
    /// The median over blocks of a block's mean round.
    pub median_ns: f64,
    /// The 95 % confidence interval of that median: the exact order-statistic one of the blocks, widened to
    /// hold Student's interval of the logarithms of the allocations' medians where there are three
    /// allocations or more, so above zero; it may reach beyond all blocks; null with fewer than 6 blocks,
    /// which give none. It speaks of the memory and the moments that this run saw: simulated, it holds the
    /// figure on any memory in 93 % of runs and more, but in 71 % where each allocation falls into one of two
    /// modes (three of them show only one in a quarter of all runs), and in 56 % where neighbouring blocks
    /// are correlated by 0.9.
    pub median_interval_ns: Option<Interval>,
    /// The mean round.
    pub mean_ns: f64,
    /// The sample standard deviation of the rounds (n − 1); null with fewer than 2 rounds.
    pub std_ns: Option<f64>,
    /// The fastest round.
    pub min_ns: f64,
    /// The slowest round.
    pub max_ns: f64,
    /// 5th percentile of the rounds (R's type 7).
    pub p5_ns: f64,
    /// 95th percentile of the rounds; close to the maximum below 20 rounds.
    pub p95_ns: f64,
    /// 99th percentile of the rounds; close to the maximum below 100 rounds.
    pub p99_ns: f64,
    /// Total bytes over total time.
    pub bytes_per_s: f64,
    /// The median over blocks of bytes over time: the rate that tables and comparisons show, which one
    /// disturbed block does not move.
    pub median_bytes_per_s: f64,
    /// Rounds far out by Tukey's fences (three interquartile ranges): counted, not dropped.
    pub outliers: u64,
}

impl Summary {
    /// The 95 % confidence interval of `median_bytes_per_s`; `None` with fewer than 6 blocks.
    pub fn rate_interval(&self) -> Option<Interval> {
        self.median_interval_ns.map(|ends| ends.rate_of(self.median_bytes_per_s * self.median_ns))
    }
}

/// The summary of a case's blocks; `None` without blocks, or if one of them holds no measurement
/// ([`Block::is_measured`]).
pub fn summarize(blocks: &[Block]) -> Option<Summary> {
    if !blocks.iter().all(Block::is_measured) {
        return None;
    }
    let blocks_ns: Vec<BlockValue> = blocks.iter().map(Block::value).collect();
    let median_ns = median(&values(&blocks_ns))?;
    let round_ns = sorted(&blocks.iter().flat_map(|block| &block.round_ns).copied().collect::<Vec<f64>>());
    let rounds = round_ns.len() as f64;
    let (mean_ns, squares) = mean_and_squares(&round_ns);
    let bytes: u64 = blocks.iter().map(|block| block.bytes).sum();
    let elapsed_ns: f64 = blocks.iter().map(|block| block.elapsed_ns).sum();

    Some(Summary {
        blocks: blocks.len() as u64,
        rounds: round_ns.len() as u64,
        bytes,
        elapsed_ns,
        median_ns,
        median_interval_ns: block_interval(&blocks_ns, CONFIDENCE),
        mean_ns,
        std_ns: (round_ns.len() > 1).then(|| (squares / (rounds - 1.0)).sqrt()),
        min_ns: quantile(&round_ns, 0.0)?,
        max_ns: quantile(&round_ns, 1.0)?,
        p5_ns: quantile(&round_ns, 0.05)?,
        p95_ns: quantile(&round_ns, 0.95)?,
        p99_ns: quantile(&round_ns, 0.99)?,
        bytes_per_s: bytes as f64 / elapsed_ns * 1e9,
        median_bytes_per_s: median(&blocks.iter().map(Block::bytes_per_s).collect::<Vec<f64>>())?,
        outliers: outlier::count_far_out(&round_ns),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise;

    #[test]
    fn rounds_are_described_as_numpy_does() -> Result<(), String> {
        // python3 -c 'import numpy as n; print(n.mean(X), n.std(X, ddof=1), [n.quantile(X, q) for q in (.05,
        // .95, .99)])'
        let rounds = vec![5.31, 5.29, 5.35, 5.30, 5.33, 5.28, 5.60, 5.32, 5.34, 5.27, 5.36];
        let summary = summarize(&noise::blocks(vec![rounds])).ok_or("no summary")?;
        let close = |got: f64, want: f64| assert!((got - want).abs() < 1e-12, "{got}, not {want}");
        close(summary.mean_ns, 5.340909090909091);
        close(summary.std_ns.ok_or("no std")?, 0.09060403362483867);
        close(summary.p5_ns, 5.275);
        close(summary.p95_ns, 5.48);
        close(summary.p99_ns, 5.576);
        assert_eq!((summary.min_ns, summary.max_ns, summary.outliers), (5.27, 5.60, 1));
        assert_eq!((summary.blocks, summary.rounds, summary.bytes), (1, 11, 44));
        assert_eq!(summary.median_interval_ns, None, "one block has no interval");
        Ok(())
    }

    #[test]
    fn the_median_is_over_blocks_and_one_bad_block_does_not_move_it() -> Result<(), String> {
        let mut rounds = vec![vec![10.0, 12.0]; 9];
        rounds.push(vec![100.0, 120.0]);
        let summary = summarize(&noise::blocks(rounds)).ok_or("no summary")?;
        assert_eq!(summary.median_ns, 11.0);
        assert_eq!(summary.median_interval_ns.map(|i| (i.low, i.high)), Some((11.0, 11.0)));
        assert_eq!(summary.median_bytes_per_s, 4.0 / 11.0 * 1e9);
        assert_eq!(summary.bytes_per_s, 80.0 / 418.0 * 1e9, "the total rate keeps it");
        assert_eq!(summary.outliers, 2);
        Ok(())
    }

    #[test]
    fn the_rate_is_the_median_of_the_blocks_rates_also_where_their_rounds_move_unequal_bytes()
    -> Result<(), String> {
        // Both ways at once: what the faster way moved in the window of both differs from block to block.
        let mut blocks = noise::blocks(vec![vec![10.0, 10.0]; 7]);
        for (block, bytes) in blocks.iter_mut().zip([8, 9, 10, 11, 12, 13, 90]) {
            block.bytes = bytes;
        }
        let summary = summarize(&blocks).ok_or("no summary")?;
        assert_eq!(summary.median_bytes_per_s, 11.0 / 20.0 * 1e9);
        assert_eq!(summary.bytes_per_s, 153.0 / 140.0 * 1e9);
        Ok(())
    }

    #[test]
    fn copies_that_are_timed_several_at_a_time_have_the_rate_of_one() -> Result<(), String> {
        let mut blocks = noise::blocks(vec![vec![10.0, 10.0, 10.0]; 7]);
        for block in &mut blocks {
            // Three rounds of four copies each, listed as one copy's.
            block.copies_per_round = 4;
            block.bytes *= 4;
            block.elapsed_ns *= 4.0;
        }
        let summary = summarize(&blocks).ok_or("no summary")?;
        assert_eq!((summary.median_ns, summary.bytes_per_s), (10.0, 0.4e9));
        assert_eq!(summary.median_bytes_per_s, summary.bytes_per_s);
        Ok(())
    }

    #[test]
    fn one_round_has_no_deviation() {
        let summary = summarize(&noise::blocks(vec![vec![7.0]]));
        assert_eq!(summary.map(|s| (s.std_ns, s.mean_ns, s.p99_ns)), Some((None, 7.0, 7.0)));
    }

    #[test]
    fn what_was_not_measured_is_not_summarised() {
        assert_eq!(summarize(&[]), None);
        assert_eq!(summarize(&[Block::default()]), None);
        let mut blocks = noise::blocks(vec![vec![7.0]; 3]);
        blocks.push(Block::default());
        assert_eq!(summarize(&blocks), None, "an empty block among good ones is a fault, not a detail");
    }

    proptest! {
        #[test]
        fn the_rate_is_total_bytes_over_total_time(
            rounds in prop::collection::vec(prop::collection::vec(1.0_f64..1e9, 1..20), 1..20)
        ) {
            let blocks = noise::blocks(rounds.clone());
            let bytes = 4 * rounds.iter().map(Vec::len).sum::<usize>();
            let seconds = rounds.iter().flatten().sum::<f64>() / 1e9;
            let rate = summarize(&blocks).map_or(f64::NAN, |summary| summary.bytes_per_s);
            prop_assert!((rate / (bytes as f64 / seconds) - 1.0).abs() < 1e-9);
        }

        #[test]
        fn the_numbers_are_in_order(
            rounds in prop::collection::vec(prop::collection::vec(1.0_f64..1e9, 1..20), 1..20)
        ) {
            let Some(s) = summarize(&noise::blocks(rounds)) else { return Err(TestCaseError::fail("no \
                summary")) };
            let ascending = [s.min_ns, s.p5_ns, s.p95_ns, s.p99_ns, s.max_ns];
            prop_assert!(ascending.is_sorted(), "{ascending:?}");
            prop_assert!(s.min_ns <= s.median_ns * (1.0 + 1e-12) && s.median_ns <= s.max_ns * (1.0 + 1e-12));
            prop_assert!(s.median_interval_ns.is_none_or(|i| i.contains(s.median_ns)));
        }
    }
}
