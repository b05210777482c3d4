//! Which cases are not worth waiting for: those whose interval is expected to take longer to become narrow
//! than there is patience left.
//!
//! What a further block takes is what this case's blocks took so far, with its share of all that is not
//! measuring. The cases that get there soonest are waited for first; pure.

use std::time::Duration;

use stats::block_interval::BlockValue;
use stats::stop::{self, StopRule};

use crate::case::{Case, Order};
use crate::state::{RankCase, RunState};

/// Whether every case of the phase that goes on has the least blocks of the rule.
pub(crate) fn have_their_least(state: &RunState, phase: u8, rule: &StopRule) -> bool {
    of_phase(state, phase).all(|(_, ranks)| open(ranks).all(|rank| rank.samples.len() >= rule.min_blocks))
}

/// The cases of the phase that go on and are not expected to end within `left`, by their index; `spent`: what
/// the phase took so far.
pub(crate) fn too_costly(
    state: &RunState,
    phase: u8,
    rule: &StopRule,
    spent: Duration,
    left: Duration,
) -> Vec<usize> {
    let measured: f64 = of_phase(state, phase).map(|(case, ranks)| measured_ns(state, case, ranks)).sum();
    // With what lies between the blocks.
    let whole = if measured > 0.0 { spent.as_secs_f64() / measured } else { 0.0 };
    let cost = |(case, ranks): (&Case, &[RankCase])| {
        let further =
            open(ranks).map(|rank| further_blocks(rank, rule)).reduce(|one, other| Some(one?.max(other?)))?;
        let blocks = ranks.iter().map(|rank| rank.samples.len()).max().unwrap_or(0).max(1);
        let seconds =
            further.map(|more| more as f64 * measured_ns(state, case, ranks) / blocks as f64 * whole);
        Some((case.index, seconds.unwrap_or(f64::INFINITY)))
    };

    let mut costs: Vec<(usize, f64)> = of_phase(state, phase).filter_map(cost).collect();
    costs.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut sum = 0.0;
    let is_too_much = |(_, seconds): &(usize, f64)| {
        sum += seconds;
        sum > left.as_secs_f64()
    };
    let first = costs.iter().position(is_too_much).unwrap_or(costs.len());
    costs.split_off(first).into_iter().map(|(case, _)| case).collect()
}

fn of_phase(state: &RunState, phase: u8) -> impl Iterator<Item = (&Case, &[RankCase])> {
    let cases = state.cases.iter().zip(&state.results).map(|(case, ranks)| (case, &ranks[..]));
    cases.filter(move |(case, _)| case.phase == phase)
}

fn open(ranks: &[RankCase]) -> impl Iterator<Item = &RankCase> {
    ranks.iter().filter(|rank| rank.member && rank.stop.is_none())
}

fn further_blocks(rank: &RankCase, rule: &StopRule) -> Option<usize> {
    let blocks: Vec<BlockValue> = rank.samples.iter().map(|sample| sample.block.value()).collect();
    stop::further_blocks(&blocks, rule)
}

/// What the blocks of a case took on the node where they took longest: ranks alone take turns, others measure
/// at once.
fn measured_ns(state: &RunState, case: &Case, ranks: &[RankCase]) -> f64 {
    let mut nodes: Vec<f64> = Vec::new();
    for (rank, node) in ranks.iter().zip(&state.nodes) {
        nodes.resize(nodes.len().max(node + 1), 0.0);
        let mine: f64 = rank.samples.iter().map(|sample| sample.block.elapsed_ns).sum();
        let of_node = &mut nodes[*node];
        *of_node = if case.order == Order::Simultaneous { of_node.max(mine) } else { *of_node + mine };
    }
    nodes.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use stats::figures::BlockFigures;
    use stats::random::SplitMix64;
    use stats::sample::Block;
    use stats::stop::{Patience, StopReason};

    use super::*;
    use crate::config::Amount;
    use crate::sample::Sample;
    use crate::stop_policy::{Enough, PerCase};
    use crate::timing::Timing;

    const MS: f64 = 1e6;

    /// Blocks of 10 ms that differ by `noise` to either side, on three allocations.
    fn blocks(count: usize, noise: f64) -> Vec<Sample> {
        let sample = |at: usize| -> Option<Sample> {
            let round = 10.0 * MS * (1.0 + noise * [0.0, 1.0, -1.0][at % 3]);
            let allocation = crate::schedule::allocation(at as u64);
            let block = Block {
                start_ns: 0,
                end_ns: round as u64,
                elapsed_ns: round,
                bytes: 1,
                round_ns: vec![round],
                copies_per_round: 1,
                allocation,
            };
            let block = BlockFigures::of(&block)?;
            let (timing, verified_bytes) = (Timing::Host, None);
            Some(Sample { block, timing, overlap: None, start_skew_ns: None, verified_bytes, told: None })
        };
        (0..count).filter_map(sample).collect()
    }

    /// One rank's cases with so many blocks of so much noise each.
    fn state(cases: &[(usize, f64)]) -> RunState {
        let case =
            |index| Case { index, order: Order::Alone, setup: 0, phase: 0, members: None, most_blocks: None };
        let mut state = RunState::new(&(0..cases.len()).map(case).collect::<Vec<_>>(), &[0]);
        for (ranks, (count, noise)) in state.results.iter_mut().zip(cases) {
            ranks[0].samples = blocks(*count, *noise);
        }
        state
    }

    fn stops(state: &RunState) -> Vec<Option<StopReason>> {
        state.results.iter().map(|ranks| ranks[0].stop).collect()
    }

    #[test]
    fn what_is_hopeless_ends_with_its_least_blocks_and_what_is_nearly_there_goes_on() {
        let mut state = state(&[(10, 0.001), (10, 0.015), (10, 0.3)]);
        let mut enough = PerCase::new(Amount::Adaptive(StopRule::default()));
        enough.judge(&mut state, Duration::from_millis(400), false);
        assert_eq!(stops(&state), [Some(StopReason::Target), None, Some(StopReason::Costly)]);
    }

    #[test]
    fn no_case_is_given_up_before_all_have_their_least_blocks() {
        let mut state = state(&[(10, 0.3), (9, 0.001)]);
        let mut enough = PerCase::new(Amount::Adaptive(StopRule::default()));
        enough.judge(&mut state, Duration::from_secs(40), false);
        assert_eq!(stops(&state), [None, None]);
        state.results[1][0].samples = blocks(10, 0.001);
        enough.judge(&mut state, Duration::from_secs(44), false);
        assert_eq!(stops(&state), [Some(StopReason::Costly), Some(StopReason::Target)]);
    }

    #[test]
    fn the_second_is_for_the_soonest_and_ends() {
        // 15 cases of 10 blocks of 10 ms in 3 s: a block takes 20 ms, and each case some ten more.
        let noisy = vec![(10, 0.015); 15];
        let mut state = state(&noisy);
        let mut enough = PerCase::new(Amount::Adaptive(StopRule::default()));
        enough.judge(&mut state, Duration::from_secs(3), false);
        let open = stops(&state).iter().filter(|stop| stop.is_none()).count();
        assert!((1..15).contains(&open), "{open}");
        enough.judge(&mut state, Duration::from_millis(4_100), false);
        assert!(stops(&state).iter().all(Option::is_some), "{:?}", stops(&state));
    }

    #[test]
    fn who_asks_for_a_precision_is_given_the_time_it_takes() {
        let mut state = state(&[(10, 0.3)]);
        let rule = StopRule { patience: Patience::Long, ..StopRule::default() };
        PerCase::new(Amount::Adaptive(rule)).judge(&mut state, Duration::from_secs(100), false);
        assert_eq!(stops(&state), [None]);
    }

    #[test]
    fn a_brief_case_ends_with_its_few_blocks_and_keeps_nobody_waiting() {
        let mut state = state(&[(5, 0.001), (5, 0.001)]);
        state.cases[1].most_blocks = Some(6);
        let mut enough = PerCase::new(Amount::Adaptive(StopRule::default()));
        enough.judge(&mut state, Duration::from_millis(400), false);
        assert_eq!(stops(&state), [None, None]);
        state.results.iter_mut().for_each(|ranks| ranks[0].samples = blocks(6, 0.001));
        enough.judge(&mut state, Duration::from_millis(500), false);
        assert_eq!(stops(&state), [None, Some(StopReason::Brief)]);
        state.results[0][0].samples = blocks(10, 0.001);
        enough.judge(&mut state, Duration::from_millis(900), false);
        assert_eq!(stops(&state), [Some(StopReason::Target), Some(StopReason::Brief)]);
    }

    #[test]
    fn a_later_phase_has_a_second_of_its_own() {
        let mut state = state(&[(10, 0.3), (0, 0.0)]);
        state.cases[1].phase = 1;
        let mut enough = PerCase::new(Amount::Adaptive(StopRule::default()));
        enough.judge(&mut state, Duration::from_secs(1), false);
        assert_eq!(stops(&state), [Some(StopReason::Costly), None]);
        state.results[1][0].samples = blocks(10, 0.015);
        enough.judge(&mut state, Duration::from_millis(1_400), false);
        assert_eq!(stops(&state)[1], None);
    }

    /// How often the interval with which a case ends holds the median, and after how many blocks; `draw`
    /// gives a run's blocks, each of which takes 40 ms.
    fn coverage<D: FnMut() -> f64>(patience: Patience, median: f64, run: impl Fn(u64) -> D) -> (f64, f64) {
        let rule = StopRule { patience, ..StopRule::default() };
        let (mut held, mut taken) = (0, 0);
        for number in 0..RUNS {
            let mut draw = run(number);
            let mut state = state(&[(0, 0.0)]);
            let mut enough = PerCase::new(Amount::Adaptive(rule));
            while state.results[0][0].stop.is_none() {
                let at = state.results[0][0].samples.len();
                let mut sample = blocks(at + 1, 0.0).swap_remove(at);
                sample.block.elapsed_ns = draw() * MS;
                state.results[0][0].samples.push(sample);
                enough.judge(&mut state, Duration::from_millis(40) * (at as u32 + 1), false);
            }
            let values: Vec<BlockValue> =
                state.results[0][0].samples.iter().map(|sample| sample.block.value()).collect();
            let interval = stats::block_interval::block_interval(&values, 0.95);
            held += u32::from(interval.is_some_and(|interval| interval.contains(median * MS)));
            taken += values.len();
        }

        (f64::from(held) / RUNS as f64, taken as f64 / RUNS as f64)
    }

    const RUNS: u64 = 1000;

    /// Holds where the run waits a second at least as often as where it waits as long as it takes, but for
    /// what 1000 runs leave open, and takes no more blocks.
    fn covers_as_well<D: FnMut() -> f64>(what: &str, median: f64, run: impl Fn(u64) -> D) {
        let (short, blocks) = coverage(Patience::Short, median, &run);
        let (long, most) = coverage(Patience::Long, median, &run);
        assert!(
            short >= 0.93 && short >= long - 0.02 && blocks <= most,
            "{what}: {short} {blocks}, {long} {most}"
        );
    }

    #[test]
    fn intervals_cover_what_they_say_also_where_the_run_does_not_wait() {
        for sigma in [0.3, 1.0, 1.5, 2.0, 3.0, 10.0] {
            covers_as_well(&format!("{sigma} % of noise"), 100.0, |seed| {
                let mut random = SplitMix64::new(seed);
                move || 100.0 + sigma * random.normal()
            });
        }

        for sigma in [0.3, 1.0, 3.0] {
            covers_as_well(&format!("{sigma} % that hang together"), 100.0, |seed| {
                let mut random = SplitMix64::new(seed);
                let mut before = random.normal();
                move || {
                    before = 0.5 * before + 0.75_f64.sqrt() * random.normal();
                    100.0 + sigma * before
                }
            });
        }

        // The median of a mixture lies where 5/9, and 5/8, of the quiet blocks are below it.
        covers_as_well("two modes", 100.07, |seed| {
            let mut random = SplitMix64::new(seed);
            move || 100.0 + 0.5 * random.normal() + if random.uniform() < 0.1 { 15.0 } else { 0.0 }
        });
        covers_as_well("a neighbour now and then", 100.159, |seed| {
            let mut random = SplitMix64::new(seed);
            let mut here = random.uniform() < 0.2;
            move || {
                here = random.uniform() < if here { 0.75 } else { 0.0625 };
                100.0 + 0.5 * random.normal() + if here { 15.0 } else { 0.0 }
            }
        });
    }
}
