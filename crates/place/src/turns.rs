//! Candidates measured in turns, as the cases of one run: a turn is one block of each direction by every rank
//! of a candidate at once, on memory made for it; turns of all candidates alternate in an order drawn anew
//! each pass, so that what changes on the machine meets them alike.
//!
//! After each pass `decide` says whether there is another.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use device::{Direction, Platform};
use engine::{LEAST_OVERLAP, too_little_overlap};
use pingpong::{Cells, CopyCase, CopySuite, Enough, Journal, PlacingRules, RunEnd, RunState, Workers};
use placement::{Plan, RankPlan};
use ranks::{Communicator, Single};
use report::place::Turn;
use stats::stop::StopReason;
use topo::Topology;

use crate::decide::{TurnResults, Turned, over, standing};
use crate::how::How;

/// Measures these plans in turns; all have as many ranks. After each pass `progress` is told how many turns
/// each has had, and `keep` what they gave. Once `interrupted` is set no turn begins.
pub fn measure(
    plans: &[Plan],
    how: &How,
    topology: &Topology,
    platform: &Arc<dyn Platform>,
    interrupted: &Arc<AtomicBool>,
    progress: impl FnMut(u64),
    keep: &mut dyn FnMut(&[Turned]),
) -> TurnResults {
    let ranks = plans.first().map_or(0, |plan| plan.ranks.len());
    let config = how.config(ranks);
    // Every rank of every candidate is a thread of its own, bound for good.
    let numbered = |(number, plan): (usize, &RankPlan)| RankPlan { rank: number, ..plan.clone() };
    let all: Vec<RankPlan> = plans.iter().flat_map(|plan| &plan.ranks).enumerate().map(numbered).collect();
    let members: Vec<Vec<usize>> =
        (0..plans.len()).map(|at| (at * ranks..(at + 1) * ranks).collect()).collect();
    let cells: Vec<Cells> = members.iter().cloned().map(Cells::Members).collect();
    let rules = PlacingRules::on(topology, config.engine.huge_pages);
    let suite = CopySuite::over(&config, &all, &cells, platform, rules);
    let suite = Arc::new(suite.with_fresh_memory_each_pass());
    let workers = Workers::threads(pingpong::workers(&all), pingpong::clock::measure());
    let copies = suite.copies().to_vec();
    let mut turns = Turns {
        limit: how.engine.max_time,
        members,
        copies,
        turned: plans.iter().map(|_| Turned::default()).collect(),
        end: None,
        keep,
    };

    let world = Single::default();
    let mut comm = Communicator::new(&world);
    let engine = Arc::clone(&suite) as Arc<dyn engine::Suite>;
    let mut passes = Passes(progress);
    let state =
        engine::lead(&config.engine, workers, &engine, &mut comm, interrupted, &mut turns, &mut passes);

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
    let standing = standing(&turned);
    TurnResults { turned, standing, ended_early }
}

/// What the turns have given, and whether they decide.
struct Turns<'a> {
    limit: Option<Duration>,
    /// The ranks of each candidate.
    members: Vec<Vec<usize>>,
    copies: Vec<CopyCase>,
    turned: Vec<Turned>,
    /// Why there are no further turns, once there are none; with the reason where the values have not
    /// decided.
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
            let given = turn(state, members, &self.copies, pass);
            // A turn that the end of the time cut short is none, and no failure.
            let is_over = self.limit.is_some_and(|limit| elapsed >= limit);
            if given.is_err() && is_over && is_cut_short(state, members, pass) {
                continue;
            }
            self.turned[at].had(pass, given);
        }

        (self.keep)(&self.turned);
        self.end = over(&self.turned, elapsed, self.limit);

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

/// Whether one of these ranks has no block of this pass, though none failed at anything.
fn is_cut_short(state: &RunState, members: &[usize], pass: u64) -> bool {
    let own = || {
        let of_case = state.results.iter().flat_map(|ranks| members.iter().map(|rank| &ranks[*rank]));
        of_case.filter(|result| result.member)
    };
    own().all(|result| result.trouble.is_none()) && own().any(|result| !has_block(result, pass))
}

fn has_block(result: &pingpong::RankCase, pass: u64) -> bool {
    result.samples.last().is_some_and(|sample| u64::from(sample.block.allocation) == pass)
}

/// What one pass gave on a candidate: the rate of each of its ranks, each way.
fn turn(state: &RunState, members: &[usize], copies: &[CopyCase], pass: u64) -> Result<Turn, String> {
    let rates = |direction: Direction| -> Result<Vec<f64>, String> {
        let ranks = || members.iter().enumerate();
        let of = |(rank, member): (usize, &usize)| {
            let mut results = copies
                .iter()
                .filter(|case| case.direction == direction)
                .map(|case| &state.results[case.index][*member]);
            let result =
                results.find(|result| result.member).ok_or_else(|| format!("rank {rank} takes no part"))?;
            rate(rank, result, pass)
        };
        ranks().map(of).collect()
    };
    Ok(Turn { h2d_bytes_per_s: rates(Direction::H2d)?, d2h_bytes_per_s: rates(Direction::D2h)? })
}

/// A rank's rate in a pass, whose number is that of its memory; a rank in trouble has none, and without it
/// the others were not measured as asked.
fn rate(rank: usize, result: &pingpong::RankCase, pass: u64) -> Result<f64, String> {
    let Some(sample) = result.samples.last().filter(|sample| u64::from(sample.block.allocation) == pass)
    else {
        return Err(result.trouble.as_ref().map_or_else(
            || format!("rank {rank} was not measured"),
            |trouble| format!("rank {rank}: {trouble}"),
        ));
    };
    match sample.overlap {
        Some(overlap) if overlap < LEAST_OVERLAP => {
            Err(format!("rank {rank}: {}", too_little_overlap(overlap)))
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
    use engine::{Case, Failure, Sample, Stage, Timing, Trouble};
    use stats::figures::BlockFigures;
    use stats::sample::Block;

    use super::*;

    /// A block that a rank had in this pass.
    fn sample(pass: u32) -> Option<Sample> {
        let rounds =
            Block { end_ns: 10, elapsed_ns: 10.0, bytes: 1, round_ns: vec![10.0], ..Block::default() };
        let block = BlockFigures::of(&Block { allocation: pass, ..rounds })?;
        Some(Sample {
            block,
            timing: Timing::Host,
            overlap: Some(0.1),
            start_skew_ns: None,
            verified_bytes: None,
            told: None,
        })
    }

    #[test]
    fn a_turn_is_cut_short_where_a_rank_has_no_block_of_it_and_none_failed() {
        let cases = [Case::by(0, vec![0, 1]), Case::by(1, vec![0, 1])];
        let mut state = RunState::unbegun(&cases, &[0, 0], RunEnd::Running, |_| None);
        assert!(is_cut_short(&state, &[0, 1], 3), "nothing was measured");
        for ranks in &mut state.results {
            ranks.iter_mut().for_each(|rank| rank.samples.extend(sample(3)));
        }
        assert!(!is_cut_short(&state, &[0, 1], 3), "too little overlap is a failure of the turn");
        state.results[1][0].samples.clear();
        assert!(is_cut_short(&state, &[0, 1], 3), "one way has no block");
        assert!(is_cut_short(&state, &[1], 4), "the blocks are of the pass before");

        state.results[0][1].trouble = Some(Trouble::Failed(Failure::new(Stage::Measure, "a copy failed")));
        assert!(!is_cut_short(&state, &[0, 1], 3));
    }
}
