//! How well a case's median is known: the interval of its blocks, and no narrower than its allocations say.
//!
//! Blocks on the same memory share its pages and its moment, so they are alike: where allocations differ, an
//! interval of blocks alone leaves the true median out too often (in the tests below once in 5 runs instead
//! of once in 20). The unit of the highest level that varies is what counts (Kalibera and Jones, "Rigorous
//! benchmarking in reasonable time", 2013, sections 6 and 9): Student's interval of the allocations' medians
//! (medians, because one disturbed block moves the mean of three), taken of their logarithms. A time or a
//! rate is above zero, and so is every interval on that scale; an interval of times is the interval of their
//! rates, turned round; and what makes one allocation slower than another (pages, links, a clock) multiplies.
//! On the times themselves three allocations of 1.5, 1.56 and 4.9 µs had an interval from −2.2 µs on. Three
//! medians say little of a fourth, so it may reach beyond every block that was seen: it is cut to nothing but
//! its domain. With the few allocations of a run it is wide by chance or narrow by chance, so the interval
//! stated is the smallest that holds both.

use crate::interval::{Interval, mean_and_reach, median, median_interval, student};

/// Two allocations say too little of a third: Student's quantile is 12.7 standard errors.
const LEAST_ALLOCATIONS: usize = 3;
/// The median of fewer blocks is moved by one that is disturbed, and the block would be taken for its
/// allocation.
const LEAST_BLOCKS: usize = 3;

/// The blocks of an allocation after the first ten of a run.
const BLOCKS_AN_ALLOCATION: usize = 5;

/// What one block says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockValue {
    /// Its value, in any unit: the mean round in ns, or a rate.
    pub value: f64,
    /// The number of the allocation whose memory it used.
    pub allocation: u32,
}

impl BlockValue {
    /// Blocks of which it is not known that their memory was made anew.
    pub fn on_one_allocation(values: &[f64]) -> Vec<Self> {
        values.iter().map(|value| Self { value: *value, allocation: 0 }).collect()
    }
}

/// The values of blocks.
pub fn values(blocks: &[BlockValue]) -> Vec<f64> {
    blocks.iter().map(|block| block.value).collect()
}

/// Blocks that follow each other on one allocation.
pub(crate) fn allocations_of(blocks: &[BlockValue]) -> impl Iterator<Item = &[BlockValue]> {
    blocks.chunk_by(|one, next| one.allocation == next.allocation)
}

/// The interval of the median of these blocks, in the order measured: the exact order-statistic one of the
/// blocks ([`median_interval`]), widened to hold Student's interval of the logarithms of the allocations'
/// medians where three allocations or more have three blocks or more. It is above zero where all values are.
/// `None` where the blocks give none.
pub fn block_interval(blocks: &[BlockValue], confidence: f64) -> Option<Interval> {
    let values = values(blocks);
    let of_blocks = median_interval(&values, confidence)?;
    let Some((low, high)) = of_allocations(blocks, confidence) else { return Some(of_blocks) };
    Some(Interval { low: of_blocks.low.min(low), high: of_blocks.high.max(high), ..of_blocks })
}

/// The medians of the allocations that have three blocks or more, in the order measured; none where fewer
/// than three have.
fn allocation_medians(blocks: &[BlockValue]) -> Vec<f64> {
    let whole = allocations_of(blocks).filter(|of_one| of_one.len() >= LEAST_BLOCKS);
    let medians: Vec<f64> = whole.filter_map(|of_one| median(&values(of_one))).collect();
    if medians.len() < LEAST_ALLOCATIONS { Vec::new() } else { medians }
}

/// The ends of Student's interval of the logarithms of the allocations' medians, as values; `None` where one
/// is not above zero: that is no time and no rate.
fn of_allocations(blocks: &[BlockValue], confidence: f64) -> Option<(f64, f64)> {
    let medians = allocation_medians(blocks);
    if medians.is_empty() || !medians.iter().all(|median| *median > 0.0) {
        return None;
    }
    let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
    let (mean, reach) = mean_and_reach(&logs, confidence)?;
    Some(((mean - reach).exp(), (mean + reach).exp()))
}

/// Of how many blocks in all the interval is expected to be as narrow as ± `target` of the median, if further
/// blocks vary as these do: the order statistics' half-width falls with the square root of the blocks, that
/// of the allocations with the square root of their number and with Student's quantile. An allocation is
/// taken to have five further blocks. None within `most`, or where these blocks give no interval: `None`.
pub fn blocks_needed(blocks: &[BlockValue], confidence: f64, target: f64, most: usize) -> Option<usize> {
    let values = values(blocks);
    let middle = median(&values)?;
    let of_blocks = median_interval(&values, confidence)?.relative_half_width(middle);
    let allocations = allocation_medians(blocks).len();
    let of_allocations =
        of_allocations(blocks, confidence).map(|(low, high)| (high - low) / 2.0 / middle.abs());
    let least = allocations.max(LEAST_ALLOCATIONS) as f64;
    let now = student(least - 1.0, confidence)? / least.sqrt();
    let narrow = |count: &usize| {
        let further = count - blocks.len();
        let by_blocks = of_blocks * (blocks.len() as f64 / *count as f64).sqrt();
        let then = allocations + further / BLOCKS_AN_ALLOCATION;
        let by_allocations = of_allocations.map_or(Some(0.0), |width| {
            Some(width * student(then as f64 - 1.0, confidence)? / (then as f64).sqrt() / now)
        });
        by_blocks <= target && by_allocations.is_some_and(|width| width <= target)
    };

    (blocks.len()..=most).find(narrow)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    /// Ten blocks on three allocations, as the first ten passes of a run.
    const ALLOCATIONS: [u32; 10] = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2];

    fn blocks(values: [f64; 10]) -> Vec<BlockValue> {
        values
            .iter()
            .zip(ALLOCATIONS)
            .map(|(value, allocation)| BlockValue { value: *value, allocation })
            .collect()
    }

    fn ends(blocks: &[BlockValue]) -> Option<(f64, f64)> {
        block_interval(blocks, 0.95).map(|interval| (interval.low, interval.high))
    }

    #[test]
    fn where_allocations_are_alike_it_is_the_interval_of_the_blocks() {
        // Each allocation's median is 100.
        let values = [99.0, 100.0, 100.0, 101.0, 99.0, 100.0, 101.0, 98.0, 100.0, 102.0];
        assert_eq!(ends(&blocks(values)), Some((99.0, 101.0)));
    }

    #[test]
    fn where_allocations_differ_it_is_students_of_their_medians() -> Result<(), String> {
        let values = [100.0, 100.0, 100.0, 100.0, 102.0, 102.0, 102.0, 101.0, 101.0, 101.0];
        let (low, high) = ends(&blocks(values)).ok_or("no interval")?;
        // python3 -c 'from numpy import *; from scipy.stats import t; m = log([100, 102, 101]);
        // print(exp(t.interval(.95, 2, m.mean(), m.std(ddof=1) / 3 ** .5)))'
        assert!((low - 98.54285322).abs() < 1e-7 && (high - 103.51164990).abs() < 1e-7, "{low} {high}");
        Ok(())
    }

    #[test]
    fn a_time_is_never_below_zero_and_its_interval_is_that_of_its_rate() -> Result<(), String> {
        let values = [1500.0, 1500.0, 1490.0, 1510.0, 1560.0, 1560.0, 1560.0, 4900.0, 4900.0, 4900.0];
        let (low, high) = ends(&blocks(values)).ok_or("no interval")?;
        assert!(low > 0.0 && low < 1490.0 && high > 4900.0, "{low} {high}");
        let (slow, quick) = ends(&blocks(values.map(|ns| 1e9 / ns))).ok_or("no interval")?;
        assert!(
            (slow * high / 1e9 - 1.0).abs() < 1e-12 && (quick * low / 1e9 - 1.0).abs() < 1e-12,
            "{slow} {quick}"
        );
        // What is no time and no rate has the interval of its blocks.
        let with_zero = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
        assert_eq!(ends(&blocks(with_zero)), Some((0.0, 2.0)));
        Ok(())
    }

    proptest! {
        #[test]
        fn whatever_the_blocks_are_it_is_above_zero_and_holds_their_median(
            values in prop::array::uniform10(prop_oneof![1.0_f64..1e3, 1e-3_f64..1e9])
        ) {
            let (low, high) = ends(&blocks(values)).unwrap_or((0.0, 0.0));
            let middle = median(&values).unwrap_or(0.0);
            prop_assert!(low > 0.0 && low <= middle && middle <= high && high.is_finite(), "{low} {middle} \
                {high}");
        }
    }

    #[test]
    fn one_disturbed_block_does_not_make_an_allocation_another_one() {
        let mut values = [100.0, 100.1, 99.9, 100.0, 100.1, 100.0, 99.9, 100.1, 100.0, 99.9];
        let quiet = ends(&blocks(values));
        values[5] = 300.0;
        let (Some((low, high)), Some((_, before))) = (ends(&blocks(values)), quiet) else {
            panic!("no interval")
        };
        assert!(low > 99.5 && high < before + 0.5, "{low} {high}, {before} before");
    }

    #[test]
    fn two_allocations_and_allocations_of_one_or_two_blocks_leave_it_to_the_blocks() {
        let values = [100.0, 100.0, 100.0, 100.0, 102.0, 102.0, 102.0, 101.0, 101.0, 101.0];
        let of = |allocations: [u32; 10]| {
            let block = |(value, allocation): (&f64, u32)| BlockValue { value: *value, allocation };
            ends(&values.iter().zip(allocations).map(block).collect::<Vec<_>>())
        };
        let of_blocks = Some((100.0, 102.0));
        assert_eq!(of([0, 0, 0, 0, 1, 1, 1, 1, 1, 1]), of_blocks);
        assert_eq!(of([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), of_blocks);
        assert_eq!(of([0, 0, 0, 0, 1, 1, 1, 1, 2, 2]), of_blocks);
        assert_eq!(ends(&BlockValue::on_one_allocation(&values)), of_blocks);
        assert_eq!(ends(&blocks(values)[..5]), None, "five blocks give none");
    }

    /// How often the interval of ten blocks holds 100, with noise of 1 % of a block and `between` of an
    /// allocation.
    fn covered(between: f64, interval: impl Fn(&[BlockValue]) -> Option<Interval>) -> f64 {
        let mut random = SplitMix64::new(31);
        let mut holds = || {
            let of_allocation = [0; 3].map(|_| between * noise::normal(&mut random));
            let value = |allocation: u32| {
                let value = 100.0 + of_allocation[allocation as usize] + noise::normal(&mut random);
                BlockValue { value, allocation }
            };
            interval(&ALLOCATIONS.map(value)).is_some_and(|interval| interval.contains(100.0))
        };
        (0..4000).filter(|_| holds()).count() as f64 / 4000.0
    }

    #[test]
    fn it_covers_what_it_says_where_allocations_differ_and_where_they_do_not() {
        for between in [0.0, 0.5, 1.0, 3.0] {
            let share = covered(between, |blocks| block_interval(blocks, 0.95));
            // Standard deviation 0.35 %.
            assert!(share > 0.94, "{between} % between allocations: {share}");
        }
        let of_blocks = |blocks: &[BlockValue]| median_interval(&values(blocks), 0.95);
        let share = covered(3.0, of_blocks);
        assert!(share < 0.85, "blocks alone know nothing of allocations: {share}");
    }
}
