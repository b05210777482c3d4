//! Several ranks at once: their rates together, and what each lost against running alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::compare::Comparison;

use crate::settings::{Direction, MemoryKind};

/// The rates of ranks that ran at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// How many ranks these are: those that were measured.
    pub ranks: u32,
    /// Their rates added up.
    pub sum_bytes_per_s: f64,
    /// The lowest rate.
    pub min_bytes_per_s: f64,
    /// The mean rate.
    pub mean_bytes_per_s: f64,
    /// The highest rate.
    pub max_bytes_per_s: f64,
    /// The rank with the lowest rate.
    pub slowest_rank: u32,
    /// (highest − lowest) / mean, a fraction.
    pub imbalance: f64,
}

impl Aggregate {
    /// The aggregate of (rank, bytes/s); `None` without ranks or with a rate that is not a positive number.
    pub fn of_rates(rates: &[(u32, f64)]) -> Option<Self> {
        if !rates.iter().all(|(_, rate)| rate.is_finite() && *rate > 0.0) {
            return None;
        }
        let (slowest_rank, min) = rates.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let max = rates.iter().map(|(_, rate)| *rate).fold(min, f64::max);
        let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let mean = sum / rates.len() as f64;
        Some(Self {
            ranks: rates.len() as u32,
            sum_bytes_per_s: sum,
            min_bytes_per_s: min,
            mean_bytes_per_s: mean,
            max_bytes_per_s: max,
            slowest_rank,
            imbalance: (max - min) / mean,
        })
    }
}

/// What sharing the machine cost one rank in one direction, size and kind of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Penalty {
    /// The rank.
    pub rank: u32,
    /// The direction.
    pub direction: Direction,
    /// The size of one copy, bytes.
    pub bytes: u64,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The `id` of the case it ran alone in.
    pub alone_case: String,
    /// The `id` of the case it ran in with the others.
    pub simultaneous_case: String,
    /// Its rate alone, the median over blocks.
    pub alone_bytes_per_s: f64,
    /// Its rate with the others, the median over blocks.
    pub simultaneous_bytes_per_s: f64,
    /// Simultaneous against alone, over the blocks' rates: a ratio of 0.9 is a loss of 10 %. Null with too few blocks.
    pub comparison: Option<Comparison>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aggregate_names_the_slowest_rank_and_the_imbalance() {
        let aggregate = Aggregate::of_rates(&[(0, 30.0), (1, 10.0), (2, 20.0)]);
        let want = Aggregate {
            ranks: 3,
            sum_bytes_per_s: 60.0,
            min_bytes_per_s: 10.0,
            mean_bytes_per_s: 20.0,
            max_bytes_per_s: 30.0,
            slowest_rank: 1,
            imbalance: 1.0,
        };
        assert_eq!(aggregate, Some(want));
    }

    #[test]
    fn rates_that_are_no_rates_have_no_aggregate() {
        assert_eq!(Aggregate::of_rates(&[]), None);
        assert_eq!(Aggregate::of_rates(&[(0, f64::NAN)]), None);
        assert_eq!(Aggregate::of_rates(&[(0, 1.0), (1, 0.0)]), None);
    }
}
