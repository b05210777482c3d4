//! Whether one case got worse: the decision, on numbers alone. Some 640 lines because its tests hold all ways
//! of deciding on the same runs.
//!
//! The run is the unit where a side has several: blocks of one run share a moment, a clock and an allocation,
//! and runs differ by more than blocks do.
//!
//! | runs a side | values | ratio and its interval | it can |
//! |---|---|---|---|
//! | 3 and 3, and more | a run's median | geometric means, moderated t (`stats::moderated`) | find |
//! | 2 and 2 or more, 1 and 3 or more | a run's median | the same | suspect |
//! | 1 and 1, 1 and 2 | blocks | medians, bootstrap | suspect |
//!
//! REGRESSED and IMPROVED need a p below 5 %, adjusted for all cases, an interval that leaves 1 out, a change
//! of the threshold or more, and that modes of runs are no likely reason. SUSPECT is a change that has all
//! but the last. SAME needs the whole interval within the threshold. Anything else is INCONCLUSIVE.
//!
//! Shares are counted and no statistic is asked: a share changed if every new value differs from every one of
//! the base by the threshold in points. An estimated share, of a sample of pages, is found so from three runs
//! a side on, and suspected before.
//!
//! Where blocks are the values, nothing shows how runs differ. The interval is that of two runs that differ
//! by [`RUNS_OVER_BLOCKS`] of what their blocks scatter by, or those of a middling case of the same unit if
//! that is more, and by [`RUN_SPREAD`] at least; a judged case says which deviation was assumed. A change is
//! suspected if the whole interval lies beyond the threshold and runs that differ by [`RUN_SPREAD_AT_MOST`]
//! would seldom show it in as many cases. What moves the blocks of a run moves runs: on a virtual machine
//! with neighbours blocks of host copies scattered by 4 and 10 %, and runs by 3 and 5 (by their quartiles).

use std::collections::BTreeMap;
use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::alpha::ALPHA;
use stats::bootstrap::{MedianLaw, ratio_interval};
use stats::compare::cliffs_delta;
use stats::family::normal_p;
use stats::holm::holm;
use stats::interval::{Interval, deviations, median, quantile, range};
use stats::moderated::{CaseRuns, LEAST_A_SIDE, ModeratedTest, RunBlocks, moderated};
use stats::printed_step::printed_step;

use crate::figure::Unit;

/// From so many blocks a side on medians are compared; a median's own 95 % interval needs as many.
const FOR_MEDIANS: usize = stats::compare::LEAST_VALUES;

/// The least deviation that single runs are taken to have: that of large pinned copies on real GPUs is 0.3 to
/// 0.8 %.
pub const RUN_SPREAD: f64 = 0.005;

/// The deviation of single runs by which a change between them must be unlikely in as many cases: with 1 % in
/// truth, at most one family in twenty of any number of cases that are equal has one that is suspected. The
/// tenth above it is for what a moment adds to all cases.
const RUN_SPREAD_AT_MOST: f64 = 0.011;

/// The deviation of runs over that of the blocks within one, where blocks scatter by more. Of 186 runs of
/// four cases of host copies on a virtual machine with neighbours it was 0.5 to 0.8 by their quartiles; above
/// that, because blocks of one allocation hang together and show less than there is.
const RUNS_OVER_BLOCKS: f64 = 0.9;

/// Fewer cases than this are not worth a thread.
const LEAST_A_THREAD: usize = 64;

/// What a case's values come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Verdict")]
pub enum ChangeVerdict {
    /// The new side is worse by the threshold or more.
    Regressed,
    /// The figures differ by the threshold or more, and there are too few runs to call it a change.
    Suspect,
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
    /// From what true change on such runs would be found (of single runs: suspected) in 19 of 20 comparisons,
    /// a fraction. `None` where no change would be.
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
    /// The deviation of runs that the interval assumes, a fraction; `None` where runs showed theirs.
    pub assumed: Option<f64>,
    /// Cliff's delta: 1 where every new value is higher than every base value.
    pub effect: f64,
    /// The test's two-sided p-value for this case alone.
    pub p_value: f64,
    /// The same, adjusted for all cases.
    pub p_adjusted: f64,
    /// The chance that modes of runs made such a difference; 1 where a side has fewer than three.
    by_modes: f64,
}

/// Judges all cases of a comparison, which are one family. `in_turns`: the runs of both sides alternated.
pub fn judge(pairs: &[CasePair], in_turns: bool) -> Vec<JudgedCase> {
    let mut judged: Vec<JudgedCase> = pairs.iter().map(CasePair::not_decided).collect();
    let (by_runs, by_blocks): (Vec<usize>, Vec<usize>) = (0..pairs.len())
        .filter(|at| !pairs[*at].unit.is_share())
        .partition(|at| pairs[*at].basis() == Basis::Runs);

    let cases: Vec<(usize, CaseRuns)> =
        by_runs.iter().filter_map(|at| Some((*at, pairs[*at].runs()?))).collect();
    let (places, cases): (Vec<usize>, Vec<CaseRuns>) = cases.into_iter().unzip();
    for (at, test) in places.into_iter().zip(moderated(&cases, in_turns)) {
        judged[at].evidence = Some(Evidence::of_runs(&pairs[at], &test));
        judged[at].found_from = test.found_from.map(|from| from_threshold(&pairs[at], from, test.reach()));
    }

    let blocks: Vec<&CasePair> = by_blocks.iter().map(|at| &pairs[*at]).collect();
    for (at, evidence) in by_blocks.into_iter().zip(of_blocks(&blocks)) {
        let Some(evidence) = evidence else { continue };
        judged[at].evidence = Some(evidence);
        // The whole interval must lie beyond the threshold, and is seen shifted towards it by so much in one
        // of twenty.
        let reach =
            (evidence.ratio / evidence.interval.low).max(evidence.interval.high / evidence.ratio).ln();
        let seen = reach * (1.0 + deviations(1.0 - 2.0 * ALPHA) / deviations(1.0 - ALPHA));
        judged[at].found_from = Some((1.0 + pairs[at].threshold) * seen.exp() - 1.0);
    }

    let is_one = is_one_measurement(pairs);
    for (case, pair) in judged.iter_mut().zip(pairs) {
        if is_one || pair.is_one_measurement() {
            case.verdict = ChangeVerdict::Same;
            continue;
        }
        if pair.unit.is_share() {
            case.verdict = pair.share_verdict();
            continue;
        }
        case.verdict =
            case.evidence.as_ref().map_or(ChangeVerdict::Inconclusive, |evidence| verdict(pair, evidence));
    }
    judged
}

/// Whether both sides are the very same runs: all figures are equal, and among them are blocks, or the
/// nanoseconds that a program ran, which no two runs have alike. Of rounded figures nobody knows.
pub fn is_one_measurement(pairs: &[CasePair]) -> bool {
    let tells = |pair: &CasePair| {
        let is_clock = pair.unit == Unit::S && pair.base.iter().all(|(seconds, _)| seconds.fract() != 0.0);
        is_clock || pair.is_one_measurement()
    };
    pairs.iter().all(|pair| pair.base == pair.new) && pairs.iter().any(tells)
}

/// From what change on a case of several runs is found, given the difference that its test needs: the
/// threshold must be seen too, and the interval must leave 1 out.
fn from_threshold(pair: &CasePair, difference: f64, reach: f64) -> f64 {
    let seen = reach * deviations(1.0 - 2.0 * ALPHA) / deviations(1.0 - ALPHA);
    difference.max(pair.threshold.ln_1p() + seen).exp_m1()
}

impl Evidence {
    /// What several runs say.
    fn of_runs(pair: &CasePair, test: &ModeratedTest) -> Self {
        let end = |reach: f64| (test.difference + reach).exp();
        Self {
            ratio: test.difference.exp(),
            interval: Interval { low: end(-test.reach()), high: end(test.reach()), confidence: 1.0 - ALPHA },
            assumed: None,
            effect: cliffs_delta(&medians(&pair.base), &medians(&pair.new)),
            p_value: test.p_value,
            p_adjusted: test.p_adjusted,
            by_modes: test.by_modes,
        }
    }
}

/// What blocks of single runs say of each case, all of them one family.
fn of_blocks(pairs: &[&CasePair]) -> Vec<Option<Evidence>> {
    let mut weighed = weighed(pairs);
    let p_values: Vec<f64> = weighed.iter().flatten().map(|evidence| evidence.p_value).collect();
    for (evidence, p_adjusted) in weighed.iter_mut().flatten().zip(holm(&p_values)) {
        evidence.p_adjusted = p_adjusted;
    }
    weighed
}

/// All pairs weighed, on as many threads as there are PUs: ten thousand cases of a hundred blocks are half of
/// what a comparison takes. Each case is weighed by itself, so the result does not depend on how they are
/// shared out.
fn weighed(pairs: &[&CasePair]) -> Vec<Option<Evidence>> {
    let singles = &Singles::of(pairs);
    let of = move |pairs: &[&CasePair]| -> Vec<Option<Evidence>> {
        let mut laws = BTreeMap::new();
        pairs.iter().map(|pair| singles.weigh(pair, &mut laws)).collect()
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

/// All comparisons of single runs, which are one family.
struct Singles {
    cases: usize,
    /// The middling scatter of blocks by what the cases count: a dozen blocks tell theirs within a third, and
    /// two modes hide in one of a thousand.
    middling: BTreeMap<Unit, f64>,
}

impl Singles {
    fn of(pairs: &[&CasePair]) -> Self {
        let mut of_unit: BTreeMap<Unit, Vec<f64>> = BTreeMap::new();
        for pair in pairs {
            let sides = [&pair.base, &pair.new].into_iter();
            of_unit.entry(pair.unit).or_default().extend(sides.filter_map(|side| scatter(&blocks(side))));
        }
        let middling = of_unit.into_iter().filter_map(|(unit, all)| Some((unit, median(&all)?))).collect();
        Self { cases: pairs.len(), middling }
    }

    /// The ratio, its interval and the test of two single runs. The interval is that of their blocks, and
    /// beside it that of two runs with the spread assumed. What is assumed by the blocks is for all cases at
    /// once; the least spread is the machine's moment, which they share. The test asks whether runs that
    /// differ by [`RUN_SPREAD_AT_MOST`], each case by itself, could show this.
    fn weigh(&self, pair: &CasePair, laws: &mut BTreeMap<usize, MedianLaw>) -> Option<Evidence> {
        let (base, new) = (blocks(&pair.base), blocks(&pair.new));
        let (ratio, Interval { low, high, confidence }) = ratio_of_medians(&base, &new, laws)?;

        // The largest of both, and of a middling case.
        let middling = self.middling.get(&pair.unit).copied();
        let sides = [&base, &new].into_iter().filter_map(|side| scatter(side));
        let scatter = RUNS_OVER_BLOCKS * sides.chain(middling).fold(0.0, f64::max);
        let by_blocks = deviations(1.0 - ALPHA / self.cases as f64) * scatter;
        let of_runs = std::f64::consts::SQRT_2 * by_blocks.max(deviations(1.0 - ALPHA) * RUN_SPREAD);
        let reach = |end: f64| (end / ratio).ln().hypot(of_runs).exp();

        let of_blocks = (high / low).ln() / (2.0 * deviations(confidence));
        let deviation = of_blocks.hypot(std::f64::consts::SQRT_2 * scatter.max(RUN_SPREAD_AT_MOST));
        let p_value = normal_p(ratio.ln() / deviation);
        Some(Evidence {
            ratio,
            interval: Interval { low: ratio / reach(low), high: ratio * reach(high), confidence },
            assumed: Some(scatter.max(RUN_SPREAD)),
            effect: cliffs_delta(&base, &new),
            p_value,
            p_adjusted: p_value,
            by_modes: 1.0,
        })
    }
}

fn ratio_of_medians(
    base: &[f64],
    new: &[f64],
    laws: &mut BTreeMap<usize, MedianLaw>,
) -> Option<(f64, Interval)> {
    if base.len() < FOR_MEDIANS || new.len() < FOR_MEDIANS {
        return None;
    }
    let mut medians = |values: &[f64]| {
        laws.entry(values.len()).or_insert_with(|| MedianLaw::of(values.len())).medians(values)
    };
    let interval = ratio_interval(&medians(base)?, &medians(new)?, 1.0 - ALPHA)?;
    Some((median(new)? / median(base)?, interval))
}

impl CasePair {
    /// Whether both sides are the very same runs: no two measurements have equal blocks. Of a single rounded
    /// figure nobody knows.
    pub fn is_one_measurement(&self) -> bool {
        self.base == self.new && self.base.iter().all(|(_, blocks)| blocks.len() > 1)
    }

    /// The verdict on a share, whose values are counted.
    fn share_verdict(&self) -> ChangeVerdict {
        let (base, new) = (medians(&self.base), medians(&self.new));
        let ends = |side: &[f64]| range(side.iter().copied()).unwrap_or((f64::NAN, f64::NAN));
        let ((base_low, base_high), (new_low, new_high)) = (ends(&base), ends(&new));
        let least_runs = if self.unit == Unit::Share { 1 } else { LEAST_A_SIDE };
        let is_found = base.len().min(new.len()) >= least_runs;

        // 0.53 less 0.50 is a little less than 0.03 in binary.
        let is_change = |points: f64| points >= self.threshold - 1e-12;
        match (is_change(new_low - base_high), is_change(base_low - new_high)) {
            (true, _) | (_, true) if !is_found => ChangeVerdict::Suspect,
            (true, _) => ChangeVerdict::Regressed,
            (_, true) => ChangeVerdict::Improved,
            _ if is_change(new_high - base_low) || is_change(base_high - new_low) => {
                ChangeVerdict::Inconclusive
            }
            _ => ChangeVerdict::Same,
        }
    }

    /// Runs are the unit where they tell how they differ, and for what is counted.
    fn basis(&self) -> Basis {
        if self.unit.is_share() {
            return Basis::Runs;
        }
        let (fewer, more) = (self.base.len().min(self.new.len()), self.base.len().max(self.new.len()));
        if fewer >= 2 || more >= 3 { Basis::Runs } else { Basis::Blocks }
    }

    /// The case before anything is known of it. One without blocks has a figure all the same.
    fn not_decided(&self) -> JudgedCase {
        let basis = self.basis();
        let values = |side: &[(f64, Vec<f64>)]| match basis {
            Basis::Runs => side.len(),
            Basis::Blocks => side.iter().map(|(_, blocks)| blocks.len()).sum(),
        };
        let shown = |side: &[(f64, Vec<f64>)]| median(&medians(side)).unwrap_or(f64::NAN);

        JudgedCase {
            basis,
            base: shown(&self.base),
            new: shown(&self.new),
            base_values: values(&self.base),
            new_values: values(&self.new),
            evidence: None,
            found_from: None,
            verdict: ChangeVerdict::Inconclusive,
        }
    }

    /// Its runs, with what the blocks of one say.
    fn runs(&self) -> Option<CaseRuns> {
        let all = || self.base.iter().chain(&self.new).filter(|(_, blocks)| blocks.len() >= FOR_MEDIANS);
        let scatters: Vec<f64> = all().filter_map(|(_, blocks)| scatter(blocks)).collect();
        let counts: Vec<f64> = all().map(|(_, blocks)| blocks.len() as f64).collect();
        let of_blocks = |scatter: f64, count: f64| RunBlocks {
            scatter,
            error: scatter * (std::f64::consts::FRAC_PI_2 / count).sqrt(),
        };
        let blocks = median(&scatters).zip(median(&counts)).map(|(scatter, count)| of_blocks(scatter, count));
        let (base, new) = (medians(&self.base), medians(&self.new));
        let runs = CaseRuns::of(&base, &new, blocks)?;
        // Blocks are measured; a figure without any may have been printed. A share is counted.
        let is_printed = !self.unit.is_share() && all().next().is_none();
        let step = is_printed.then(|| printed_step(&[base, new].concat())).flatten();
        Some(step.map_or(runs.clone(), |step| runs.printed_in(step)))
    }
}

/// The figure of each run of a side.
fn medians(side: &[(f64, Vec<f64>)]) -> Vec<f64> {
    side.iter().map(|(median, _)| *median).collect()
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

fn verdict(pair: &CasePair, evidence: &Evidence) -> ChangeVerdict {
    // Seen as "better is more": a time of 1.05 is a speed of 1/1.05.
    let Interval { low, high, .. } = evidence.interval;
    let more = pair.unit.more_is_better();
    let (ratio, low, high) =
        if more { (evidence.ratio, low, high) } else { (1.0 / evidence.ratio, 1.0 / high, 1.0 / low) };
    let (worse, better) = (1.0 - pair.threshold, 1.0 + pair.threshold);

    let sure = evidence.p_adjusted < ALPHA;
    let (is_worse, is_better) = match evidence.assumed {
        None => (high < 1.0 && ratio <= worse, low > 1.0 && ratio >= better),
        Some(_) => (high <= worse, low >= better),
    };
    let is_found = evidence.by_modes < ALPHA;
    match (sure && is_worse, sure && is_better) {
        (true, _) | (_, true) if !is_found => ChangeVerdict::Suspect,
        (true, _) => ChangeVerdict::Regressed,
        (_, true) => ChangeVerdict::Improved,
        _ if low >= worse && high <= better => ChangeVerdict::Same,
        _ => ChangeVerdict::Inconclusive,
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

    /// How many of the families of eight cases have one that is called what `wanted` says; the new side is at
    /// `factor` of the base.
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
            judge(&pairs, false).iter().any(|judged| wanted.contains(&judged.verdict))
        };
        (0..FAMILIES).filter(|_| family()).count()
    }

    const FAMILIES: usize = 400;

    /// One in twenty, and three deviations of such a count.
    const FEW: usize = FAMILIES / 20 + 13;

    const CHANGED: [ChangeVerdict; 3] =
        [ChangeVerdict::Regressed, ChangeVerdict::Suspect, ChangeVerdict::Improved];

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
        for (at, runs) in [(1, 1), (3, 3), (5, 5), (8, 8)].into_iter().enumerate() {
            let wanted = if runs == (1, 1) { ChangeVerdict::Suspect } else { ChangeVerdict::Regressed };
            let caught = found(20 + at as u64, runs, 0.003, 0.95, &[wanted]);
            assert!(caught >= FAMILIES / 20 * 19, "{runs:?} runs: {caught} of {FAMILIES}");
        }
        assert_eq!(found(30, (8, 8), 0.003, 0.95, &[ChangeVerdict::Improved]), 0);
    }

    fn verdict_of(unit: Unit, base: f64, new: f64) -> ChangeVerdict {
        judged_of(unit, base, new, [3, 3]).verdict
    }

    #[test]
    fn a_step_of_the_last_printed_digit_is_no_change() {
        let printed = |value: f64| vec![(value, Vec::new()); 3];
        let verdict = |unit, base, new| {
            let pair = CasePair { unit, base: printed(base), new: printed(new), threshold: 0.03 };
            judge(&[pair], false)[0].verdict
        };
        let found = [ChangeVerdict::Regressed, ChangeVerdict::Improved];
        assert!(!found.contains(&verdict(Unit::Ns, 180.0, 190.0)), "osu_latency: 0.18 and 0.19 µs");
        assert!(!found.contains(&verdict(Unit::BytesPerS, 2.8e9, 2.7e9)), "bandwidthTest");
        assert_eq!(verdict(Unit::BytesPerS, 2.8e9, 1.4e9), ChangeVerdict::Regressed);
        assert_eq!(verdict(Unit::Ns, 180.123_456, 190.123_456), ChangeVerdict::Regressed, "not printed");
    }

    fn judged_of(unit: Unit, base: f64, new: f64, runs: [usize; 2]) -> JudgedCase {
        let run = |center: f64| (center, (0..10).map(|at| center * (1.0 + f64::from(at) * 1e-4)).collect());
        let side = |center: f64, runs| (0..runs).map(|at| run(center * (1.0 + at as f64 * 1e-4))).collect();
        let pair = CasePair { unit, base: side(base, runs[0]), new: side(new, runs[1]), threshold: 0.03 };
        judge(&[pair], false).remove(0)
    }

    #[test]
    fn fewer_than_three_runs_of_a_side_suspect_a_change_and_never_find_one() {
        let (suspect, regressed) = (ChangeVerdict::Suspect, ChangeVerdict::Regressed);
        for (runs, changed) in [
            ([1, 1], suspect),
            ([2, 2], suspect),
            ([2, 4], suspect),
            ([20, 2], suspect),
            ([1, 20], suspect),
            ([3, 3], regressed),
        ] {
            let judged = judged_of(Unit::BytesPerS, 50e9, 25e9, runs);
            assert_eq!(judged.verdict, changed, "{runs:?} runs");
            let assumed = judged.evidence.map(|evidence| evidence.assumed);
            assert_eq!(assumed, Some((runs == [1, 1]).then_some(RUN_SPREAD)), "{runs:?} runs");
            let of_what_it_may_say = runs == [1, 1] || changed == regressed;
            assert_eq!(judged.found_from.is_some(), of_what_it_may_say, "{runs:?} runs");
        }
    }

    #[test]
    fn runs_that_fall_into_two_modes_are_not_called_changed() {
        let side = |levels: [f64; 5]| levels.iter().map(|level| (*level, vec![*level; 12])).collect();
        let base = side([50.0, 50.1, 49.9, 50.05, 60.0]);
        let pair = CasePair {
            unit: Unit::BytesPerS,
            base,
            new: side([60.1, 60.0, 59.9, 60.05, 50.0]),
            threshold: 0.03,
        };
        assert_eq!(judge(&[pair], false)[0].verdict, ChangeVerdict::Inconclusive);
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
        for judged in judge(&[few, without], false) {
            assert_eq!((judged.verdict, judged.evidence), (ChangeVerdict::Inconclusive, None));
            assert_eq!((judged.base, judged.new), (1.0, 9.0));
        }
    }

    #[test]
    fn runs_are_the_unit_where_there_are_several() {
        let side = |levels: &[f64]| levels.iter().map(|level| (*level, vec![*level; 20])).collect();
        let base = side(&[50.0, 47.0, 52.0]);
        let pair = CasePair { unit: Unit::BytesPerS, base, new: side(&[46.0, 48.0, 51.0]), threshold: 0.03 };
        let judged = judge(&[pair], false);
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
                assert!(
                    alarms <= FEW,
                    "{runs:?} runs by {between}, blocks by {within}: {alarms} of {FAMILIES}"
                );
            }
        }
    }

    #[test]
    fn a_difference_within_the_threshold_is_the_same_however_sure_it_is() {
        assert_eq!(verdict_of(Unit::BytesPerS, 50e9, 49.5e9), ChangeVerdict::Same);
    }
}
