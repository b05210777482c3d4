//! What is odd about a case's blocks, in words: a flag never changes a number, it says how to read it.
//!
//! Every rule wants both significance and size: what cannot be told from chance, or is too small to act on,
//! is not flagged. The tests hold each rule to a false alarm rate of at most 1 % (3 % in heavy-tailed noise)
//! on 10 blocks without a fault, and to finding the fault it is for. The rates hold for independent blocks,
//! which the random order of blocks over cases is there to provide.

use crate::alpha::CONFIDENCE;
use crate::bimodal;
use crate::block_interval::{BlockValue, block_interval};
use crate::interval::{median, sorted};
use crate::sample::Block;
use crate::trend;

/// Fewer blocks are not judged for a slow start, a drift or two groups of blocks: chance alone makes each
/// look real.
const LEAST_BLOCKS: usize = 8;

/// How much slower than the others' median the first block must be.
const SLOW_FIRST: f64 = 0.05;

/// How many times as far above that median as any other block the first must be. Being the slowest of ten is
/// chance one time in ten; being three times as far out as the next is not.
const SLOW_FIRST_TIMES: f64 = 3.0;

/// How unlikely by chance a drift must be, and how much of the median it must make up from the first block to
/// the last.
const DRIFT_P: f64 = 0.01;
const DRIFT_SIZE: f64 = 0.02;

/// How much of the median two modes must be apart, and how many ticks of the timer.
const MODES_APART: f64 = 0.05;
const MODES_APART_TICKS: f64 = 4.0;

/// A round must last this many times the timer's resolution and cost, so that the timer makes up at most 1 %
/// of it.
const TIMER_SHARE: f64 = 100.0;

/// The half-width of the median's interval, as a share of the median, from which on a case is noisy.
pub const NOISY: f64 = 0.05;

/// What the timer that timed the rounds can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimerFacts {
    /// The smallest difference it shows, ns.
    pub resolution_ns: f64,
    /// What reading it costs, ns: part of every round, never subtracted.
    pub cost_ns: f64,
}

/// Something odd about a case's blocks.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// Too few blocks for a 95 % interval of the median.
    FewBlocks,
    /// The first block stands out as slow.
    SlowFirstBlock,
    /// Blocks became slower or faster over the run.
    Drift,
    /// Rounds come in two groups.
    Bimodal,
    /// Rounds are too short for the timer.
    TimerLimited,
    /// The median is not known well.
    Noisy,
    /// Something held the GPU's clocks down.
    Throttled,
    /// Another process computed on the GPU.
    SharedGpu,
    /// What the CPU moved is less than four times its L3 cache, which blocks do not show.
    Cached,
    /// A flag that a newer numabench wrote.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Newer,
}

impl Flag {
    /// As documents name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FewBlocks => "few-blocks",
            Self::SlowFirstBlock => "slow-first-block",
            Self::Drift => "drift",
            Self::Bimodal => "bimodal",
            Self::TimerLimited => "timer-limited",
            Self::Noisy => "noisy",
            Self::Throttled => "throttled",
            Self::SharedGpu => "shared-gpu",
            Self::Cached => "cached",
            Self::Newer => "newer",
        }
    }

    /// What was seen, why it may be, and what to try.
    pub fn meaning(&self) -> &'static str {
        match self {
            Self::FewBlocks => {
                "fewer than 6 blocks were measured, so there is no 95 % interval for the median; \
                 let it measure 6 blocks or more (no fixed number of rounds, or a longer time)"
            }
            Self::SlowFirstBlock => {
                "the first block was more than 5 % slower than the others and far slower than any of them: \
                 something was still warming up (clocks, page tables, the link's power state); \
                 `numabench pingpong --reps N --warmup M` has more rounds that do not count"
            }
            Self::Drift => {
                "blocks became steadily slower or faster, by 2 % or more over the run: clocks rising or \
                 falling with load or temperature, or another job starting or ending; look at the blocks in \
                 the document and run again"
            }
            Self::Bimodal => {
                "rounds fall into two groups with little between them, so that neither mean nor median is \
                 typical: two paths or memory placements, clocks that switch, or a neighbour that comes and \
                 goes; look at p5 and p95, and compare allocations in the document"
            }
            Self::TimerLimited => {
                "a round lasts less than 100 times the timer's resolution and cost, so the timer itself is \
                 more than 1 % of what is shown; read differences of a few per cent as none, or measure more \
                 at a time"
            }
            Self::Noisy => {
                "the 95 % interval of the median is wider than ±5 %: differences smaller than that cannot be \
                 seen; measure longer, or on a node and PUs that nothing else uses"
            }
            Self::Throttled => {
                "the driver held the GPU's clocks down for 1 % of the time or more (power, temperature, its \
                 board): what is shown is less than it can do; `nvidia-smi -q -d PERFORMANCE` says why"
            }
            Self::Cached => {
                "what the CPU moved is less than four times its L3 cache, so this is in part or all of it \
                 the speed of the cache and not of the memory; ask for more than that"
            }
            Self::SharedGpu => {
                "another process computed on the GPU meanwhile, and may have taken part of its links and \
                 copy engines; `nvidia-smi` names it"
            }
            Self::Newer => {
                "a flag that this numabench does not know: read the document with the one that wrote it"
            }
        }
    }
}

/// The flags of a case's blocks, which must be in the order they were measured; none for blocks that hold no
/// measurement.
pub fn flags(blocks: &[Block], timer: &TimerFacts) -> Vec<Flag> {
    if !blocks.iter().all(Block::is_measured) {
        return Vec::new();
    }
    let values: Vec<BlockValue> = blocks.iter().map(Block::value).collect();
    let block_ns: Vec<f64> = values.iter().map(|block| block.value).collect();
    let round_ns = sorted(&blocks.iter().flat_map(|block| &block.round_ns).copied().collect::<Vec<f64>>());
    let (Some(block_median), Some(round_median)) = (median(&block_ns), median(&round_ns)) else {
        return Vec::new();
    };

    let interval = block_interval(&values, CONFIDENCE);
    let modes_apart = (MODES_APART * round_median).max(MODES_APART_TICKS * timer.resolution_ns);
    let seen = [
        (Flag::FewBlocks, interval.is_none()),
        (Flag::SlowFirstBlock, is_first_slow(&block_ns)),
        (Flag::Drift, is_drifting(&block_ns, block_median)),
        (Flag::Bimodal, is_in_two_groups(blocks, &round_ns, modes_apart)),
        (
            Flag::TimerLimited,
            round_median * shared_by(blocks) < TIMER_SHARE * (timer.resolution_ns + timer.cost_ns),
        ),
        (Flag::Noisy, interval.is_some_and(|interval| interval.relative_half_width(block_median) > NOISY)),
    ];
    seen.into_iter().filter_map(|(flag, is_seen)| is_seen.then_some(flag)).collect()
}

/// How many copies one reading of the timer is shared by, at least.
fn shared_by(blocks: &[Block]) -> f64 {
    f64::from(blocks.iter().map(|block| block.copies_per_round).min().unwrap_or(1).max(1))
}

fn is_first_slow(block_ns: &[f64]) -> bool {
    let Some((first, others)) = block_ns.split_first().filter(|_| block_ns.len() >= LEAST_BLOCKS) else {
        return false;
    };
    let Some(middle) = median(others) else { return false };
    let farthest = others.iter().fold(0.0_f64, |farthest, ns| farthest.max(ns - middle));
    first - middle > (SLOW_FIRST * middle).max(SLOW_FIRST_TIMES * farthest)
}

fn is_drifting(block_ns: &[f64], block_median: f64) -> bool {
    let Some(slope) = trend::sen_slope(block_ns).filter(|_| block_ns.len() >= LEAST_BLOCKS) else {
        return false;
    };
    let size = (slope * (block_ns.len() - 1) as f64 / block_median).abs();
    size >= DRIFT_SIZE && trend::mann_kendall_p(block_ns).is_some_and(|p| p < DRIFT_P)
}

/// All rounds together show groups within blocks and between them, but that takes enough blocks: three blocks
/// of which one is slow are always two groups. With fewer, half of the blocks must show groups within
/// themselves.
fn is_in_two_groups(blocks: &[Block], round_ns: &[f64], apart_ns: f64) -> bool {
    if blocks.len() >= LEAST_BLOCKS {
        return bimodal::is_bimodal(round_ns, apart_ns);
    }
    let in_groups =
        blocks.iter().filter(|block| bimodal::is_bimodal(&sorted(&block.round_ns), apart_ns)).count();
    2 * in_groups >= blocks.len()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;
    use crate::noise;
    use crate::random::SplitMix64;

    const TIMER: TimerFacts = TimerFacts { resolution_ns: 1.0, cost_ns: 20.0 };
    const ALL: [Flag; 6] =
        [Flag::FewBlocks, Flag::SlowFirstBlock, Flag::Drift, Flag::Bimodal, Flag::TimerLimited, Flag::Noisy];

    /// Blocks of 20 rounds about `block_ns`, each round with 0.2 % noise of its own.
    fn case(random: &mut SplitMix64, block_ns: impl IntoIterator<Item = f64>) -> Vec<Block> {
        let mut rounds = |ns: f64| (0..20).map(|_| ns * (1.0 + 0.002 * noise::normal(random))).collect();
        noise::blocks(block_ns.into_iter().map(&mut rounds).collect())
    }

    fn share(runs: u32, flag: Flag, mut blocks: impl FnMut() -> Vec<Block>) -> f64 {
        let flagged = (0..runs).filter(|_| flags(&blocks(), &TIMER).contains(&flag)).count();
        flagged as f64 / f64::from(runs)
    }

    #[test]
    fn a_quiet_case_has_no_flag() {
        let mut random = SplitMix64::new(10);
        for _ in 0..500 {
            let noise: Vec<f64> = (0..10).map(|_| 1e5 * (1.0 + 0.005 * noise::normal(&mut random))).collect();
            assert_eq!(flags(&case(&mut random, noise), &TIMER), []);
        }
    }

    #[test]
    fn noise_of_any_shape_rarely_raises_slow_first_block_or_drift_or_bimodal() {
        let mut random = SplitMix64::new(11);
        for (shape, draw) in noise::SHAPES {
            let most = if matches!(shape, "normal" | "uniform") { 0.01 } else { 0.03 };
            for flag in [Flag::SlowFirstBlock, Flag::Drift, Flag::Bimodal] {
                // Ten per cent of noise between blocks, so that the rules' least sizes do not hide their
                // error rates.
                let alarms = share(3000, flag, || {
                    noise::blocks((0..10).map(|_| vec![1e5 * (1.0 + 0.1 * draw(&mut random)); 20]).collect())
                });
                assert!(alarms <= most, "{flag:?} in {shape} noise: {alarms}");
            }
        }
    }

    #[test]
    fn a_slow_first_block_is_flagged_and_a_slow_later_one_is_not() {
        let mut random = SplitMix64::new(12);
        let mut at = |slow: usize| {
            share(300, Flag::SlowFirstBlock, || {
                let blocks: Vec<f64> = (0..10).map(|block| if block == slow { 1.1e5 } else { 1e5 }).collect();
                case(&mut random, blocks)
            })
        };
        assert_eq!(at(0), 1.0);
        assert_eq!(at(1), 0.0);
        assert_eq!(at(9), 0.0);
    }

    #[test]
    fn a_first_block_that_is_only_a_little_slow_is_left_alone() {
        let blocks: Vec<f64> = (0..10).map(|block| if block == 0 { 1.04e5 } else { 1e5 }).collect();
        assert_eq!(flags(&noise::blocks(blocks.iter().map(|ns| vec![*ns; 20]).collect()), &TIMER), []);
    }

    #[test]
    fn a_drift_is_flagged_in_either_direction_from_two_per_cent_on() {
        let mut random = SplitMix64::new(13);
        let mut over = |total: f64| {
            share(300, Flag::Drift, || {
                let blocks: Vec<f64> =
                    (0..10).map(|block| 1e5 * (1.0 + total * f64::from(block) / 9.0)).collect();
                case(&mut random, blocks)
            })
        };
        assert!(over(0.03) > 0.99 && over(-0.03) > 0.99);
        assert_eq!(over(0.015), 0.0, "significant, and too small to act on");
    }

    #[test]
    fn one_slow_block_is_no_drift_wherever_it_is() {
        for slow in 0..10 {
            let rounds = (0..10)
                .map(|block| vec![if block == slow { 2e5 } else { 1e5 + f64::from(block % 3) }; 20])
                .collect();
            assert!(!flags(&noise::blocks(rounds), &TIMER).contains(&Flag::Drift), "block {slow}");
        }
    }

    #[test]
    fn rounds_in_two_groups_are_flagged_within_blocks_and_between_them() {
        let within = noise::blocks(vec![[[1e5; 10], [1.2e5; 10]].concat(); 10]);
        assert_eq!(flags(&within, &TIMER), [Flag::Bimodal]);
        let between = noise::blocks((0..10).map(|block| vec![[1e5, 1.2e5][block % 2]; 20]).collect());
        assert_eq!(flags(&between, &TIMER), [Flag::Bimodal, Flag::Noisy]);
    }

    #[test]
    fn few_blocks_are_in_two_groups_only_if_their_own_rounds_are() {
        let two = [[1e5; 10], [1.2e5; 10]].concat();
        assert_eq!(
            flags(&noise::blocks(vec![two.clone()]), &TIMER),
            [Flag::FewBlocks, Flag::Bimodal],
            "--reps 20"
        );
        let one_of_three = noise::blocks(vec![two.clone(), vec![1e5; 20], vec![1e5; 20]]);
        assert_eq!(flags(&one_of_three, &TIMER), [Flag::FewBlocks]);
        let one_slow = noise::blocks(vec![vec![1e5; 20], vec![1.2e5; 20], vec![1e5; 20]]);
        assert_eq!(flags(&one_slow, &TIMER), [Flag::FewBlocks]);
    }

    #[test]
    fn ticks_of_a_coarse_timer_are_not_two_groups() {
        let coarse = TimerFacts { resolution_ns: 500.0, cost_ns: 0.0 };
        let blocks = noise::blocks(vec![[[2000.0; 10], [2500.0; 10]].concat(); 10]);
        assert_eq!(flags(&blocks, &coarse), [Flag::TimerLimited]);
    }

    #[test]
    fn rounds_below_a_hundred_times_the_timer_are_timer_limited() {
        let at = |ns: f64| flags(&noise::blocks(vec![vec![ns; 20]; 10]), &TIMER);
        assert_eq!(at(2099.0), [Flag::TimerLimited]);
        assert_eq!(at(2100.0), []);
    }

    #[test]
    fn a_wide_interval_is_noisy_and_a_missing_one_means_too_few_blocks() {
        let spread = |step: f64| {
            noise::blocks((0..10).map(|block| vec![1e5 + step * f64::from(block * 7 % 10); 20]).collect())
        };
        // The interval of ten blocks runs from the 2nd to the 9th: 7 steps.
        assert_eq!(flags(&spread(1500.0), &TIMER), [], "3.5 steps of 1.5 %, about ±4.9 % of the median");
        assert_eq!(flags(&spread(2000.0), &TIMER), [Flag::Noisy]);
        assert_eq!(flags(&noise::blocks(vec![vec![1e5; 100]; 5]), &TIMER), [Flag::FewBlocks]);
        assert_eq!(flags(&noise::blocks(vec![vec![1e5; 100]; 6]), &TIMER), []);
    }

    #[test]
    fn nothing_is_said_of_what_was_not_measured() {
        assert_eq!(flags(&[], &TIMER), []);
        assert_eq!(flags(&[Block::default()], &TIMER), []);
    }

    #[test]
    fn names_are_those_of_the_documents_and_meanings_say_what_to_do() {
        for flag in ALL {
            let name: StrDeserializer<'_, Error> = flag.name().into_deserializer();
            assert_eq!(Flag::deserialize(name), Ok(flag));
            assert!(flag.meaning().len() > 80 && flag.meaning().contains([';', ':']), "{}", flag.meaning());
        }
    }
}
