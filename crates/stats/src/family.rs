//! Many cases tested at once, each by a few values: which of them differ, with a chance of at most 5 % of
//! even one false claim.
//!
//! A correction for many tests asks each of them for a very small p, which a handful of values seldom gives.
//! So a case differs in one of two ways, each of which is safe by itself: *by its own values*, at Holm's step
//! over all cases; or *beside the other cases*, if the difference is larger than anything that the second
//! widest error of all cases makes in as many of them (the normal quantile), and its own test says so as one
//! of [`NOISIER`]. Cases noisier than the second widest seldom come in such a number. Runs of two sides have
//! a rule of their own (`moderated`).

use statrs::distribution::{ContinuousCDF, Normal};

use crate::holm::holm;

/// As one of so many cases a case must differ by its own spread, where the spread of the others speaks for
/// it. Above the second widest spread there are by chance at most three times as many true ones (with m cases
/// wider than it, at most one of which shows it: m·P ≤ 2.1 for three values a side, 2.5 for two), and they
/// have half of the level.
pub const NOISIER: usize = 6;

/// The adjusted p-values of many tests, each by itself (Holm) or beside the others: `own` of the test alone,
/// and `of_all` of its difference over the second widest error, where there is one. For tests whose own
/// errors have degrees of freedom enough; half of the level for each way, and half of the second way's for
/// each of its two parts.
pub fn by_itself_or_beside(own: &[f64], of_all: impl Fn(usize) -> Option<f64>) -> Vec<f64> {
    let by_itself = holm(own);
    let of_all: Vec<Option<f64>> = (0..own.len()).map(of_all).collect();
    if own.len() <= NOISIER || of_all.iter().all(Option::is_none) {
        return by_itself;
    }
    let beside = |at: usize| Some(((2 * NOISIER) as f64 * own[at]).max(4.0 * own.len() as f64 * of_all[at]?));
    (0..own.len()).map(|at| (2.0 * by_itself[at]).min(beside(at).unwrap_or(1.0)).min(1.0)).collect()
}

/// The two-sided p-value of so many deviations.
pub fn normal_p(deviations: f64) -> f64 {
    2.0 * Normal::standard().sf(deviations.abs())
}
