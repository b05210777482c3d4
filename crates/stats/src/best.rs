//! Which of several is best, and which others cannot be told from it: a verdict with its intervals, not the
//! largest number.
//!
//! The leader is the one with the highest median; every other is compared with it by the ratios of turns of
//! the same pass, so that what the machine does to a pass cancels. Ratios count as independent
//! ([`crate::level`]): turns have memory of their own, and waiting for what six to twenty of them tell of
//! their correlation would take a user more turns than it saves wrong words. Being the leader is no finding:
//! with equal ones somebody leads, so all pairs count as tests. The chance that any rival is wrongly called
//! worse is 5 % over all pairs and over all looks: values that come one after the other are asked again with
//! each, and would be called different sooner or later.

use crate::block_interval::BlockValue;
use crate::compare::{LEAST_VALUES, TwoSampleComparison, TwoSampleVerdict};
use crate::interval::median;
use crate::level::Level;
use crate::scatter::Scatter;

/// What a candidate's turn in one pass gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnValue {
    /// The number of the pass, in which each candidate has one turn.
    pub pass: u64,
    /// The value; more is better.
    pub value: f64,
}

/// How the candidates stand, by their position in what was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The one with the highest median.
    pub leader: usize,
    /// Each candidate against the leader: its values over the leader's; `None` for the leader itself, and
    /// where one of the two has too few values.
    pub against_leader: Vec<Option<TwoSampleComparison>>,
    /// What it comes to.
    pub finding: RankingVerdict,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankingVerdict {
    /// The leader is better than every other.
    Best,
    /// The leader is no worse than any, and the same as some: to choose among them is a matter of taste.
    Equal,
    /// Some of the others may be as good or better: the values do not decide.
    Undecided,
}

impl Ranking {
    /// Whether no candidate can be told from the leader by more than this part of it: those that are not
    /// lower hold 1 in their interval, and the interval ends within `part` of 1.
    pub fn is_within(&self, part: f64) -> bool {
        let near = |found: &TwoSampleComparison| {
            let interval = found.ratio_interval;
            interval.contains(1.0) && interval.low >= 1.0 - part && interval.high <= 1.0 + part
        };
        let rivals = self.against_leader.iter().enumerate().filter(|(at, _)| *at != self.leader);
        rivals.map(|(_, found)| found).all(|found| match found {
            Some(found) => {
                matches!(found.verdict, TwoSampleVerdict::Lower | TwoSampleVerdict::NoMeasurableDifference)
                    || near(found)
            }
            None => false,
        })
    }
}

/// Ranks candidates by the values of their turns, in the order of passes, of which this is one of at most so
/// many `looks`. Each turn has memory of its own. `None` where nobody has any.
pub fn best(candidates: &[Vec<TurnValue>], looks: usize) -> Option<Ranking> {
    let values = |at: usize| candidates[at].iter().map(|turn| turn.value).collect::<Vec<f64>>();
    let medians = (0..candidates.len()).filter_map(|at| Some((at, median(&values(at))?)));
    // Of equal ones the first: the order given is a preference.
    let (leader, _) = medians.reduce(|best, next| if next.1 > best.1 { next } else { best })?;

    let rival =
        |at: usize| if at == leader { Vec::new() } else { ratios(&candidates[leader], &candidates[at]) };
    let ratios: Vec<Vec<BlockValue>> = (0..candidates.len()).map(rival).collect();
    let tests = candidates.len() * candidates.len().saturating_sub(1) / 2 * looks;
    let against = |(at, ratios): (usize, &Vec<BlockValue>)| {
        let level = Level::of(ratios, &Scatter::default()).filter(|_| ratios.len() >= LEAST_VALUES)?;
        TwoSampleComparison::of_ratios(level, [&values(leader), &values(at)], tests)
    };
    let against_leader: Vec<Option<TwoSampleComparison>> = ratios.iter().enumerate().map(against).collect();

    let rivals = || against_leader.iter().enumerate().filter(|(at, _)| *at != leader);
    let all_are = |wanted: &[TwoSampleVerdict]| {
        rivals().all(|(_, found)| found.as_ref().is_some_and(|found| wanted.contains(&found.verdict)))
    };
    let finding = if all_are(&[TwoSampleVerdict::Lower]) {
        RankingVerdict::Best
    } else if all_are(&[TwoSampleVerdict::Lower, TwoSampleVerdict::NoMeasurableDifference]) {
        RankingVerdict::Equal
    } else {
        RankingVerdict::Undecided
    };
    Some(Ranking { leader, against_leader, finding })
}

/// A candidate's values over the leader's, of the passes in which both have one.
fn ratios(leader: &[TurnValue], other: &[TurnValue]) -> Vec<BlockValue> {
    let in_pass = |pass: u64| leader.iter().find(|turn| turn.pass == pass);
    let ratio = |turn: &TurnValue| {
        let value = turn.value / in_pass(turn.pass)?.value;
        Some(BlockValue { value, allocation: turn.pass as u32 })
    };
    other.iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{self, Disturbed};
    use crate::random::SplitMix64;

    const STEADY: [f64; 8] = [1.0, 1.001, 0.999, 1.0, 1.002, 0.998, 1.0, 1.001];

    /// The steady turns at so many times their value, each candidate with an order of its own.
    fn times(factor: f64) -> Vec<f64> {
        let mut values: Vec<f64> = STEADY.iter().map(|value| value * factor).collect();
        values.rotate_left(factor as usize % STEADY.len());
        values
    }

    fn turns(values: &[f64]) -> Vec<TurnValue> {
        values.iter().zip(0..).map(|(value, pass)| TurnValue { pass, value: *value }).collect()
    }

    fn standing(candidates: &[Vec<f64>]) -> Option<Ranking> {
        best(&candidates.iter().map(|values| turns(values)).collect::<Vec<_>>(), 1)
    }

    fn found(candidates: &[Vec<f64>]) -> Option<(usize, RankingVerdict)> {
        standing(candidates).map(|standing| (standing.leader, standing.finding))
    }

    #[test]
    fn one_that_is_clearly_higher_than_all_others_is_best() {
        assert_eq!(found(&[times(17.6), times(7.5), times(9.0)]), Some((0, RankingVerdict::Best)));
        assert_eq!(
            found(&[times(7.4), times(9.0)]),
            Some((1, RankingVerdict::Best)),
            "the order given decides nothing"
        );
    }

    #[test]
    fn those_that_cannot_be_told_from_the_leader_are_equal_and_the_rest_is_lower() {
        let standing = standing(&[times(10.0), times(10.01), times(5.0)]);
        let Some(standing) = standing else { panic!("there are values") };
        assert_eq!((standing.leader, standing.finding), (1, RankingVerdict::Equal));
        let verdict = |at: usize| standing.against_leader[at].as_ref().map(|found| found.verdict);
        assert_eq!(
            [verdict(0), verdict(1), verdict(2)],
            [Some(TwoSampleVerdict::NoMeasurableDifference), None, Some(TwoSampleVerdict::Lower)]
        );
    }

    #[test]
    fn noise_that_hides_a_difference_is_undecided() {
        let noisy = vec![8.0, 12.0, 9.0, 11.5, 8.5, 12.5, 10.0, 9.5];
        let other = vec![8.5, 11.0, 9.5, 12.0, 8.0, 11.8, 10.4, 9.9];
        assert_eq!(
            found(&[noisy, other, times(1.0)]).map(|(_, finding)| finding),
            Some(RankingVerdict::Undecided)
        );
    }

    #[test]
    fn what_is_not_decided_can_still_be_near_and_too_few_values_are_near_nothing() -> Result<(), String> {
        let wide = |centre: f64| -> Vec<f64> {
            [-2.0, -1.0, 0.0, 1.0, 2.0, -1.5, 1.5, 0.5]
                .iter()
                .map(|percent| centre * (1.0 + percent / 100.0))
                .collect()
        };
        let mut shuffled = wide(10.03);
        for at in [0, 2, 4, 6] {
            shuffled.swap(at, 7 - at);
        }
        let wide = standing(&[wide(10.0), shuffled, times(5.0)]).ok_or("there are values")?;
        assert_eq!(wide.finding, RankingVerdict::Undecided);
        assert!(wide.is_within(0.05) && !wide.is_within(0.005), "{wide:?}");
        let few = standing(&[times(10.0), vec![10.0]]).ok_or("there are values")?;
        assert!(!few.is_within(0.5));

        Ok(())
    }

    #[test]
    fn too_few_values_decide_nothing_and_none_at_all_give_no_standing() {
        assert_eq!(found(&[vec![9.0, 9.1], vec![5.0, 5.1]]), Some((0, RankingVerdict::Undecided)));
        assert_eq!(
            found(&[times(1.0), Vec::new()]),
            Some((0, RankingVerdict::Undecided)),
            "one that failed is not beaten"
        );
        assert_eq!(found(&[Vec::new(), Vec::new()]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn what_a_pass_does_to_all_hides_no_difference_and_a_turn_that_is_missing_moves_no_other() {
        let drift = |part: f64| -> Vec<TurnValue> {
            let value = |(at, steady): (usize, &f64)| TurnValue {
                pass: at as u64,
                value: part * steady * 0.9_f64.powi(at as i32),
            };
            STEADY.iter().enumerate().map(value).collect()
        };

        let (fast, mut slow) = (drift(10.0), drift(9.5));
        slow.iter_mut().zip(0..).for_each(|(turn, at)| turn.value *= if at % 2 == 0 { 1.001 } else { 0.999 });
        let finding =
            |slow: &[TurnValue]| best(&[fast.clone(), slow.to_vec()], 1).map(|standing| standing.finding);
        assert_eq!(finding(&slow), Some(RankingVerdict::Best));
        slow.remove(2);
        assert_eq!(finding(&slow), Some(RankingVerdict::Best), "seven passes that both have");
        slow.truncate(5);
        assert_eq!(finding(&slow), Some(RankingVerdict::Undecided), "five are too few");
    }

    #[test]
    fn a_candidate_without_rivals_is_best() {
        assert_eq!(found(&[times(3.0)]), Some((0, RankingVerdict::Best)));
    }

    #[test]
    fn of_equal_medians_the_first_leads() {
        assert_eq!(found(&[times(2.0), times(2.0)]), Some((0, RankingVerdict::Equal)));
    }

    /// Turns from the sixth on are looked at after each, up to the twentieth, as `place --measure` does.
    const FIRST: usize = 6;
    const LAST: usize = 20;
    const LOOKS: usize = LAST - FIRST + 1;

    /// How many of `trials` say of any candidate that it is lower than the leader, and how many that the
    /// second of two is; `rates` are the true ones.
    fn claims(rates: &[f64], disturbed: Disturbed, trials: u64) -> (u64, u64) {
        let (mut any, mut second) = (0, 0);
        for trial in 0..trials {
            let mut random = SplitMix64::new(trial);
            let mut state = 0.0;
            let mut turns: Vec<Vec<TurnValue>> = vec![Vec::new(); rates.len()];
            for turn in 1..=LAST {
                for (turns, rate) in turns.iter_mut().zip(rates) {
                    let value = rate * disturbed(&mut random, &mut state).exp();
                    turns.push(TurnValue { pass: turn as u64, value });
                }
                if turn < FIRST {
                    continue;
                }
                let Some(standing) = best(&turns, LOOKS) else { continue };
                let lower = |at: usize| {
                    standing.against_leader[at]
                        .as_ref()
                        .is_some_and(|found| found.verdict == TwoSampleVerdict::Lower)
                };
                if (0..rates.len()).any(lower) {
                    any += 1;
                    second += u64::from(lower(1));
                    break;
                }
            }
        }

        (any, second)
    }

    #[test]
    fn of_equals_one_is_said_to_be_slower_in_at_most_five_per_cent_of_runs_however_often_they_are_looked_at()
    {
        for (name, disturbed) in noise::DISTURBED {
            for (candidates, trials) in [(2, 400), (4, 200)] {
                let (any, _) = claims(&vec![50.0; candidates], disturbed, trials);
                assert!(any * 20 <= trials, "{name}, {candidates} candidates: {any} of {trials}");
            }
        }
    }

    /// Of 100 runs in how many a candidate is found that is so much slower, by the kinds of noise.
    fn found_of_a_hundred(slower: f64) -> [u64; 4] {
        noise::DISTURBED.map(|(_, disturbed)| claims(&[50.0, 50.0 * (1.0 - slower)], disturbed, 100).1)
    }

    #[test]
    fn a_candidate_that_is_slower_is_found_by_five_per_cent_in_even_noise_and_by_thirteen_in_any() {
        let (five, thirteen) = (found_of_a_hundred(0.05), found_of_a_hundred(0.13));
        assert!(five[0] >= 98 && five.iter().all(|found| *found >= 45), "{five:?} {thirteen:?}");
        assert!(thirteen.iter().all(|found| *found >= 95), "{thirteen:?}");
    }
}
