//! Pairs of cores as a suite: each pair is a case of the rank that asks, with a thread on the other PU that
//! answers.
//!
//! A rank's lines lie on its own node and are made anew with each allocation; the thread that answers is
//! started for one pair and ended before the next, so that nothing but the two waits for anything while they
//! are timed.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{
    Bound, Case, Failure, ObservedPlacement, PageCheck, PlacedMemory, PlacingRules, Site, Stage, Suite,
    TimeSpent, Trouble, Work, Worker, clock,
};
use stats::random::{SplitMix64, mix};

use crate::handover::{Answerer, Handovers};
use crate::lines::{Lines, RANGE_BYTES};

/// With copies in the same run, blocks of pairs stand between those of the copies, and not before them all.
const PHASE: u8 = 1;

/// Two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorePair {
    /// The rank that asks.
    pub asks: usize,
    /// The PU of the thread that answers, OS index.
    pub answers: u32,
}

/// Pairs of cores as a suite.
pub struct CorePairSuite {
    pairs: Vec<CorePair>,
    /// The PU and the memory node of each rank that asks.
    places: BTreeMap<usize, (u32, u32)>,
    /// The rounds of a block at most; by its time where there is no limit.
    rounds: Option<usize>,
    seed: u64,
    rules: PlacingRules,
}

impl CorePairSuite {
    /// These pairs; each worker with the node of its lines. `rounds`: the most of a block.
    pub fn new(
        pairs: Vec<CorePair>,
        workers: &[(Worker, u32)],
        rounds: Option<usize>,
        seed: u64,
        rules: &PlacingRules,
    ) -> Self {
        let places = workers.iter().map(|(worker, node)| (worker.rank, (worker.pu, *node))).collect();
        // Lines lie in pages of the usual size, which nobody has to help with.
        let rules = PlacingRules { one_node: rules.one_node, ..PlacingRules::default() };
        Self { pairs, places, rounds, seed, rules }
    }
}

impl Suite for CorePairSuite {
    fn cases(&self) -> Vec<Case> {
        let case =
            |(index, pair): (usize, &CorePair)| Case { phase: PHASE, ..Case::by(index, vec![pair.asks]) };
        self.pairs.iter().enumerate().map(case).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let (pu, node) = *self.places.get(&worker.rank).unwrap_or(&(worker.pu, 0));
        let rank = worker.rank;
        Ok(Box::new(PairSite {
            suite: self,
            rank,
            pu,
            node,
            lines: None,
            order: Vec::new(),
            other: None,
            seen: None,
        }))
    }
}

/// One rank's end.
struct PairSite {
    suite: Arc<CorePairSuite>,
    rank: usize,
    pu: u32,
    node: u32,
    /// The thread that answers, and for which pair. Ended before its lines are freed.
    other: Option<(usize, Answerer)>,
    lines: Option<(u32, Arc<Lines>)>,
    /// The lines that are still to be used.
    order: Vec<usize>,
    /// Where the other thread was seen last.
    seen: Option<ObservedPlacement>,
}

impl PairSite {
    fn make_lines(&mut self, bound: &Bound, allocation: u32) -> Result<(), Failure> {
        self.lines = None;
        let memory = PlacedMemory::new(bound, RANGE_BYTES, self.node, &self.suite.rules)?;
        self.lines = Some((allocation, Arc::new(Lines::new(memory))));
        self.order.clear();
        Ok(())
    }

    /// The next line, in an order drawn anew for each allocation.
    fn next_line(&mut self) -> Option<usize> {
        let (allocation, lines) = self.lines.as_ref()?;
        if self.order.is_empty() {
            self.order = (0..lines.count()).collect();
            let key = mix(self.suite.seed ^ mix(u64::from(*allocation) + 1)) ^ self.rank as u64;
            SplitMix64::new(mix(key)).shuffle(&mut self.order);
        }
        self.order.pop()
    }
}

impl Site for PairSite {
    fn set_up(
        &mut self,
        bound: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        let is_same = self.lines.as_ref().is_some_and(|(there, _)| *there == allocation);
        if is_same && self.other.as_ref().is_some_and(|(there, _)| *there == setup) {
            return Ok(false);
        }
        self.set_aside();
        if !is_same {
            clock::timed(&mut spent.allocate_ns, || self.make_lines(bound, allocation))?;
        }
        let lines = self.lines.as_ref().map(|(_, lines)| Arc::clone(lines)).ok_or_else(nothing)?;
        let answers = self.suite.pairs[setup].answers;
        let other = clock::timed(&mut spent.init_ns, || Answerer::start(answers, lines))?;
        self.other = Some((setup, other));
        Ok(true)
    }

    fn set_aside(&mut self) {
        (self.other, self.seen) = (None, None);
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some((_, lines)) = &self.lines {
            seen.pages = lines.pages(how);
        }
        self.seen = self.other.as_ref().map(|(_, other)| other.look()).transpose()?;
        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        let other = || {
            let ((setup, _), seen) = (self.other.as_ref()?, self.seen.as_ref()?);
            let found = seen.mismatch(self.suite.pairs[*setup].answers, self.node, None)?;
            Some(format!("the thread that answers: {found}"))
        };
        seen.mismatch(self.pu, self.node, None).or_else(other)
    }

    fn work(&mut self, _case: usize, _pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let line = self.next_line().ok_or_else(nothing)?;
        let ((_, lines), (_, other)) = self.lines.as_ref().zip(self.other.as_ref()).ok_or_else(nothing)?;
        Ok(Box::new(Handovers::new(lines, line, other)?.of_at_most(self.suite.rounds)))
    }
}

fn nothing() -> Failure {
    Failure::new(Stage::Allocate, "no pair was set up")
}
