//! What the spreads of many cases tell of each: the moderated variance of Smyth ("Linear models and empirical
//! Bayes methods for assessing differential expression in microarray experiments", 2004), as in limma.
//!
//! Three runs tell their own spread badly, and a test of them alone finds nothing among many cases. The
//! variances of all cases of a comparison are taken to come from one law, a scaled inverse chi-squared one,
//! whose centre and degrees of freedom are fitted to the logarithms of the variances seen. A case's variance
//! is then the mean of its own and the law's centre, each with its degrees of freedom. Alike cases lend each
//! other much, unlike ones little.
//!
//! Each side has a centre of its own, since a side may be noisier as a whole; both share the degrees of
//! freedom. How much the cases differ is taken one standard error too high, so that a handful of cases which
//! look alike by chance do not vouch for each other.

use statrs::function::gamma::digamma;

use crate::interval::{mean, median};
use crate::trigamma::{inverse_trigamma, trigamma};

/// A variance below this part of the middling one counts as that part: the logarithm of a variance of 0 has
/// no end.
const LEAST_PART: f64 = 1e-5;

/// Fewer differences of spreads than those of four cases with two sides do not tell how alike cases are.
const LEAST_DIFFERENCES: f64 = 6.0;

/// A spread of so many degrees of freedom is not made smaller by those of other cases.
const KNOWN_FREEDOM: f64 = 3.0;

/// A variance and the degrees of freedom that it is known with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The variance of a value.
    pub variance: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// The law that the variances of all cases come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpreadPrior {
    /// Degrees of freedom that it is worth: 0 where cases tell nothing of each other.
    pub freedom: f64,
    /// The centre of each side.
    pub variance: [f64; 2],
}

impl SpreadPrior {
    /// The law of the spreads seen, by side.
    pub fn of(seen: [&[Spread]; 2]) -> Self {
        let none = Self { freedom: 0.0, variance: [0.0; 2] };
        let all = || seen.iter().copied().flatten();
        let variances: Vec<f64> =
            all().map(|spread| spread.variance).filter(|variance| *variance > 0.0).collect();
        let Some(middling) = median(&variances) else { return none };

        // The logarithm of a variance less what its degrees of freedom take away from it on average.
        let log = |spread: &Spread| {
            let variance = spread.variance.max(LEAST_PART * middling);
            variance.ln() - digamma(spread.freedom / 2.0) + (spread.freedom / 2.0).ln()
        };
        let logs = seen.map(|side| side.iter().map(log).collect::<Vec<f64>>());
        let centres =
            [0, 1].map(|side| mean(if logs[side].is_empty() { &logs[1 - side] } else { &logs[side] }));
        let sides = logs.iter().filter(|side| !side.is_empty()).count();
        let differences = (logs[0].len() + logs[1].len()) as f64 - sides as f64;
        if differences < LEAST_DIFFERENCES {
            return none;
        }

        // How much these logarithms differ beyond what their degrees of freedom do, and the error of that.
        let squares: f64 =
            (0..2).map(|side| logs[side].iter().map(|log| (log - centres[side]).powi(2)).sum::<f64>()).sum();
        let expected: Vec<f64> = all().map(|spread| trigamma(spread.freedom / 2.0)).collect();
        let fourth: Vec<f64> = all().map(|spread| pentagamma(spread.freedom / 2.0)).collect();
        let expected = mean(&expected);
        let error = ((mean(&fourth) + 2.0 * expected * expected) / differences).sqrt();
        let beyond = squares / differences - expected + error;

        // Never worth more than all the spreads together.
        let together: f64 = all().map(|spread| spread.freedom).sum();
        let freedom = if beyond > 0.0 { (2.0 * inverse_trigamma(beyond)).min(together) } else { together };
        let of_centre = digamma(freedom / 2.0) - (freedom / 2.0).ln();
        Self { freedom, variance: centres.map(|centre| (centre + of_centre).exp()) }
    }

    /// A case's spread beside the others'. Of a single value only the others' is known.
    pub fn moderated(&self, side: usize, own: Option<Spread>) -> Option<Spread> {
        let own = own.unwrap_or(Spread { variance: 0.0, freedom: 0.0 });
        let freedom = self.freedom + own.freedom;
        let squares = self.freedom * self.variance[side] + own.freedom * own.variance;
        // Lent calm is no proof of calm: a case that scatters more than the others keeps its own spread, from
        // four values on. Three tell theirs too badly.
        let least = if own.freedom >= KNOWN_FREEDOM { own.variance } else { 0.0 };
        let variance = (squares / freedom).max(least);
        (freedom > 0.0).then_some(Spread { variance, freedom })
    }
}

/// The fourth derivative of the logarithm of the gamma function: what the logarithm's fourth moment has
/// beyond that of a normal law.
fn pentagamma(x: f64) -> f64 {
    let (mut sum, mut x) = (0.0, x);
    while x < 8.0 {
        sum += 6.0 * x.powi(-4);
        x += 1.0;
    }
    let square = x.powi(-2);
    sum + square / x * (2.0 + 3.0 / x + square * (2.0 - square * (1.0 - square * 4.0 / 3.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn other_cases_make_a_case_surer_and_none_of_four_values_calmer() {
        let prior = SpreadPrior { freedom: 6.0, variance: [1.0; 2] };
        let moderated = |variance, freedom| prior.moderated(0, Some(Spread { variance, freedom }));
        assert_eq!(moderated(25.0, 3.0), Some(Spread { variance: 25.0, freedom: 9.0 }));
        assert_eq!(moderated(0.1, 3.0), Some(Spread { variance: 6.3 / 9.0, freedom: 9.0 }));
        // Three values tell their spread too badly to stand by it.
        assert_eq!(moderated(25.0, 2.0), Some(Spread { variance: 7.0, freedom: 8.0 }));
    }

    #[test]
    fn the_fourth_derivative_of_the_gamma_function_is_scipys() {
        // scipy.special.polygamma(3, x) at 0.5, 1, 2.5 and 30.
        for (x, value) in [
            (0.5, 97.409_091_034_002_42),
            (1.0, 6.493_939_402_266_829),
            (2.5, 0.223_905_848_817_252_1),
            (30.0, 7.786_003_664_736_127e-5),
        ] {
            assert!((pentagamma(x) / value - 1.0).abs() < 1e-6, "{x}: {}", pentagamma(x));
        }
    }

    /// The prior of so many cases with three runs a side whose deviations scatter by this (logarithm).
    fn prior(random: &mut SplitMix64, cases: usize, unlike: f64) -> SpreadPrior {
        let mut side = || -> Vec<Spread> {
            let case = |_| {
                let scale = (2.0 * unlike * random.normal()).exp() * 1e-4;
                Spread { variance: scale * random.chi_squared(2.0) / 2.0, freedom: 2.0 }
            };
            (0..cases).map(case).collect()
        };
        let (a, b) = (side(), side());
        SpreadPrior::of([&a, &b])
    }

    #[test]
    fn alike_cases_lend_each_other_much_and_unlike_ones_little() {
        let mut random = SplitMix64::new(3);
        let mut middling = |cases, unlike| {
            let freedoms: Vec<f64> = (0..200).map(|_| prior(&mut random, cases, unlike).freedom).collect();
            median(&freedoms).unwrap_or(f64::NAN)
        };
        let (alike, unlike, few) = (middling(40, 0.0), middling(40, 1.0), middling(4, 0.0));
        assert!(alike > 6.0 && unlike < 2.0 && few < alike, "{alike} {unlike} {few}");
        let law = prior(&mut random, 400, 0.0);
        assert!(
            (law.variance[0] / 1e-4 - 1.0).abs() < 0.2 && (law.variance[1] / 1e-4 - 1.0).abs() < 0.2,
            "{law:?}"
        );
    }

    #[test]
    fn one_case_has_nobody_to_borrow_from() {
        let own = Spread { variance: 4.0, freedom: 2.0 };
        let law = SpreadPrior::of([&[own], &[own]]);
        assert_eq!(
            (law.freedom, law.moderated(0, Some(own)), law.moderated(0, None)),
            (0.0, Some(own), None)
        );
        assert_eq!(SpreadPrior::of([&[], &[]]).freedom, 0.0);
        let still = Spread { variance: 0.0, freedom: 2.0 };
        assert_eq!(SpreadPrior::of([&[still; 4], &[still; 4]]).freedom, 0.0, "nothing scatters");
    }
}
