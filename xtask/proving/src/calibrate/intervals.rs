//! The interval of a figure: how often it holds what the figure would be on any memory and over all time,
//! with the blocks that the stop rule takes.
//!
//! A case ends after ten blocks (a run that does not wait), or goes on to fifty. Counted are all intervals,
//! and by themselves those of cases that reached ± 1 %: a narrow interval is narrow by luck more often where
//! few allocations were seen.

use stats::block_interval::{BlockValue, block_interval};
use stats::random::SplitMix64;
use stats::stop::{Patience, StopReason, StopRule, decide};

use super::experiment::{COVERAGE, Count, Experiment, Length, Limit};
use super::machine::Machine;
use super::noise::{Noise, allocation};

/// All intervals.
const HOLD: &str = "intervals that hold the figure";

/// What makes one case's blocks.
#[derive(Clone, Copy)]
enum Blocks {
    Of(Noise),
    On(Machine),
}

/// Why fewer intervals hold the figure than say so.
const NARROW: &str = "three allocations alike by luck";
const CORRELATED: &str = "blocks of one run hang together";
const ONE_MODE: &str = "three allocations in one mode in a quarter of runs";

/// What METHOD promises of each kind of blocks: of all intervals, and of those within ± 1 % where blocks
/// scatter by 1 % or less.
const KINDS: [(Blocks, Limit, Option<Limit>); 10] = [
    (Blocks::Of(Noise::Independent), COVERAGE, Some(COVERAGE)),
    (Blocks::Of(Noise::HeavyTails), COVERAGE, Some(COVERAGE)),
    (Blocks::Of(Noise::Ties), COVERAGE, Some(COVERAGE)),
    (Blocks::On(Machine::AllocationLuck(1.0)), COVERAGE, Some(Limit::AtLeastFor(0.75, NARROW))),
    (Blocks::On(Machine::AllocationLuck(2.0)), COVERAGE, Some(Limit::AtLeastFor(0.4, NARROW))),
    (Blocks::On(Machine::AllocationLuck(3.0)), COVERAGE, Some(Limit::AtLeastFor(0.3, NARROW))),
    (
        Blocks::On(Machine::Correlated(0.5)),
        Limit::AtLeastFor(0.9, CORRELATED),
        Some(Limit::AtLeastFor(0.8, CORRELATED)),
    ),
    (
        Blocks::On(Machine::Correlated(0.8)),
        Limit::AtLeastFor(0.7, CORRELATED),
        Some(Limit::AtLeastFor(0.5, CORRELATED)),
    ),
    (
        Blocks::On(Machine::Correlated(0.9)),
        Limit::AtLeastFor(0.55, CORRELATED),
        Some(Limit::AtLeastFor(0.5, CORRELATED)),
    ),
    (Blocks::On(Machine::AllocationModes(0.03)), Limit::AtLeastFor(0.7, ONE_MODE), None),
];

impl Blocks {
    fn name(self) -> String {
        match self {
            Self::Of(noise) => noise.name().to_owned(),
            Self::On(machine) => machine.name(),
        }
    }

    /// The blocks of a case, and what its figure is in truth.
    fn draw(self, random: &mut SplitMix64, deviation: f64) -> (Vec<BlockValue>, f64) {
        let most = StopRule::default().max_blocks;
        let (field, center) = match self {
            Self::Of(noise) => (noise.field(random, 1, most, deviation), noise.center(deviation)),
            Self::On(machine) => (machine.field(random, 1, most, deviation), machine.center()),
        };
        let block =
            |(at, log): (usize, &f64)| BlockValue { value: 50e9 * log.exp(), allocation: allocation(at) };
        (field[0].iter().enumerate().map(block).collect(), 50e9 * center.exp())
    }
}

/// Whether the interval holds with which a case ends, and why it ended.
fn ended(blocks: &[BlockValue], truth: f64, rule: &StopRule) -> (bool, Option<StopReason>) {
    let end = (1..=blocks.len()).find_map(|count| Some((count, decide(&blocks[..count], rule)?)));
    let (count, reason) = end.map_or((blocks.len(), None), |(count, reason)| (count, Some(reason)));
    let interval = block_interval(&blocks[..count], 0.95);
    (interval.is_some_and(|interval| interval.contains(truth)), reason)
}

/// Everything that is simulated.
pub fn experiments(length: Length) -> Vec<Experiment> {
    let mut all = Vec::new();
    for (blocks, of_all, of_narrow) in KINDS {
        for &deviation in length.choose(&[0.003][..], &[0.003, 0.01, 0.02]) {
            for most in [10, 50] {
                let rule = StopRule { max_blocks: most, patience: Patience::Long, ..StopRule::default() };
                let setting = format!("{}, {deviation}, at most {most} blocks", blocks.name());
                let trial = move |random: &mut SplitMix64| {
                    let (values, truth) = blocks.draw(random, deviation);
                    ended(&values, truth, &rule).0
                };
                let trials = length.choose(200, 2000);
                all.push(Experiment::new((HOLD, of_all), setting.clone(), trials, trial));
                let Some(of_narrow) = of_narrow.filter(|_| deviation <= 0.01) else { continue };
                let trial = move |random: &mut SplitMix64| -> Count {
                    let (values, truth) = blocks.draw(random, deviation);
                    match ended(&values, truth, &rule) {
                        (holds, Some(StopReason::Target)) => holds.into(),
                        _ => (0, 0).into(),
                    }
                };
                all.push(Experiment::new(
                    ("intervals within ± 1 % that hold it", of_narrow),
                    setting,
                    trials,
                    trial,
                ));
            }
        }
    }
    all
}
