//! How the blocks of a run scatter: how much those of one case hang together, and so how many independent
//! ones they are worth (Kish's design effect of a mean, "Survey Sampling", 1965, 5.4).
//!
//! Blocks on one allocation of memory share its pages, and blocks that follow each other share the state of
//! the machine, so ten blocks may say as much as two. One case has too few blocks to tell. The cases of a run
//! that are compared with each other have enough, and each is taken over a deviation first, so that a noisy
//! case counts as one. Two kinds are looked for, and the stronger one counts:
//!
//! * *from block to block*, as a process of the first order, in a whole case or within its allocations,
//!   whichever shows less: the luck of allocations makes neighbours alike in the whole case only. The mean of
//!   a short series takes a part of the correlation away (of ten blocks at 0.8 one sees 0.46); the
//!   correlation is the one that makes likely what is seen;
//! * *within an allocation*: the part of the variance that lies between allocations (one-way analysis of
//!   variance).
//!
//! Both are estimates, and each is taken some standard errors too high: one of a single case, up to two and a
//! half of many, because what many cases show together has no other reserve, and the few blocks of one case
//! have that of Student's t. Left out: what all cases of a pass share, which is for the caller to take out
//! (ratios of the same pass), and luck of allocations that only some cases have, of which three allocations a
//! case show too little.

use crate::block_interval::{BlockValue, allocations_of, values};
use crate::interval::{mean_and_squares, median, sorted};
use crate::neighbours::{Neighbours, inflation};

/// How many standard errors the estimates of one case are taken too high, by how many more those of twice as
/// many cases, and at most by how many. Chosen by `cargo xtask calibrate places`: with one error the
/// estimates of sixteen cases claim a difference in one document of eight where blocks are correlated by 0.8.
const ALLOWANCE: f64 = 1.0;
const OF_A_DOUBLING: f64 = 0.5;
const MOST_ALLOWANCE: f64 = 2.5;
/// With fewer cases than this a stronger correlation than [`STRONGEST_OF_FEW`] is not believed: half the rate
/// would be no finding.
const FEW: f64 = 4.0;
const STRONGEST_OF_FEW: f64 = 0.9;
/// A case is never taken for quieter than this part of a middling one's variance: ten blocks that happen to
/// lie in the same of two modes are not quiet.
const QUIETEST: f64 = 0.25;
/// Fewer blocks do not show how they hang together.
const LEAST_BLOCKS: usize = 3;
/// Values nearer than this part of themselves are equal but for rounding.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// How the blocks of some cases scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scatter {
    /// The correlation of a block with the next one.
    of_neighbours: f64,
    /// The correlation of two blocks of one allocation.
    of_allocations: f64,
    /// The least variance of a case, of logarithms.
    least_variance: f64,
}

impl Scatter {
    /// That of these cases, the blocks of each in the order measured. What too few blocks do not show is
    /// taken for independent.
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a [BlockValue]>) -> Self {
        Self::of_kinds(&[cases.into_iter().collect()]).pop().unwrap_or_default()
    }

    /// That of each kind of case: how much blocks vary its own cases show, and how much they hang together
    /// all of them.
    pub fn of_kinds(kinds: &[Vec<&[BlockValue]>]) -> Vec<Self> {
        let mut together = Together::default();
        let least_variances: Vec<f64> = kinds.iter().map(|cases| together.add_kind(cases)).collect();

        let allowance = (ALLOWANCE + OF_A_DOUBLING * together.cases.max(1.0).log2()).min(MOST_ALLOWANCE);
        let strongest = if together.cases < FEW { STRONGEST_OF_FEW } else { 1.0 };
        let whole = together.whole.at_most(allowance).unwrap_or(0.0);
        // Luck of allocations makes neighbours alike too; within one it does not.
        let of_neighbours = whole.min(together.within.at_most(allowance).unwrap_or(1.0)).min(strongest);
        let of_allocations = together.allocations.correlation(allowance);

        let scatter = |least_variance| Self { of_neighbours, of_allocations, least_variance };
        least_variances.into_iter().map(scatter).collect()
    }

    /// How many independent blocks the mean of these is worth: 1 at least, and at most as many as there are.
    pub fn worth(&self, blocks: &[BlockValue]) -> f64 {
        let count = blocks.len() as f64;
        let squares: f64 = allocations_of(blocks).map(|of_one| (of_one.len() as f64).powi(2)).sum();
        let by_allocation = 1.0 + (squares / count - 1.0) * self.of_allocations;
        (count / by_allocation.max(inflation(blocks.len(), self.of_neighbours))).max(1.0)
    }

    /// The variance of one block of these, of logarithms, whose mean is worth so many.
    pub(crate) fn variance(&self, logs: &[f64], worth: f64) -> f64 {
        let count = logs.len() as f64;
        let (_, squares) = mean_and_squares(logs);
        // Blocks that hang together lie nearer to their own mean: the squares are this many times the
        // variance.
        let times = (count - count / worth).max(1.0 - 1.0 / count);
        (squares / times).max(self.least_variance)
    }
}

/// The step of figures that come in steps, as a part of them: the least difference, where some are equal and
/// some are not.
fn step(blocks: &[BlockValue]) -> Option<f64> {
    let values = sorted(&values(blocks));
    let steps = || values.windows(2).map(|two| two[1] / two[0] - 1.0);
    let least = steps().filter(|step| *step > ROUNDING).reduce(f64::min)?;
    steps().any(|step| step <= ROUNDING).then_some(least)
}

/// How much the blocks of all cases hang together.
#[derive(Default)]
struct Together {
    cases: f64,
    whole: Neighbours,
    within: Neighbours,
    allocations: Allocations,
}

impl Together {
    /// Takes in the cases of a kind; the least variance of one of them.
    fn add_kind(&mut self, cases: &[&[BlockValue]]) -> f64 {
        let deviations: Vec<Deviations> = cases.iter().filter_map(|blocks| Deviations::of(blocks)).collect();
        let middling =
            median(&deviations.iter().map(|case| case.variance).collect::<Vec<_>>()).unwrap_or(0.0);
        for case in &deviations {
            self.add(case, middling);
        }
        let steps: Vec<f64> = cases.iter().filter_map(|blocks| step(blocks)).collect();
        let rounded = median(&steps).map_or(0.0, |step| step * step / 12.0);
        rounded.max(middling * QUIETEST)
    }

    fn add(&mut self, case: &Deviations, middling: f64) {
        // A noisy case counts as a middling one, and a quiet one by what it is: over its own deviation a
        // short series shows less correlation than there is.
        let scale = (case.variance + middling).sqrt();
        let scores: Vec<f64> = case.logs.iter().map(|log| log / scale).collect();
        self.whole.add(&scores);
        let mut from = 0;
        for of_one in allocations_of(case.blocks) {
            self.within.add(&scores[from..from + of_one.len()]);
            from += of_one.len();
        }
        self.allocations.add(case.blocks, &scores);
        self.cases += 1.0;
    }
}

/// The logarithms of a case around their mean.
struct Deviations<'a> {
    blocks: &'a [BlockValue],
    logs: Vec<f64>,
    variance: f64,
}

impl<'a> Deviations<'a> {
    /// `None` of too few blocks, of equal ones, and where one is not positive.
    fn of(blocks: &'a [BlockValue]) -> Option<Self> {
        let logs: Vec<f64> = blocks.iter().map(|block| block.value.ln()).collect();
        let (mean, squares) = mean_and_squares(&logs);
        let variance = squares / (logs.len() as f64 - 1.0);
        let shows =
            logs.len() >= LEAST_BLOCKS && variance.is_finite() && variance.sqrt() > mean.abs() * ROUNDING;
        shows.then(|| Self { blocks, logs: logs.iter().map(|log| log - mean).collect(), variance })
    }
}

/// What allocations in several cases show: the sums of an analysis of variance.
#[derive(Default)]
struct Allocations {
    between: f64,
    of_between: f64,
    within: f64,
    of_within: f64,
    /// What the blocks of an allocation count for, times `of_between`.
    size: f64,
}

impl Allocations {
    fn add(&mut self, blocks: &[BlockValue], scores: &[f64]) {
        let (mut from, mut groups, mut squares) = (0, 0.0, 0.0);
        for of_one in allocations_of(blocks) {
            let scores = &scores[from..from + of_one.len()];
            let count = of_one.len() as f64;
            let (mean, of_mean) = mean_and_squares(scores);
            self.between += count * mean * mean;
            self.within += of_mean;
            (from, groups, squares) = (from + of_one.len(), groups + 1.0, squares + count * count);
        }
        let count = blocks.len() as f64;
        self.size += count - squares / count;
        (self.of_between, self.of_within) = (self.of_between + groups - 1.0, self.of_within + count - groups);
    }

    fn correlation(&self, allowance: f64) -> f64 {
        if self.of_between == 0.0 || self.of_within == 0.0 {
            return 0.0;
        }
        let within = self.within / self.of_within;
        // So large is the deviation of a mean square from that many differences, as a part of it.
        let error = (2.0 / self.of_between).sqrt();
        let between = self.between / self.of_between * (1.0 + allowance * error);
        let variance = ((between - within) / (self.size / self.of_between)).max(0.0);
        if variance > 0.0 { variance / (variance + within) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    /// So many cases of ten blocks on three allocations, each block as far off as `draw` says of its
    /// allocation and of the block before.
    fn cases(count: usize, mut draw: impl FnMut(&mut SplitMix64, f64, f64) -> f64) -> Vec<Vec<BlockValue>> {
        let mut random = SplitMix64::new(60);
        let mut case = || {
            let luck = [0; 3].map(|_| noise::normal(&mut random));
            let mut before = noise::normal(&mut random);
            let block = |allocation: u32| {
                before = draw(&mut random, luck[allocation as usize], before);
                BlockValue { value: (0.01 * before).exp(), allocation }
            };
            [0, 0, 0, 0, 1, 1, 1, 2, 2, 2].map(block).to_vec()
        };
        (0..count).map(|_| case()).collect()
    }

    fn worth(cases: &[Vec<BlockValue>]) -> f64 {
        Scatter::of(cases.iter().map(Vec::as_slice)).worth(&cases[0])
    }

    #[test]
    fn ten_independent_blocks_are_worth_ten_and_of_few_cases_a_little_less() {
        let independent = |count| worth(&cases(count, |random, _, _| noise::normal(random)));
        // Two and a half errors of so many cases are a correlation of 0.03 from block to block, or within an
        // allocation.
        assert!(independent(400) > 8.8, "{}", independent(400));
        assert!((4.0..9.5).contains(&independent(4)), "{}", independent(4));
    }

    #[test]
    fn ten_blocks_correlated_by_four_fifths_are_worth_less_than_three() {
        // 10 / (1 + 2 × Σ (1 − k/10) 0.8^k) = 1.84; of ratios of short series the mean lies a little nearer
        // to none.
        let got = worth(&cases(400, |random, _, before| 0.8 * before + 0.6 * noise::normal(random)));
        assert!((1.6..2.8).contains(&got), "{got}");
    }

    #[test]
    fn blocks_that_only_their_allocations_move_are_worth_about_as_many_as_these() {
        let got = worth(&cases(400, |random, luck, _| 9.0 * luck + 0.3 * noise::normal(random)));
        assert!((2.6..3.2).contains(&got), "{got}");
    }

    #[test]
    fn equal_blocks_show_nothing_and_steps_leave_a_variance() {
        let block = |value: f64| BlockValue { value, allocation: 0 };
        let equal = [block(0.1); 10];
        let scatter = Scatter::of([&equal[..]]);
        assert_eq!((scatter.worth(&equal), scatter.least_variance), (10.0, 0.0));
        let stepped = [0.1, 0.1, 0.101, 0.1].map(block);
        let scatter = Scatter::of([&equal[..], &stepped[..]]);
        // A hundredth's rounding: a uniform variable of that width.
        assert!(scatter.least_variance >= 1e-4 / 12.0 * 0.99, "{scatter:?}");
    }
}
