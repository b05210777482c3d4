//! `compare`: documents in which nothing changed, documents with a case at half its rate, documents 5 % down.
//! Some 400 lines because each kind of runs has its own experiment.
//!
//! The threshold is 0 where false claims are counted, so that only the statistics keep them away. What moves
//! a machine for longer than a run (drift, steps, modes that stick, series that wander) is a change to runs
//! of one side after the other, and no statistic of them tells otherwise: it is counted for runs in turns.

use analysis::judge::{CasePair, ChangeVerdict, judge};
use stats::random::SplitMix64;

use super::experiment::{COVERAGE, Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::Noise;
use super::runs::{RunNoise, RunOrder, pairs};

/// How runs of one node usually differ, by their logarithms: between the 0.3 and the 0.8 % that large pinned
/// copies have.
const USUAL: f64 = 0.005;

/// How blocks of one run scatter where it does not matter.
const BLOCKS: f64 = 0.003;

/// Cases whose runs differ by up to 1 % that three runs a side decide.
const DECIDED: Limit = Limit::AtLeast(0.9);

/// What is counted where nothing changed.
const FALSE: &str = "documents with a false claim";

/// What scatters from run to run whatever the order.
const FROM_RUN_TO_RUN: [RunNoise; 8] = [
    RunNoise::Of(Noise::Independent),
    RunNoise::Of(Noise::SharedByPass),
    RunNoise::Of(Noise::HeavyTails),
    RunNoise::Of(Noise::Uneven),
    RunNoise::Of(Noise::Ties),
    RunNoise::ModesOfCases,
    RunNoise::ModesOfRuns,
    RunNoise::ModesOfSome,
];

/// What moves a machine for longer.
const FOR_LONGER: [RunNoise; 7] = [
    RunNoise::Wandering(0.4),
    RunNoise::Wandering(0.8),
    RunNoise::Wandering(0.95),
    RunNoise::Drift(0.003),
    RunNoise::Drift(0.01),
    RunNoise::Step,
    RunNoise::StickyModes,
];

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = nothing_changed(length);
    all.extend(modes_of_some(length));
    all.extend(half_the_rate(length));
    all.extend(five_per_cent(length));
    all.extend(beside_a_jump(length));
    all.extend(as_large_as_said(length));
    all.extend(intervals(length));
    all.extend(single(length));
    all
}

fn is_change(verdict: ChangeVerdict) -> bool {
    matches!(verdict, ChangeVerdict::Regressed | ChangeVerdict::Improved)
}

fn claimed(pairs: &[CasePair], order: RunOrder) -> bool {
    judge(pairs, order == RunOrder::InTurns).iter().any(|judged| is_change(judged.verdict))
}

/// How many of the first so many cases are found.
fn found(pairs: &[CasePair], order: RunOrder, planted: usize) -> (usize, usize) {
    let judged = judge(pairs, order == RunOrder::InTurns);
    (judged.iter().take(planted).filter(|judged| judged.verdict == ChangeVerdict::Regressed).count(), planted)
}

fn trials(length: Length, cases: usize, values: usize) -> usize {
    // As many values as make a second or so.
    let most = length.choose(100_000, 1_500_000) / (cases * values);
    most.clamp(length.choose(80, 200), length.choose(300, 600))
}

/// Every noise with the orders in which it is no change.
fn noises() -> impl Iterator<Item = (RunNoise, RunOrder)> {
    let both =
        FROM_RUN_TO_RUN.into_iter().flat_map(|noise| [(noise, RunOrder::InRows), (noise, RunOrder::InTurns)]);
    both.chain(FOR_LONGER.into_iter().map(|noise| (noise, RunOrder::InTurns)))
}

fn nothing_changed(length: Length) -> Vec<Experiment> {
    let counts = length.choose(&[[3, 3]][..], &[[3, 3], [4, 4], [5, 5], [10, 10], [3, 6], [7, 4]]);
    let families = [1, 8, 40];
    let mut all = Vec::new();
    for (noise, order) in noises() {
        for &[base, new] in counts {
            for cases in families {
                let setting =
                    format!("{}, {}, {base} against {new} runs, cases: {cases}", noise.name(), order.name());
                let trial = move |random: &mut SplitMix64| {
                    let sides = noise.sides(random, cases, [base, new], USUAL, order);
                    claimed(&pairs(&sides, BLOCKS, 0.0, |_| 1.0), order)
                };
                all.push(Experiment::new(
                    (FALSE, FALSE_CLAIMS),
                    setting,
                    trials(length, cases, base + new),
                    trial,
                ));
            }
        }
    }
    all
}

/// Some of fourteen cases have two modes of their own, as likely as each other or not, and near or far apart.
fn modes_of_some(length: Length) -> Vec<Experiment> {
    const CASES: usize = 14;
    let mut all = Vec::new();
    for &[base, new] in length.choose(&[[3, 3]][..], &[[3, 3], [4, 4], [5, 5], [3, 6]]) {
        for &having in length.choose(&[2][..], &[1, 2, 4, 12]) {
            for &likely in length.choose(&[0.5][..], &[0.2, 0.35, 0.5]) {
                for &apart in length.choose(&[8.0][..], &[5.0, 8.0, 20.0]) {
                    let trial = move |random: &mut SplitMix64| {
                        let mut sides = RunNoise::Of(Noise::Independent).sides(
                            random,
                            CASES,
                            [base, new],
                            USUAL,
                            RunOrder::InTurns,
                        );
                        for log in sides.iter_mut().flat_map(|side| side.iter_mut().take(having)).flatten() {
                            *log += if random.uniform() < likely { apart * USUAL } else { 0.0 };
                        }
                        claimed(&pairs(&sides, BLOCKS, 0.0, |_| 1.0), RunOrder::InTurns)
                    };
                    let setting = format!(
                        "{having} of {CASES} cases in two modes {apart} deviations apart, {:.0} % in one, \
                         {base} against {new} runs",
                        likely * 100.0
                    );
                    all.push(Experiment::new((FALSE, FALSE_CLAIMS), setting, length.choose(150, 600), trial));
                }
            }
        }
    }
    all
}

fn half_the_rate(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for (noise, order) in noises() {
        for &[base, new] in length.choose(&[[3, 3]][..], &[[3, 3], [5, 5], [7, 4]]) {
            // Where runs have modes, three a side may leave it open: five decide.
            let has_modes =
                matches!(noise, RunNoise::ModesOfCases | RunNoise::ModesOfRuns | RunNoise::ModesOfSome);
            if has_modes && base.min(new) == 3 {
                continue;
            }
            for &cases in length.choose(&[8][..], &[1, 8, 40]) {
                let setting = format!(
                    "one case at half, {}, {}, {base} against {new} runs, cases: {cases}",
                    noise.name(),
                    order.name()
                );
                let trial = move |random: &mut SplitMix64| {
                    let sides = noise.sides(random, cases, [base, new], 2.0 * USUAL, order);
                    found(&pairs(&sides, BLOCKS, 0.03, |at| if at == 0 { 0.5 } else { 1.0 }), order, 1)
                };
                all.push(Experiment::new(
                    ("found", FOUND),
                    setting,
                    trials(length, cases, 2 * base) / 2,
                    trial,
                ));
            }
        }
    }
    all
}

/// Three runs a side and more of cases whose runs differ by up to 1 %: a change of 5 % is found, and none is
/// the same.
fn five_per_cent(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for order in [RunOrder::InRows, RunOrder::InTurns] {
        for &runs in length.choose(&[3][..], &[3, 5, 10]) {
            for &cases in length.choose(&[14][..], &[4, 8, 14, 40]) {
                let trial = move |random: &mut SplitMix64| {
                    let mut sides =
                        RunNoise::Of(Noise::Independent).sides(random, cases, [runs, runs], 1.0, order);
                    let deviations: Vec<f64> = (0..cases).map(|_| 0.001 + 0.009 * random.uniform()).collect();
                    for side in &mut sides {
                        for (case, deviation) in side.iter_mut().zip(&deviations) {
                            case.iter_mut().for_each(|log| *log *= deviation);
                        }
                    }
                    // Every other case has changed.
                    let pairs = pairs(&sides, BLOCKS, 0.03, |at| if at % 2 == 0 { 0.95 } else { 1.0 });
                    judge(&pairs, order == RunOrder::InTurns)
                };
                let setting = |what: &str| {
                    format!(
                        "{what}, runs differ by 0.1 to 1 %, {}, {runs} runs a side, cases: {cases}",
                        order.name()
                    )
                };
                let count = trials(length, cases, 2 * runs);
                let planted = move |random: &mut SplitMix64| {
                    let judged = trial(random);
                    let found =
                        |judged: &&analysis::judge::JudgedCase| judged.verdict == ChangeVerdict::Regressed;
                    (judged.iter().step_by(2).filter(found).count(), judged.len().div_ceil(2))
                };
                all.push(Experiment::new(("found", DECIDED), setting("5 % down"), count, planted));
                let same = move |random: &mut SplitMix64| {
                    let judged = trial(random);
                    let same = |judged: &&analysis::judge::JudgedCase| judged.verdict == ChangeVerdict::Same;
                    (judged.iter().skip(1).step_by(2).filter(same).count(), judged.len() / 2)
                };
                all.push(Experiment::new(("called the same", DECIDED), setting("no change"), count, same));
            }
        }
    }
    all
}

/// Cases whose runs differ by up to 1 %, beside one that jumps: a change of 5 % of the quiet ones is found by
/// four runs a side, which allow five that jump.
fn beside_a_jump(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for &runs in length.choose(&[4][..], &[4, 5]) {
        for cases in [14, 30] {
            let trial = move |random: &mut SplitMix64| {
                let mut case = |at: usize| {
                    let deviation = 0.001 + 0.009 * random.uniform();
                    let jump = if at == 0 { 0.07 } else { 0.0 };
                    (0..2 * runs)
                        .map(|_| deviation * random.normal() + jump * random.below(2) as f64)
                        .collect()
                };
                let field: Vec<Vec<f64>> = (0..cases).map(&mut case).collect();
                let side = |from: usize| field.iter().map(|logs| logs[from..from + runs].to_vec()).collect();
                let pairs = pairs(&[side(0), side(runs)], BLOCKS, 0.03, |at| if at > 0 { 0.95 } else { 1.0 });
                let judged = judge(&pairs, false);
                let quiet = || judged.iter().skip(1);
                (quiet().filter(|case| case.verdict == ChangeVerdict::Regressed).count(), quiet().count())
            };
            let setting = format!(
                "5 % down, quiet cases beside one that jumps by 7 % from run to run, {runs} runs a side, \
                 cases: {cases}"
            );
            all.push(Experiment::new(("found", DECIDED), setting, length.choose(60, 300), trial));
        }
    }
    all
}

/// Whether a change as large as a comparison says would be found is found, on new runs like those.
fn as_large_as_said(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    let settings = length.choose(
        &[(3, 8, 0.01)][..],
        &[
            (3, 1, 0.01),
            (3, 8, 0.01),
            (3, 8, 0.03),
            (5, 8, 0.02),
            (5, 40, 0.02),
            (10, 8, 0.02),
            (5, 280, 0.05),
        ],
    );
    for noise in [RunNoise::Of(Noise::Independent), RunNoise::Of(Noise::SharedByPass)] {
        for &(runs, cases, deviation) in settings {
            let trial = move |random: &mut SplitMix64| {
                let mut sides = || noise.sides(random, cases, [runs, runs], deviation, RunOrder::InRows);
                let from =
                    judge(&pairs(&sides(), BLOCKS, 0.03, |_| 1.0), false)[0].found_from.unwrap_or(f64::MAX);
                let change = |at| if at == 0 { 1.0 / (1.0 + from) } else { 1.0 };
                found(&pairs(&sides(), BLOCKS, 0.03, change), RunOrder::InRows, 1)
            };
            let setting = format!(
                "a change as large as said, {} {deviation}, {runs} runs a side, cases: {cases}",
                noise.name()
            );
            all.push(Experiment::new(("found", FOUND), setting, trials(length, cases, 4 * runs), trial));
        }
    }
    all
}

fn intervals(length: Length) -> Vec<Experiment> {
    let counts = length.choose(
        &[[3, 3]][..],
        &[[2, 2], [3, 3], [2, 4], [1, 7], [5, 5], [8, 8], [10, 10], [6, 20], [30, 30]],
    );
    let mut all = Vec::new();
    for noise in [Noise::Independent, Noise::SharedByPass, Noise::HeavyTails, Noise::Uneven] {
        for &[base, new] in counts {
            if base == 1 && noise == Noise::Uneven {
                continue;
            }
            for &cases in length.choose(&[1, 8][..], &[1, 4, 8, 40]) {
                let trial = move |random: &mut SplitMix64| {
                    let sides = RunNoise::Of(noise).sides(random, cases, [base, new], 0.02, RunOrder::InRows);
                    let judged = judge(&pairs(&sides, BLOCKS, 0.03, |_| 1.0), false);
                    let holds = |judged: &&analysis::judge::JudgedCase| {
                        judged.evidence.is_some_and(|evidence| evidence.interval.contains(1.0))
                    };
                    (judged.iter().filter(holds).count(), cases)
                };
                let setting = format!("{}, {base} against {new} runs, cases: {cases}", noise.name());
                let count = length.choose(200, 1000) / cases.min(5);
                all.push(Experiment::new(
                    ("intervals of a ratio that hold it", COVERAGE),
                    setting,
                    count,
                    trial,
                ));
            }
        }
    }
    all
}

/// Single runs, which suspect a change and never find one: suspicions where nothing changed, changes that are
/// suspected, and intervals where runs differ as is assumed beside them.
fn single(length: Length) -> Vec<Experiment> {
    let suspected = |pairs: &[CasePair]| {
        judge(pairs, false).iter().filter(|judged| judged.verdict == ChangeVerdict::Suspect).count()
    };
    let mut all = Vec::new();
    for noise in [
        Noise::Independent,
        Noise::SharedByAllocation,
        Noise::SharedByPass,
        Noise::HeavyTails,
        Noise::Bimodal,
    ] {
        for &cases in length.choose(&[8][..], &[1, 8, 40, 280]) {
            for [blocks, runs] in [[0.005, 0.005], [0.005, 0.01], [0.04, 0.028]] {
                let setting = format!(
                    "{}, single runs that differ by {runs}, blocks by {blocks}, cases: {cases}",
                    noise.name()
                );
                let trial = move |random: &mut SplitMix64| {
                    suspected(&single_runs(random, noise, cases, [blocks, runs], 1.0)) > 0
                };
                let what = ("documents with a false suspicion", FALSE_CLAIMS);
                all.push(Experiment::new(what, setting, trials(length, cases, 24), trial));
            }
        }
    }
    for &cases in length.choose(&[8][..], &[1, 8, 40, 280]) {
        let setting = format!("every case at half, single runs, blocks by 0.02, cases: {cases}");
        let trial = move |random: &mut SplitMix64| {
            (suspected(&single_runs(random, Noise::Independent, cases, [0.02, 0.01], 0.5)), cases)
        };
        all.push(Experiment::new(("suspected", FOUND), setting, trials(length, cases, 24) / 2, trial));
    }
    for [blocks, runs] in [[0.002, 0.005], [0.005, 0.005], [0.04, 0.036]] {
        let setting =
            format!("single runs that differ by {runs} as is assumed, blocks by {blocks}, cases: 8");
        let trial = move |random: &mut SplitMix64| {
            let judged = judge(&single_runs(random, Noise::Independent, 8, [blocks, runs], 1.0), false);
            let held = judged.iter().filter_map(|judged| judged.evidence);
            (held.filter(|evidence| evidence.interval.contains(1.0)).count(), 8)
        };
        let held = ("intervals of a ratio that hold it", COVERAGE);
        all.push(Experiment::new(held, setting, length.choose(200, 600), trial));
    }
    all
}

/// A run a side of so many cases: each has a level of its own and twelve blocks on three allocations.
fn single_runs(
    random: &mut SplitMix64,
    noise: Noise,
    cases: usize,
    [of_blocks, of_runs]: [f64; 2],
    change: f64,
) -> Vec<CasePair> {
    let mut run = |change: f64| -> Vec<(f64, Vec<f64>)> {
        let of_case = |logs: Vec<f64>, level: f64| {
            let blocks: Vec<f64> = logs.into_iter().map(|log| level * log.exp()).collect();
            let mut sorted = blocks.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            (f64::midpoint(sorted[5], sorted[6]), blocks)
        };
        let field = noise.field(random, cases, 12, of_blocks);
        field
            .into_iter()
            .map(|logs| of_case(logs, 50e9 * change * (of_runs * random.normal()).exp()))
            .collect()
    };
    let (base, new) = (run(1.0), run(change));
    let pair = |(base, new)| CasePair {
        unit: analysis::figure::Unit::BytesPerS,
        base: vec![base],
        new: vec![new],
        threshold: 0.03,
    };
    base.into_iter().zip(new).map(pair).collect()
}
