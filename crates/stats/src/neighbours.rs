//! How much neighbours in several short series are alike: the correlation of a process of the first order
//! that makes likely what is seen.
//!
//! The mean of a short series takes a part of the correlation away (of ten values at 0.8 one sees 0.46), and
//! one series tells next to nothing; the series of many cases do.

use std::collections::BTreeMap;

use crate::interval::mean_and_squares;

/// The strongest correlation from block to block that is looked for: of a stronger one a run of blocks shows
/// nothing.
const STRONGEST: f64 = 0.98;

/// What neighbours in several series show.
#[derive(Default)]
pub(crate) struct Neighbours {
    /// How many series have so many blocks.
    series: BTreeMap<usize, f64>,
    /// Of each series the products of neighbours and the squares, both around its own mean.
    sums: Vec<[f64; 2]>,
}

impl Neighbours {
    /// Takes in the values of one series, in order, over their deviation.
    pub fn add(&mut self, scores: &[f64]) {
        if scores.len() > 1 {
            let (mean, squares) = mean_and_squares(scores);
            *self.series.entry(scores.len()).or_default() += 1.0;
            let products = scores.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
            self.sums.push([products, squares]);
        }
    }

    /// The correlation of which such products are expected, so many standard errors too high; `None` where
    /// nothing is seen of one. The errors are those of short series without correlation: of one (n − 2) / (n
    /// √(n − 1)) (Moran, "Some theorems on time series II", 1948).
    pub fn likely(&self, allowance: f64) -> Option<f64> {
        self.seen_as(allowance * self.error_without_correlation())
    }

    /// The same with the errors that the series themselves show where these are larger, as they are of strong
    /// correlation (the error of a ratio of two sums: Cochran, "Sampling Techniques", 1977, 6.4).
    pub fn at_most(&self, allowance: f64) -> Option<f64> {
        let ratio = self.ratio()?;
        let count = self.sums.len() as f64;
        let squares: f64 = self.sums.iter().map(|[product, square]| (product - ratio * square).powi(2)).sum();
        let error = (squares * count / (count - 1.0).max(1.0)).sqrt() / self.squares();
        self.seen_as(allowance * error.max(self.error_without_correlation()))
    }

    fn error_without_correlation(&self) -> f64 {
        let (mut all, mut squares) = (0.0, 0.0);
        for (count, series) in &self.series {
            let (n, freedom) = (*count as f64, (count - 1) as f64);
            all += series * freedom;
            squares += series * freedom * ((n - 2.0) / n).powi(2);
        }
        squares.sqrt() / all
    }

    fn squares(&self) -> f64 {
        self.sums.iter().map(|[_, squares]| squares).sum()
    }

    /// The products over the squares of all series.
    fn ratio(&self) -> Option<f64> {
        let squares = self.squares();
        (squares > 0.0).then(|| self.sums.iter().map(|[products, _]| products).sum::<f64>() / squares)
    }

    fn seen_as(&self, higher: f64) -> Option<f64> {
        let seen = self.ratio()? + higher;
        let (mut low, mut high) = (0.0, STRONGEST);
        if seen <= self.expected(low) {
            return Some(0.0);
        }
        while high - low > 1e-6 {
            let middle = (low + high) / 2.0;
            if self.expected(middle) < seen { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// The products of neighbours over the squares, both around each series' own mean, that are expected
    /// where neighbours are correlated so.
    fn expected(&self, correlation: f64) -> f64 {
        let (mut products, mut squares) = (0.0, 0.0);
        for (count, series) in &self.series {
            let n = *count as f64;
            let of_mean = inflation(*count, correlation) / n;
            // The covariance of each block with the mean of all.
            let with_mean: Vec<f64> = (0..*count)
                .map(|at| {
                    (0..*count).map(|other| correlation.powi(at.abs_diff(other) as i32)).sum::<f64>() / n
                })
                .collect();
            let product = |two: &[f64]| correlation - two[0] - two[1] + of_mean;
            products += series * with_mean.windows(2).map(product).sum::<f64>();
            squares += series * (n - n * of_mean);
        }
        products / squares
    }
}

/// How many times the variance of a mean of so many blocks is that of independent ones.
pub(crate) fn inflation(count: usize, correlation: f64) -> f64 {
    let n = count as f64;
    1.0 + 2.0 * (1..count).map(|lag| (1.0 - lag as f64 / n) * correlation.powi(lag as i32)).sum::<f64>()
}
