//! A series that wanders: what follows for its mean and its spread where each value is correlated with the
//! one before (an autoregressive series of the first order).
//!
//! Values that hang together lie near to each other and their mean is known less well than it looks. Both
//! effects are closed sums over the covariance ρ^|i − j|; the degrees of freedom of the sum of squares are
//! Satterthwaite's. Left out: how large the correlation is (`neighbours`, `change_point`).

/// What follows from a correlation for values of variance 1, by how many there are.
pub struct Wandering {
    /// The variance of their mean.
    pub of_mean: Vec<f64>,
    /// The mean of the sum of their squared distances from their mean.
    pub squares: Vec<f64>,
    /// Half the variance of that sum: the trace of the square of their centred covariance.
    pub traces: Vec<f64>,
}

impl Wandering {
    /// How many independent differences the sum of squares of so many values is worth.
    pub fn freedom(&self, count: usize) -> f64 {
        if self.traces[count] > 0.0 { self.squares[count].powi(2) / self.traces[count] } else { 0.0 }
    }

    /// For up to so many values.
    pub fn of(most: usize, rho: f64) -> Self {
        let mut law = Self { of_mean: vec![1.0], squares: vec![0.0], traces: vec![0.0] };
        // Sums over k = 1..n−1 of rho^k, k·rho^k, rho^2k and k·rho^2k.
        let (mut power, mut first, mut weighted, mut doubled, mut doubled_weighted) =
            (1.0, 0.0, 0.0, 0.0, 0.0);

        for n in 1..=most {
            let count = n as f64;
            let all = count + 2.0 * (count * first - weighted);
            let frobenius = count + 2.0 * (count * doubled - doubled_weighted);
            // A row of the covariance sums to 1 + 2c − c·(rho^i + rho^(n−1−i)) with c = rho / (1 − rho):
            // these are the squares of that.
            let (tail, powers, squared) = (rho / (1.0 - rho), 1.0 + first, 1.0 + doubled);
            let (whole, last) = (1.0 + 2.0 * tail, power);
            let rows = count * whole * whole - 4.0 * whole * tail * powers
                + 2.0 * tail * tail * (squared + count * last);
            law.of_mean.push(all / (count * count));
            law.squares.push(count - all / count);
            law.traces.push((frobenius - 2.0 / count * rows + (all / count).powi(2)).max(0.0));
            power *= rho;
            (first, weighted) = (first + power, weighted + count * power);
            (doubled, doubled_weighted) = (doubled + power * power, doubled_weighted + count * power * power);
        }
        law
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_correlation_is_what_the_covariance_gives() {
        for (n, rho) in [(3, 0.8), (7, 0.5), (10, 0.8), (12, 0.0)] {
            let law = Wandering::of(12, rho);
            let covariance = |i: usize, j: usize| rho.powi(i.abs_diff(j) as i32);
            let row = |i: usize| (0..n).map(|j| covariance(i, j)).sum::<f64>() / n as f64;
            let all = (0..n).map(row).sum::<f64>() / n as f64;
            let centred = |i: usize, j: usize| covariance(i, j) - row(i) - row(j) + all;
            let squares: f64 = (0..n).map(|i| centred(i, i)).sum();
            let traces: f64 =
                (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| centred(i, j).powi(2)).sum();
            assert!((law.of_mean[n] - all).abs() < 1e-12, "{n} {rho}");
            assert!(
                (law.squares[n] - squares).abs() < 1e-9 && (law.traces[n] - traces).abs() < 1e-9,
                "{n} {rho}"
            );
        }
    }
}
