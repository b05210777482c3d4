//! `latency --under-load`: where a curve of latency against traffic climbs, and whether it comes to twice the
//! idle latency (`stats::latency_curve`).
//!
//! Eleven points, of which each latency has the interval of its blocks. A straight line and a flat one have
//! no knee; a curve that ends a hundredth below or above twice does not come to it, or does.

use stats::block_interval::{BlockValue, block_interval};
use stats::interval::median;
use stats::latency_curve::{CurvePoint, Twice, knee, twice_idle};
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::{self, Noise, allocation};

/// What is counted where there is no knee.
const NO_KNEE: (&str, Limit) = ("curves with a knee that is none", FALSE_CLAIMS);

/// The points of a curve whose latency is so many times the idle one at each part of the full traffic.
fn curve(
    random: &mut SplitMix64,
    noise: Noise,
    blocks: usize,
    times: impl Fn(f64) -> f64,
) -> Vec<CurvePoint> {
    let field = noise.field(random, 11, blocks, 0.01);
    let point = |(at, logs): (usize, &Vec<f64>)| {
        let part = at as f64 / 10.0;
        let block = |(block, log): (usize, &f64)| BlockValue {
            value: 100.0 * times(part) * log.exp(),
            allocation: allocation(block),
        };
        let blocks: Vec<BlockValue> = logs.iter().enumerate().map(block).collect();
        let values: Vec<f64> = blocks.iter().map(|block| block.value).collect();
        let latency_ns = median(&values).unwrap_or(f64::NAN);
        CurvePoint { bytes_per_s: part * 150e9, latency_ns, interval_ns: block_interval(&blocks, 0.95) }
    };
    field.iter().enumerate().map(point).collect()
}

/// Flat to seven tenths of the traffic, and then steep: as a server's curve is.
fn steep(part: f64) -> f64 {
    1.0 + 0.1 * part + if part > 0.7 { 8.0 * (part - 0.7) } else { 0.0 }
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let trials = length.choose(60, 1000);
    let mut all = Vec::new();
    for noise in noise::ALL {
        for &blocks in length.choose(&[10][..], &[3, 6, 10, 20, 50]) {
            let setting = |curve: &str| format!("{curve}, {} 0.01, {blocks} blocks", noise.name());
            for (name, rises) in
                [("a straight line to 2.5 times", 1.5), ("a flat line", 0.0), ("a line to 1.3 times", 0.3)]
            {
                let trial = move |random: &mut SplitMix64| {
                    knee(&curve(random, noise, blocks, |part| 1.0 + rises * part)).is_some()
                };
                all.push(Experiment::new(NO_KNEE, setting(name), trials, trial));
            }
            // Modes of a tenth move a median by as much, and so does the wandering of ten blocks.
            let limit = match noise {
                Noise::Bimodal => Limit::Told("a median between two modes is either"),
                _ => FALSE_CLAIMS,
            };
            for (end, wrong) in [(1.99, true), (2.01, false)] {
                let trial = move |random: &mut SplitMix64| {
                    let found = twice_idle(&curve(random, noise, blocks, |part| 1.0 + (end - 1.0) * part));
                    if wrong { matches!(found, Twice::Reached { .. }) } else { found == Twice::NotReached }
                };
                let name = format!("a line to {end} times");
                all.push(Experiment::new(("curves wrong about twice", limit), setting(&name), trials, trial));
            }
        }
    }
    for &blocks in length.choose(&[10][..], &[3, 6, 10, 20, 50]) {
        let limit =
            if blocks < 6 { Limit::Told("a median has an interval from six blocks on") } else { FOUND };
        let trial = move |random: &mut SplitMix64| {
            let points = curve(random, Noise::Independent, blocks, steep);
            let climbs = knee(&points).is_some_and(|point| (point.bytes_per_s / 150e9 - 0.7).abs() < 0.15);
            climbs && matches!(twice_idle(&points), Twice::Reached { .. })
        };
        let setting =
            format!("flat to 0.7 of the traffic, then steep to 3.5 times, independent 0.01, {blocks} blocks");
        all.push(Experiment::new(("found, with twice", limit), setting, trials, trial));
    }
    all
}
