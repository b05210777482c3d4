//! How often a trial is wrong, and how soon it is right: many simulated trials over the code that decides.
//!
//! The trials are run as real ones are: block after block, in the order drawn, until the code itself wants no
//! more. Noise comes in several shapes, because programs' times are skewed and have outliers; nothing in the
//! decision may depend on its shape.

use report::trial::{TrialStop, TrialVerdict};
use stats::random::SplitMix64;
use trial::decide::{Better, TrialRule, TrialStanding, standing};
use trial::order::order;
use trial::sequential_alpha::looks;

const RULE: TrialRule = TrialRule { equivalence: 0.03, max_blocks: 40, better: Better::Lower };

fn uniform(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

fn normal(random: &mut SplitMix64) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// What a run takes beside its true time, in parts of it.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Even, of this deviation.
    Normal(f64),
    /// Skewed to longer times.
    Exponential(f64),
    /// Mostly even, and one run in ten hit by something ten times as large.
    Outliers(f64),
    /// Even, on a machine whose speed wanders from run to run.
    Wandering(f64),
}

impl Noise {
    fn draw(self, random: &mut SplitMix64, state: &mut f64) -> f64 {
        match self {
            Self::Normal(deviation) => deviation * normal(random),
            Self::Exponential(deviation) => -deviation * uniform(random).ln(),
            Self::Outliers(deviation) => {
                let hit = if uniform(random) < 0.1 { 10.0 } else { 1.0 };
                deviation * hit * normal(random).abs()
            }
            Self::Wandering(deviation) => {
                *state = 0.9 * *state + deviation * normal(random);
                *state + deviation * normal(random)
            }
        }
    }
}

/// One trial of variants that take these times, and how many blocks it ran.
fn trial(seed: u64, times: &[f64], noise: Noise, rule: &TrialRule) -> (TrialStanding, usize) {
    let (mut random, mut state) = (SplitMix64::new(seed), 0.0);
    let mut blocks: Vec<Vec<Option<f64>>> = Vec::new();
    loop {
        let mut block = vec![None; times.len()];
        for variant in order(seed, blocks.len(), times.len()) {
            block[variant] = Some(times[variant] * (noise.draw(&mut random, &mut state)).exp());
        }
        blocks.push(block);
        // Between looks nothing is decided.
        if !looks(times.len() - 1)
            .take_while(|look| look.blocks <= blocks.len())
            .any(|look| look.blocks == blocks.len())
            && blocks.len() < rule.max_blocks
        {
            continue;
        }
        let found = standing(&blocks, times.len(), rule, &[]);
        if found.stop.is_some() {
            return (found, blocks.len());
        }
    }
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

#[test]
fn where_nothing_differs_a_difference_is_said_in_at_most_five_per_cent_of_trials() {
    let noises = [
        Noise::Normal(0.01),
        Noise::Normal(0.05),
        Noise::Exponential(0.05),
        Noise::Outliers(0.02),
        Noise::Wandering(0.03),
    ];
    for noise in noises {
        for variants in [2, 4] {
            let trials = 300;
            let wrong = (0..trials)
                .filter(|seed| {
                    let (found, _) = trial(*seed, &vec![10.0; variants], noise, &RULE);
                    // The side alone is a claim too.
                    found
                        .compared
                        .iter()
                        .any(|one| one.direction.is_some() && one.verdict != TrialVerdict::Same)
                })
                .count();
            // Of trials, not of comparisons: Holm's promise is for all variants of one together.
            assert!(
                share(wrong, trials as usize) <= 0.05,
                "{noise:?}, {variants} variants: {wrong} of {trials}"
            );
        }
    }
}

#[test]
fn the_first_hundred_trials_of_equals_at_one_per_cent_noise_have_at_most_five_false_differences() {
    let false_ones: usize = (0..100)
        .map(|seed| trial(seed, &[10.0, 10.0, 10.0, 10.0], Noise::Normal(0.01), &RULE).0)
        .map(|found| {
            found
                .compared
                .iter()
                .filter(|one| !matches!(one.verdict, TrialVerdict::Same | TrialVerdict::Undecided))
                .count()
        })
        .sum();
    assert!(false_ones <= 15, "{false_ones} of 300 comparisons");
}

/// The share of trials at 1 % noise in which a variant that is this much slower is called slower within
/// twenty runs.
fn found_within_twenty(times: f64, variants: usize, seeds: std::ops::Range<u64>, rule: &TrialRule) -> f64 {
    let trials = (seeds.end - seeds.start) as usize;
    let is_found = |seed: &u64| {
        let mut all = vec![10.0; variants];
        all[1] = 10.0 * times;
        let (found, _) = trial(*seed, &all, Noise::Normal(0.01), rule);
        let slow = &found.compared[0];
        slow.verdict == TrialVerdict::Worse && slow.decided_after.is_some_and(|blocks| blocks <= 20)
    };
    share(seeds.filter(is_found).count(), trials)
}

#[test]
fn a_slow_down_of_six_per_cent_at_one_per_cent_noise_is_found_within_twenty_runs() {
    for (variants, seeds) in [(2, 0..1000), (4, 1000..1500)] {
        let found = found_within_twenty(1.06, variants, seeds, &RULE);
        assert!(found >= 0.95, "{variants} variants: {found}");
    }
}

#[test]
fn a_slow_down_of_three_per_cent_is_found_where_half_a_per_cent_matters() {
    let finer = TrialRule { equivalence: 0.005, ..RULE };
    for (variants, seeds) in [(2, 0..1000), (4, 1000..1500)] {
        let found = found_within_twenty(1.03, variants, seeds, &finer);
        assert!(found >= 0.95, "{variants} variants: {found}");
    }
}

#[test]
fn a_slow_down_as_large_as_what_matters_is_seldom_called_either_and_its_side_is_known() {
    let trials = 400;
    let (mut decided, mut side) = (0, 0);
    for seed in 0..trials {
        let one = trial(seed, &[10.0, 10.3], Noise::Normal(0.01), &RULE).0.compared.remove(0);
        decided += usize::from(one.verdict != TrialVerdict::Undecided);
        side += usize::from(one.direction == Some(TrialVerdict::Worse));
    }
    assert!(share(decided, 400) <= 0.05, "{decided} of {trials} decided");
    assert!(share(side, 400) >= 0.95, "{side} of {trials} know the side");
}

#[test]
fn looking_after_every_block_at_five_per_cent_would_be_wrong_far_more_often() {
    // What the looks are for: the same trials, judged as often as there are blocks and each time at 5 %.
    let trials = 400;
    let wrong = (0..trials)
        .filter(|seed| {
            let mut random = SplitMix64::new(*seed);
            let logs: Vec<f64> = (0..40).map(|_| 0.05 * normal(&mut random)).collect();
            (6..=40).any(|n| stats::signed_rank::signed_rank_p(&logs[..n]).is_some_and(|p| p <= 0.05))
        })
        .count();
    assert!(share(wrong, trials as usize) > 0.15, "{wrong} of {trials}");
}

#[test]
fn intervals_hold_the_true_ratio_however_the_trial_ended() {
    for (ratio, noise) in [
        (1.0, Noise::Normal(0.02)),
        (1.04, Noise::Normal(0.03)),
        (1.1, Noise::Outliers(0.02)),
        (1.0, Noise::Exponential(0.04)),
    ] {
        let trials = 600;
        let held = (0..trials)
            .filter(|seed| {
                let (found, _) = trial(*seed, &[10.0, 10.0 * ratio], noise, &RULE);
                found.compared[0].interval.is_some_and(|interval| interval.contains(ratio))
            })
            .count();
        assert!(share(held, trials as usize) >= 0.95, "{ratio}, {noise:?}: {held} of {trials}");
    }
}

#[test]
fn a_slow_down_of_five_per_cent_is_never_called_the_same() {
    for noise in [Noise::Normal(0.01), Noise::Normal(0.03), Noise::Outliers(0.02)] {
        let trials = 400;
        let wrong = (0..trials)
            .filter(|seed| {
                trial(*seed, &[10.0, 10.5], noise, &RULE).0.compared[0].verdict == TrialVerdict::Same
            })
            .count();
        assert!(share(wrong, trials as usize) <= 0.025, "{noise:?}: {wrong} of {trials}");
    }
}

#[test]
fn what_cannot_be_decided_stops_early_and_what_can_be_does_not() {
    let stops = |noise: Noise, times: &[f64]| -> Vec<(Option<TrialStop>, usize)> {
        (0..200)
            .map(|seed| trial(seed, times, noise, &RULE))
            .map(|(found, blocks)| (found.stop, blocks))
            .collect()
    };
    let hopeless = stops(Noise::Normal(0.3), &[10.0, 10.0]);
    let early = hopeless
        .iter()
        .filter(|(stop, blocks)| *stop == Some(TrialStop::CannotDecide) && *blocks <= 28)
        .count();
    assert!(early >= 150, "{early} of 200");
    let good = stops(Noise::Normal(0.01), &[10.0, 10.0]);
    let decided = good.iter().filter(|(stop, _)| *stop == Some(TrialStop::Decided)).count();
    assert!(decided >= 195, "{decided} of 200");
}
