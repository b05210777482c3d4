//! Which of several things that should be alike is not: a node whose rate is far from those of the other
//! nodes.
//!
//! The rule is the generalized extreme studentized deviate test (Rosner, "Percentage points for a generalized
//! ESD many-outlier procedure", Technometrics 25, 1983): the value furthest from the mean is taken away again
//! and again, up to as many as may be outliers, and as many are outliers as the last one that was too far
//! says, for as many values as there were; of logarithms, because rates that scatter widely have a long tail
//! above. One outlier does not hide another one so, and of values that are alike and scatter normally one is
//! named in at most one case of twenty, whatever their spread and number; the modified z-score beyond 3.5
//! (Iglewicz and Hoaglin 1993), which is told with each, alone would name one in ten. Significant is not yet
//! worth an administrator's walk, so a value must be more than 5 % away as well. Where more are far away than
//! may be outliers, things have two levels, and none of them is an outlier. Unlike `outlier`, which counts
//! rounds far out in thousands, this names single values of a few.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::alpha::ALPHA;
use crate::interval::{mean_and_squares, median};

/// With fewer values nothing is called an outlier: of four, two may differ from the other two.
pub const LEAST_VALUES: usize = 5;

/// The distance from the median, as a share of it, from which on a value is an outlier.
pub const LEAST_DISTANCE: f64 = 0.05;

/// The spread is taken for at least this share of the median, so that values that are all equal but one have
/// a finite score. The stop rule resolves no less anyway, and with it the least distance decides alone where
/// there is hardly any spread.
const LEAST_SPREAD: f64 = 0.01;

/// The part of the level that the furthest value has; the further ones share the rest, because each of few
/// that is taken away is another chance.
const OF_FURTHEST: f64 = 0.8;

/// MAD over the standard deviation in a normal distribution.
const MAD_OF_NORMAL: f64 = 0.6745;

/// The values, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerOutliers {
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

/// Which of the values (rates or times, one of each thing) are outliers, where so many such sets are judged
/// in one document, which share the chance of a false one. At most `most` of them are outliers, and never
/// half.
///
/// # Errors
/// [`NotJudged`]: there are fewer than [`LEAST_VALUES`], or one is not a positive number.
pub fn peer_outliers(values: &[f64], sets: usize, most: usize) -> Result<PeerOutliers, NotJudged> {
    if !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return Err(NotJudged::NotPositive);
    }
    let too_few = NotJudged::TooFew(values.len());
    let middle = median(values).filter(|_| values.len() >= LEAST_VALUES).ok_or(too_few)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let spread = (median(&distances).ok_or(too_few)? / MAD_OF_NORMAL).max(LEAST_SPREAD * middle);
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut outliers = furthest(&logs, most, ALPHA / sets.max(1) as f64);
    outliers.retain(|at| distances[*at] > LEAST_DISTANCE * middle);
    outliers.sort_unstable();
    let scored = |index: usize| PeerOutlier { index, score: (values[index] - middle) / spread };
    Ok(PeerOutliers { median: middle, outliers: outliers.into_iter().map(scored).collect() })
}

/// How many of so many nodes may be outliers: a fifth, and two of few. More are a level of their own.
pub fn a_fifth(nodes: usize) -> usize {
    (nodes / 5).max(2)
}

/// How many of so many values may be outliers where one cause moves many of them: fewer than half.
pub fn fewer_than_half(values: usize) -> usize {
    values.saturating_sub(1) / 2
}

/// The positions of the values that are too far from the others at this level, so many at most.
fn furthest(values: &[f64], most: usize, level: f64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..values.len()).collect();
    let (mut taken, mut outliers) = (Vec::new(), 0);
    let steps = most.min(fewer_than_half(values.len()));
    while taken.len() < steps {
        let count = left.len() as f64;
        let (mean, squares) = mean_and_squares(&left.iter().map(|at| values[*at]).collect::<Vec<_>>());
        let far = |at: &usize| (values[*at] - mean).abs();
        let Some(place) = (0..left.len()).max_by(|a, b| far(&left[*a]).total_cmp(&far(&left[*b]))) else {
            break;
        };
        let Ok(law) = StudentsT::new(0.0, 1.0, count - 2.0) else { break };
        let part = if taken.is_empty() { OF_FURTHEST } else { (1.0 - OF_FURTHEST) / (steps as f64 - 1.0) };
        let t = -law.inverse_cdf(part * level / (2.0 * count));
        let reach = (count - 1.0) * t / ((count - 2.0 + t * t) * count).sqrt();
        let at = left.remove(place);
        taken.push(at);
        if (values[at] - mean).abs() / (squares / (count - 1.0)).sqrt().max(LEAST_SPREAD) > reach {
            outliers = taken.len();
        }
    }

    taken.truncate(outliers);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    fn outliers(values: &[f64]) -> Vec<usize> {
        peer_outliers(values, 1, a_fifth(values.len()))
            .map(|judged| judged.outliers.iter().map(|one| one.index).collect())
            .unwrap_or(vec![usize::MAX])
    }

    #[test]
    fn the_score_is_that_of_the_book() -> Result<(), NotJudged> {
        // Median 103, absolute deviations 2 1 0 1 47: MAD 1. 0.6745 · 47 / 1 = 31.7015.
        let judged = peer_outliers(&[101.0, 102.0, 103.0, 104.0, 150.0], 1, 2)?;
        assert_eq!((judged.median, judged.outliers.len(), judged.outliers[0].index), (103.0, 1, 4));
        assert!((judged.outliers[0].score - 31.7015).abs() < 1e-9);
        Ok(())
    }

    #[test]
    fn a_slow_and_a_fast_one_are_both_named_with_their_signs() -> Result<(), NotJudged> {
        let judged = peer_outliers(&[55.1, 55.0, 40.0, 55.2, 54.9, 70.0, 55.0], 1, 2)?;
        assert_eq!(judged.outliers.iter().map(|one| one.index).collect::<Vec<_>>(), [2, 5]);
        assert!(judged.outliers[0].score < 0.0 && judged.outliers[1].score > 0.0);
        Ok(())
    }

    #[test]
    fn what_is_close_is_no_outlier_however_alike_the_others_are() {
        assert_eq!(outliers(&[100.0, 100.0, 100.0, 100.0, 95.1]), [0; 0]);
        assert_eq!(outliers(&[100.0, 100.0, 100.0, 100.0, 94.9]), [4]);
        let all_equal_but_one =
            peer_outliers(&[100.0, 100.0, 100.0, 100.0, 1.0], 1, 2).map(|judged| judged.outliers[0].score);
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
    fn a_level_of_a_third_is_none_of_outliers_and_a_tenth_far_away_is() {
        let levels = |low: usize| -> Vec<f64> {
            (0..60).map(|at| if at < low { 45.0 } else { 50.0 } + 0.01 * (at % 7) as f64).collect()
        };
        assert_eq!(outliers(&levels(20)), [0; 0]);
        assert_eq!(outliers(&levels(6)), [0, 1, 2, 3, 4, 5]);
        let of_links =
            peer_outliers(&levels(20), 1, fewer_than_half(60)).map_or(0, |judged| judged.outliers.len());
        assert_eq!(of_links, 20, "where one cause moves a third");
    }

    #[test]
    fn too_few_and_what_is_no_rate_are_not_judged() {
        assert_eq!(peer_outliers(&[1.0, 1.0, 1.0, 9.0], 1, 2), Err(NotJudged::TooFew(4)));
        assert_eq!(peer_outliers(&[], 1, 2), Err(NotJudged::TooFew(0)));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(peer_outliers(&[1.0, 1.0, 1.0, 1.0, bad], 1, 2), Err(NotJudged::NotPositive));
        }
    }

    /// The share of runs over `nodes` like nodes with this relative noise in which at least one is called an
    /// outlier.
    fn false_alarms(nodes: usize, noise: f64) -> f64 {
        let mut random = SplitMix64::new(nodes as u64);
        let runs = 2000;
        let alarms = (0..runs)
            .filter(|_| {
                let rates: Vec<f64> =
                    (0..nodes).map(|_| 50.0 * (1.0 + noise * noise::normal(&mut random))).collect();
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
        for nodes in [5, 8, 16, 64] {
            let alarms = false_alarms(nodes, 0.03);
            // 5 %, and three deviations of 2,000 runs.
            assert!(alarms < 0.065, "{nodes} nodes, 3 % of noise: {alarms}");
        }
    }

    #[test]
    fn sets_of_one_document_share_the_chance() {
        let values = [50.0, 50.5, 49.5, 50.2, 49.8, 50.1, 46.0];
        let named = |sets: usize| peer_outliers(&values, sets, 2).map_or(0, |judged| judged.outliers.len());
        assert_eq!((named(1), named(10_000)), (1, 0));
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
