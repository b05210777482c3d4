//! How low the next value may be of what comes in groups: the one-sided tolerance limit of a one-way random
//! model; and how large a share may be of which few were seen.
//!
//! A limit that a share of all future values keeps with some confidence is mean − k·s; k pays for how little
//! is known of both. Values of one group (GPUs of one node) share what the group is like, so that groups are
//! the unit: 24 values of three groups tell of the spread between groups what three values do. The limit is
//! Krishnamoorthy and Mathew's generalized one ("One-sided tolerance limits in balanced and unbalanced
//! one-way random models based on generalized confidence intervals", Technometrics 46, 2004): of all that the
//! mean and the spreads may be, by their laws given what was seen, the limit is the one that is low enough
//! with the confidence asked. Their laws are drawn with a fixed seed, so the same values have the same limit.

use statrs::distribution::{Beta, ContinuousCDF, Normal};

use crate::interval::{mean_and_squares, quantile, sorted};
use crate::random::SplitMix64;

/// How often the laws of the spreads are drawn: the limit then moves by some 1 % of its distance from the
/// mean from seed to seed.
const DRAWS: usize = 20_000;

/// Values in groups, taken apart by spread.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedValues {
    /// The mean over groups.
    mean: f64,
    /// How many groups.
    count: f64,
    /// The sum of the squared distances of the groups' means from `mean`.
    between: f64,
    /// The harmonic mean of the groups' sizes.
    size: f64,
    /// The sum of the squared distances of values from the mean of their group, and its degrees of freedom.
    within: (f64, f64),
}

impl GroupedValues {
    /// The values of each group. `None` with fewer than two groups, an empty one, or a value that is not
    /// finite.
    pub fn of(groups: &[Vec<f64>]) -> Option<Self> {
        let usable = groups.len() >= 2 && groups.iter().all(|group| !group.is_empty());
        if !usable || !groups.iter().flatten().all(|value| value.is_finite()) {
            return None;
        }
        let (means, squares): (Vec<f64>, Vec<f64>) =
            groups.iter().map(|group| mean_and_squares(group)).unzip();
        let ((mean, between), count) = (mean_and_squares(&means), groups.len() as f64);
        Some(Self {
            mean,
            count,
            between,
            size: count / groups.iter().map(|group| 1.0 / group.len() as f64).sum::<f64>(),
            within: (squares.iter().sum(), groups.iter().map(|group| group.len() as f64 - 1.0).sum()),
        })
    }

    /// The value above which this share of single new values lies, with this confidence. A new value has the
    /// spread of groups and of values in them, and beside it that of a measurement, of which a sum of squares
    /// and its degrees of freedom are known (none: 0 and 0). `None` where a share or a confidence is not
    /// between 0 and 1.
    pub fn lower_limit(&self, measurement: (f64, f64), share: f64, confidence: f64) -> Option<f64> {
        let is_part = |part: f64| part > 0.0 && part < 1.0;
        if !is_part(share) || !is_part(confidence) {
            return None;
        }
        let far = Normal::standard().inverse_cdf(share);
        let mut random = SplitMix64::new(1);
        let variance = |random: &mut SplitMix64, (squares, freedom): (f64, f64)| {
            if freedom > 0.0 { squares / random.chi_squared(freedom) } else { 0.0 }
        };
        let mut limit = |_| {
            // The variance of a group's mean holds that of its values over its size.
            let of_means = variance(&mut random, (self.between, self.count - 1.0));
            let all = of_means
                + (1.0 - 1.0 / self.size) * variance(&mut random, self.within)
                + variance(&mut random, measurement);
            self.mean - random.normal() * (of_means / self.count).sqrt() - far * all.sqrt()
        };
        let limits = sorted(&(0..DRAWS).map(&mut limit).collect::<Vec<_>>());

        quantile(&limits, 1.0 - confidence)
    }
}

/// The largest share that `found` of `of` trials may be of all, with this confidence (Clopper and Pearson,
/// "The use of confidence or fiducial limits", 1934).
pub fn largest_share(found: u32, of: u32, confidence: f64) -> f64 {
    let distribution = Beta::new(f64::from(found) + 1.0, f64::from(of.saturating_sub(found)));
    distribution.map_or(1.0, |share| share.inverse_cdf(confidence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_is_that_of_which_so_few_would_hardly_be_seen() {
        // None of n is seen with a chance of (1 - share)^n: 1 - 0.05^(1/n). All of n: any share.
        for n in [10_u32, 100] {
            let want = 1.0 - 0.05_f64.powf(1.0 / f64::from(n));
            assert!((largest_share(0, n, 0.95) - want).abs() < 1e-6, "{n}");
        }
        assert_eq!(largest_share(7, 7, 0.95), 1.0);
        assert!(largest_share(5, 100, 0.95) > 0.09 && largest_share(5, 100, 0.95) < 0.11);
    }

    #[test]
    fn a_group_of_one_value_each_is_a_sample_and_has_its_exact_factor() {
        // scipy.stats.nct.ppf(.95, n - 1, norm.ppf(p) * sqrt(n)) / sqrt(n)
        for (n, share, exact) in [
            (8, 0.99, 4.35385580922933),
            (8, 0.999999, 8.631642512288487),
            (20, 0.99, 3.2951569361708546),
            (20, 0.999999, 6.569773229684647),
            (200, 0.999999, 5.200482671286728),
        ] {
            // A mean of 0 and a sample deviation of 1.
            let side = ((f64::from(n) - 1.0) / f64::from(n)).sqrt();
            let groups: Vec<Vec<f64>> =
                (0..n).map(|at| vec![if at % 2 == 0 { side } else { -side }]).collect();
            let limit =
                GroupedValues::of(&groups).and_then(|groups| groups.lower_limit((0.0, 0.0), share, 0.95));
            assert!(
                limit.is_some_and(|limit| (-limit / exact - 1.0).abs() < 0.02),
                "{n} {share}: {limit:?}, not {exact}"
            );
        }
    }

    #[test]
    fn the_limit_keeps_its_share_as_often_as_it_says_whatever_groups_share() {
        let mut random = SplitMix64::new(7);
        for (count, of_groups) in [(3, 0.01), (20, 0.003)] {
            let mut keeps = || {
                let mut group = || {
                    let level = of_groups * random.normal();
                    (0..8).map(|_| level + 0.003 * random.normal()).collect::<Vec<f64>>()
                };
                let groups: Vec<Vec<f64>> = (0..count).map(|_| group()).collect();
                let limit = GroupedValues::of(&groups)
                    .and_then(|groups| groups.lower_limit((0.0, 0.0), 0.999_999, 0.95));
                let truth = -4.753_424 * (of_groups * of_groups + 0.003_f64 * 0.003).sqrt();
                limit.is_some_and(|limit| limit <= truth)
            };
            let kept = (0..120).filter(|_| keeps()).count();
            // 95 %, and three deviations of such a count.
            assert!(kept >= 107, "{count} groups that differ by {of_groups}: {kept} of 120");
        }
    }

    #[test]
    fn too_few_groups_and_values_that_are_none_have_no_limit() {
        assert_eq!(GroupedValues::of(&[vec![1.0, 2.0]]), None);
        assert_eq!(GroupedValues::of(&[vec![1.0], Vec::new()]), None);
        assert_eq!(GroupedValues::of(&[vec![1.0], vec![f64::NAN]]), None);
        assert_eq!(
            GroupedValues::of(&[vec![1.0], vec![2.0]]).and_then(|groups| groups.lower_limit(
                (0.0, 0.0),
                1.0,
                0.95
            )),
            None
        );
    }
}
