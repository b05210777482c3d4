//! What turns have given: whether another round of them is of use, how the candidates stand, and which way to
//! take. Pure.
//!
//! A turn's rate is one value; a candidate needs six for a verdict. Rounds go on until the values decide or
//! the time is up.

use std::time::Duration;

use report::place::{MeasuredFinding, Turn};
use stats::best::{Ranking, RankingVerdict, TurnValue, best};
use stats::compare::TwoSampleVerdict;

/// As many values as a verdict needs.
const TURNS_AT_LEAST: usize = stats::compare::LEAST_VALUES;
/// After so many more turns cannot be expected to decide.
pub const TURNS_AT_MOST: usize = 20;
/// So often the values are asked: after each turn from the least on.
const LOOKS: usize = TURNS_AT_MOST - TURNS_AT_LEAST + 1;
/// A candidate whose turns failed so often has no more of them, unless more went well.
const FAILURES_AT_MOST: usize = 3;

/// What a candidate's turns gave.
#[derive(Clone, Debug, Default)]
pub struct Turned {
    /// The turns that gave figures.
    pub turns: Vec<Turn>,
    /// The pass of each of them.
    passes: Vec<u64>,
    /// How many gave none: ranks that were not at once, on a busy machine, or a fault.
    pub failures: usize,
    /// Why the last of these did not.
    pub trouble: Option<String>,
}

impl Turned {
    /// Whether it has no further turn.
    pub fn is_out(&self) -> bool {
        self.failures >= FAILURES_AT_MOST && self.failures > self.turns.len()
    }

    /// Takes what the turn of a pass gave.
    pub fn had(&mut self, pass: u64, turn: Result<Turn, String>) {
        match turn {
            Ok(turn) => {
                self.turns.push(turn);
                self.passes.push(pass);
            }
            Err(trouble) => {
                self.failures += 1;
                self.trouble = Some(trouble);
            }
        }
    }

    /// The rate of each turn, with its pass.
    fn rates(&self) -> Vec<TurnValue> {
        let turns = self.turns.iter().zip(&self.passes);
        turns.filter_map(|(turn, pass)| Some(TurnValue { pass: *pass, value: turn.bytes_per_s()? })).collect()
    }
}

/// What all turns gave.
pub struct TurnResults {
    /// By candidate.
    pub turned: Vec<Turned>,
    /// What the values say; `None` where there are none.
    pub standing: Option<Ranking>,
    /// Why it ended before the values decided.
    pub ended_early: Option<String>,
}

/// How many turns each of those has at least that are not out of it.
fn round_of(turned: &[Turned]) -> usize {
    let open = turned.iter().filter(|turned| !turned.is_out());
    open.map(|turned| turned.turns.len()).min().unwrap_or(0)
}

/// How the candidates stand to each other; `None` where none has a figure.
pub fn standing(turned: &[Turned]) -> Option<Ranking> {
    best(&turned.iter().map(Turned::rates).collect::<Vec<_>>(), LOOKS)
}

/// Whether another round of turns is of no use; with the reason where the values have not decided.
pub fn over(turned: &[Turned], elapsed: Duration, limit: Option<Duration>) -> Option<Option<String>> {
    let round = round_of(turned);
    if turned.iter().all(Turned::is_out) {
        return Some(None);
    }

    if let Some(limit) = limit.filter(|limit| elapsed >= *limit) {
        let seconds = limit.as_secs_f64();
        return Some(Some(format!("the time for measuring was up (--max-time {seconds:.0}s)")));
    }

    if round < TURNS_AT_LEAST {
        return None;
    }
    let decided = standing(turned).is_none_or(|standing| standing.finding != RankingVerdict::Undecided);
    if decided {
        return Some(None);
    }
    (round >= TURNS_AT_MOST).then(|| Some(format!("{TURNS_AT_MOST} turns each have not decided")))
}

/// A difference below this part is not what placements are chosen for: published ones are 13 % and more.
const SMALL: f64 = 0.05;

/// What the values say at the end: what they could not decide to the per cent is still no difference if it is
/// small for certain.
pub fn finding(standing: &Ranking) -> MeasuredFinding {
    match standing.finding {
        RankingVerdict::Undecided if standing.is_within(SMALL) => MeasuredFinding::NoMeasurableDifference,
        finding => finding.into(),
    }
}

/// The way to take: the first that is not slower for certain, which is the one that the topology speaks for.
pub fn recommended(standing: &Ranking) -> usize {
    let may_be_as_fast = |at: &usize| {
        let against = standing.against_leader[*at].as_ref();
        *at == standing.leader || against.is_some_and(|found| found.verdict != TwoSampleVerdict::Lower)
    };
    (0..standing.against_leader.len()).find(may_be_as_fast).unwrap_or(standing.leader)
}

/// Whether the values have not said which way to take.
pub fn undecided(outcome: &TurnResults) -> bool {
    outcome.standing.as_ref().is_none_or(|standing| finding(standing) == MeasuredFinding::Undecided)
}

/// How a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceDecision {
    /// The values say which way to take.
    Decided,
    /// They do not.
    Undecided,
    /// A way has failed, and the values are of the others.
    Partial,
    /// No way gave a figure.
    NoFigure,
}

/// How it ended.
pub fn ended(outcome: &TurnResults) -> PlaceDecision {
    match &outcome.standing {
        None => PlaceDecision::NoFigure,
        Some(_) if outcome.turned.iter().any(|turned| turned.is_out()) => PlaceDecision::Partial,
        Some(_) if undecided(outcome) => PlaceDecision::Undecided,
        Some(_) => PlaceDecision::Decided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(rates: &[f64]) -> Turned {
        let turn = |rate: &f64| Turn { h2d_bytes_per_s: vec![*rate], d2h_bytes_per_s: vec![*rate] };
        Turned {
            turns: rates.iter().map(turn).collect(),
            passes: (0..rates.len() as u64).collect(),
            ..Turned::default()
        }
    }

    fn ends(turned: &[Turned], seconds: u64) -> Option<Option<String>> {
        over(turned, Duration::from_secs(seconds), Some(Duration::from_secs(10)))
    }

    #[test]
    fn six_turns_that_decide_are_enough_and_five_are_not() {
        let (fast, slow) = ([9.0, 9.1, 8.9, 9.02, 9.05, 8.95], [5.0, 5.1, 4.9, 5.02, 5.05, 4.95]);
        assert_eq!(ends(&[turned(&fast[..5]), turned(&slow[..5])], 1), None);
        assert_eq!(ends(&[turned(&fast), turned(&slow)], 1), Some(None));
    }

    #[test]
    fn turns_that_do_not_decide_go_on_until_the_time_is_up_or_there_are_twenty() {
        let noise = |from: usize, count: usize| -> Vec<f64> {
            (from..from + count).map(|at| 10.0 + (at * 7 % 5) as f64).collect()
        };
        assert_eq!(ends(&[turned(&noise(0, 6)), turned(&noise(1, 6))], 1), None);
        let late = ends(&[turned(&noise(0, 6)), turned(&noise(1, 6))], 11);
        assert!(late.flatten().is_some_and(|why| why.contains("--max-time 10s")));
        let many = ends(&[turned(&noise(0, 20)), turned(&noise(1, 20))], 1);
        assert!(many.flatten().is_some_and(|why| why.contains("20 turns")));
    }

    #[test]
    fn candidates_that_all_failed_have_no_further_turn() {
        assert_eq!(ends(&[failed(3), failed(4)], 1), Some(None));
    }

    fn failed(failures: usize) -> Turned {
        Turned { failures, trouble: Some("rank 0: no memory".to_owned()), ..Turned::default() }
    }

    #[test]
    fn a_turn_that_failed_is_tried_again_and_three_end_a_candidate_that_has_no_more_good_ones() {
        assert!(!failed(2).is_out() && failed(3).is_out());
        let mostly_well = Turned { failures: 3, ..turned(&[9.0, 9.1, 8.9, 9.0]) };
        assert!(!mostly_well.is_out());
        let (well, out) = (turned(&[9.0, 9.1, 8.9, 9.0, 9.05, 8.95]), failed(3));
        assert!(ends(&[well, out], 11).flatten().is_some(), "one that failed does not end the others' turns");
    }

    /// What becomes of recorded turns, by candidate; a turn without a figure failed. A turn takes a second of
    /// 60.
    fn replayed(recorded: &[&[Option<f64>]]) -> TurnResults {
        let limit = Some(Duration::from_secs(60));
        let mut turned: Vec<Turned> = recorded.iter().map(|_| Turned::default()).collect();
        let mut taken = 0;
        for pass in 0_usize.. {
            for (turned, recorded) in turned.iter_mut().zip(recorded) {
                if turned.is_out() {
                    continue;
                }
                taken += 1;
                let rate = recorded[pass % recorded.len()].ok_or("ranks were not at once".to_owned());
                turned.had(
                    pass as u64,
                    rate.map(|rate| Turn { h2d_bytes_per_s: vec![rate], d2h_bytes_per_s: vec![rate] }),
                );
            }
            if let Some(ended_early) = over(&turned, Duration::from_secs(taken), limit) {
                let standing = standing(&turned);
                return TurnResults { turned, standing, ended_early };
            }
        }

        unreachable!("the time is up at last")
    }

    fn found(outcome: &TurnResults) -> (Option<(usize, RankingVerdict)>, Vec<usize>) {
        let standing = outcome.standing.as_ref().map(|standing| (standing.leader, standing.finding));
        (standing, outcome.turned.iter().map(|turned| turned.turns.len()).collect())
    }

    /// Turns of a machine whose far placement is 22 % faster, as noisy as an emulated one: one of six is far
    /// out.
    const NEAR: [Option<f64>; 6] =
        [Some(0.1392), Some(0.1418), Some(0.1197), Some(0.1401), Some(0.1379), Some(0.1425)];
    const FAR: [Option<f64>; 6] =
        [Some(0.1702), Some(0.1391), Some(0.1688), Some(0.1731), Some(0.1659), Some(0.1715)];
    const AS_FAR: [Option<f64>; 6] =
        [Some(0.1699), Some(0.1713), Some(0.1670), Some(0.1402), Some(0.1722), Some(0.1691)];

    #[test]
    fn recorded_turns_of_a_faster_far_placement_come_to_it_and_go_on_while_two_far_ones_are_not_told_apart() {
        let outcome = replayed(&[&NEAR, &FAR]);
        // One of six is far out on each side: six turns could be chance, seen so often.
        assert_eq!(found(&outcome), (Some((1, RankingVerdict::Best)), vec![9, 9]));
        let outcome = replayed(&[&NEAR, &FAR, &AS_FAR]);
        let (standing, turns) = found(&outcome);
        let (leader, finding) = standing.expect("there are figures");
        assert!(leader > 0 && finding != RankingVerdict::Best, "{leader} {finding:?}");
        assert!(turns.iter().all(|turns| (6..=TURNS_AT_MOST).contains(turns)), "{turns:?}");
    }

    #[test]
    fn recorded_turns_of_which_some_failed_are_replaced_and_a_candidate_of_failures_is_out_but_not_beaten() {
        let (shaky, steady) = ([Some(9.0), None, Some(9.1), Some(8.9)], [Some(7.4), Some(7.41), Some(7.39)]);
        let outcome = replayed(&[&shaky, &steady]);
        let (standing, turns) = found(&outcome);
        assert_eq!((standing, turns[0]), (Some((0, RankingVerdict::Best)), 6));
        assert!(outcome.turned[0].failures > 0 && outcome.ended_early.is_none());
        let outcome = replayed(&[&shaky, &steady, &[None]]);
        let (standing, turns) = found(&outcome);
        assert_eq!((standing, turns[2]), (Some((0, RankingVerdict::Undecided)), 0));
        assert_eq!(outcome.turned[2].failures, FAILURES_AT_MOST);
    }

    /// Turns around this rate, in GB/s, a few per mille apart.
    fn around(rate: f64) -> Vec<f64> {
        [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1.5]
            .iter()
            .map(|per_mille| rate * (1.0 + per_mille / 1e3))
            .collect()
    }

    /// What is found of candidates with these turns, which one is recommended, and how it ended.
    fn measured(candidates: &[Vec<f64>]) -> (MeasuredFinding, usize, PlaceDecision) {
        let turned: Vec<Turned> = candidates.iter().map(|rates| turned(rates)).collect();
        let standing = standing(&turned);
        let outcome = TurnResults { turned, standing: standing.clone(), ended_early: None };
        let found = standing.as_ref().map_or(MeasuredFinding::Undecided, finding);
        (found, standing.as_ref().map_or(0, recommended), ended(&outcome))
    }

    #[test]
    fn spread_ranks_that_are_faster_than_near_ones_are_recommended_as_on_leonardo() {
        // The published figures of a rank: 7.4 GB/s near, 9.0 spread over both NUMA nodes.
        assert_eq!(measured(&[around(7.4), around(9.0)]), (MeasuredFinding::Best, 1, PlaceDecision::Decided));
    }

    #[test]
    fn near_ranks_that_are_faster_are_recommended_as_on_lumi() {
        assert_eq!(
            measured(&[around(17.6), around(11.4), around(7.5)]),
            (MeasuredFinding::Best, 0, PlaceDecision::Decided)
        );
    }

    #[test]
    fn of_ways_that_are_as_fast_the_first_is_recommended_whichever_leads() {
        let found = measured(&[around(10.0), around(10.02), around(5.0)]);
        assert_eq!(found, (MeasuredFinding::NoMeasurableDifference, 0, PlaceDecision::Decided));
    }

    #[test]
    fn what_turns_do_not_decide_is_undecided_unless_it_is_small_for_certain() {
        let noisy = |rate: f64, percent: f64| -> Vec<f64> {
            [-1.0, -0.5, 0.0, 0.5, 1.0, -0.75, 0.75, 0.25]
                .iter()
                .map(|at| rate * (1.0 + at * percent / 100.0))
                .collect()
        };

        // What a pass does to both would cancel.
        let turned_round = |turns: Vec<f64>| turns.into_iter().rev().collect::<Vec<f64>>();
        let small = measured(&[noisy(10.0, 2.0), turned_round(noisy(10.03, 2.0))]);
        assert_eq!(small, (MeasuredFinding::NoMeasurableDifference, 0, PlaceDecision::Decided));
        let large = measured(&[noisy(10.0, 30.0), turned_round(noisy(10.5, 30.0))]);
        assert_eq!(
            large,
            (MeasuredFinding::Undecided, 0, PlaceDecision::Undecided),
            "the topology's word stands until then"
        );
    }

    #[test]
    fn without_any_figure_there_is_no_result() {
        assert_eq!(
            measured(&[Vec::new(), Vec::new()]),
            (MeasuredFinding::Undecided, 0, PlaceDecision::NoFigure)
        );
    }
}
