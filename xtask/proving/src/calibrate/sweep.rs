//! `sweep`: latency, rate and dips of times against size, 4 B to 1 GiB (`stats::line_fit`, dips as
//! `analysis::sweep_fits` has them).

use stats::block_interval::BlockValue;
use stats::line_fit::{LineFit, SizeTimes, line_fit, sure_dips};
use stats::random::SplitMix64;

use super::experiment::{COVERAGE, Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::{self, Noise, allocation};

/// What is counted of one way of copying without a dip.
const NO_DIP: (&str, Limit) = ("documents with a dip that is none", FALSE_CLAIMS);
const ONE_WAY: (&str, Limit) = ("documents with a second way that is none", FALSE_CLAIMS);

/// One way of copying, and two: nanoseconds.
fn straight(bytes: f64) -> f64 {
    6_700.0 + bytes / 55.0
}

fn two_ways(bytes: f64) -> f64 {
    if bytes < 65_536.0 { 6_700.0 + bytes / 20.0 } else { 8_000.0 + bytes / 55.0 }
}

/// Small copies of an H100: a curve that no two lines describe.
fn curved(bytes: f64) -> f64 {
    match bytes {
        small if small <= 1024.0 => 7_000.0,
        middle if middle <= 32_768.0 => 7_800.0 + middle / 12.0,
        large => 9_200.0 + large / 54.0,
    }
}

fn fitted(
    random: &mut SplitMix64,
    noise: Noise,
    blocks: usize,
    deviation: f64,
    ns: impl Fn(f64) -> f64,
) -> Option<LineFit> {
    let field = noise.field(random, 29, blocks, deviation);
    let point = |(power, logs): (i32, &Vec<f64>)| {
        let bytes = 4.0 * 2_f64.powi(power);
        let block = |(at, log): (usize, &f64)| BlockValue {
            value: ns(bytes) * log.exp(),
            allocation: allocation(at),
        };
        SizeTimes { bytes, blocks: logs.iter().enumerate().map(block).collect() }
    };
    line_fit(&(0..).zip(&field).map(point).collect::<Vec<_>>(), 1)
}

/// Whether the interval of α, and that of β, hold what is true: times lie around `center`, a logarithm.
fn holds(fit: &LineFit, center: f64) -> (usize, usize) {
    let (first, last) = (fit.lines.first(), fit.lines.last());
    let latency = first.is_some_and(|line| line.latency_interval_ns.contains(6_700.0 * center.exp()));
    let rate = last.is_some_and(|line| line.interval_bytes_per_s.contains(55e9 / center.exp()));
    (usize::from(latency) + usize::from(rate), 2)
}

/// Sizes that are surely slow.
fn dips(fit: &LineFit) -> Vec<f64> {
    let p_values = sure_dips(&fit.contrasts.iter().collect::<Vec<_>>());
    let sure = fit.contrasts.iter().zip(p_values).filter(|(one, p)| *p < 0.05 && one.ratio < 0.95);
    sure.map(|(one, _)| one.bytes).collect()
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let trials = length.choose(100, 1000);
    let mut all = Vec::new();
    for noise in noise::ALL {
        for &(blocks, deviation) in length.choose(
            &[(10, 0.01)][..],
            &[(3, 0.01), (10, 0.005), (10, 0.01), (10, 0.05), (20, 0.01), (50, 0.01)],
        ) {
            let setting = format!("one way of copying, {} {deviation}, {blocks} blocks", noise.name());
            let limit = match (noise, blocks) {
                (Noise::SharedByAllocation, ..4) => Limit::Told("one allocation does not show another"),
                (Noise::Bimodal, _) => Limit::Told("a median between two modes is either"),
                _ => COVERAGE,
            };
            let trial = move |random: &mut SplitMix64| {
                fitted(random, noise, blocks, deviation, straight)
                    .map_or((0, 2), |fit| holds(&fit, noise.center(deviation)))
            };
            all.push(Experiment::new(
                ("intervals of α and β that hold them", limit),
                setting.clone(),
                trials,
                trial,
            ));
            let trial = move |random: &mut SplitMix64| {
                let fit = fitted(random, noise, blocks, deviation, straight);
                fit.is_some_and(|fit| !dips(&fit).is_empty())
            };
            all.push(Experiment::new(NO_DIP, setting.clone(), trials, trial));
            let trial = move |random: &mut SplitMix64| {
                let fit = fitted(random, noise, blocks, deviation, straight);
                fit.is_some_and(|fit| fit.lines.len() > 1)
            };
            all.push(Experiment::new(ONE_WAY, setting, trials, trial));
        }
    }
    for noise in noise::ALL {
        let setting = format!("a curve that no two lines describe, {} 0.01, 10 blocks", noise.name());
        let trial = move |random: &mut SplitMix64| {
            fitted(random, noise, 10, 0.01, curved).is_some_and(|fit| fit.lines.len() > 1)
        };
        all.push(Experiment::new(ONE_WAY, setting, trials, trial));
    }
    for noise in [Noise::Independent, Noise::SharedByAllocation] {
        let setting = format!("two ways of copying, {} 0.01, 10 blocks", noise.name());
        let trial = move |random: &mut SplitMix64| {
            fitted(random, noise, 10, 0.01, two_ways).map_or((0, 2), |fit| holds(&fit, 0.0))
        };
        all.push(Experiment::new(("intervals of α and β that hold them", COVERAGE), setting, trials, trial));
    }
    for (times, blocks) in [(1.2, 10), (2.0, 3), (2.0, 10)] {
        let trial = move |random: &mut SplitMix64| {
            let slow = |bytes: f64| straight(bytes) * if bytes == 131_072.0 { times } else { 1.0 };
            let fit = fitted(random, Noise::Independent, blocks, 0.01, slow);
            fit.is_some_and(|fit| dips(&fit) == [131_072.0])
        };
        let setting = format!("a size that takes {times} times as long, independent 0.01, {blocks} blocks");
        all.push(Experiment::new(("found", FOUND), setting, trials, trial));
    }
    for (noise, blocks) in
        [(Noise::Independent, 3), (Noise::Independent, 10), (Noise::SharedByAllocation, 10)]
    {
        let trial = move |random: &mut SplitMix64| {
            let fit = fitted(random, noise, blocks, 0.01, two_ways);
            fit.is_some_and(|fit| fit.lines.len() == 2)
        };
        let setting = format!("a second way of copying, {} 0.01, {blocks} blocks", noise.name());
        all.push(Experiment::new(("found", FOUND), setting, trials, trial));
    }
    all
}
