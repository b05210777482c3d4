//! Which of several things that should be alike is not: a node whose rate is far from those of the other nodes.
//!
//! The rule is the modified z-score 0.6745·(x − median)/MAD beyond 3.5 (Iglewicz and Hoaglin, "How to Detect and Handle
//! Outliers", ASQC Quality Press, 1993, section 3): median and MAD are not moved by the outliers they are to find, which
//! the mean and the deviation are. Significant is not yet worth an administrator's walk, so a value must be more than 5 % away as
//! well. Unlike `outlier`, which counts rounds far out in thousands, this names single values of a few.

use crate::interval::median;

/// With fewer values nothing is called an outlier: of four, two may differ from the other two.
pub const LEAST_VALUES: usize = 5;

/// The score from which on a value is an outlier (Iglewicz and Hoaglin's recommendation).
pub const LEAST_SCORE: f64 = 3.5;

/// The distance from the median, as a share of it, from which on a value is an outlier.
pub const LEAST_DISTANCE: f64 = 0.05;

/// The spread is taken for at least this share of the median, so that values that are all equal but one have a finite score.
/// The stop rule resolves no less anyway, and with it the least distance decides alone where there is hardly any spread.
const LEAST_SPREAD: f64 = 0.01;

/// MAD over the standard deviation in a normal distribution.
const MAD_OF_NORMAL: f64 = 0.6745;

/// The values, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The median of all values.
    pub median: f64,
    /// The outliers, in the order given.
    pub outliers: Vec<PeerOutlier>,
}

/// A value that is far from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerOutlier {
    /// Its place among the values, 0 first.
    pub index: usize,
    /// Its modified z-score, negative below the median.
    pub score: f64,
}

/// Nothing can be said of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotJudged {
    /// There are too few of them.
    #[error("only {0} have a figure, and {LEAST_VALUES} are needed to tell which is unlike the others")]
    TooFew(usize),
    /// One is not a positive, finite number.
    #[error("not all of the figures are positive, finite numbers")]
    NotPositive,
}

/// Which of the values (rates or times, one of each thing) are outliers.
///
/// # Errors
/// [`NotJudged`]: there are fewer than [`LEAST_VALUES`], or one is not a positive number.
pub fn peer_outliers(values: &[f64]) -> Result<Judged, NotJudged> {
    if !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return Err(NotJudged::NotPositive);
    }
    let too_few = NotJudged::TooFew(values.len());
    let middle = median(values).filter(|_| values.len() >= LEAST_VALUES).ok_or(too_few)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let spread = (median(&distances).ok_or(too_few)? / MAD_OF_NORMAL).max(LEAST_SPREAD * middle);
    let scored =
        values.iter().enumerate().map(|(index, value)| PeerOutlier { index, score: (value - middle) / spread });
    let is_outlier =
        |one: &PeerOutlier| one.score.abs() > LEAST_SCORE && distances[one.index] > LEAST_DISTANCE * middle;
    Ok(Judged { median: middle, outliers: scored.filter(is_outlier).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    fn outliers(values: &[f64]) -> Vec<usize> {
        peer_outliers(values)
            .map(|judged| judged.outliers.iter().map(|one| one.index).collect())
            .unwrap_or(vec![usize::MAX])
    }

    #[test]
    fn the_score_is_that_of_the_book() -> Result<(), NotJudged> {
        // Median 3, absolute deviations 2 1 0 1 47: MAD 1. 0.6745 · 47 / 1 = 31.7015.
        let judged = peer_outliers(&[1.0, 2.0, 3.0, 4.0, 50.0])?;
        assert_eq!((judged.median, judged.outliers.len(), judged.outliers[0].index), (3.0, 1, 4));
        assert!((judged.outliers[0].score - 31.7015).abs() < 1e-9);
        Ok(())
    }

    #[test]
    fn a_slow_and_a_fast_one_are_both_named_with_their_signs() -> Result<(), NotJudged> {
        let judged = peer_outliers(&[55.1, 55.0, 40.0, 55.2, 54.9, 70.0, 55.0])?;
        assert_eq!(judged.outliers.iter().map(|one| one.index).collect::<Vec<_>>(), [2, 5]);
        assert!(judged.outliers[0].score < 0.0 && judged.outliers[1].score > 0.0);
        Ok(())
    }

    #[test]
    fn what_is_close_is_no_outlier_however_alike_the_others_are() {
        assert_eq!(outliers(&[100.0, 100.0, 100.0, 100.0, 95.1]), [0; 0]);
        assert_eq!(outliers(&[100.0, 100.0, 100.0, 100.0, 94.9]), [4]);
        let all_equal_but_one =
            peer_outliers(&[100.0, 100.0, 100.0, 100.0, 1.0]).map(|judged| judged.outliers[0].score);
        assert_eq!(all_equal_but_one, Ok(-99.0), "finite, or it could not be written");
    }

    #[test]
    fn what_is_far_among_values_that_are_all_over_the_place_is_no_outlier() {
        assert_eq!(outliers(&[60.0, 80.0, 100.0, 120.0, 140.0, 170.0]), [0; 0]);
    }

    #[test]
    fn two_groups_of_equal_size_have_no_peer_outlier() {
        assert_eq!(outliers(&[20.0, 20.1, 19.9, 27.0, 27.1, 26.9]), [0; 0]);
    }

    #[test]
    fn too_few_and_what_is_no_rate_are_not_judged() {
        assert_eq!(peer_outliers(&[1.0, 1.0, 1.0, 9.0]), Err(NotJudged::TooFew(4)));
        assert_eq!(peer_outliers(&[]), Err(NotJudged::TooFew(0)));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(peer_outliers(&[1.0, 1.0, 1.0, 1.0, bad]), Err(NotJudged::NotPositive));
        }
    }

    /// The share of runs over `nodes` like nodes with this relative noise in which at least one is called an outlier.
    fn false_alarms(nodes: usize, noise: f64) -> f64 {
        let mut random = SplitMix64::new(nodes as u64);
        let runs = 2000;
        let alarms = (0..runs)
            .filter(|_| {
                let rates: Vec<f64> = (0..nodes).map(|_| 50.0 * (1.0 + noise * noise::normal(&mut random))).collect();
                !outliers(&rates).is_empty()
            })
            .count();
        alarms as f64 / f64::from(runs)
    }

    #[test]
    fn like_nodes_are_rarely_called_outliers() {
        for nodes in [5, 16, 64] {
            assert_eq!(false_alarms(nodes, 0.01), 0.0, "{nodes} nodes, 1 % of noise");
        }
        // With 3 % of noise between nodes about one case in ten names one: 0.099, 0.093 and 0.089 when this was written.
        for nodes in [5, 16, 64] {
            let alarms = false_alarms(nodes, 0.03);
            assert!(alarms < 0.12, "{nodes} nodes, 3 % of noise: {alarms}");
        }
    }

    #[test]
    fn a_node_a_fifth_slower_is_found_among_nodes_with_two_per_cent_of_noise() {
        let mut random = SplitMix64::new(21);
        for nodes in [5, 8, 64] {
            let found = (0..1000)
                .filter(|_| {
                    let mut rates: Vec<f64> =
                        (0..nodes).map(|_| 50.0 * (1.0 + 0.02 * noise::normal(&mut random))).collect();
                    rates[3] *= 0.8;
                    outliers(&rates).contains(&3)
                })
                .count();
            assert!(found > if nodes == 5 { 800 } else { 970 }, "{nodes} nodes: {found} of 1000");
        }
    }
}
