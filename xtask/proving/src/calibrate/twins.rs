//! Slower twins: GPUs of a node that are alike, and one that is at a part of the others' rate
//! (`analysis::slower_twins`).

use analysis::slower_twins::{SLOWER_ALONE, TwinRate, middling_reach, slower_than_others};
use stats::block_interval::{BlockValue, block_interval, values};
use stats::interval::median;
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length};
use super::machine::{self, Machine};
use super::noise::allocation;

/// Cases of a document in which the twins are compared: two directions of two sizes.
const CASES: usize = 4;

/// Which twins of a document are called slower in some case. The first is at this part of its rate in all of
/// them.
fn named(random: &mut SplitMix64, machine: Machine, twins: usize, first: f64) -> Vec<usize> {
    let field = machine.field(random, CASES * twins, 10, 0.01);
    let rate = |(at, logs): (usize, &Vec<f64>)| -> Option<TwinRate> {
        let times = |part: f64| logs.iter().map(move |log| 1e6 / part * (-log).exp());
        let times = times(if at % twins == 0 { first } else { 1.0 });
        let block = |(at, value): (usize, f64)| BlockValue { value, allocation: allocation(at) };
        let blocks: Vec<BlockValue> = times.enumerate().map(block).collect();
        let middle = median(&values(&blocks))?;
        let interval = block_interval(&blocks, 0.95)?;
        TwinRate::of(1e15 / middle, middle, interval.low)
    };
    let rates: Vec<TwinRate> = field.iter().enumerate().filter_map(rate).collect();
    let middling = middling_reach(rates.iter().copied());
    let slower = rates.chunks(twins).flat_map(|twins| slower_than_others(SLOWER_ALONE, twins, middling));
    slower.map(|(at, _)| at).collect()
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let machines =
        machine::ALL.into_iter().chain([Machine::AllocationLuck(3.0), Machine::AllocationModes(0.2)]);
    let mut all = Vec::new();
    for machine in machines {
        for &twins in length.choose(&[2, 8][..], &[2, 3, 4, 8]) {
            let setting = format!("{twins} twins alike, {CASES} cases, {}", machine.name());
            let trial = move |random: &mut SplitMix64| !named(random, machine, twins, 1.0).is_empty();
            let what = ("documents that call a twin slower", FALSE_CLAIMS);
            all.push(Experiment::new(what, setting, length.choose(60, 1000), trial));

            let setting = format!("one of {twins} twins at half, {CASES} cases, {}", machine.name());
            let trial = move |random: &mut SplitMix64| named(random, machine, twins, 0.5).contains(&0);
            all.push(Experiment::new(("found", FOUND), setting, length.choose(60, 400), trial));
        }
    }
    all
}
