//! Candidates measured in turns: each turn is a run of its own, so that what a figure depends on by chance (pages, contexts, threads)
//! is drawn anew, and turns of all candidates alternate, so that what changes on the machine meanwhile meets them alike.
//!
//! A turn's rate is one value; a candidate needs six for a verdict. Rounds of turns go on until the values decide or the time is up. The
//! order within a round is drawn, so that nobody always comes after the same one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use device::{Direction, MemoryKind};
use pingpong::{Amount, Case, Journal, Order, RunConfig, RunState, TimingChoice};
use placement::Plan;
use ranks::{Mailbox, Single};
use report::place::Turn;
use stats::best::{Finding, Standing, best};
use stats::flag::TimerFacts;
use stats::random::SplitMix64;
use topo::Topology;

use crate::backends::Found;
use crate::signals::Signals;

/// As many values as a verdict needs.
const TURNS_AT_LEAST: usize = stats::compare::LEAST_VALUES;
/// After so many more turns cannot be expected to decide.
const TURNS_AT_MOST: usize = 20;
/// Rounds before the block that counts.
const WARMUP: u64 = 3;

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
    /// The run that one turn is.
    pub fn config(&self, ranks: usize) -> RunConfig {
        RunConfig {
            sizes: vec![self.bytes],
            memory: vec![self.memory],
            directions: vec![Direction::H2d, Direction::D2h],
            orders: vec![if ranks == 1 { Order::Alone } else { Order::Simultaneous }],
            timing: TimingChoice::Auto,
            huge_pages: true,
            verify: true,
            seed: self.seed,
            // One block of as many rounds as ranks at once need.
            amount: Amount::Fixed { reps: 1, warmup: WARMUP },
            max_time: Duration::MAX,
            timeout: Some(self.max_time + Duration::from_secs(60)),
        }
    }
}

/// A candidate whose turns failed so often has no more of them, unless more went well.
const FAILURES_AT_MOST: usize = 3;

/// What a candidate's turns gave.
#[derive(Debug, Default)]
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

/// Measures these plans in turns. `progress` is told of each turn before it begins.
pub fn measure(
    plans: &[Plan],
    how: &How,
    topology: &Topology,
    found: &Found,
    signals: &Signals,
    mut progress: impl FnMut(usize, usize),
) -> Outcome {
    let began = Instant::now();
    let timer = pingpong::clock::measure();
    in_turns(
        plans.len(),
        how,
        &signals.interrupted,
        || began.elapsed(),
        |round, at| {
            progress(round, at);
            turn(&plans[at], how, topology, timer, found, signals)
        },
    )
}

/// Has `turn` (told the round and the candidate) done until the values decide or the time is up: all that decides, whoever makes the figures.
fn in_turns(
    candidates: usize,
    how: &How,
    interrupted: &AtomicBool,
    elapsed: impl Fn() -> Duration,
    mut turn: impl FnMut(usize, usize) -> Result<Turn, String>,
) -> Outcome {
    let mut random = SplitMix64::new(how.seed);
    let mut turned: Vec<Turned> = (0..candidates).map(|_| Turned::default()).collect();
    let ended_early = loop {
        let round = round_of(&turned);
        if let Some(end) = over(&turned, round, elapsed(), how) {
            break end;
        }
        for at in drawn(candidates, &mut random) {
            if turned[at].is_out() {
                continue;
            }
            if interrupted.load(Ordering::Relaxed) {
                break;
            }
            match turn(round, at) {
                Ok(turn) => turned[at].turns.push(turn),
                Err(trouble) => {
                    turned[at].failures += 1;
                    turned[at].trouble = Some(trouble);
                }
            }
        }
        if interrupted.load(Ordering::Relaxed) {
            break Some("a signal ended it".to_owned());
        }
    };
    let standing = standing(&turned, how.seed);
    Outcome { turned, standing, ended_early }
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

/// The numbers below `count`, in an order that is drawn (Fisher and Yates).
fn drawn(count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

/// One run of one candidate.
fn turn(
    plan: &Plan,
    how: &How,
    topology: &Topology,
    timer: TimerFacts,
    found: &Found,
    signals: &Signals,
) -> Result<Turn, String> {
    let config = how.config(plan.ranks.len());
    let crew = pingpong::Crew::threads(plan.ranks.clone(), topology.machine_has_one_node(), timer);
    let world = Single::default();
    let mut mailbox = Mailbox::new(&world);
    let state = pingpong::lead(&config, crew, &found.platform, &mut mailbox, &signals.interrupted, &mut Silent);
    let cases = Case::all(&config);
    let rates = |direction: Direction| -> Result<Vec<f64>, String> {
        let case = cases.iter().position(|case| case.direction == direction).unwrap_or(0);
        state.results[case].iter().enumerate().map(|(rank, result)| rate(rank, result)).collect()
    };
    Ok(Turn { h2d_bytes_per_s: rates(Direction::H2d)?, d2h_bytes_per_s: rates(Direction::D2h)? })
}

/// A rank's rate; a rank in trouble has none, and without it the others were not measured as asked.
fn rate(rank: usize, result: &pingpong::RankCase) -> Result<f64, String> {
    if let Some(trouble) = &result.trouble {
        return Err(format!("rank {rank}: {trouble}"));
    }
    let summary = result.so_far.as_ref().map(|so_far| so_far.summary.bytes_per_s);
    summary.ok_or_else(|| format!("rank {rank} was not measured"))
}

/// Turns are too short to be kept one by one.
struct Silent;

impl Journal for Silent {
    fn pass_ended(&mut self, _: &RunState) {}

    fn signalled(&mut self, _: &RunState) {}
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

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
    fn replayed(recorded: &[&[Option<f64>]], stop_after: usize) -> Outcome {
        let how = How { max_time: Duration::from_secs(60), ..HOW };
        let (taken, interrupted) = (Cell::new(0), AtomicBool::new(false));
        let mut next = vec![0; recorded.len()];
        in_turns(
            recorded.len(),
            &how,
            &interrupted,
            || Duration::from_secs(taken.get()),
            |_, at| {
                taken.set(taken.get() + 1);
                interrupted.store(taken.get() as usize >= stop_after, Ordering::Relaxed);
                next[at] += 1;
                let rate = recorded[at][(next[at] - 1) % recorded[at].len()].ok_or("ranks were not at once")?;
                Ok(Turn { h2d_bytes_per_s: vec![rate], d2h_bytes_per_s: vec![rate] })
            },
        )
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
        let outcome = replayed(&[&NEAR, &FAR], usize::MAX);
        assert_eq!(found(&outcome), (Some((1, Finding::Best)), vec![6, 6]));
        let outcome = replayed(&[&NEAR, &FAR, &AS_FAR], usize::MAX);
        let (standing, turns) = found(&outcome);
        let (leader, finding) = standing.expect("there are figures");
        assert!(leader > 0 && finding != Finding::Best, "{leader} {finding:?}");
        assert!(turns.iter().all(|turns| (6..=TURNS_AT_MOST).contains(turns)), "{turns:?}");
    }

    #[test]
    fn recorded_turns_of_which_some_failed_are_replaced_and_a_candidate_of_failures_is_out_but_not_beaten() {
        let (shaky, steady) = ([Some(9.0), None, Some(9.1), Some(8.9)], [Some(7.4), Some(7.41), Some(7.39)]);
        let outcome = replayed(&[&shaky, &steady], usize::MAX);
        let (standing, turns) = found(&outcome);
        assert_eq!((standing, turns[0]), (Some((0, Finding::Best)), 6));
        assert!(outcome.turned[0].failures > 0 && outcome.ended_early.is_none());
        let outcome = replayed(&[&shaky, &steady, &[None]], usize::MAX);
        let (standing, turns) = found(&outcome);
        assert_eq!((standing, turns[2]), (Some((0, Finding::Undecided)), 0));
        assert_eq!(outcome.turned[2].failures, FAILURES_AT_MOST);
    }

    #[test]
    fn a_signal_ends_the_turns_where_they_are() {
        let outcome = replayed(&[&[Some(9.0)], &[Some(7.4)]], 5);
        assert_eq!(outcome.ended_early.as_deref(), Some("a signal ended it"));
        assert_eq!(found(&outcome).1.iter().sum::<usize>(), 5);
    }

    #[test]
    fn every_candidate_has_its_turn_in_every_round_in_an_order_that_changes() {
        let mut random = SplitMix64::new(1);
        let orders: Vec<Vec<usize>> = (0..8).map(|_| drawn(4, &mut random)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
