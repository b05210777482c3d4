//! Which of several is best, and which others cannot be told from it: a verdict with its intervals, not the largest number.
//!
//! The leader is the one with the highest median; every other is compared with it ([`compare_among`]). Being the leader is no finding: with
//! equal ones somebody leads. The chance that any rival is wrongly called worse is 5 % over all rivals and over all looks: values that come one after the
//! other are asked again with each, and would be called different sooner or later.

use crate::compare::{TwoSampleComparison, TwoSampleVerdict, compare_among};
use crate::interval::median;

/// How the candidates stand, by their position in what was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The one with the highest median.
    pub leader: usize,
    /// Each candidate against the leader: its values over the leader's; `None` for the leader itself, and where one of the two has
    /// too few values.
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
    /// Whether no candidate can be told from the leader by more than this part of it: those that are not lower hold 1 in their interval, and
    /// the interval ends within `part` of 1.
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

/// Ranks candidates by their values, higher being better; independent values, one per turn, of which this is one of at most so many `looks`. `None` where
/// nobody has any.
pub fn best(candidates: &[Vec<f64>], looks: usize, seed: u64) -> Option<Ranking> {
    let medians = candidates.iter().enumerate().filter_map(|(at, values)| Some((at, median(values)?)));
    // Of equal ones the first: the order given is a preference.
    let (leader, _) = medians.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    let tests = candidates.len().saturating_sub(1) * looks;
    let rival =
        |at: usize| (at != leader).then(|| compare_among(&candidates[leader], &candidates[at], tests, seed)).flatten();
    let against_leader: Vec<Option<TwoSampleComparison>> = (0..candidates.len()).map(rival).collect();
    let verdicts: Vec<Option<TwoSampleVerdict>> = against_leader
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != leader)
        .map(|(_, found)| found.as_ref().map(|found| found.verdict))
        .collect();
    let finding = if verdicts.iter().all(|verdict| *verdict == Some(TwoSampleVerdict::Lower)) {
        RankingVerdict::Best
    } else if verdicts
        .iter()
        .all(|v| matches!(v, Some(TwoSampleVerdict::Lower | TwoSampleVerdict::NoMeasurableDifference)))
    {
        RankingVerdict::Equal
    } else {
        RankingVerdict::Undecided
    };
    Some(Ranking { leader, against_leader, finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mann_whitney::mann_whitney_p;
    use crate::noise::{self, Disturbed};
    use crate::random::SplitMix64;

    const STEADY: [f64; 8] = [1.0, 1.001, 0.999, 1.0, 1.002, 0.998, 1.0, 1.001];

    fn times(factor: f64) -> Vec<f64> {
        STEADY.iter().map(|value| value * factor).collect()
    }

    fn found(candidates: &[Vec<f64>]) -> Option<(usize, RankingVerdict)> {
        best(candidates, 1, 1).map(|standing| (standing.leader, standing.finding))
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
        let standing = best(&[times(10.0), times(10.01), times(5.0)], 1, 1);
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
        assert_eq!(found(&[noisy, other, times(1.0)]).map(|(_, finding)| finding), Some(RankingVerdict::Undecided));
    }

    #[test]
    fn what_is_not_decided_can_still_be_near_and_too_few_values_are_near_nothing() -> Result<(), String> {
        let wide = |centre: f64| -> Vec<f64> {
            [-2.0, -1.0, 0.0, 1.0, 2.0, -1.5, 1.5, 0.5].iter().map(|percent| centre * (1.0 + percent / 100.0)).collect()
        };
        let standing = best(&[wide(10.0), wide(10.03), times(5.0)], 1, 1).ok_or("there are values")?;
        assert_eq!(standing.finding, RankingVerdict::Undecided);
        assert!(standing.is_within(0.05) && !standing.is_within(0.005));
        let few = best(&[times(10.0), vec![10.0]], 1, 1).ok_or("there are values")?;
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

    /// How many of `trials` say of any candidate that it is lower than the leader, and how many that the second of two is; `rates` are the true ones.
    fn claims(rates: &[f64], disturbed: Disturbed, trials: u64) -> (u64, u64) {
        let (mut any, mut second) = (0, 0);
        for trial in 0..trials {
            let mut random = SplitMix64::new(trial);
            let mut state = 0.0;
            let mut turns: Vec<Vec<f64>> = vec![Vec::new(); rates.len()];
            for turn in 1..=LAST {
                for (turns, rate) in turns.iter_mut().zip(rates) {
                    turns.push(rate * disturbed(&mut random, &mut state).exp());
                }
                // A look at which no ranks differ finds nothing; its interval need not be drawn to know that.
                let differ = |a: &[f64], b: &[f64]| mann_whitney_p(a, b).is_some_and(|p| p < 0.05);
                if turn < FIRST || !(1..turns.len()).any(|at| turns[..at].iter().any(|other| differ(other, &turns[at])))
                {
                    continue;
                }
                let Some(standing) = best(&turns, LOOKS, 1) else { continue };
                let lower = |at: usize| {
                    standing.against_leader[at].as_ref().is_some_and(|found| found.verdict == TwoSampleVerdict::Lower)
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
    fn of_equals_one_is_said_to_be_slower_in_at_most_five_per_cent_of_runs_however_often_they_are_looked_at() {
        for (name, disturbed) in noise::DISTURBED {
            for (candidates, trials) in [(2, 40), (4, 20)] {
                let (any, _) = claims(&vec![50.0; candidates], disturbed, trials);
                assert!(any * 20 <= trials, "{name}, {candidates} candidates: {any} of {trials}");
            }
        }
    }

    #[test]
    fn a_candidate_that_is_five_per_cent_slower_is_found() {
        // Of two modes twice as far apart as the candidates it is found in three of ten.
        for ((name, disturbed), least) in noise::DISTURBED.into_iter().zip([19, 18, 16, 3]) {
            let (_, found) = claims(&[50.0, 47.5], disturbed, 20);
            assert!(found >= least, "{name}: {found} of 20");
        }
    }
}
