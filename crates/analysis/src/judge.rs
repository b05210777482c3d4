//! Whether one case got worse: the decision, on numbers alone. 510 lines because its tests hold all four ways of deciding on the same runs.
//!
//! The run is the unit where a side has several: blocks of one run share a moment, a clock and an allocation, and runs differ by more than
//! blocks do. What is compared depends on how many runs there are, because no method serves two runs and twenty:
//!
//! | runs a side | values | ratio and its interval | test |
//! |---|---|---|---|
//! | 6 and more each | a run's median | medians, bootstrap | `stats::family` |
//! | 2 and more each | a run's median | geometric means, Student's t | the same |
//! | 1 against 3 and more | a run's median | geometric means, pooled t (Crawford and Howell 1998) | the same |
//! | 1 against 1 or 2 | blocks | medians, bootstrap | as runs differ by assumption |
//! | 5 and fewer, not decided so | blocks of all runs | the same | the same |
//!
//! All cases are one family (`stats::family`): a case changed where its own values say so at Holm's step, by Student's t and by ranks, or where the change is beyond
//! what the spreads of all cases make. REGRESSED and IMPROVED need an adjusted p below 5 %, an interval that leaves 1 out, and a change of the
//! threshold or more. Where blocks are the values, the data know nothing of how runs differ: the interval is widened as if runs differed by
//! [`RUNS_OVER_BLOCKS`] of what their blocks do, or those of a middling case of the same unit if that is more, and by [`RUN_SPREAD`] at least, and the whole of it must lie
//! beyond the threshold; the p-value is that of runs which differ by [`RUN_SPREAD_AT_MOST`] or that part of the blocks. What moves the blocks of a run moves runs: on
//! a virtual machine with neighbours blocks of host copies scattered by 4 and 10 %, and runs by 3 and 5 (by their quartiles). SAME needs the whole interval within the threshold. Anything else is INCONCLUSIVE.
//!
//! A machine whose runs differ by more than is assumed of single runs, with blocks that do not show it, needs several runs.

use std::collections::BTreeMap;
use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::alpha::ALPHA;
use stats::bootstrap::{MedianLaw, ratio_interval};
use stats::compare::cliffs_delta;
use stats::family::{Family, FamilyTest, Values, normal_p};
use stats::interval::{Interval, deviations, median, quantile};
use stats::t_ratio::t_ratio;

use crate::figure::Unit;

/// From so many values a side on medians are compared; a median's own 95 % interval needs as many.
const FOR_MEDIANS: usize = stats::compare::LEAST_VALUES;

/// The least deviation that runs of one side are taken to have where nobody measured it: with it a change of 5 % is found.
pub const RUN_SPREAD: f64 = 0.005;

/// The deviation of runs by which a change between single runs must be unlikely in as many cases: with 1 % in truth, at most one family in twenty of any
/// number of cases that are equal has one that is called changed. The tenth above it is for what a moment adds to all cases.
const RUN_SPREAD_AT_MOST: f64 = 0.011;

/// The deviation of runs over that of the blocks within one, where blocks scatter by more. Of 186 runs of four cases of host copies on a virtual machine with
/// neighbours it was 0.5 to 0.8 by their quartiles; above that, because blocks of one allocation hang together and show less than there is. With 0.7, where it is the truth, documents of
/// forty cases claimed too much.
const RUNS_OVER_BLOCKS: f64 = 0.9;

/// How much larger a change must be to be found on new runs for what their own spread, and how they hang together, is seen as: over the number of runs. By calibration.
const NEW_RUNS: f64 = 5.0;

/// Fewer cases than this are not worth a thread.
const LEAST_A_THREAD: usize = 64;

/// What a case's values come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Verdict")]
pub enum ChangeVerdict {
    /// The new side is worse by the threshold or more.
    Regressed,
    /// The new side is better by the threshold or more.
    Improved,
    /// They differ by less than the threshold.
    Same,
    /// The data do not decide.
    Inconclusive,
}

/// What the values of a comparison are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A value a run.
    Runs,
    /// A value a block of one or two runs a side: it knows nothing of how runs differ.
    Blocks,
}

/// One case to be judged: what each run's figure and blocks are.
#[derive(Clone, Debug)]
pub struct CasePair {
    /// What the values count.
    pub unit: Unit,
    /// Each base run's median and blocks.
    pub base: Vec<(f64, Vec<f64>)>,
    /// Each new run's.
    pub new: Vec<(f64, Vec<f64>)>,
    /// The change that matters, as a part: 0.03.
    pub threshold: f64,
}

/// A judged case. Ratios are of the new values over the base's, whichever is better.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCase {
    /// What the values were.
    pub basis: Basis,
    /// The base's value: the median over its runs, or over the blocks.
    pub base: f64,
    /// The new one.
    pub new: f64,
    /// How many values the base had.
    pub base_values: usize,
    /// How many values the new side had.
    pub new_values: usize,
    /// The ratio, its interval and the tests; `None` with too few values.
    pub evidence: Option<Evidence>,
    /// The smallest change that would be called one here, a fraction: with these values, this spread, these cases. `None` with too few values.
    pub detectable: Option<f64>,
    /// From what true change on such runs would be called changed in 19 of 20 comparisons, a fraction. `None` with too few values.
    pub found_from: Option<f64>,
    /// What it comes to.
    pub verdict: ChangeVerdict,
}

/// What speaks for a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// New over base.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// Cliff's delta: 1 where every new value is higher than every base value.
    pub effect: f64,
    /// The test's two-sided p-value for this case alone.
    pub p_value: f64,
    /// The same, adjusted for all cases.
    pub p_adjusted: f64,
}

/// Judges all cases of a comparison, which are one family.
pub fn judge(pairs: &[CasePair]) -> Vec<JudgedCase> {
    let all: Vec<(&CasePair, Basis)> = pairs.iter().map(|pair| (pair, pair.basis())).collect();
    let mut judged = judged(&all);
    // Few runs show their own spread badly, and are held to a wide one. What their blocks show as those of single runs would is not lost by having more of them.
    let few: Vec<usize> = (0..pairs.len()).filter(|at| pairs[*at].has_few_runs()).collect();
    let by_blocks: Vec<(&CasePair, Basis)> = few.iter().map(|at| (&pairs[*at], Basis::Blocks)).collect();
    for (at, by_blocks) in few.into_iter().zip(self::judged(&by_blocks)) {
        let case = &mut judged[at];
        if case.verdict == ChangeVerdict::Inconclusive
            && matches!(by_blocks.verdict, ChangeVerdict::Regressed | ChangeVerdict::Improved)
        {
            *case = by_blocks;
            continue;
        }
        let less =
            |one: Option<f64>, other: Option<f64>| one.zip(other).map_or(one, |(one, other)| Some(one.min(other)));
        case.detectable = less(case.detectable, by_blocks.detectable);
        case.found_from = less(case.found_from, by_blocks.found_from);
    }
    judged
}

/// Judges cases, each by such values, as one family.
fn judged(pairs: &[(&CasePair, Basis)]) -> Vec<JudgedCase> {
    let (mut judged, tests): (Vec<JudgedCase>, Vec<Option<FamilyTest>>) = weighed(pairs).into_iter().unzip();
    let tested: Vec<usize> = (0..judged.len()).filter(|at| tests[*at].is_some()).collect();
    let tests: Vec<FamilyTest> = tests.into_iter().flatten().collect();
    let family = Family::of(&tests);
    for (member, (at, adjusted)) in tested.into_iter().zip(family.adjusted()).enumerate() {
        let (pair, case) = (pairs[at].0, &mut judged[at]);
        let Some(evidence) = &mut case.evidence else { continue };
        (evidence.p_value, evidence.p_adjusted) = (family.p_value(member), adjusted);
        evidence.interval = stretched(evidence, family.stretch(member));
        case.verdict = verdict(pair, evidence, case.basis);
        let reach = (evidence.ratio / evidence.interval.low).max(evidence.interval.high / evidence.ratio);
        let apart = match case.basis {
            Basis::Runs => family.detectable(member).unwrap_or_default().exp().max(reach).max(1.0 + pair.threshold),
            Basis::Blocks => reach * (1.0 + pair.threshold),
        };
        let error = match case.basis {
            Basis::Runs => family.error(member).unwrap_or_default(),
            Basis::Blocks => reach.ln() / deviations(1.0 - ALPHA),
        };
        case.detectable = Some(apart - 1.0);
        // What is seen of a change is less than it by so much in one comparison of twenty, and new runs show another spread.
        let of_new_runs = match case.basis {
            Basis::Runs => 1.0 + NEW_RUNS / (case.base_values + case.new_values) as f64,
            Basis::Blocks => 1.0,
        };
        case.found_from = Some((apart * (deviations(1.0 - 2.0 * ALPHA) * error).exp()).powf(of_new_runs) - 1.0);
    }
    judged
}

/// The interval of runs that hang together, as all cases of the comparison show it.
fn stretched(evidence: &Evidence, stretch: f64) -> Interval {
    let reach = |end: f64| evidence.ratio * (end / evidence.ratio).powf(stretch);
    Interval { low: reach(evidence.interval.low), high: reach(evidence.interval.high), ..evidence.interval }
}

/// All pairs weighed, on as many threads as there are PUs: ten thousand cases of a hundred blocks are half of what a comparison takes. Each case is
/// weighed by itself, so the result does not depend on how they are shared out.
fn weighed(pairs: &[(&CasePair, Basis)]) -> Vec<(JudgedCase, Option<FamilyTest>)> {
    let family = Singles::of(pairs);
    let family = &family;
    let of = move |pairs: &[(&CasePair, Basis)]| -> Vec<(JudgedCase, Option<FamilyTest>)> {
        let mut laws = BTreeMap::new();
        pairs.iter().map(|(pair, basis)| weigh(pair, *basis, family, &mut laws)).collect()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(pairs.len() / LEAST_A_THREAD);
    if threads < 2 {
        return of(pairs);
    }
    thread::scope(|scope| {
        let parts = pairs.chunks(pairs.len().div_ceil(threads));
        // A part without a thread (a limit of processes or of memory) is weighed by this one.
        let start = |part| thread::Builder::new().spawn_scoped(scope, move || of(part)).map_err(|_| part);
        let under_way: Vec<_> = parts.map(start).collect();
        under_way
            .into_iter()
            .flat_map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(part) => of(part),
            })
            .collect()
    })
}

/// The ratio, its evidence and its test, before the tests of all cases are taken together.
fn weigh(
    pair: &CasePair,
    basis: Basis,
    family: &Singles,
    laws: &mut BTreeMap<usize, MedianLaw>,
) -> (JudgedCase, Option<FamilyTest>) {
    let values = |side: &[(f64, Vec<f64>)]| -> Vec<f64> {
        match basis {
            Basis::Runs => side.iter().map(|(median, _)| *median).collect(),
            Basis::Blocks => blocks(side),
        }
    };
    let (base, new) = (values(&pair.base), values(&pair.new));
    let medians = base.len() >= FOR_MEDIANS && new.len() >= FOR_MEDIANS;
    let found = match basis {
        Basis::Runs if !medians => t_ratio(&base, &new, 1.0 - ALPHA).map(|found| (found.ratio, found.interval)),
        _ if medians => of_medians(&base, &new, laws),
        _ => None,
    };
    let weighed = found.and_then(|(ratio, interval)| {
        let (interval, test) = match basis {
            Basis::Runs => (interval, FamilyTest::Values(Values::of(&base, &new)?)),
            Basis::Blocks => family.compared(pair.unit, ratio, interval, [&base, &new]),
        };
        let p_value = match &test {
            FamilyTest::Values(values) => values.p_value(),
            FamilyTest::Alone(p_value) => *p_value,
        };
        let effect = cliffs_delta(&base, &new);
        Some((Evidence { ratio, interval, effect, p_value, p_adjusted: p_value }, test))
    });
    let (evidence, test) = weighed.unzip();
    // A case without blocks has a figure all the same.
    let shown = |side: &[(f64, Vec<f64>)]| median(&side.iter().map(|(median, _)| *median).collect::<Vec<_>>());
    let judged = JudgedCase {
        basis,
        base: shown(&pair.base).unwrap_or(f64::NAN),
        new: shown(&pair.new).unwrap_or(f64::NAN),
        base_values: base.len(),
        new_values: new.len(),
        evidence,
        detectable: None,
        found_from: None,
        verdict: ChangeVerdict::Inconclusive,
    };
    (judged, test)
}

fn of_medians(base: &[f64], new: &[f64], laws: &mut BTreeMap<usize, MedianLaw>) -> Option<(f64, Interval)> {
    let mut medians =
        |values: &[f64]| laws.entry(values.len()).or_insert_with(|| MedianLaw::of(values.len())).medians(values);
    let interval = ratio_interval(&medians(base)?, &medians(new)?, 1.0 - ALPHA)?;
    Some((median(new)? / median(base)?, interval))
}

/// All comparisons of single runs, which are one family.
struct Singles {
    cases: usize,
    /// The middling scatter of blocks by what the cases count: a dozen blocks tell theirs within a third, and two modes hide in one of a thousand.
    middling: BTreeMap<Unit, f64>,
}

impl Singles {
    fn of(pairs: &[(&CasePair, Basis)]) -> Self {
        let mut of_unit: BTreeMap<Unit, Vec<f64>> = BTreeMap::new();
        for (pair, _) in pairs.iter().filter(|(_, basis)| *basis == Basis::Blocks) {
            let sides = [&pair.base, &pair.new].into_iter();
            of_unit.entry(pair.unit).or_default().extend(sides.filter_map(|side| scatter(&blocks(side))));
        }
        let middling = of_unit.into_iter().filter_map(|(unit, all)| Some((unit, median(&all)?))).collect();
        Self { cases: pairs.len(), middling }
    }

    /// The interval and the test of two single runs. The interval is that of their blocks, and beside it that of two runs with the spread assumed. What is
    /// assumed by the blocks is for all cases at once; the least spread is the machine's moment, which they share. The test asks whether runs that differ by
    /// [`RUN_SPREAD_AT_MOST`], each case by itself, could show this.
    fn compared(&self, unit: Unit, ratio: f64, interval: Interval, sides: [&[f64]; 2]) -> (Interval, FamilyTest) {
        let Interval { low, high, confidence } = interval;
        // The largest of both, and of a middling case.
        let middling = self.middling.get(&unit).copied();
        let scatter = RUNS_OVER_BLOCKS * sides.into_iter().filter_map(scatter).chain(middling).fold(0.0, f64::max);
        let by_blocks = deviations(1.0 - ALPHA / self.cases as f64) * scatter;
        let of_runs = std::f64::consts::SQRT_2 * by_blocks.max(deviations(1.0 - ALPHA) * RUN_SPREAD);
        let reach = |end: f64| (end / ratio).ln().hypot(of_runs).exp();
        let of_blocks = (high / low).ln() / (2.0 * deviations(confidence));
        let deviation = of_blocks.hypot(std::f64::consts::SQRT_2 * scatter.max(RUN_SPREAD_AT_MOST));
        let p_value = normal_p(ratio.ln() / deviation);
        (Interval { low: ratio / reach(low), high: ratio * reach(high), confidence }, FamilyTest::Alone(p_value))
    }
}

impl CasePair {
    /// Runs are the unit where they tell how they differ.
    fn basis(&self) -> Basis {
        let (fewer, more) = (self.base.len().min(self.new.len()), self.base.len().max(self.new.len()));
        if fewer >= 2 || more >= 3 { Basis::Runs } else { Basis::Blocks }
    }

    /// Whether runs are the unit, and a side has too few to show how they differ.
    fn has_few_runs(&self) -> bool {
        self.basis() == Basis::Runs && self.base.len().min(self.new.len()) < FOR_MEDIANS
    }
}

/// All blocks of a side.
fn blocks(side: &[(f64, Vec<f64>)]) -> Vec<f64> {
    side.iter().flat_map(|(_, blocks)| blocks).copied().collect()
}

/// The deviation of blocks over their median, by the quartiles: a hiccup does not count.
fn scatter(blocks: &[f64]) -> Option<f64> {
    /// What the quartiles of a normal law are apart, in deviations.
    const QUARTILES_APART: f64 = 1.349;
    let mut blocks = blocks.to_vec();
    blocks.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| quantile(&blocks, q);
    Some((at(0.75)? - at(0.25)?) / QUARTILES_APART / at(0.5)?)
}

fn verdict(pair: &CasePair, evidence: &Evidence, basis: Basis) -> ChangeVerdict {
    // Seen as "better is more": a time of 1.05 is a speed of 1/1.05.
    let Interval { low, high, .. } = evidence.interval;
    let more = pair.unit.more_is_better();
    let (ratio, low, high) =
        if more { (evidence.ratio, low, high) } else { (1.0 / evidence.ratio, 1.0 / high, 1.0 / low) };
    let (worse, better) = (1.0 - pair.threshold, 1.0 + pair.threshold);
    let sure = evidence.p_adjusted < ALPHA;
    let (is_worse, is_better) = match basis {
        Basis::Runs => (high < 1.0 && ratio <= worse, low > 1.0 && ratio >= better),
        Basis::Blocks => (high <= worse, low >= better),
    };
    if sure && is_worse {
        ChangeVerdict::Regressed
    } else if sure && is_better {
        ChangeVerdict::Improved
    } else if low >= worse && high <= better {
        ChangeVerdict::Same
    } else {
        ChangeVerdict::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::random::SplitMix64;

    /// A standard normal draw (Box and Muller).
    fn normal(random: &mut SplitMix64) -> f64 {
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }

    /// A run: its own level, and blocks around it.
    fn run(random: &mut SplitMix64, center: f64, between: f64, within: f64) -> (f64, Vec<f64>) {
        // What scatters is given more blocks.
        let blocks = if within > 0.01 { 24 } else { 12 };
        let level = center * (1.0 + between * normal(random));
        let blocks: Vec<f64> = (0..blocks).map(|_| level * (1.0 + within * normal(random))).collect();
        (median(&blocks).unwrap_or(level), blocks)
    }

    /// How many of the families of eight cases have one that is called what `wanted` says; the new side is at `factor` of the base.
    fn found(seed: u64, runs: (usize, usize), between: f64, factor: f64, wanted: &[ChangeVerdict]) -> usize {
        found_within(0.005, seed, runs, between, factor, wanted)
    }

    /// The same with blocks that scatter by `within`.
    fn found_within(
        within: f64,
        seed: u64,
        runs: (usize, usize),
        between: f64,
        factor: f64,
        wanted: &[ChangeVerdict],
    ) -> usize {
        let mut random = SplitMix64::new(seed);
        let mut family = || {
            let pairs: Vec<CasePair> = (0..8)
                .map(|_| CasePair {
                    unit: Unit::BytesPerS,
                    base: (0..runs.0).map(|_| run(&mut random, 50e9, between, within)).collect(),
                    new: (0..runs.1).map(|_| run(&mut random, 50e9 * factor, between, within)).collect(),
                    threshold: 0.03,
                })
                .collect();
            judge(&pairs).iter().any(|judged| wanted.contains(&judged.verdict))
        };
        (0..FAMILIES).filter(|_| family()).count()
    }

    const FAMILIES: usize = 400;

    /// One in twenty, and three deviations of such a count.
    const FEW: usize = FAMILIES / 20 + 13;

    const CHANGED: [ChangeVerdict; 2] = [ChangeVerdict::Regressed, ChangeVerdict::Improved];

    #[test]
    fn equal_runs_are_called_different_in_at_most_one_family_of_twenty() {
        for (at, runs) in [(1, 1), (2, 2), (1, 5), (5, 5), (8, 8)].into_iter().enumerate() {
            // Runs differ by 1 %, twice what blocks do.
            let alarms = found(at as u64, runs, 0.01, 1.0, &CHANGED);
            assert!(alarms <= FEW, "{runs:?} runs: {alarms} of {FAMILIES}");
        }
        // Many noisy runs keep the promise; the spread between them is seen.
        for (at, runs) in [(3, 3), (5, 5), (8, 8)].into_iter().enumerate() {
            let alarms = found(10 + at as u64, runs, 0.05, 1.0, &CHANGED);
            assert!(alarms <= FEW, "{runs:?} noisy runs: {alarms} of {FAMILIES}");
        }
    }

    #[test]
    fn single_runs_of_a_machine_that_is_not_still_are_not_called_different() {
        // What host copies of 16 and 1 MiB did on a virtual machine with neighbours.
        for (at, (within, between)) in [(0.042, 0.03), (0.1, 0.07)].into_iter().enumerate() {
            let alarms = found_within(within, 40 + at as u64, (1, 1), between, 1.0, &CHANGED);
            assert!(alarms <= FEW, "blocks {within}, runs {between}: {alarms} of {FAMILIES}");
        }
    }

    #[test]
    fn five_per_cent_worse_is_found_where_runs_are_alike() {
        for (at, runs) in [(1, 1), (5, 5), (8, 8)].into_iter().enumerate() {
            let caught = found(20 + at as u64, runs, 0.003, 0.95, &[ChangeVerdict::Regressed]);
            assert!(caught >= FAMILIES / 20 * 19, "{runs:?} runs: {caught} of {FAMILIES}");
        }
        assert_eq!(found(30, (8, 8), 0.003, 0.95, &[ChangeVerdict::Improved]), 0);
    }

    fn verdict_of(unit: Unit, base: f64, new: f64) -> ChangeVerdict {
        let side = |center: f64| (center, (0..10).map(|at| center * (1.0 + f64::from(at) * 1e-4)).collect());
        judge(&[CasePair { unit, base: vec![side(base)], new: vec![side(new)], threshold: 0.03 }])[0].verdict
    }

    #[test]
    fn less_of_a_rate_and_more_of_a_time_are_worse() {
        assert_eq!(verdict_of(Unit::BytesPerS, 50e9, 45e9), ChangeVerdict::Regressed);
        assert_eq!(verdict_of(Unit::BytesPerS, 50e9, 55e9), ChangeVerdict::Improved);
        assert_eq!(verdict_of(Unit::Ns, 1000.0, 1100.0), ChangeVerdict::Regressed);
        assert_eq!(verdict_of(Unit::Ns, 1000.0, 900.0), ChangeVerdict::Improved);
        assert_eq!(verdict_of(Unit::Ns, 1000.0, 1010.0), ChangeVerdict::Same);
    }

    #[test]
    fn too_few_values_and_none_at_all_are_inconclusive() {
        let few = CasePair {
            unit: Unit::Ns,
            base: vec![(1.0, vec![1.0; 5])],
            new: vec![(9.0, vec![9.0; 50])],
            threshold: 0.03,
        };
        let without = CasePair { base: vec![(1.0, Vec::new())], new: vec![(9.0, Vec::new())], ..few.clone() };
        for judged in judge(&[few, without]) {
            assert_eq!((judged.verdict, judged.evidence), (ChangeVerdict::Inconclusive, None));
            assert_eq!((judged.base, judged.new), (1.0, 9.0));
        }
    }

    #[test]
    fn runs_are_the_unit_where_there_are_several() {
        let side = |levels: &[f64]| levels.iter().map(|level| (*level, vec![*level; 20])).collect();
        let base = side(&[50.0, 47.0, 52.0]);
        let pair = CasePair { unit: Unit::BytesPerS, base, new: side(&[46.0, 48.0, 51.0]), threshold: 0.03 };
        let judged = judge(&[pair]);
        assert_eq!(
            (judged[0].basis, judged[0].base_values, judged[0].verdict),
            (Basis::Runs, 3, ChangeVerdict::Inconclusive)
        );
    }

    #[test]
    fn more_runs_find_no_less_than_single_ones() {
        let of = |runs| found(50, runs, 0.003, 0.93, &[ChangeVerdict::Regressed]);
        let single = of((1, 1));
        for runs in [(2, 2), (3, 3), (4, 4)] {
            assert!(of(runs) >= single, "{runs:?} runs: {} of {FAMILIES}, single ones {single}", of(runs));
        }
    }

    #[test]
    fn few_noisy_runs_whose_blocks_are_still_are_not_called_different() {
        for (at, runs) in [(2, 2), (3, 3)].into_iter().enumerate() {
            for (between, within) in [(0.02, 0.002), (0.05, 0.005)] {
                let alarms = found_within(within, 60 + at as u64, runs, between, 1.0, &CHANGED);
                assert!(alarms <= FEW, "{runs:?} runs by {between}, blocks by {within}: {alarms} of {FAMILIES}");
            }
        }
    }

    #[test]
    fn a_difference_within_the_threshold_is_the_same_however_sure_it_is() {
        assert_eq!(verdict_of(Unit::BytesPerS, 50e9, 49.5e9), ChangeVerdict::Same);
    }
}
