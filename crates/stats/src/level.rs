//! How high the blocks of a case lie, how well that is known, and by how much two cases differ: means of
//! logarithms, and Student's t of as many independent blocks as theirs are worth (`scatter`).
//!
//! Welch's t ("The generalization of 'Student's' problem", 1947), for unequal spread. Means and not medians:
//! of ten blocks in two modes eight or more lie in one of them in one case of nine, and a median or a trimmed
//! mean then is sure of what is chance. A mean is not. Nor is a rank test: where one side scatters more, ten
//! blocks on one side of the others are no rarity. Left out: correction for many comparisons (`holm`).

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::block_interval::{BlockValue, allocations_of};
use crate::interval::{Interval, mean, mean_and_squares, student};
use crate::scatter::Scatter;

/// A deviation is never taken to be known from fewer differences than this.
const LEAST_FREEDOM: f64 = 1.0;

/// Fewer blocks do not show how they scatter.
const LEAST_BLOCKS: usize = 3;

/// The deviation, as a part, that another allocation of memory is taken to make where a case has blocks on
/// one only, which does not show it: as much as `compare` takes single runs to differ by.
const OF_ANOTHER_ALLOCATION: f64 = 0.01;

/// How high blocks lie, as a logarithm; a sum of such.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The mean of the logarithms.
    pub mean: f64,
    /// The square of its standard error.
    squared_error: f64,
    /// From how many differences the error is known.
    freedom: f64,
}

impl Level {
    /// The level of blocks in the order measured; `None` of fewer than three, and where one is not positive
    /// and finite.
    pub fn of(blocks: &[BlockValue], scatter: &Scatter) -> Option<Self> {
        let is_good = |block: &BlockValue| block.value.is_finite() && block.value > 0.0;
        if blocks.len() < LEAST_BLOCKS || !blocks.iter().all(is_good) {
            return None;
        }
        // Counted from the first: equal blocks differ by nothing then, however their logarithms round.
        let first = blocks[0].value;
        let logs: Vec<f64> = blocks.iter().map(|block| (block.value / first).ln()).collect();
        let worth = scatter.worth(blocks);
        let squared_error = (scatter.variance(&logs, worth) / worth).max(of_allocations(blocks, &logs));
        let mean = first.ln() + mean(&logs);
        Some(Self { mean, squared_error, freedom: (worth - 1.0).max(LEAST_FREEDOM) })
    }

    /// What another allocation would move the level of these blocks by: nothing that is not in their own
    /// error where they have several, and a known error where they have one.
    pub fn of_another_allocation(blocks: &[BlockValue]) -> Self {
        let squared_error =
            if allocations_of(blocks).count() > 1 { 0.0 } else { OF_ANOTHER_ALLOCATION.powi(2) };
        Self { mean: 0.0, squared_error, freedom: f64::INFINITY }
    }

    /// So many times it: of a mean of two, a half of each.
    pub fn times(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, squared_error: self.squared_error * factor * factor, ..self }
    }

    /// It and another one, which is independent of it. (Welch and Satterthwaite's freedom.)
    pub fn plus(self, other: Self) -> Self {
        let squared_error = self.squared_error + other.squared_error;
        let part = |of: &Self| of.squared_error.powi(2) / of.freedom;
        let parts = part(&self) + part(&other);
        let freedom = if parts > 0.0 { squared_error.powi(2) / parts } else { self.freedom + other.freedom };
        Self { mean: self.mean + other.mean, squared_error, freedom }
    }

    /// It over another one: the logarithm of a ratio.
    pub fn over(self, other: Self) -> Self {
        self.plus(other.times(-1.0))
    }

    /// How likely it is seen this far above `limit`, a logarithm, where it is not above: one-sided.
    pub fn p_above(&self, limit: f64) -> f64 {
        let above = self.mean - limit;
        if self.squared_error <= 0.0 {
            // Nothing scatters; what differs by less than logarithms round does not differ.
            return if above > 1e-12 { 0.0 } else { 1.0 };
        }
        StudentsT::new(0.0, 1.0, self.freedom).map_or(1.0, |t| t.sf(above / self.squared_error.sqrt()))
    }

    /// How likely it is seen this far below `limit` where it is not below: one-sided.
    pub fn p_below(&self, limit: f64) -> f64 {
        self.times(-1.0).p_above(-limit)
    }

    /// How likely a ratio is seen this far from 1 where it is 1: two-sided.
    pub fn p_value(&self) -> f64 {
        (2.0 * self.p_above(0.0).min(self.p_below(0.0))).min(1.0)
    }

    /// The interval of the value whose logarithm it is.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let reach = student(self.freedom, confidence)? * self.squared_error.sqrt();
        Some(Interval { low: (self.mean - reach).exp(), high: (self.mean + reach).exp(), confidence })
    }

    /// Whether it is surely within a factor: neither more than `factor` nor less than one over it, each side
    /// at 1 − `confidence` (two one-sided tests: Schuirmann 1987). The claim of several needs no correction
    /// where it is said only of all of them (Berger 1982).
    pub fn is_within(&self, factor: f64, confidence: f64) -> bool {
        self.p_within(factor) <= 1.0 - confidence
    }

    /// How likely it is seen so near where it is not within this factor.
    pub fn p_within(&self, factor: f64) -> f64 {
        let limit = factor.ln();
        self.p_below(limit).max(self.p_above(-limit))
    }

    /// From how many differences its error is known.
    pub fn freedom(&self) -> f64 {
        self.freedom
    }

    /// The same with another error, known from so many differences.
    pub fn known_as(self, squared_error: f64, freedom: f64) -> Self {
        Self { squared_error, freedom, ..self }
    }

    /// The square of its standard error.
    pub fn squared_error(&self) -> f64 {
        self.squared_error
    }
}

/// The square of the mean's standard error by the means of its allocations alone; 0 with one allocation.
fn of_allocations(blocks: &[BlockValue], logs: &[f64]) -> f64 {
    let (mut from, mut means) = (0, Vec::new());
    for of_one in allocations_of(blocks) {
        means.push(mean(&logs[from..from + of_one.len()]));
        from += of_one.len();
    }
    let ((_, squares), count) = (mean_and_squares(&means), means.len() as f64);
    if count > 1.0 { squares / (count - 1.0) / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(values: &[f64]) -> Vec<BlockValue> {
        BlockValue::on_one_allocation(values)
    }

    /// Levels of cases that do not hang together.
    fn independent(values: &[f64]) -> Level {
        let none = Scatter::of([]);
        Level::of(&blocks(values), &none).unwrap_or_else(|| unreachable!("they are positive"))
    }

    #[test]
    fn of_independent_blocks_it_is_welchs_t_of_scipy() {
        let a = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2];
        let b = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5];
        let ratio = independent(&b).over(independent(&a));
        // r = scipy.stats.ttest_ind(numpy.log(B), numpy.log(A), equal_var=False); r.pvalue,
        // r.confidence_interval(.95)
        assert!((ratio.p_value() - 0.002372053136123282).abs() < 1e-9, "{}", ratio.p_value());
        let interval = ratio.interval(0.95).unwrap_or_else(|| unreachable!());
        assert!((interval.low.ln() - 0.024168567330452775).abs() < 1e-7, "{interval:?}");
        let back = independent(&a).over(independent(&b));
        assert!((back.p_value() - ratio.p_value()).abs() < 1e-12 && (back.mean + ratio.mean).abs() < 1e-12);
    }

    #[test]
    fn equal_blocks_differ_by_nothing_however_they_round() {
        let ratio = independent(&[0.1; 10]).over(independent(&[0.1; 7]));
        assert_eq!(ratio.p_value(), 1.0);
        assert!(ratio.is_within(1.01, 0.95));
        assert_eq!(independent(&[2.0; 3]).over(independent(&[1.0; 3])).p_value(), 0.0);
    }

    #[test]
    fn allocations_that_differ_widen_it() {
        let on = |allocation: u32, value: f64| BlockValue { value, allocation };
        let values = [on(0, 1.0), on(0, 1.01), on(1, 1.1), on(1, 1.11), on(2, 0.9), on(2, 0.91)];
        let none = Scatter::of([]);
        let [with, without] =
            [&values[..], &blocks(&values.map(|block| block.value))].map(|all| Level::of(all, &none));
        let error = |level: Option<Level>| level.map_or(0.0, |level| level.squared_error);
        assert!(error(with) > 2.0 * error(without), "{with:?} {without:?}");
    }

    #[test]
    fn within_a_factor_is_said_only_where_both_sides_are_sure() {
        let near =
            independent(&[1.0, 1.001, 0.999, 1.0, 1.001]).over(independent(&[1.0, 0.999, 1.001, 1.0, 1.0]));
        assert!(near.is_within(1.01, 0.95));
        let wide = independent(&[1.0, 1.1, 0.9, 1.0]).over(independent(&[1.0, 0.9, 1.1, 1.0]));
        assert!(!wide.is_within(1.01, 0.95));
        let apart = independent(&[1.02, 1.021, 1.019]).over(independent(&[1.0, 0.999, 1.001]));
        assert!(!apart.is_within(1.01, 0.95) && apart.p_value() < 0.01);
    }

    #[test]
    fn what_is_no_positive_number_has_no_level() {
        let none = Scatter::of([]);
        for values in [&[1.0, 1.1][..], &[], &[1.0, 1.1, 0.0], &[1.0, 1.1, f64::NAN]] {
            assert_eq!(Level::of(&blocks(values), &none), None, "{values:?}");
        }
    }
}
