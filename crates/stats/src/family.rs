//! Many cases tested at once, each by a few values: which of them differ, with a chance of at most 5 % of even one false claim.
//!
//! A correction for many tests asks each of them for a very small p, and no test of one case alone can give that from a handful of values and be right whatever the
//! noise. Three against three end at 0.1 by rank; Student's t of them ends nowhere, but says 0.001 of two modes that happen to be sorted, and asks for differences of
//! a hundred standard errors where there are a thousand cases. So a case differs in one of two ways, each of which is safe by itself:
//!
//! * **by its own values**: Student's t and ranks must both say so, at Holm's step over all cases. Ranks hold whatever the noise where both sides have the same; t holds
//!   where spreads differ. A case whose ranks cannot reach the step is no member, and costs the others nothing;
//! * **beside the other cases**: the difference is larger than anything that the *second widest spread* of all cases, on each side, could make in as many cases (the
//!   normal quantile), and Student's t of the case itself, with Welch's degrees of freedom, says so as one of [`NOISIER`]. The first part covers all cases that are at most so noisy as the spread says,
//!   the second those few that may be noisier: of cases with a spread above it, a third or more would show one above it too, and there is only one. It has no floor, so that
//!   half the rate is found with three values a side among a thousand cases. The second widest and not the widest, so that one disturbed case does not blind all.
//!   Where a side has a single value it is the widest, and Student's law with few degrees of freedom: nothing shows that the value is none of a heavy tail.
//!
//! Each way gets half of the 5 % where there are more than [`NOISIER`] cases and both are open; with fewer, both ask for Student's t over all cases, so that
//! together they claim no more than that does. What is not covered: more than one case of a kind of noise that none of its own values shows (two modes in two values).
//!
//! **Values that follow each other** hang together where the machine wanders: three runs of one minute are worth less than three. How much, all cases tell together
//! (`neighbours`), around what they share at each moment; and from six values on with what they share, which is one series however many cases have it. Errors and their
//! degrees of freedom are those of series so correlated (`wandering`). Left out: what all cases share in five runs and fewer.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::alpha::ALPHA;
use crate::holm::holm;
use crate::interval::{mean, median};
use crate::mann_whitney::{mann_whitney_p, smallest_p};
use crate::neighbours::Neighbours;
use crate::t_ratio::{Distance, Logs, error};
use crate::wandering::Wandering;

/// As one of so many cases a case must differ by its own spread, where the spread of the others speaks for it. Above the second widest spread there are by chance at
/// most three times as many true ones (with m cases wider than it, at most one of which shows it: m·P ≤ 2.1 for three values a side, 2.5 for two), and they have half of the level.
pub const NOISIER: usize = 6;

/// The spread of so manieth case from the widest stands for all.
const WIDEST: usize = 2;

/// Of so many cases it is seen what they share at each moment.
const SEVERAL: usize = 8;

/// Of so many values on a side it is seen whether what the cases share wanders too: that is one series, and of a short one nothing is seen.
const LONG: usize = 6;

/// How many standard errors too high the correlation is taken where others speak for the spread of a case: of five values and more where they show that they hang together, of four
/// in any case, and not of three, with which half the rate would be missed among cases of unequal spread.
const ALLOWANCE: f64 = 2.0;

/// By so many standard errors above none they show that they do. With one, a sixth of all comparisons of independent runs took them for correlated, and five runs a side of eight cases
/// found 5 % in nine of ten.
const SHOWN: f64 = 2.0;

/// How many standard errors too high it is taken where five values and more do not show it.
const NOT_SHOWN: f64 = 0.5;

/// The degrees of freedom of the law by which a single value is held to be beside the spread of others: nothing shows that it is normal.
const OF_A_SINGLE: f64 = 8.0;

/// A stronger correlation from value to value than series of so many can be held to is taken for this one. Where others speak for the spread of a case: 0.7 of three values, 0.85
/// of more. With fewer cases nothing but their own few values speaks for them, and at 0.9 five values a side are worth so little that half the rate, with 2 % from run to run, would
/// be no finding: 0.4 of up to five values, 0.85 from thirteen on, rising slowly, so that more values never find less.
fn strongest(longest: usize, cases: usize) -> f64 {
    let (least, up_to, a_value) = if cases > NOISIER { (0.7, 3, 0.15) } else { (0.4, 5, 0.06) };
    (least + a_value * longest.saturating_sub(up_to) as f64).min(0.85)
}

/// What is known of one case.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyTest {
    /// A p-value that needs nothing else, and has no floor.
    Alone(f64),
    /// The values of both sides.
    Values(Values),
}

/// Two sides of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// The logarithms of each side, in the order measured.
    series: [Vec<f64>; 2],
    sides: [Logs; 2],
    distance: Distance,
    own: f64,
    /// The distance and its p-value where other cases speak for its error: known as well as from values that do not hang together, by Welch's degrees of freedom.
    beside: (Distance, f64),
    ranks: f64,
}

impl Values {
    /// Of the values themselves, in the order measured. `None` with fewer than two a side, or one against three, or one that is not positive and finite.
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        let sides = Logs::of_sides(a, b)?;
        let distance = Distance::between(&sides[0], &sides[1])?;
        let series = [a, b].map(|side| side.iter().map(|value| value.ln()).collect());
        let own = distance.p_value()?;
        let beside = distance.welch(&sides[0], &sides[1]);
        Some(Self { series, sides, distance, own, beside: (beside, beside.p_value()?), ranks: mann_whitney_p(a, b)? })
    }

    /// The same where values hang together so.
    fn wandering(&self, law: &Wandering) -> Self {
        let sides = self.sides.map(|side| side.wandering(law));
        let distance = Distance::between(&sides[0], &sides[1]).unwrap_or(self.distance);
        let p_value = |distance: &Distance| distance.p_value().unwrap_or(1.0);
        let beside = distance.known_as(&self.beside.0);
        Self { sides, distance, own: p_value(&distance), beside: (beside, p_value(&beside)), ..self.clone() }
    }

    /// The p-value of Student's t, for this case alone.
    pub fn p_value(&self) -> f64 {
        self.own
    }
}

/// A family of cases, ready to be judged.
#[derive(Clone, Debug)]
pub struct Family {
    tests: Vec<FamilyTest>,
    /// How far an interval of each test reaches, over that of independent values.
    stretch: Vec<f64>,
    /// The widest spread of each side but one.
    spread: [Option<f64>; 2],
    /// Whether a side of a case is a single value.
    single: bool,
    /// How many ways share the level.
    ways: f64,
}

impl Family {
    /// The family of these cases.
    pub fn of(given: &[FamilyTest]) -> Self {
        let (mut tests, mut stretch) = (given.to_vec(), vec![1.0; given.len()]);
        let correlation = correlation(given);
        if correlation > 0.0 {
            let law = Wandering::of(longest(given), correlation);
            for (test, stretch) in tests.iter_mut().zip(&mut stretch) {
                if let FamilyTest::Values(values) = test {
                    let wandering = values.wandering(&law);
                    *stretch = reach_over(&wandering, values).unwrap_or(1.0);
                    *values = wandering;
                }
            }
        }
        let values =
            || tests.iter().filter_map(|test| if let FamilyTest::Values(values) = test { Some(values) } else { None });
        // A single value is not seen to be a hit; the widest spread of the others' is what one makes.
        let single = values().any(|values| values.sides.iter().any(|side| side.count < 2));
        let spread = [0, 1].map(|side| {
            let mut all: Vec<f64> = values().filter_map(|values| values.sides[side].deviation).collect();
            all.sort_unstable_by(|a, b| b.total_cmp(a));
            all.get(if single { 0 } else { WIDEST - 1 }).or(all.first()).copied()
        });
        let both = values().next().is_some() && tests.len() > NOISIER;
        let mut family = Self { tests, stretch, spread, single, ways: 1.0 };
        family.ways = if both && family.tests.iter().any(|test| family.is_member(test, 2.0)) { 2.0 } else { 1.0 };
        family
    }

    /// Whether a case can be found by its own values where so many ways share the level.
    fn is_member(&self, test: &FamilyTest, ways: f64) -> bool {
        match test {
            FamilyTest::Alone(_) => true,
            FamilyTest::Values(Values { sides: [a, b], .. }) => {
                smallest_p(a.count, b.count) * self.tests.len() as f64 * ways < ALPHA
            }
        }
    }

    /// The p-value of the test at `at`, alone.
    pub fn p_value(&self, at: usize) -> f64 {
        match &self.tests[at] {
            FamilyTest::Alone(p_value) => *p_value,
            FamilyTest::Values(values) => values.own,
        }
    }

    /// How many times as far as that of independent values the interval of the case at `at` reaches: 1 and more.
    pub fn stretch(&self, at: usize) -> f64 {
        self.stretch[at]
    }

    /// The adjusted p-values, in the order given: below 0.05 is a finding at 5 % for the family.
    pub fn adjusted(&self) -> Vec<f64> {
        let members: Vec<usize> =
            (0..self.tests.len()).filter(|at| self.is_member(&self.tests[*at], self.ways)).collect();
        let p_values: Vec<f64> = members.iter().map(|at| by_itself(&self.tests[*at])).collect();
        let mut adjusted: Vec<f64> = self.tests.iter().map(|test| self.beside_others(test)).collect();
        for (at, p_value) in members.into_iter().zip(holm(&p_values)) {
            adjusted[at] = adjusted[at].min(self.ways * p_value);
        }
        adjusted.into_iter().map(|p_value| p_value.min(1.0)).collect()
    }

    fn beside_others(&self, test: &FamilyTest) -> f64 {
        let FamilyTest::Values(values) = test else { return 1.0 };
        let (own, all) = self.shares();
        let Some(error) = error([&values.sides[0], &values.sides[1]], self.spread) else { return 1.0 };
        let difference = values.distance.difference.abs();
        let of_all = match (error > 0.0, difference > 0.0) {
            (true, _) => self.beyond_spread(difference / error),
            (false, differs) => f64::from(u8::from(!differs)),
        };
        let of_case = if self.has_others() { values.beside.1 } else { values.own };
        (of_case / own).max(of_all / all)
    }

    /// The two-sided p-value of so many deviations of the spread of all.
    fn beyond_spread(&self, deviations: f64) -> f64 {
        of_a_single(self.single).map_or_else(|| normal_p(deviations), |law| 2.0 * law.sf(deviations.abs()))
    }

    /// The deviations of such a p-value.
    fn deviations(&self, p_value: f64) -> f64 {
        let low = p_value / 2.0;
        -of_a_single(self.single).map_or_else(|| Normal::standard().inverse_cdf(low), |law| law.inverse_cdf(low))
    }

    /// Whether there are so many cases that others speak for the spread of one.
    fn has_others(&self) -> bool {
        self.tests.len() > NOISIER
    }

    /// The parts of the level that a case's own spread and the spread of all have, over 5 %.
    fn shares(&self) -> (f64, f64) {
        let cases = self.tests.len();
        if !self.has_others() {
            return (1.0 / cases as f64, 1.0 / cases as f64);
        }
        (1.0 / (NOISIER as f64 * self.ways), 1.0 / (2.0 * cases as f64 * self.ways))
    }

    /// The standard error of the difference of the case at `at`; `None` of a p-value alone.
    pub fn error(&self, at: usize) -> Option<f64> {
        if let FamilyTest::Values(values) = &self.tests[at] { Some(values.distance.error) } else { None }
    }

    /// The smallest difference of logarithms of the case at `at` that would be a finding, its spread and the others' being what they are; `None` of a p-value alone.
    pub fn detectable(&self, at: usize) -> Option<f64> {
        let FamilyTest::Values(values) = &self.tests[at] else { return None };
        let (own, all) = self.shares();
        let error = error([&values.sides[0], &values.sides[1]], self.spread)?;
        let distance = if self.has_others() { values.beside.0 } else { values.distance };
        let beside = distance.reach(ALPHA * own)?.max(self.deviations(ALPHA * all) * error);
        if !self.is_member(&self.tests[at], self.ways) {
            return Some(beside);
        }
        let members = self.tests.iter().filter(|test| self.is_member(test, self.ways)).count();
        let by_itself = values.distance.reach(ALPHA / (self.ways * members as f64))?;
        Some(beside.min(by_itself))
    }
}

fn of_a_single(single: bool) -> Option<StudentsT> {
    single.then(|| StudentsT::new(0.0, 1.0, OF_A_SINGLE).ok()).flatten()
}

/// How many values the longest side has.
fn longest(tests: &[FamilyTest]) -> usize {
    let count = |test: &FamilyTest| {
        if let FamilyTest::Values(values) = test { values.series[0].len().max(values.series[1].len()) } else { 0 }
    };
    tests.iter().map(count).max().unwrap_or(0)
}

/// How far the interval of one reaches over that of the other; `None` where nothing scatters.
fn reach_over(one: &Values, other: &Values) -> Option<f64> {
    let (one, other) = (one.distance.reach(ALPHA)?, other.distance.reach(ALPHA)?);
    (other > 0.0).then_some((one / other).max(1.0))
}

/// How much values of one case that follow each other hang together, as all cases show it.
fn correlation(tests: &[FamilyTest]) -> f64 {
    let mut alike: BTreeMap<(usize, usize), Vec<Vec<f64>>> = BTreeMap::new();
    for test in tests {
        let FamilyTest::Values(values) = test else { continue };
        for (side, series) in values.series.iter().enumerate().filter(|(_, series)| series.len() > 2) {
            let mean = mean(series);
            alike.entry((side, series.len())).or_default().push(series.iter().map(|log| log - mean).collect());
        }
    }
    let (mut own, mut all) = (Neighbours::default(), Neighbours::default());
    for ((_, count), mut cases) in alike {
        let squares = |case: &[f64]| case.iter().map(|log| log * log).sum::<f64>();
        let middling = median(&cases.iter().map(|case| squares(case)).collect::<Vec<_>>()).unwrap_or(0.0);
        // A noisy case counts as a middling one, and a quiet one by what it is: over its own deviation a short series shows less than there is.
        for case in &mut cases {
            let scale = (squares(case) + middling).sqrt();
            // What rounding leaves of equal values tells nothing.
            case.iter_mut().for_each(|log| *log = if scale > 1e-12 { *log / scale } else { 0.0 });
        }
        if count >= LONG {
            cases.iter().for_each(|case| all.add(case));
        }
        if cases.len() >= SEVERAL {
            for at in 0..count {
                let shared = cases.iter().map(|case| case[at]).sum::<f64>() / cases.len() as f64;
                cases.iter_mut().for_each(|case| case[at] -= shared);
            }
        }
        cases.iter().for_each(|case| own.add(case));
    }
    let likely = |of: &Neighbours| {
        let is_shown = || of.likely(-SHOWN).is_some_and(|least| least > 0.0);
        let too_high = match longest(tests) {
            _ if tests.len() <= NOISIER => 0.0,
            ..4 => 0.0,
            4 => ALLOWANCE,
            _ if is_shown() => ALLOWANCE,
            _ => NOT_SHOWN,
        };
        of.likely(too_high).unwrap_or(0.0)
    };
    likely(&own).max(likely(&all)).min(strongest(longest(tests), tests.len()))
}

/// The adjusted p-values of many tests, each by itself (Holm) or beside the others: `own` of the test alone, and `of_all` of its difference over the second widest error, where
/// there is one. For tests whose own errors have degrees of freedom enough; half of the level for each way, and half of the second way's for each of its two parts.
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

fn by_itself(test: &FamilyTest) -> f64 {
    match test {
        FamilyTest::Alone(p_value) => *p_value,
        FamilyTest::Values(values) => values.own.max(values.ranks),
    }
}

#[cfg(test)]
mod tests;
