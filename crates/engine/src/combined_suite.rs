//! Several suites as one: their ranks and their cases one list after the other, interleaved by one schedule;
//! and cases of different suites at once.
//!
//! Each suite keeps its own numbers inside. Memory is made anew by the engine's own rule, whatever a suite's
//! is.

use stats::latch::Latch;
use std::sync::Arc;

use stats::stage::Stage;
use stats::time_spent::TimeSpent;
use topo::gpu_condition::GpuConditions;

use crate::bound::Bound;
use crate::case::{Case, Order};
use crate::failure::Failure;
use crate::observed_placement::{ObservedPlacement, PageCheck};
use crate::sample::Trouble;
use crate::work::{Site, Suite, Work};
use crate::worker::Worker;

/// A case of one of the suites: which suite, and which of its cases.
pub type PartCase = (usize, usize);

/// Several suites as one.
pub struct Joined {
    parts: Vec<Part>,
    cases: Vec<Case>,
    /// The suites' cases that each case is made of.
    made_of: Vec<Vec<PartCase>>,
    /// The suites' setups that each setup is made of: (suite, its setup).
    setups: Vec<Vec<(usize, usize)>>,
}

struct Part {
    suite: Arc<dyn Suite>,
    cases: Vec<Case>,
    /// The number of its first rank here, and how many it has.
    first: usize,
    ranks: usize,
}

impl Joined {
    /// These suites, each with its ranks (numbered from 0 in each); with all their cases, those of the first
    /// suite first.
    pub fn new(parts: Vec<(Arc<dyn Suite>, usize)>) -> Self {
        let mut joined = Self::without_cases(parts);
        for part in 0..joined.parts.len() {
            for case in 0..joined.parts[part].cases.len() {
                joined.at_once(&[(part, case)]);
            }
        }
        joined
    }

    /// These suites, each with its ranks, and none of their cases but those that are added.
    pub fn without_cases(parts: Vec<(Arc<dyn Suite>, usize)>) -> Self {
        let mut joined =
            Self { parts: Vec::new(), cases: Vec::new(), made_of: Vec::new(), setups: Vec::new() };
        let mut first = 0;
        for (suite, ranks) in parts {
            let cases = suite.cases();
            joined.parts.push(Part { suite, cases, first, ranks });
            first += ranks;
        }
        joined
    }

    /// The number of a suite's first rank here.
    pub fn first_rank(&self, part: usize) -> usize {
        self.parts.get(part).map_or(0, |part| part.first)
    }

    /// The number here of a suite's case.
    pub fn number(&self, wanted: PartCase) -> Option<usize> {
        self.made_of.iter().position(|made_of| made_of[..] == [wanted])
    }

    /// Adds a case of these at once, or of one by itself, and gives its number. A case that is not there is
    /// left out.
    pub fn at_once(&mut self, cases: &[PartCase]) -> usize {
        let there =
            |(part, case): &PartCase| self.parts.get(*part).is_some_and(|part| *case < part.cases.len());
        let wanted: Vec<PartCase> = cases.iter().copied().filter(there).collect();
        let of = |(part, case): &PartCase| (&self.parts[*part], &self.parts[*part].cases[*case]);
        let setup: Vec<(usize, usize)> = wanted.iter().map(|at| (at.0, of(at).1.setup)).collect();
        let ranks = |at: &PartCase| {
            let (part, case) = of(at);
            let members = case.members.clone().unwrap_or_else(|| (0..part.ranks).collect());
            members.into_iter().map(|rank| rank + part.first).collect::<Vec<_>>()
        };
        let members: Vec<usize> = wanted.iter().flat_map(ranks).collect();
        let phase = wanted.iter().map(|at| of(at).1.phase).max().unwrap_or(0);
        let (order, most_blocks) = match &wanted[..] {
            [only] => (of(only).1.order, of(only).1.most_blocks),
            _ => (Order::Simultaneous, None),
        };
        let setup = self.setups.iter().position(|other| *other == setup).unwrap_or_else(|| {
            self.setups.push(setup);
            self.setups.len() - 1
        });
        let index = self.cases.len();
        self.cases.push(Case { index, order, setup, phase, members: Some(members), most_blocks });
        self.made_of.push(wanted);

        index
    }

    /// The suite that a rank is of.
    fn part_of(&self, rank: usize) -> Option<usize> {
        self.parts.iter().position(|part| (part.first..part.first + part.ranks).contains(&rank))
    }
}

impl Suite for Joined {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn site(self: Arc<Self>, worker: &Worker, bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let part = self.part_of(worker.rank);
        let part =
            part.ok_or_else(|| Failure::new(Stage::Open, format!("rank {} is of no suite", worker.rank)))?;
        let local = Worker { rank: worker.rank - self.parts[part].first, pu: worker.pu };
        let inner = Arc::clone(&self.parts[part].suite).site(&local, bound)?;
        Ok(Box::new(JoinedSite { joined: self, part, inner }))
    }
}

/// A rank's end in the suite that it is of.
struct JoinedSite {
    // Dropped before what it may borrow from.
    inner: Box<dyn Site>,
    joined: Arc<Joined>,
    part: usize,
}

impl JoinedSite {
    /// The setup of its suite that is part of this one.
    fn own(&self, setup: usize) -> Option<usize> {
        let setup = self.joined.setups.get(setup)?;
        setup.iter().find(|(part, _)| *part == self.part).map(|(_, own)| *own)
    }
}

impl Site for JoinedSite {
    fn latch(&self) -> Option<Latch> {
        self.inner.latch()
    }

    fn read_links(&mut self) {
        self.inner.read_links();
    }

    fn conditions(&mut self) -> Vec<GpuConditions> {
        self.inner.conditions()
    }

    fn set_up(
        &mut self,
        bound: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        let own = self.own(setup).ok_or_else(|| Trouble::Skipped("it takes no part".to_owned()))?;
        self.inner.set_up(bound, own, allocation, spent)
    }

    fn serves(&self, setup: usize, allocation: u32) -> bool {
        self.own(setup).is_some_and(|own| self.inner.serves(own, allocation))
    }

    fn set_aside(&mut self) {
        self.inner.set_aside();
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        self.inner.look(how)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        self.inner.mismatch(seen)
    }

    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let own =
            self.joined.made_of.get(case).and_then(|case| case.iter().find(|(part, _)| *part == self.part));
        let (_, own) = own.ok_or_else(|| Trouble::Skipped("it takes no part".to_owned()))?;
        self.inner.work(*own, pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Listed(Vec<Case>);

    impl Suite for Listed {
        fn cases(&self) -> Vec<Case> {
            self.0.clone()
        }

        fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
            Err(Failure::new(Stage::Open, format!("rank {}", worker.rank)))
        }
    }

    fn case(index: usize, setup: usize, phase: u8, members: Option<Vec<usize>>) -> Case {
        Case { index, order: Order::Alone, setup, phase, members, most_blocks: None }
    }

    fn joined() -> Joined {
        let first = Listed(vec![case(0, 0, 0, None), case(1, 1, 1, Some(vec![1]))]);
        let second = Listed(vec![case(0, 0, 0, None), case(1, 0, 0, Some(vec![0, 2]))]);
        Joined::new(vec![(Arc::new(first), 2), (Arc::new(second), 3)])
    }

    #[test]
    fn ranks_cases_and_setups_follow_each_other() {
        let cases = joined().cases();
        let seen: Vec<(usize, usize, Vec<usize>)> = cases
            .iter()
            .map(|case| (case.index, case.setup, case.members.clone().unwrap_or_default()))
            .collect();
        let want = [(0, 0, vec![0, 1]), (1, 1, vec![1]), (2, 2, vec![2, 3, 4]), (3, 2, vec![2, 4])];
        assert_eq!(seen, want);
        assert_eq!(
            (joined().number((1, 1)), joined().number((1, 2)), joined().first_rank(1)),
            (Some(3), None, 2)
        );
    }

    #[test]
    fn a_case_of_two_suites_at_once_has_the_ranks_of_both_and_a_setup_of_its_own() {
        let mut joined = joined();
        let added = joined.at_once(&[(0, 1), (1, 1)]);
        let again = joined.at_once(&[(0, 1), (1, 0)]);
        let cases = joined.cases();
        let both = &cases[added];
        assert_eq!(
            (both.order, both.phase, both.members.as_deref()),
            (Order::Simultaneous, 1, Some(&[1, 2, 4][..]))
        );
        assert!(cases[..added].iter().all(|case| case.setup != both.setup));
        assert_eq!(cases[again].setup, both.setup, "the same memory on each side");
    }

    #[test]
    fn suites_without_their_cases_have_those_that_are_added_and_no_other() {
        let first = Listed(vec![case(0, 0, 0, None), case(1, 1, 1, Some(vec![1]))]);
        let second = Listed(vec![case(0, 0, 0, None)]);
        let mut joined = Joined::without_cases(vec![(Arc::new(first), 2), (Arc::new(second), 3)]);
        assert!(joined.cases().is_empty());
        joined.at_once(&[(0, 1)]);
        joined.at_once(&[(0, 1), (1, 0)]);
        let seen: Vec<(Order, Vec<usize>)> =
            joined.cases().into_iter().map(|case| (case.order, case.members.unwrap_or_default())).collect();
        assert_eq!(seen, [(Order::Alone, vec![1]), (Order::Simultaneous, vec![1, 2, 3, 4])]);
    }

    #[test]
    fn a_rank_belongs_to_the_suite_that_its_number_falls_in() {
        let joined = joined();
        let parts: Vec<Option<usize>> = (0..6).map(|rank| joined.part_of(rank)).collect();
        assert_eq!(parts, [Some(0), Some(0), Some(1), Some(1), Some(1), None]);
    }
}
