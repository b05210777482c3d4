//! Two sides of a few runs, for many cases at once: which cases changed, with a chance of at most 5 % of even
//! one false claim.
//!
//! Each case is tested by Welch's t of its mean logarithms ("The generalization of Student's problem", 1947),
//! with the moderated variances of `spread_prior`; Holm's correction covers all cases. A finding needs two
//! more things that no t shows: three runs on each side, and few enough other cases whose runs fall into two
//! modes as far apart, so that modes are no likely reason (`run_modes`).
//!
//! Runs of one side that follow each other hang together where the machine wanders; how much is taken from
//! all cases (`run_correlation`). Sides that took turns share what the machine did, and need none of that.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::alpha::ALPHA;
use crate::holm::holm;
use crate::interval::mean;
use crate::log_mean::LogMean;
use crate::run_correlation::correlation;
use crate::run_modes::{ModesSeen, TwoModes, sorted_by_chance, strays};
use crate::spread_prior::{Spread, SpreadPrior};
use crate::wandering::Wandering;

/// A single value is held against so many others at least.
const LEAST_OTHERS: usize = 3;

/// With fewer runs on one side a change is never found. One or two do not show what befell that side alone: a
/// step of the machine between two turns, one disturbed run. Simulated, one run against seven was called
/// changed in 9 to 12 % of comparisons where runs drift, wander or have heavy tails, two against four in 35 %
/// beside a step.
pub const LEAST_A_SIDE: usize = 3;

/// How much larger a change must be to be found on new runs for what their own spread is seen as: over the
/// number of runs. By calibration.
const NEW_RUNS: f64 = 6.0;

/// One case: its runs on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseRuns {
    /// The logarithms of the runs' figures, by side, in the order measured.
    logs: [Vec<f64>; 2],
    /// What the blocks within one run say; `None` where that is not known.
    blocks: Option<RunBlocks>,
    /// Half of the step in which figures were printed, a fraction of those of a side; 0 of exact ones.
    half_steps: [f64; 2],
}

/// What the blocks within a run of a case say, of a middling run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunBlocks {
    /// How widely they scatter, a fraction.
    pub scatter: f64,
    /// The error of their median, a fraction: runs scatter by that at least, however alike a few look.
    pub error: f64,
}

impl CaseRuns {
    /// Of the figures of both sides, in the order measured. `None` with fewer than two a side, or one against
    /// three, or one that is not positive and finite.
    pub fn of(base: &[f64], new: &[f64], blocks: Option<RunBlocks>) -> Option<Self> {
        let is_figure = |value: &f64| value.is_finite() && *value > 0.0;
        let (fewer, more) = (base.len().min(new.len()), base.len().max(new.len()));
        let is_enough = fewer >= 2 || (fewer == 1 && more >= LEAST_OTHERS);
        (is_enough && base.iter().chain(new).all(is_figure)).then(|| Self {
            logs: [base, new].map(|side| side.iter().map(|value| value.ln()).collect()),
            blocks,
            half_steps: [0.0; 2],
        })
    }

    /// The same of figures that were printed in steps. All runs of a side may be off to the same side, by
    /// half a step, so that more of them tell no more: it is the least error of their mean.
    pub fn printed_in(self, step: f64) -> Self {
        let half = |logs: &Vec<f64>| step / 2.0 / mean(logs).exp();
        Self { half_steps: self.logs.each_ref().map(half), ..self }
    }

    fn sides(&self) -> [&[f64]; 2] {
        [&self.logs[0], &self.logs[1]]
    }

    /// How widely the blocks of a run scatter.
    fn scatter(&self) -> Option<f64> {
        self.blocks.map(|blocks| blocks.scatter)
    }

    /// The variance of a run that its blocks alone make.
    fn least_variance(&self) -> f64 {
        self.blocks.map_or(0.0, |blocks| blocks.error.powi(2))
    }
}

/// What the runs of a case come to, beside all other cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeratedTest {
    /// The new mean logarithm less the base's.
    pub difference: f64,
    /// The standard error of that.
    error: f64,
    /// Its degrees of freedom.
    freedom: f64,
    /// The two-sided p-value of there being none, for this case alone.
    pub p_value: f64,
    /// The same, adjusted for all cases.
    pub p_adjusted: f64,
    /// The chance that modes of runs, and no change, made a difference of this size in some case; 1 where a
    /// side has too few runs to tell.
    pub by_modes: f64,
    /// The difference from which a change on such runs is found in 19 of 20 comparisons; `None` where so few
    /// runs find none.
    pub found_from: Option<f64>,
}

impl ModeratedTest {
    /// How far the 95 % interval reaches to each side of the difference.
    pub fn reach(&self) -> f64 {
        self.distance(ALPHA)
    }

    /// How large a difference must be for this p-value.
    fn distance(&self, p_value: f64) -> f64 {
        // The lower tail: close to 1 a quantile has no digits left.
        law(self.freedom).map_or(f64::INFINITY, |law| -law.inverse_cdf(p_value / 2.0) * self.error)
    }
}

/// Tests all cases together. `in_turns`: the runs of both sides alternated.
pub fn moderated(cases: &[CaseRuns], in_turns: bool) -> Vec<ModeratedTest> {
    let means = means(cases, in_turns);
    let spreads = |side: usize| means.iter().filter_map(|sides| sides[side].spread).collect::<Vec<Spread>>();
    let prior = SpreadPrior::of([&spreads(0), &spreads(1)]);
    let test = |(sides, case): (&[LogMean; 2], &CaseRuns)| test(sides, &prior, cases.len(), case.half_steps);
    let mut tests: Vec<ModeratedTest> = means.iter().zip(cases).map(test).collect();

    let adjusted = holm(&tests.iter().map(|test| test.p_value).collect::<Vec<_>>());
    let modes: Vec<Option<TwoModes>> =
        cases.iter().map(|case| TwoModes::of(case.sides(), case.scatter())).collect();
    let seen = ModesSeen::of(modes.iter().flatten().cloned());
    let mut chances: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
    for (at, (test, p_adjusted)) in tests.iter_mut().zip(adjusted).enumerate() {
        let [base, new] = cases[at].sides().map(<[f64]>::len);
        let own = modes[at].as_ref();
        let arrangement = (base, new, strays(cases[at].sides(), cases[at].scatter()));
        let by_chance = || match arrangement {
            (base, new, _) if base.min(new) < LEAST_A_SIDE => 1.0,
            (base, new, strays) => sorted_by_chance(base, new, strays),
        };
        let sorted = *chances.entry(arrangement).or_insert_with(by_chance);
        test.p_adjusted = p_adjusted;
        test.by_modes = seen.risk(own, test.difference, sorted);

        // What is seen of a change is less than it by so much in one comparison of twenty, and new runs show
        // another spread. Modes of other cases that could be the change hide smaller ones.
        let by_modes = seen.least_found(own, sorted);
        let least = by_modes.map(|least| least.max(test.distance(ALPHA / cases.len() as f64)));
        let seen_less = test.distance(2.0 * ALPHA);
        test.found_from = least.map(|least| (least + seen_less) * (1.0 + NEW_RUNS / (base + new) as f64));
    }
    tests
}

/// The mean logarithm of each side of each case, widened where runs hang together.
fn means(cases: &[CaseRuns], in_turns: bool) -> Vec<[LogMean; 2]> {
    let correlation = if in_turns { 0.0 } else { correlation(cases.iter().map(CaseRuns::sides)) };
    let longest = cases.iter().flat_map(CaseRuns::sides).map(<[f64]>::len).max().unwrap_or(0);
    let wandering = Wandering::of(longest, correlation);
    let of_case = |case: &CaseRuns| {
        let single = case.sides().iter().any(|side| side.len() == 1);
        let mean = |side: &[f64]| {
            let mean = LogMean::of(side, single)?.no_calmer_than(case.least_variance());
            Some(if correlation > 0.0 && mean.count > 1 { mean.wandering(&wandering) } else { mean })
        };
        Some([mean(&case.logs[0])?, mean(&case.logs[1])?])
    };
    cases.iter().filter_map(of_case).collect()
}

/// Welch's t with moderated variances, before the cases are taken together.
///
/// Satterthwaite's degrees of freedom hold at 5 %, and are too many further out, where one side scatters more
/// and is known from few runs: the test is largest where that side looks calm by chance, and then both sides
/// look alike. Among forty cases, three runs against six of five times the spread were called changed in 23 %
/// of comparisons. The smaller of the sides' degrees of freedom always holds. The more `cases`, the further
/// out a finding lies, and the nearer to that one the degrees of freedom are.
fn test(sides: &[LogMean; 2], prior: &SpreadPrior, cases: usize, half_steps: [f64; 2]) -> ModeratedTest {
    // A single value has the spread of the other side: Crawford and Howell's test of a single case (1998), in
    // which the pooled variance counts once.
    let spread = |side: usize| match sides[side].spread {
        Some(own) => prior.moderated(side, Some(own)),
        None => prior.moderated(1 - side, sides[1 - side].spread),
    };
    let none = Spread { variance: 0.0, freedom: 1.0 };
    let spreads = [0, 1].map(|side| spread(side).unwrap_or(none));
    let of_means = [0, 1].map(|side| spreads[side].variance / sides[side].count as f64);

    let variance = of_means[0] + of_means[1];
    let part = |side: usize| of_means[side].powi(2) / spreads[side].freedom;
    let single = (0..2).find(|side| sides[*side].spread.is_none());
    let smaller = spreads[0].freedom.min(spreads[1].freedom);
    let freedom = match single {
        Some(side) => spreads[side].freedom,
        None if variance > 0.0 => {
            let satterthwaite = variance.powi(2) / (part(0) + part(1));
            smaller + (satterthwaite - smaller) / cases as f64
        }
        None => smaller,
    };

    let of_rounding = half_steps.iter().map(|half| half * half).sum::<f64>();
    let (difference, error) = (sides[1].mean - sides[0].mean, (variance + of_rounding).sqrt());
    let p_value = match (error > 0.0, difference.abs() > 0.0) {
        (true, _) => law(freedom).map_or(1.0, |law| (2.0 * law.sf((difference / error).abs())).min(1.0)),
        (false, differs) => f64::from(u8::from(!differs)),
    };
    ModeratedTest {
        difference,
        error,
        freedom,
        p_value,
        p_adjusted: p_value,
        by_modes: 1.0,
        found_from: None,
    }
}

fn law(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(base: &[f64], new: &[f64]) -> Option<ModeratedTest> {
        moderated(&[CaseRuns::of(base, new, None)?], true).first().copied()
    }

    #[test]
    fn one_case_alone_is_welchs_t() -> Result<(), String> {
        // scipy.stats.ttest_ind(numpy.log(A), numpy.log(B), equal_var=False)
        let got = alone(&[1.0, 2.0, 4.0], &[1.5, 2.5, 6.0, 7.0]).ok_or("none")?;
        assert!((got.difference - 0.571_709_184_006_476_6).abs() < 1e-12, "{got:?}");
        assert!((got.p_value - 0.343_670_971_028_470_7).abs() < 1e-9, "{got:?}");
        Ok(())
    }

    #[test]
    fn among_many_cases_the_degrees_of_freedom_are_nearly_those_of_the_smaller_side() {
        let freedom = |cases: usize| {
            let side = |logs: [f64; 4], count: usize| LogMean::of(&logs[..count], false);
            let sides = side([0.0, 0.7, 1.4, 0.0], 3).zip(side([0.4, 0.9, 1.8, 1.9], 4));
            let none = SpreadPrior { freedom: 0.0, variance: [0.0; 2] };
            sides.map_or(f64::NAN, |(base, new)| test(&[base, new], &none, cases, [0.0; 2]).freedom)
        };
        let (one, two, many) = (freedom(1), freedom(2), freedom(1000));
        assert!(
            one > 4.0 && (two - (one + 2.0) / 2.0).abs() < 1e-12 && (many - 2.0) < 0.01,
            "{one} {two} {many}"
        );
    }

    #[test]
    fn runs_that_were_printed_alike_are_no_surer_than_the_last_digit()
    -> Result<(), Box<dyn std::error::Error>> {
        let p_value = |base: &[f64], new: &[f64], step: f64| {
            let cases: Vec<CaseRuns> =
                CaseRuns::of(base, new, None).map(|case| case.printed_in(step)).into_iter().collect();
            moderated(&cases, true).first().map(|test| test.p_value).ok_or("none")
        };
        let one_step = p_value(&[0.18; 3], &[0.19; 3], 0.01)?;
        assert!(one_step > 0.1, "osu_latency in steps of 0.01: {one_step}");
        let many_runs = p_value(&[2.8; 30], &[2.7; 30], 0.1)?;
        assert!(many_runs > 0.1, "more runs are off alike: {many_runs}");
        let many_steps = p_value(&[2.8; 3], &[1.4; 3], 0.1)?;
        assert!(many_steps < 0.01, "half: {many_steps}");
        Ok(())
    }

    #[test]
    fn equal_runs_are_no_calmer_than_their_blocks() -> Result<(), String> {
        let blocks = Some(RunBlocks { scatter: 0.02, error: 0.01 });
        let case = |blocks| CaseRuns::of(&[100.0; 3], &[101.0; 3], blocks);
        let p_value = |blocks| {
            let cases: Vec<CaseRuns> = case(blocks).into_iter().collect();
            moderated(&cases, true).first().map(|test| test.p_value).ok_or("none")
        };
        assert_eq!(p_value(None)?, 0.0);
        assert!(p_value(blocks)? > 0.2, "{}", p_value(blocks)?);
        Ok(())
    }

    #[test]
    fn one_value_against_several_is_students_pooled_t() -> Result<(), String> {
        // scipy.stats.ttest_ind(numpy.log([9.0]), numpy.log(A)).pvalue
        let a = [10.0, 10.1, 9.9, 10.05, 9.95];
        let (got, back) = (alone(&a, &[9.0]).ok_or("none")?, alone(&[9.0], &a).ok_or("none")?);
        assert!((got.p_value - 0.000_262_245_833_151_680_33).abs() < 1e-9, "{got:?}");
        assert!(
            (got.p_value - back.p_value).abs() < 1e-12 && (got.difference + back.difference).abs() < 1e-12
        );
        let like = alone(&a, &[10.08]).ok_or("none")?;
        assert!(like.p_value > 0.3 && like.reach() > like.difference, "{like:?}");
        Ok(())
    }

    #[test]
    fn one_value_is_held_to_all_of_ten_and_not_to_those_that_lie_together() -> Result<(), String> {
        // Of ten runs one is far off, and so may the single one be: Crawford and Howell's t is 1.016, its p
        // by integration of Student's density with nine degrees of freedom.
        let a = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02, 9.98, 10.0, 10.03, 6.0];
        let got = alone(&a, &[8.0]).ok_or("none")?;
        assert!((got.p_value - 0.336_135_021_18).abs() < 1e-9, "{got:?}");
        Ok(())
    }

    #[test]
    fn one_disturbed_value_of_eight_hides_no_change() -> Result<(), String> {
        let quiet = [100.0, 100.2, 99.8, 100.1, 99.9, 100.3, 99.7, 100.0];
        let mut slower = quiet.map(|value| value * 0.95);
        slower[3] = 40.0;
        let found = alone(&quiet, &slower).ok_or("none")?;
        assert!(found.p_value < 1e-4 && found.difference + found.reach() < 0.96_f64.ln(), "{found:?}");
        Ok(())
    }

    #[test]
    fn runs_that_fall_into_two_modes_are_no_change() -> Result<(), String> {
        let (base, new) = ([50.0, 50.1, 49.9, 50.05, 60.0], [60.1, 60.0, 59.9, 60.05, 50.0]);
        let got = alone(&base, &new).ok_or("none")?;
        assert!(got.p_value > 0.05, "{got:?}");
        // Sorted by side they look like a change; jumps of other cases as large tell that they may be none.
        let blocks = Some(RunBlocks { scatter: 0.001, error: 0.0005 });
        let sorted = || CaseRuns::of(&[50.0, 50.1, 49.9], &[60.1, 60.0, 59.9], blocks);
        let mixed = || CaseRuns::of(&[50.0, 60.1, 49.9], &[60.1, 50.0, 59.9], blocks);
        let quiet = || CaseRuns::of(&[50.0, 50.1, 49.9], &[50.1, 50.0, 49.9], blocks);
        let risk = |other: Option<CaseRuns>| {
            let cases: Vec<CaseRuns> = [sorted(), other, quiet()].into_iter().flatten().collect();
            moderated(&cases, false)[0].by_modes
        };
        assert!(risk(quiet()) < ALPHA && risk(mixed()) > ALPHA, "{} {}", risk(quiet()), risk(mixed()));
        Ok(())
    }

    #[test]
    fn too_few_values_and_such_that_are_none_are_not_tested() {
        assert_eq!(CaseRuns::of(&[1.0], &[2.0, 3.0], None), None);
        assert_eq!(CaseRuns::of(&[], &[2.0, 3.0, 4.0], None), None);
        assert_eq!(CaseRuns::of(&[1.0, 0.0], &[2.0, 3.0], None), None);
        let equal =
            alone(&[100.0, 100.0], &[100.0, 100.0]).map(|got| (got.p_value, got.difference, got.reach()));
        assert_eq!(equal, Some((1.0, 0.0, 0.0)));
    }
}
