//! Everything a run has so far: for each case and rank the blocks, or why there are none.

use std::collections::BTreeSet;

use stats::block_interval::BlockValue;
use stats::latch::Latch;
use stats::stage::Stage;
use stats::stop::StopReason;
use stats::time_spent::TimeSpent;
use topo::gpu_condition::GpuConditions;

use crate::case::{Case, Order};
use crate::failure::Failure;
use crate::observed_placement::ObservedPlacement;
use crate::sample::{Outcome, Sample, SoFar, Trouble};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// It is still under way.
    Running,
    /// Every case came to its end.
    Complete,
    /// A signal.
    Interrupted,
    /// It took longer than it was allowed to.
    TimedOut,
    /// A rank was lost.
    RankLost,
}

/// One case on one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankCase {
    /// Whether this rank takes part in the case; one that does not has nothing below.
    pub member: bool,
    /// The blocks, in the order measured.
    pub samples: Vec<Sample>,
    /// How many blocks were left out because the ranks were not at once.
    pub missed: usize,
    /// What ended it, if it did not end well.
    pub trouble: Option<Trouble>,
    /// Why no further block was measured; `None` while more are to come.
    pub stop: Option<StopReason>,
    /// What the blocks say; `None` without any.
    pub so_far: Option<SoFar>,
    /// The placement seen before the first block, and after the last.
    pub seen: [Option<ObservedPlacement>; 2],
}

/// So many blocks may be left out, or as many as were measured.
const MISSED_AT_MOST: usize = 3;

impl RankCase {
    /// Whether a block that was not measured at once with the others is had again.
    fn may_miss_another(&self) -> bool {
        self.missed < MISSED_AT_MOST.max(self.samples.len())
    }
}

/// What is known of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankState {
    /// Its thread, once it runs.
    pub thread_id: Option<u32>,
    /// Its device's latch, once it is open.
    pub latch: Option<Latch>,
    /// What was seen of the GPUs that it uses, up to the last pass.
    pub devices: Vec<GpuConditions>,
    /// Where its time went so far.
    pub spent: TimeSpent,
    /// Why nothing is heard of it any more, where that is so.
    pub lost: Option<String>,
    /// Whether its process is known to be gone: there is nobody to tell anything.
    pub gone: bool,
}

/// Everything a run has so far.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    /// The cases.
    pub cases: Vec<Case>,
    /// `results[case][rank]`.
    pub results: Vec<Vec<RankCase>>,
    /// The ranks.
    pub ranks: Vec<RankState>,
    /// The node of each rank.
    pub nodes: Vec<usize>,
    /// Passes that are over.
    pub passes: u64,
    /// How it ended.
    pub end: RunEnd,
}

impl RunState {
    /// Nothing measured yet; `nodes`: the node of each rank.
    pub(crate) fn new(cases: &[Case], nodes: &[usize]) -> Self {
        Self {
            cases: cases.to_vec(),
            results: cases.iter().map(|case| (0..nodes.len()).map(member_of(case)).collect()).collect(),
            ranks: vec![RankState::default(); nodes.len()],
            nodes: nodes.to_vec(),
            passes: 0,
            end: RunEnd::Running,
        }
    }

    /// The same of a run that ended before its first pass, or is about to begin; `trouble`: what each rank
    /// has in the place of figures.
    pub fn unbegun(
        cases: &[Case],
        nodes: &[usize],
        end: RunEnd,
        trouble: impl Fn(usize) -> Option<Trouble>,
    ) -> Self {
        let mut state = Self { end, ..Self::new(cases, nodes) };
        for ranks in &mut state.results {
            for (rank, mine) in ranks.iter_mut().enumerate().filter(|(_, mine)| mine.member) {
                mine.trouble = trouble(rank);
            }
        }
        state.finish();
        state
    }

    pub(crate) fn started(&mut self, rank: usize, thread_id: u32, latch: Option<Latch>) {
        self.ranks[rank].thread_id = Some(thread_id);
        self.ranks[rank].latch = latch;
    }

    pub(crate) fn add(
        &mut self,
        rank: usize,
        outcomes: Vec<Outcome>,
        devices: Vec<GpuConditions>,
        spent: TimeSpent,
    ) {
        self.ranks[rank].spent = spent;
        self.ranks[rank].devices = devices;

        for outcome in outcomes {
            let mine = &mut self.results[outcome.case][rank];
            // A rank that is out of a case has nothing to add in the passes that others need.
            if mine.stop.is_some() {
                continue;
            }
            let [before, after] = outcome.seen;
            mine.seen[0] = mine.seen[0].take().or(before);
            mine.seen[1] = after.or(mine.seen[1].take());
            mine.so_far = outcome.so_far.or(mine.so_far.take());
            match outcome.sample {
                Ok(sample) => mine.samples.push(sample),
                Err(Trouble::NotAtOnce(_)) if mine.may_miss_another() => mine.missed += 1,
                Err(trouble) => mine.trouble = mine.trouble.take().or(Some(trouble)),
            }
        }
    }

    /// Nothing is heard of rank `rank` any more: what it had not finished failed.
    pub(crate) fn lost(&mut self, rank: usize, why: String) {
        let trouble = Trouble::Failed(Failure::new(Stage::Measure, why.clone()));
        for ranks in &mut self.results {
            let mine = &mut ranks[rank];
            if mine.member && mine.stop.is_none() {
                mine.trouble = mine.trouble.take().or_else(|| Some(trouble.clone()));
            }
        }
        self.ranks[rank].lost.get_or_insert(why);
    }

    /// Rank `rank` is there and cannot go on without another one that is not.
    pub(crate) fn skip(&mut self, rank: usize, why: &str) {
        for mine in self.results.iter_mut().map(|ranks| &mut ranks[rank]).filter(|mine| mine.stop.is_none()) {
            mine.trouble = mine.trouble.take().or_else(|| Some(Trouble::Skipped(why.to_owned())));
        }
    }

    /// Which cases need no further block.
    pub(crate) fn finished(&self) -> Vec<bool> {
        self.results
            .iter()
            .map(|ranks| ranks.iter().all(|rank| !rank.member || rank.stop.is_some()))
            .collect()
    }

    /// Which cases rank `rank` is out of.
    pub(crate) fn out(&self, rank: usize) -> Vec<bool> {
        self.results.iter().map(|ranks| !ranks[rank].member || ranks[rank].stop.is_some()).collect()
    }

    /// Asks `enough` of every rank's blocks (mean nanoseconds a round, and the allocation) in the cases of
    /// the phase under way: those of a later one have not begun, and the time of this one is not theirs. A
    /// case goes on until all its ranks have enough. A rank in trouble is out of it, and with it all ranks of
    /// its node that were to be at once: their blocks would not be what was asked.
    pub fn judge(&mut self, enough: impl Fn(&[BlockValue]) -> Option<StopReason>) {
        let phase = self.phase();
        for (case, ranks) in self.cases.iter().zip(&mut self.results) {
            // Ranks that are to be at once need each other; alone, one that failed ends nobody else's case.
            let together = case.order == Order::Simultaneous;
            let trouble = ranks.iter().zip(&self.nodes).filter(|(rank, _)| rank.trouble.is_some());
            let troubled: BTreeSet<usize> = trouble.map(|(_, node)| *node).collect();
            for (rank, node) in ranks.iter_mut().zip(&self.nodes) {
                if rank.member && (rank.trouble.is_some() || (together && troubled.contains(node))) {
                    rank.stop.get_or_insert(StopReason::Error);
                }
            }

            if Some(case.phase) != phase {
                continue;
            }

            let values = |rank: &RankCase| -> Vec<BlockValue> {
                rank.samples.iter().map(|sample| sample.block.value()).collect()
            };
            let open = || ranks.iter().filter(|rank| rank.member && rank.stop.is_none());
            let is_brief = |rank: &RankCase| case.most_blocks.is_some_and(|most| rank.samples.len() >= most);
            let reason = |rank| enough(&values(rank)).or(is_brief(rank).then_some(StopReason::Brief));
            let Some(reasons) = open().map(reason).collect::<Option<Vec<_>>>() else { continue };
            for (rank, reason) in
                ranks.iter_mut().filter(|rank| rank.member && rank.stop.is_none()).zip(reasons)
            {
                rank.stop = Some(reason);
            }
        }
    }

    /// The phase under way; `None` where every case is finished.
    pub(crate) fn phase(&self) -> Option<u8> {
        let unfinished = self.cases.iter().zip(self.finished()).filter(|(_, finished)| !finished);
        unfinished.map(|(case, _)| case.phase).min()
    }

    /// No further block of this case is measured, for this reason.
    pub(crate) fn stop(&mut self, case: usize, reason: StopReason) {
        for rank in self.results[case].iter_mut().filter(|rank| rank.member) {
            rank.stop.get_or_insert(reason);
        }
    }

    /// Marks what was under way when the run ended early.
    pub(crate) fn finish(&mut self) {
        let reason = match self.end {
            RunEnd::Complete | RunEnd::Running => return,
            RunEnd::Interrupted => StopReason::Signal,
            RunEnd::TimedOut | RunEnd::RankLost => StopReason::Error,
        };
        for rank in self.results.iter_mut().flatten().filter(|rank| rank.member) {
            rank.stop.get_or_insert(reason);
        }
    }
}

/// A case's ranks before anything is measured.
fn member_of(case: &Case) -> impl Fn(usize) -> RankCase + '_ {
    |rank| RankCase { member: case.has(rank), ..RankCase::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_one_phase_ends_no_case_of_a_later_one() {
        let case = |index, phase| Case {
            index,
            order: Order::Alone,
            setup: index,
            phase,
            members: None,
            most_blocks: None,
        };
        let mut state = RunState::new(&[case(0, 0), case(1, 1), case(2, 1)], &[0, 0]);
        state.judge(|_| Some(StopReason::MaxTime));
        assert_eq!(state.finished(), [true, false, false]);
        state.judge(|_| Some(StopReason::MaxTime));
        assert_eq!(state.finished(), [true, true, true]);
    }

    #[test]
    fn what_a_lost_rank_had_not_finished_is_over_in_every_phase() {
        let case = |index, phase| Case {
            index,
            order: Order::Alone,
            setup: index,
            phase,
            members: Some(vec![0]),
            most_blocks: None,
        };
        let mut state = RunState::new(&[case(0, 0), case(1, 1)], &[0]);
        state.lost(0, "gone".to_owned());
        state.judge(|_| None);
        assert_eq!(state.finished(), [true, true]);
    }
}
