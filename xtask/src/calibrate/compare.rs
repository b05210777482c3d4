//! `compare`: documents in which nothing changed, documents with a case at half its rate, documents 5 % down.
//!
//! A run is a value of each of its cases. The threshold is 0 where false claims are counted, so that only the statistics keep them away. Single runs have
//! twelve blocks on three allocations; runs differ by 0.5 % there, as is assumed of them, or by as much as their blocks.

use analysis::figure::Unit;
use analysis::judge::{CasePair, ChangeVerdict, judge};
use stats::family::NOISIER;
use stats::random::SplitMix64;

use super::experiment::{COVERAGE, Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::{self, Field, Noise};

/// How runs of one node usually differ, by their logarithms: between the 0.3 and the 0.8 % that large pinned copies have.
const USUAL: f64 = 0.005;

/// A side by run: what each run's blocks are is left out where runs are the unit.
fn pairs(base: &Field, new: &Field, threshold: f64, change: impl Fn(usize) -> f64) -> Vec<CasePair> {
    let side = |logs: &[f64], factor: f64| logs.iter().map(|log| (50e9 * factor * log.exp(), Vec::new())).collect();
    let pair = |(at, (base, new)): (usize, (&Vec<f64>, &Vec<f64>))| CasePair {
        unit: Unit::BytesPerS,
        base: side(base, 1.0),
        new: side(new, change(at)),
        threshold,
    };
    base.iter().zip(new).enumerate().map(pair).collect()
}

/// So many runs a side of so many cases: each has a level of its own, and twelve blocks.
fn runs_with_blocks(
    random: &mut SplitMix64,
    noise: Noise,
    (runs, cases): (usize, usize),
    of_blocks: f64,
    of_runs: f64,
    change: impl Fn(usize) -> f64,
) -> Vec<CasePair> {
    let mut run = |change: &dyn Fn(usize) -> f64| -> Vec<(f64, Vec<f64>)> {
        let blocks = noise.field(random, cases, 12, of_blocks);
        let mut of_case = |(at, logs): (usize, Vec<f64>)| {
            let level = 50e9 * change(at) * (of_runs * random.normal()).exp();
            let mut blocks: Vec<f64> = logs.into_iter().map(|log| level * log.exp()).collect();
            let in_order = blocks.clone();
            blocks.sort_unstable_by(f64::total_cmp);
            ((blocks[5] + blocks[6]) / 2.0, in_order)
        };
        blocks.into_iter().enumerate().map(&mut of_case).collect()
    };
    let mut side = |change: &dyn Fn(usize) -> f64| -> Vec<Vec<(f64, Vec<f64>)>> {
        let mut of_case = vec![Vec::with_capacity(runs); cases];
        for _ in 0..runs {
            for (case, run) in of_case.iter_mut().zip(run(change)) {
                case.push(run);
            }
        }
        of_case
    };
    let (base, new) = (side(&|_| 1.0), side(&change));
    let pair = |(base, new)| CasePair { unit: Unit::BytesPerS, base, new, threshold: 0.03 };
    base.into_iter().zip(new).map(pair).collect()
}

fn claimed(pairs: &[CasePair]) -> bool {
    let changed = [ChangeVerdict::Regressed, ChangeVerdict::Improved];
    judge(pairs).iter().any(|judged| changed.contains(&judged.verdict))
}

/// How many of the first so many cases are found.
fn found(pairs: &[CasePair], planted: usize) -> (usize, usize) {
    (judge(pairs).iter().take(planted).filter(|judged| judged.verdict == ChangeVerdict::Regressed).count(), planted)
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = nothing_changed(length);
    all.extend(half_the_rate(length));
    all.extend(five_per_cent(length));
    all.extend(as_large_as_said(length));
    all.extend(intervals(length));
    all.extend(single(length));
    all.extend(few_with_blocks(length));
    all
}

fn trials(length: Length, cases: usize, values: usize) -> usize {
    // As many values as make a second or so.
    let most = length.choose(100_000, 1_500_000) / (cases * values);
    most.clamp(length.choose(60, 150), length.choose(200, 600))
}

fn nothing_changed(length: Length) -> Vec<Experiment> {
    let counts = length.choose(
        &[(3, 3), (2, 10)][..],
        &[(1, 5), (2, 2), (3, 3), (2, 10), (4, 4), (5, 5), (10, 10), (50, 50), (1, 20)],
    );
    let families = length.choose(&[40][..], &[1, 8, 40, 1000]);
    let mut all = Vec::new();
    for noise in noise::ALL {
        for &(base, new) in counts {
            for &cases in families {
                let setting = format!("{}, {base} against {new} runs, cases: {cases}", noise.name());
                let limit = promised(noise, (base, new), cases);
                let trial = move |random: &mut SplitMix64| {
                    let (base, new) = noise.sides(random, cases, (base, new), 0.02);
                    claimed(&pairs(&base, &new, 0.0, |_| 1.0))
                };
                all.push(Experiment::new((FALSE, limit), setting, trials(length, cases, base + new), trial));
            }
        }
    }
    all
}

/// What is promised of false claims. The unit is the run: what no run of a side shows, because there are too few of them, is told.
fn promised(noise: Noise, runs: (usize, usize), cases: usize) -> Limit {
    let fewer = runs.0.min(runs.1);
    match noise {
        Noise::SharedByAllocation => Limit::Told("four runs in a row are one to all cases at once"),
        Noise::Autocorrelated if fewer < 3 => Limit::Told("two runs do not show that they hang together"),
        Noise::Autocorrelated if fewer < 4 && cases < 40 => {
            Limit::Told("three runs of few cases do not show that they hang together")
        }
        Noise::Autocorrelated if fewer < 12 && cases <= NOISIER => {
            Limit::Told("few runs of few cases are held to a weaker correlation, so that half a rate is found")
        }
        Noise::Uneven if fewer < 2 => Limit::Told("one run does not show its spread"),
        Noise::Bimodal | Noise::Ties if fewer < 3 => Limit::Told("two runs do not show modes or steps"),
        _ => FALSE_CLAIMS,
    }
}

/// What is counted where nothing changed.
const FALSE: &str = "documents with a false claim";

fn half_the_rate(length: Length) -> Vec<Experiment> {
    let counts = length.choose(&[3, 6, 10][..], &[3, 4, 5, 6, 8, 9, 10, 20, 50]);
    let families = length.choose(&[39][..], &[8, 280, 1000]);
    let mut all = Vec::new();
    for &runs in counts {
        for &cases in families {
            for (which, planted) in [("one case", 1), ("every case", cases)] {
                for (noise, deviation) in
                    [(Noise::Independent, 0.02), (Noise::Uneven, 0.005), (Noise::SharedByPass, 0.03)]
                {
                    let setting =
                        format!("{which} at half, {} {deviation}, {runs} runs a side, cases: {cases}", noise.name());
                    let trial = move |random: &mut SplitMix64| {
                        let (base, new) = noise.sides(random, cases, (runs, runs), deviation);
                        found(&pairs(&base, &new, 0.03, |at| if at < planted { 0.5 } else { 1.0 }), planted)
                    };
                    all.push(Experiment::new(("found", FOUND), setting, trials(length, cases, 2 * runs) / 2, trial));
                }
            }
        }
    }
    for &cases in length.choose(&[39][..], &[8, 280, 1000]) {
        let trial = move |random: &mut SplitMix64| {
            let (base, new) = Noise::Independent.sides(random, cases, (5, 1), 0.02);
            found(&pairs(&base, &new, 0.03, |_| 0.5), cases)
        };
        let setting = format!("every case at half, independent 0.02, 5 runs against 1, cases: {cases}");
        all.push(Experiment::new(("found", FOUND), setting, trials(length, cases, 6) / 2, trial));
    }
    all
}

fn five_per_cent(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for &(runs, cases, deviation) in length.choose(
        &[(5, 8, USUAL), (9, 39, USUAL)][..],
        &[
            (5, 1, USUAL),
            (5, 8, USUAL),
            (5, 39, USUAL),
            (5, 280, USUAL),
            (5, 1000, USUAL),
            (9, 280, USUAL),
            (10, 280, USUAL),
            (20, 280, USUAL),
            (5, 8, 0.01),
            (10, 8, 0.01),
            (10, 280, 0.01),
        ],
    ) {
        let setting = format!("one case 5 % down, independent {deviation}, {runs} runs a side, cases: {cases}");
        let trial = move |random: &mut SplitMix64| {
            let (base, new) = Noise::Independent.sides(random, cases, (runs, runs), deviation);
            found(&pairs(&base, &new, 0.03, |at| if at == 0 { 0.95 } else { 1.0 }), 1)
        };
        all.push(Experiment::new(("found", FOUND), setting, trials(length, cases, 2 * runs), trial));
    }
    all
}

/// Whether a change as large as a comparison says would be found is found, on new runs like those.
fn as_large_as_said(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    let settings =
        length.choose(&[(5, 8, 0.02)][..], &[(3, 8, 0.02), (5, 8, 0.02), (5, 39, 0.02), (10, 8, 0.02), (5, 280, 0.05)]);
    for noise in [Noise::Independent, Noise::Autocorrelated] {
        for &(runs, cases, deviation) in settings {
            let trial = move |random: &mut SplitMix64| {
                let (base, new) = noise.sides(random, cases, (runs, runs), deviation);
                let from = judge(&pairs(&base, &new, 0.03, |_| 1.0))
                    .iter()
                    .filter_map(|judged| judged.found_from)
                    .fold(0.0, f64::max);
                let (base, new) = noise.sides(random, cases, (runs, runs), deviation);
                found(&pairs(&base, &new, 0.03, |at| if at == 0 { 1.0 / (1.0 + from) } else { 1.0 }), 1)
            };
            let setting =
                format!("a change as large as said, {} {deviation}, {runs} runs a side, cases: {cases}", noise.name());
            all.push(Experiment::new(("found", FOUND), setting, trials(length, cases, 4 * runs), trial));
        }
    }
    all
}

fn intervals(length: Length) -> Vec<Experiment> {
    let counts = length.choose(
        &[(3, 3), (6, 6)][..],
        &[(1, 5), (2, 2), (3, 3), (2, 10), (5, 5), (6, 6), (7, 7), (8, 8), (10, 10), (6, 20), (50, 50)],
    );
    let mut all = Vec::new();
    for noise in [Noise::Independent, Noise::HeavyTails, Noise::Uneven] {
        for &(base, new) in counts {
            let limit = if base == 1 && noise == Noise::Uneven {
                Limit::Told("one run does not show its spread")
            } else {
                COVERAGE
            };
            let trial = move |random: &mut SplitMix64| {
                let (base, new) = noise.sides(random, 1, (base, new), 0.02);
                let judged = judge(&pairs(&base, &new, 0.03, |_| 1.0));
                judged[0].evidence.is_some_and(|evidence| evidence.interval.contains(1.0))
            };
            let setting = format!("{}, {base} against {new} runs", noise.name());
            let held = ("intervals of a ratio that hold it", limit);
            all.push(Experiment::new(held, setting, length.choose(400, 1000), trial));
        }
    }
    all
}

fn single(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for noise in [Noise::Independent, Noise::SharedByAllocation, Noise::SharedByPass, Noise::HeavyTails, Noise::Bimodal]
    {
        for &cases in length.choose(&[8][..], &[1, 8, 40, 280, 1000]) {
            for (of_blocks, of_runs) in [(0.005, 0.005), (0.005, 0.01), (0.04, 0.028)] {
                let setting = format!(
                    "{}, single runs that differ by {of_runs}, blocks by {of_blocks}, cases: {cases}",
                    noise.name()
                );
                let trial = move |random: &mut SplitMix64| {
                    claimed(&runs_with_blocks(random, noise, (1, cases), of_blocks, of_runs, |_| 1.0))
                };
                all.push(Experiment::new((FALSE, FALSE_CLAIMS), setting, trials(length, cases, 24), trial));
            }
        }
    }
    for &cases in length.choose(&[8, 280][..], &[1, 8, 39, 280, 1000]) {
        let setting = format!("every case at half, single runs, blocks by 0.02, cases: {cases}");
        let trial = move |random: &mut SplitMix64| {
            found(&runs_with_blocks(random, Noise::Independent, (1, cases), 0.02, 0.01, |_| 0.5), cases)
        };
        all.push(Experiment::new(("found", FOUND), setting, trials(length, cases, 24) / 2, trial));
    }
    all
}

/// Few runs, whose blocks speak too where the runs do not.
fn few_with_blocks(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    let counts = length.choose(&[3][..], &[2, 3, 5]);
    for noise in [Noise::Independent, Noise::SharedByPass, Noise::HeavyTails, Noise::Bimodal] {
        for &cases in length.choose(&[8][..], &[1, 8, 40, 280]) {
            for (of_blocks, of_runs) in [(0.005, 0.005), (0.002, 0.01), (0.005, 0.05), (0.04, 0.028)] {
                for &runs in counts {
                    let setting = format!(
                        "{}, {runs} runs a side that differ by {of_runs}, blocks by {of_blocks}, cases: {cases}",
                        noise.name()
                    );
                    let trial = move |random: &mut SplitMix64| {
                        claimed(&runs_with_blocks(random, noise, (runs, cases), of_blocks, of_runs, |_| 1.0))
                    };
                    let trials = trials(length, cases, 24 * runs);
                    all.push(Experiment::new((FALSE, FALSE_CLAIMS), setting, trials, trial));
                }
            }
        }
    }
    for &runs in counts {
        let setting =
            format!("every case 7 % down, {runs} runs a side that differ by 0.003, blocks by 0.005, cases: 8");
        let trial = move |random: &mut SplitMix64| {
            found(&runs_with_blocks(random, Noise::Independent, (runs, 8), 0.005, 0.003, |_| 0.93), 8)
        };
        all.push(Experiment::new(("found", FOUND), setting, trials(length, 8, 24 * runs), trial));
    }
    all
}
