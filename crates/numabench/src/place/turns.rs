//! Candidates measured in turns, as the cases of one run: a turn is one block of each direction by every rank of a candidate at once, on memory
//! made for it; turns of all candidates alternate in an order drawn anew each pass, so that what changes on the machine meets them alike.
//!
//! A turn's rate is one value; a candidate needs six for a verdict. Passes go on until the values decide or the time is up.

use std::sync::Arc;
use std::time::Duration;

use device::{CopyBy, Direction, MemoryKind};
use pingpong::{
    Amount, Case, Cells, CopySuite, Enough, Helpers, Journal, Order, RunConfig, RunEnd, RunState, TimingChoice, Workers,
};
use placement::{Plan, RankPlan};
use ranks::{Communicator, Single};
use report::place::Turn;
use stats::best::{Finding, Standing, best};
use stats::stop::{Rule, StopReason};
use topo::Topology;

use crate::backends::Found;
use crate::signals::Signals;

/// As many values as a verdict needs.
const TURNS_AT_LEAST: usize = stats::compare::LEAST_VALUES;
/// After so many more turns cannot be expected to decide.
pub const TURNS_AT_MOST: usize = 20;
/// Ranks that were at work together for less of a turn did not measure what was asked.
const LEAST_OVERLAP: f64 = 0.95;

/// How candidates are measured.
pub struct How {
    /// The size of one copy, bytes.
    pub bytes: usize,
    /// The kind of host memory.
    pub memory: MemoryKind,
    /// The seed of everything drawn.
    pub seed: u64,
    /// No round of turns begins after this time unless every candidate has too few.
    pub max_time: Duration,
}

impl How {
    /// The run of a candidate with so many ranks.
    pub fn config(&self, ranks: usize) -> RunConfig {
        RunConfig {
            sizes: vec![self.bytes],
            memory: vec![self.memory],
            directions: vec![Direction::H2d, Direction::D2h],
            orders: vec![if ranks == 1 { Order::Alone } else { Order::Simultaneous }],
            timing: TimingChoice::Auto,
            by: CopyBy::default(),
            huge_pages: true,
            verify: true,
            seed: self.seed,
            amount: Amount::Adaptive(Rule::default()),
            max_time: Duration::MAX,
            timeout: Some(self.max_time + Duration::from_secs(60)),
        }
    }
}

/// A candidate whose turns failed so often has no more of them, unless more went well.
const FAILURES_AT_MOST: usize = 3;

/// What a candidate's turns gave.
#[derive(Clone, Debug, Default)]
pub struct Turned {
    /// The turns that gave figures.
    pub turns: Vec<Turn>,
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

    /// Takes what one turn gave.
    fn had(&mut self, turn: Result<Turn, String>) {
        match turn {
            Ok(turn) => self.turns.push(turn),
            Err(trouble) => {
                self.failures += 1;
                self.trouble = Some(trouble);
            }
        }
    }

    /// The rate of each turn.
    fn rates(&self) -> Vec<f64> {
        self.turns.iter().filter_map(Turn::bytes_per_s).collect()
    }
}

/// What all turns gave.
pub struct Outcome {
    /// By candidate.
    pub turned: Vec<Turned>,
    /// What the values say; `None` where there are none.
    pub standing: Option<Standing>,
    /// Why it ended before the values decided.
    pub ended_early: Option<String>,
}

/// Measures these plans in turns; all have as many ranks. After each pass `progress` is told how many turns each has had, and `keep` what they gave.
pub fn measure(
    plans: &[Plan],
    how: &How,
    topology: &Topology,
    found: &Found,
    signals: &Signals,
    progress: impl FnMut(u64),
    keep: &mut dyn FnMut(&[Turned]),
) -> Outcome {
    let ranks = plans.first().map_or(0, |plan| plan.ranks.len());
    let config = how.config(ranks);
    // Every rank of every candidate is a thread of its own, bound for good.
    let numbered = |(number, plan): (usize, &RankPlan)| RankPlan { rank: number, ..plan.clone() };
    let all: Vec<RankPlan> = plans.iter().flat_map(|plan| &plan.ranks).enumerate().map(numbered).collect();
    let members: Vec<Vec<usize>> = (0..plans.len()).map(|at| (at * ranks..(at + 1) * ranks).collect()).collect();
    let cells: Vec<Cells> = members.iter().cloned().map(Cells::Members).collect();
    let helpers = Helpers(topology.allowed.pus.clone());
    let suite = CopySuite::over(&config, &all, &cells, &found.platform, helpers, topology.machine_has_one_node());
    let suite = Arc::new(suite.with_fresh_memory_each_pass());
    let workers = Workers::threads(pingpong::workers(&all), pingpong::clock::measure());
    let copies = suite.copies().to_vec();
    let mut turns =
        Turns { how, members, copies, turned: plans.iter().map(|_| Turned::default()).collect(), end: None, keep };
    let world = Single::default();
    let mut comm = Communicator::new(&world);
    let engine = Arc::clone(&suite) as Arc<dyn engine::Suite>;
    let interrupted = &signals.interrupted;
    let state =
        engine::lead(&config.engine(), workers, &engine, &mut comm, interrupted, &mut turns, &mut Passes(progress));
    let Turns { mut turned, end, .. } = turns;
    let ended_early = match state.end {
        RunEnd::Interrupted => Some("a signal ended it".to_owned()),
        RunEnd::TimedOut | RunEnd::RankLost => {
            let why = state.ranks.iter().find_map(|rank| rank.lost.clone());
            let why = why.unwrap_or_else(|| "a rank did not come back in time".to_owned());
            turned.iter_mut().for_each(|turned| turned.trouble = turned.trouble.take().or(Some(why.clone())));
            Some(why)
        }
        RunEnd::Running | RunEnd::Complete => end.flatten(),
    };
    let standing = standing(&turned, how.seed);
    Outcome { turned, standing, ended_early }
}

/// What the turns have given, and whether they decide.
struct Turns<'a> {
    how: &'a How,
    /// The ranks of each candidate.
    members: Vec<Vec<usize>>,
    copies: Vec<Case>,
    turned: Vec<Turned>,
    /// Why there are no further turns, once there are none; with the reason where the values have not decided.
    end: Option<Option<String>>,
    keep: &'a mut dyn FnMut(&[Turned]),
}

impl Enough for Turns<'_> {
    fn judge(&mut self, state: &mut RunState, elapsed: Duration, _late: bool) {
        let pass = state.passes;
        for (at, members) in self.members.iter().enumerate() {
            if self.turned[at].is_out() {
                continue;
            }
            self.turned[at].had(turn(state, members, &self.copies, pass));
        }
        (self.keep)(&self.turned);
        self.end = over(&self.turned, round_of(&self.turned), elapsed, self.how);
        for (at, members) in self.members.iter().enumerate() {
            let stop = match (&self.end, self.turned[at].is_out()) {
                (_, true) => Some(StopReason::Error),
                (Some(None), _) => Some(StopReason::Target),
                (Some(Some(_)), _) => Some(StopReason::MaxTime),
                (None, false) => None,
            };
            for ranks in &mut state.results {
                for rank in members {
                    let result = &mut ranks[*rank];
                    if !result.member {
                        continue;
                    }
                    // A turn that failed is had again.
                    result.trouble = None;
                    result.stop = result.stop.or(stop);
                }
            }
        }
    }
}

/// How many turns each of those has at least that are not out of it.
fn round_of(turned: &[Turned]) -> usize {
    let open = turned.iter().filter(|turned| !turned.is_out());
    open.map(|turned| turned.turns.len()).min().unwrap_or(0)
}

fn standing(turned: &[Turned], seed: u64) -> Option<Standing> {
    best(&turned.iter().map(Turned::rates).collect::<Vec<_>>(), seed)
}

/// Whether another round of turns is of no use; with the reason where the values have not decided.
fn over(turned: &[Turned], round: usize, elapsed: Duration, how: &How) -> Option<Option<String>> {
    if turned.iter().all(Turned::is_out) {
        return Some(None);
    }
    if elapsed >= how.max_time {
        return Some(Some(format!("the time for measuring was up (--max-time {:.0}s)", how.max_time.as_secs_f64())));
    }
    if round < TURNS_AT_LEAST {
        return None;
    }
    let decided = standing(turned, how.seed).is_none_or(|standing| standing.finding != Finding::Undecided);
    if decided {
        return Some(None);
    }
    (round >= TURNS_AT_MOST).then(|| Some(format!("{TURNS_AT_MOST} turns each have not decided")))
}

/// What one pass gave on a candidate: the rate of each of its ranks, each way.
fn turn(state: &RunState, members: &[usize], copies: &[Case], pass: u64) -> Result<Turn, String> {
    let rates = |direction: Direction| -> Result<Vec<f64>, String> {
        let ranks = || members.iter().enumerate();
        let of = |(rank, member): (usize, &usize)| {
            let mut results = copies
                .iter()
                .filter(|case| case.direction == direction)
                .map(|case| &state.results[case.index][*member]);
            let result = results.find(|result| result.member).ok_or_else(|| format!("rank {rank} takes no part"))?;
            rate(rank, result, pass)
        };
        ranks().map(of).collect()
    };
    Ok(Turn { h2d_bytes_per_s: rates(Direction::H2d)?, d2h_bytes_per_s: rates(Direction::D2h)? })
}

/// A rank's rate in a pass, whose number is that of its memory; a rank in trouble has none, and without it the others were not measured as asked.
fn rate(rank: usize, result: &pingpong::RankCase, pass: u64) -> Result<f64, String> {
    let Some(sample) = result.samples.last().filter(|sample| u64::from(sample.allocation) == pass) else {
        return Err(result
            .trouble
            .as_ref()
            .map_or_else(|| format!("rank {rank} was not measured"), |trouble| format!("rank {rank}: {trouble}")));
    };
    match sample.overlap {
        Some(overlap) if overlap < LEAST_OVERLAP => {
            Err(format!("rank {rank}: all ranks were at work in only {:.1} % of the time", overlap * 100.0))
        }
        _ => Ok(sample.block.bytes_per_s()),
    }
}

/// Turns are too short to be kept one by one.
struct Passes<F>(F);

impl<F: FnMut(u64)> Journal for Passes<F> {
    fn pass_ended(&mut self, state: &RunState) {
        (self.0)(state.passes);
    }

    fn signalled(&mut self, _: &RunState) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: How = How { bytes: 1 << 20, memory: MemoryKind::Pageable, seed: 1, max_time: Duration::from_secs(10) };

    fn turned(rates: &[f64]) -> Turned {
        let turn = |rate: &f64| Turn { h2d_bytes_per_s: vec![*rate], d2h_bytes_per_s: vec![*rate] };
        Turned { turns: rates.iter().map(turn).collect(), ..Turned::default() }
    }

    fn ends(turned: &[Turned], seconds: u64) -> Option<Option<String>> {
        over(turned, round_of(turned), Duration::from_secs(seconds), &HOW)
    }

    #[test]
    fn six_turns_that_decide_are_enough_and_five_are_not() {
        let (fast, slow) = ([9.0, 9.1, 8.9, 9.0, 9.05, 8.95], [5.0, 5.1, 4.9, 5.0, 5.05, 4.95]);
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

    /// What becomes of recorded turns, by candidate; a turn without a figure failed. A turn takes a second of 60.
    fn replayed(recorded: &[&[Option<f64>]]) -> Outcome {
        let how = How { max_time: Duration::from_secs(60), ..HOW };
        let mut turned: Vec<Turned> = recorded.iter().map(|_| Turned::default()).collect();
        let mut taken = 0;
        for pass in 0.. {
            for (turned, recorded) in turned.iter_mut().zip(recorded) {
                if turned.is_out() {
                    continue;
                }
                taken += 1;
                let rate = recorded[pass % recorded.len()].ok_or("ranks were not at once".to_owned());
                turned.had(rate.map(|rate| Turn { h2d_bytes_per_s: vec![rate], d2h_bytes_per_s: vec![rate] }));
            }
            if let Some(ended_early) = over(&turned, round_of(&turned), Duration::from_secs(taken), &how) {
                let standing = standing(&turned, how.seed);
                return Outcome { turned, standing, ended_early };
            }
        }
        unreachable!("the time is up at last")
    }

    fn found(outcome: &Outcome) -> (Option<(usize, Finding)>, Vec<usize>) {
        let standing = outcome.standing.as_ref().map(|standing| (standing.leader, standing.finding));
        (standing, outcome.turned.iter().map(|turned| turned.turns.len()).collect())
    }

    /// Turns of a machine whose far placement is 22 % faster, as noisy as an emulated one: one of six is far out.
    const NEAR: [Option<f64>; 6] = [Some(0.1392), Some(0.1418), Some(0.1197), Some(0.1401), Some(0.1379), Some(0.1425)];
    const FAR: [Option<f64>; 6] = [Some(0.1702), Some(0.1391), Some(0.1688), Some(0.1731), Some(0.1659), Some(0.1715)];
    const AS_FAR: [Option<f64>; 6] =
        [Some(0.1699), Some(0.1713), Some(0.1670), Some(0.1402), Some(0.1722), Some(0.1691)];

    #[test]
    fn recorded_turns_of_a_faster_far_placement_come_to_it_and_go_on_while_two_far_ones_are_not_told_apart() {
        let outcome = replayed(&[&NEAR, &FAR]);
        assert_eq!(found(&outcome), (Some((1, Finding::Best)), vec![6, 6]));
        let outcome = replayed(&[&NEAR, &FAR, &AS_FAR]);
        let (standing, turns) = found(&outcome);
        let (leader, finding) = standing.expect("there are figures");
        assert!(leader > 0 && finding != Finding::Best, "{leader} {finding:?}");
        assert!(turns.iter().all(|turns| (6..=TURNS_AT_MOST).contains(turns)), "{turns:?}");
    }

    #[test]
    fn recorded_turns_of_which_some_failed_are_replaced_and_a_candidate_of_failures_is_out_but_not_beaten() {
        let (shaky, steady) = ([Some(9.0), None, Some(9.1), Some(8.9)], [Some(7.4), Some(7.41), Some(7.39)]);
        let outcome = replayed(&[&shaky, &steady]);
        let (standing, turns) = found(&outcome);
        assert_eq!((standing, turns[0]), (Some((0, Finding::Best)), 6));
        assert!(outcome.turned[0].failures > 0 && outcome.ended_early.is_none());
        let outcome = replayed(&[&shaky, &steady, &[None]]);
        let (standing, turns) = found(&outcome);
        assert_eq!((standing, turns[2]), (Some((0, Finding::Undecided)), 0));
        assert_eq!(outcome.turned[2].failures, FAILURES_AT_MOST);
    }
}
