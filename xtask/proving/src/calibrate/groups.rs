//! `topo --measure`: eight GPUs that are alike, that have a group, and that have one too small for their
//! noise (`stats::grouping`).

use stats::block_interval::BlockValue;
use stats::grouping::{Grouping, GroupingFinding, GroupingRule, PairFigures, group};
use stats::random::SplitMix64;

use super::experiment::{Experiment, FALSE_CLAIMS, FOUND, Length, Limit};
use super::noise::{self, Noise, allocation};

/// Of GPUs by two questions, as the command asks.
const RULE: GroupingRule = GroupingRule { margin: 1.05, questions: 2 };

/// What is counted where GPUs are alike.
const SEES_SOME: (&str, Limit) = ("documents that see groups or a difference", FALSE_CLAIMS);

/// So many GPUs, each with so many blocks alone and beside each other one, at a part of the rate alone.
fn grouped(
    random: &mut SplitMix64,
    noise: Noise,
    items: usize,
    blocks: usize,
    deviation: f64,
    kept: impl Fn(usize, usize) -> f64,
) -> Option<Grouping> {
    let mut field = noise.field(random, items * items, blocks, deviation).into_iter();
    let mut case = |rate: f64| -> Vec<BlockValue> {
        let block = |(at, log): (usize, f64)| BlockValue {
            value: 50e9 * rate * log.exp(),
            allocation: allocation(at),
        };
        field.next().unwrap_or_default().into_iter().enumerate().map(block).collect()
    };
    let alone = (0..items).map(|_| case(1.0)).collect();
    let mut beside = |i: usize, j: usize| if i == j { Vec::new() } else { case(kept(i, j)) };
    let blocks = (0..items).map(|i| (0..items).map(|j| beside(i, j)).collect()).collect();
    group(&PairFigures { blocks, alone }, &RULE)
}

/// Four GPUs keep this part beside each other, and all of it beside the others.
fn four(part: f64) -> impl Fn(usize, usize) -> f64 {
    move |i, j| if i < 4 && j < 4 { part } else { 1.0 }
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let trials = length.choose(60, 300);
    let mut all = Vec::new();
    let is = |found: Option<Grouping>, wanted: &[GroupingFinding]| {
        found.is_some_and(|found| wanted.contains(&found.finding))
    };
    for noise in noise::ALL {
        for &(items, blocks) in
            length.choose(&[(4, 10)][..], &[(3, 10), (4, 3), (4, 10), (8, 3), (8, 6), (8, 10)])
        {
            for &deviation in length.choose(&[0.03][..], &[0.01, 0.03, 0.1]) {
                let setting = format!("{items} GPUs alike, {} {deviation}, {blocks} blocks", noise.name());
                let trial = move |random: &mut SplitMix64| {
                    let found = grouped(random, noise, items, blocks, deviation, |_, _| 0.8);
                    is(found, &[GroupingFinding::Groups, GroupingFinding::NoGroups])
                };
                all.push(Experiment::new(SEES_SOME, setting, trials, trial));
                let setting = format!(
                    "one of {items} GPUs' pairs 5.5 % off, {} {deviation}, {blocks} blocks",
                    noise.name()
                );
                let trial = move |random: &mut SplitMix64| {
                    let off = |i: usize, j: usize| if i + j == 1 { 1.055 } else { 1.0 };
                    is(grouped(random, noise, items, blocks, deviation, off), &[GroupingFinding::Alike])
                };
                all.push(Experiment::new(("documents that see none", FALSE_CLAIMS), setting, trials, trial));
            }
        }
    }
    for &(part, deviation) in length.choose(&[(0.92, 0.03)][..], &[(0.92, 0.03), (0.9, 0.04), (0.92, 0.01)]) {
        let setting =
            format!("four of 8 GPUs keep {part} beside each other, independent {deviation}, 10 blocks");
        let trial = move |random: &mut SplitMix64| {
            let found = grouped(random, Noise::Independent, 8, 10, deviation, four(part));
            is(found, &[GroupingFinding::Alike, GroupingFinding::NoGroups])
        };
        all.push(Experiment::new(
            ("documents that deny the group", FALSE_CLAIMS),
            setting.clone(),
            trials,
            trial,
        ));
        let trial = move |random: &mut SplitMix64| {
            let found = grouped(random, Noise::Independent, 8, 10, deviation, four(part));
            found.is_some_and(|found| found.groups == [[0, 1, 2, 3]])
        };
        let limit = if deviation > 0.01 { Limit::Told("too small for this noise: undecided") } else { FOUND };
        all.push(Experiment::new(("found", limit), setting, trials, trial));
    }
    for (part, blocks, deviation) in [(0.67, 10, 0.01), (0.67, 10, 0.03), (0.5, 3, 0.01), (0.5, 6, 0.01)] {
        let setting =
            format!("four of 8 GPUs keep {part} beside each other, independent {deviation}, {blocks} blocks");
        let trial = move |random: &mut SplitMix64| {
            let found = grouped(random, Noise::Independent, 8, blocks, deviation, four(part));
            found.is_some_and(|found| found.groups == [[0, 1, 2, 3]])
        };
        all.push(Experiment::new(("found", FOUND), setting, trials, trial));
    }
    all
}
