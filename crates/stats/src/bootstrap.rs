//! The bootstrap of a median, and of a ratio of medians, without drawing: the interval that ever more
//! resamples approach.
//!
//! A resample's median is an order statistic of the values themselves, so its distribution follows from
//! binomial counts and can be written down (Maritz and Jarrett, "A note on estimating the variance of the
//! sample median", 1978; Hutson and Ernst, "The exact bootstrap mean and variance of an L-estimator", 2000).
//! It depends on how many values there are and not on which, so that thousands of cases with as many blocks
//! share one [`MedianLaw`]. The interval is the percentile one (Efron and Tibshirani 1993, chapter 13); it
//! has no seed, and the same values always give the same ends.

use statrs::function::beta::beta_reg;
use statrs::function::factorial::ln_binomial;

use crate::interval::{Interval, sorted};

/// The least likely medians are left out: all of them together are at most so likely, and what is left stands
/// for the whole.
const NEGLIGIBLE: f64 = 1e-6;

/// A middle value further from the other one than this is not looked for.
const OUT_OF_REACH: f64 = 1e-13;

/// So few ratios of medians are put in order to find an end of an interval among them, instead of walking
/// over all medians once more.
const FEW_RATIOS: usize = 128;

/// How likely each median of a resample of `n` values is: by the ranks of the two values that it lies
/// between.
#[derive(Clone, Debug, PartialEq)]
pub struct MedianLaw {
    n: usize,
    pairs: Vec<(u32, u32, f64)>,
}

/// A median that a resample can have, and its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mass {
    /// The median.
    pub value: f64,
    /// Its probability.
    pub probability: f64,
}

impl MedianLaw {
    /// The law for `n` values.
    pub fn of(n: usize) -> Self {
        let mut pairs = Vec::new();
        for rank in 1..=n {
            let lower = below(n, rank) - below(n, rank - 1);
            if n % 2 == 1 {
                pairs.push((rank as u32 - 1, rank as u32 - 1, lower));
                continue;
            }
            // The lower of the middle two has this rank, the upper one that of `other`; what is left over
            // falls on both being it.
            let mut apart = 0.0;
            for other in rank + 1..=n {
                let both = apart_by(n, rank, other);
                apart += both;
                pairs.push((rank as u32 - 1, other as u32 - 1, both));
                if both < OUT_OF_REACH {
                    break;
                }
            }
            pairs.push((rank as u32 - 1, rank as u32 - 1, lower - apart));
        }

        // The least likely go, as many as together are negligible: of 100 values that is half of the pairs.
        let mut likely: Vec<f64> = pairs.iter().map(|(.., probability)| *probability).collect();
        likely.sort_unstable_by(f64::total_cmp);
        let mut so_far = 0.0;
        let least = likely.into_iter().find(|probability| {
            so_far += probability;
            so_far > NEGLIGIBLE
        });
        pairs.retain(|(.., probability)| least.is_some_and(|least| *probability >= least));
        Self { n, pairs }
    }

    /// How many values it is for.
    pub fn values(&self) -> usize {
        self.n
    }

    /// The medians of resamples of these values, ascending. `None` where there are not as many as the law is
    /// for, or one is not finite.
    pub fn medians(&self, values: &[f64]) -> Option<Vec<Mass>> {
        if values.len() != self.n || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let values = sorted(values);
        let mass = |&(low, high, probability): &(u32, u32, f64)| Mass {
            value: (values[low as usize] + values[high as usize]) / 2.0,
            probability,
        };
        let mut all: Vec<Mass> = self.pairs.iter().map(mass).collect();
        all.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
        all.dedup_by(|next, kept| {
            let same = next.value == kept.value;
            kept.probability += if same { next.probability } else { 0.0 };
            same
        });

        Some(all)
    }
}

/// The probability that the (lower) middle value of a resample of `n` has at most this rank, 1 first.
fn below(n: usize, rank: usize) -> f64 {
    let middle = n.div_ceil(2);
    match rank {
        0 => 0.0,
        rank if rank == n => 1.0,
        rank => beta_reg(middle as f64, (n - middle + 1) as f64, rank as f64 / n as f64),
    }
}

/// The probability that the middle two of a resample of an even `n` have the ranks `low` < `high`: half of
/// the draws are at most `low` and one is that, the other half at least `high` and one is that.
fn apart_by(n: usize, low: usize, high: usize) -> f64 {
    let (half, n_f) = (n / 2, n as f64);
    // x^half - (x - 1/n)^half, as exp of logarithms: the powers themselves are too small for a float.
    let step = |rank: usize| -> f64 {
        let (rank, half) = (rank as f64, half as f64);
        let whole = half * (rank / n_f).ln();
        whole + (-(half * (-1.0 / rank).ln_1p()).exp_m1()).ln()
    };
    (ln_binomial(n as u64, half as u64) + step(low) + step(n - high + 1)).exp()
}

/// The percentile interval of the ratio of the medians of resamples: those of the second over those of the
/// first, all positive. `None` without medians.
pub fn ratio_interval(first: &[Mass], second: &[Mass], confidence: f64) -> Option<Interval> {
    let tail = (1.0 - confidence) / 2.0;
    let low = quantile(first, second, tail)?;
    let high = quantile(first, second, 1.0 - tail)?;
    Some(Interval { low, high, confidence })
}

/// The percentile interval of a median itself, from the medians of resamples. `None` without any.
pub fn median_interval(medians: &[Mass], confidence: f64) -> Option<Interval> {
    let all: f64 = medians.iter().map(|mass| mass.probability).sum();
    let at = |q: f64| {
        let mut below = 0.0;
        let reached = medians.iter().find(|mass| {
            below += mass.probability;
            below >= q * all
        });
        reached.or(medians.last()).map(|mass| mass.value)
    };
    let tail = (1.0 - confidence) / 2.0;
    Some(Interval { low: at(tail)?, high: at(1.0 - tail)?, confidence })
}

/// The smallest ratio that is reached with at least this probability: the range in which it lies is halved
/// until few ratios are left, which are put in order.
fn quantile(first: &[Mass], second: &[Mass], q: f64) -> Option<f64> {
    let mut below = second.first()?.value / first.last()?.value;
    let mut at_least = second.last()?.value / first.first()?.value;
    let all: f64 = first.iter().chain(second).map(|mass| mass.probability).sum::<f64>() / 2.0;
    let wanted = q * all * all;
    let mut under = reached(first, second, below);
    if under.probability >= wanted {
        return Some(below);
    }
    let mut over = reached(first, second, at_least);

    while over.ratios - under.ratios > FEW_RATIOS {
        let middle = below + (at_least - below) / 2.0;
        if middle <= below || middle >= at_least {
            // No float lies between.
            break;
        }
        let found = reached(first, second, middle);
        if found.probability >= wanted {
            (at_least, over) = (middle, found);
        } else {
            (below, under) = (middle, found);
        }
    }

    let mut left = ratios_between(first, second, below, at_least);
    left.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
    let mut so_far = under.probability;
    let reaches = left.iter().find(|ratio| {
        so_far += ratio.probability;
        so_far >= wanted
    });

    // Rounding can leave the last one just short.
    reaches.or(left.last()).map(|ratio| ratio.value).or(Some(at_least))
}

/// How likely a ratio is at most so large, and how many pairs of medians have such a one.
#[derive(Clone, Copy)]
struct Reached {
    probability: f64,
    ratios: usize,
}

/// What is reached by `ratio`: one walk, because the medians ascend.
fn reached(first: &[Mass], second: &[Mass], ratio: f64) -> Reached {
    let (mut at, mut so_far, mut probability, mut ratios) = (0, 0.0, 0.0, 0);
    for mass in first {
        while let Some(next) = second.get(at).filter(|next| next.value <= ratio * mass.value) {
            so_far += next.probability;
            at += 1;
        }
        probability += mass.probability * so_far;
        ratios += at;
    }
    Reached { probability, ratios }
}

/// The ratios above `below` and up to `at_least`, in no order.
fn ratios_between(first: &[Mass], second: &[Mass], below: f64, at_least: f64) -> Vec<Mass> {
    let (mut from, mut to, mut found) = (0, 0, Vec::new());
    let up_to = |mut at: usize, limit: f64| {
        while second.get(at).is_some_and(|next| next.value <= limit) {
            at += 1;
        }
        at
    };

    for mass in first {
        from = up_to(from, below * mass.value);
        to = up_to(to, at_least * mass.value);
        let ratio = |other: &Mass| Mass {
            value: other.value / mass.value,
            probability: other.probability * mass.probability,
        };
        found.extend(second[from..to.max(from)].iter().map(ratio));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::median;
    use crate::noise;
    use crate::random::SplitMix64;

    #[test]
    fn the_law_is_that_of_counting_every_resample() {
        // All n^n resamples of 3, 4 and 5 values, each as likely as the others.
        for n in [1_usize, 2, 3, 4, 5] {
            let values: Vec<f64> = (0..n).map(|at| 1.5_f64.powi(at as i32)).collect();
            let mut counted: Vec<f64> = (0..n.pow(n as u32))
                .filter_map(|resample| {
                    let draws: Vec<f64> = (0..n).map(|at| values[resample / n.pow(at as u32) % n]).collect();
                    median(&draws)
                })
                .collect();
            counted.sort_unstable_by(f64::total_cmp);
            let medians = MedianLaw::of(n).medians(&values).unwrap_or_default();
            let groups: Vec<&[f64]> = counted.chunk_by(|a, b| a == b).collect();
            assert_eq!(medians.len(), groups.len(), "{n}");
            for (mass, group) in medians.iter().zip(groups) {
                let want = group.len() as f64 / counted.len() as f64;
                assert!(
                    (mass.probability - want).abs() < 1e-12 && mass.value == group[0],
                    "{n}: {mass:?}, not {want}"
                );
            }
        }
    }

    #[test]
    fn probabilities_add_up_to_one_for_few_values_and_for_many() {
        for n in [1, 2, 6, 7, 50, 100, 101, 1000, 3000] {
            let sum: f64 = MedianLaw::of(n).pairs.iter().map(|(.., probability)| probability).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{n}: {sum}");
        }
    }

    #[test]
    fn the_interval_is_what_ever_more_resamples_approach() -> Result<(), String> {
        // scipy.stats.bootstrap((A, B), median(b) / median(a), n_resamples=100000, method="percentile"), any
        // seed.
        let a = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2];
        let b = [10.6, 10.9, 10.25, 10.7, 11.0, 10.5];
        let of = |values: &[f64]| MedianLaw::of(values.len()).medians(values).ok_or("no medians");
        let got = ratio_interval(&of(&a)?, &of(&b)?, 0.95).ok_or("no interval")?;
        assert!(
            (got.low - 1.0194174757281553).abs() < 1e-12 && (got.high - 1.090909090909091).abs() < 1e-12,
            "{got:?}"
        );
        Ok(())
    }

    #[test]
    fn its_ends_are_those_of_putting_every_ratio_in_order() -> Result<(), String> {
        let mut random = SplitMix64::new(11);
        for (n, spread) in [(7, 0.2), (20, 0.01), (100, 0.004), (100, 1e-14), (101, 0.0)] {
            let law = MedianLaw::of(n);
            let mut medians = |center: f64| {
                let values: Vec<f64> =
                    (0..n).map(|_| center * (1.0 + spread * noise::normal(&mut random))).collect();
                law.medians(&values).ok_or("no medians")
            };
            let (first, second) = (medians(100.0)?, medians(97.0)?);
            let mut all: Vec<(f64, f64)> = Vec::new();
            for a in &first {
                all.extend(second.iter().map(|b| (b.value / a.value, a.probability * b.probability)));
            }
            all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let whole: f64 = all.iter().map(|(_, probability)| probability).sum();
            let end = |q: f64| {
                let mut so_far = 0.0;
                let mut reaches = all.iter().skip_while(|(_, probability)| {
                    so_far += probability;
                    so_far < q * whole
                });
                reaches.next().map_or(f64::NAN, |(ratio, _)| *ratio)
            };
            let got = ratio_interval(&first, &second, 0.95).ok_or("no interval")?;
            let (low, high) = (end(0.025), end(0.975));
            let close = |got: f64, want: f64| (got / want - 1.0).abs() < 1e-9;
            assert!(close(got.low, low) && close(got.high, high), "{n}: {got:?}, not {low} to {high}");
        }

        Ok(())
    }

    #[test]
    fn it_holds_the_true_ratio_about_as_often_as_it_says() {
        let mut random = SplitMix64::new(9);
        for n in [10, 30] {
            let law = MedianLaw::of(n);
            let mut draws = |center: f64| -> Vec<f64> {
                (0..n).map(|_| center * (1.0 + 0.02 * noise::normal(&mut random))).collect()
            };
            let held = (0..1000)
                .filter(|_| {
                    let (a, b) = (law.medians(&draws(100.0)), law.medians(&draws(97.0)));
                    let interval = a.zip(b).and_then(|(a, b)| ratio_interval(&a, &b, 0.95));
                    interval.is_some_and(|interval| interval.contains(0.97))
                })
                .count();
            // The percentile interval of a median is known to be somewhat wide for few values (Efron 1993,
            // section 14).
            assert!((935..=995).contains(&held), "n = {n}: {held} of 1000");
        }
    }

    #[test]
    fn the_interval_of_a_median_is_what_ever_more_resamples_approach() -> Result<(), String> {
        // 200,000 resamples drawn with Python's random.choices, any seed.
        let a = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2];
        let medians = MedianLaw::of(7).medians(&a).ok_or("no medians")?;
        let got = median_interval(&medians, 0.95).ok_or("no interval")?;
        assert_eq!((got.low, got.high), (9.9, 10.3));
        assert_eq!(median_interval(&[], 0.95), None);
        Ok(())
    }

    #[test]
    fn a_law_is_for_as_many_values_as_it_says() {
        assert_eq!(MedianLaw::of(3).medians(&[1.0, 2.0]), None);
        assert_eq!(MedianLaw::of(2).medians(&[1.0, f64::NAN]), None);
        assert_eq!(MedianLaw::of(0).medians(&[]), Some(Vec::new()));
        assert_eq!(ratio_interval(&[], &[], 0.95), None);
    }
}
