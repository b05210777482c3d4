//! One rank's ranges: placed on the node of the case at hand, and looked up there. Ranges that are streamed
//! serve every setup that needs such ones, whoever else takes part in it; a chain of lines is kept until its
//! allocation is over, because making it takes longer than a block of loads.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{
    Bound, Failure, ObservedPlacement, PageCheck, PagesPerNode, PlacedMemory, Site, Suite, TimeSpent,
    Trouble, Work, Worker, clock, no_memory,
};

use crate::case::{Access, TrafficCase};
use crate::chase::{Chain, Chase};
use crate::suite::{MemorySuite, Setup};
use crate::traffic::{Ranges, Traffic};

/// One rank's end.
pub(crate) struct MemorySite {
    suite: Arc<MemorySuite>,
    rank: usize,
    pu: u32,
    /// The setup at hand.
    setup: Option<usize>,
    streamed: Option<Streamed>,
    chains: BTreeMap<usize, (u32, Chain)>,
}

/// Ranges that are there, and what they were made for.
struct Streamed {
    node: u32,
    bytes: usize,
    allocation: u32,
    ranges: Ranges,
}

impl Streamed {
    fn serves(&self, setup: &Setup) -> bool {
        let has_all = self.ranges.second.is_some() || !setup.second;
        (self.node, self.bytes) == (setup.node, setup.bytes) && has_all
    }
}

impl MemorySite {
    pub(crate) fn new(suite: Arc<MemorySuite>, rank: usize, pu: u32) -> Self {
        Self { suite, rank, pu, setup: None, streamed: None, chains: BTreeMap::new() }
    }

    fn range(&self, bound: &Bound, setup: &Setup, spent: &mut TimeSpent) -> Result<PlacedMemory, Failure> {
        let allocate = || PlacedMemory::new(bound, setup.bytes, setup.node, &self.suite.rules);
        clock::timed(&mut spent.allocate_ns, allocate)
    }
}

impl Suite for MemorySuite {
    fn cases(&self) -> Vec<engine::Case> {
        let case = |(index, (case, setup)): (usize, (&TrafficCase, &usize))| engine::Case {
            index,
            order: case.order,
            setup: *setup,
            phase: 0,
            members: Some(case.ranks.clone()),
            most_blocks: None,
        };
        self.cases.iter().zip(&self.setup_of).enumerate().map(case).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        let pu = self.pus.get(&worker.rank).copied().unwrap_or(worker.pu);
        Ok(Box::new(MemorySite::new(self, worker.rank, pu)))
    }
}

impl Site for MemorySite {
    fn set_up(
        &mut self,
        bound: &Bound,
        number: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        let setup = self.suite.setups[number].clone();
        self.setup = Some(number);
        if setup.chain {
            if self.chains.get(&number).is_some_and(|(there, _)| *there == allocation) {
                return Ok(false);
            }
            // Freed before as much again is allocated.
            self.chains.remove(&number);
            let memory = self.range(bound, &setup, spent)?;
            let seed = stats::random::mix(self.suite.seed ^ stats::random::mix(u64::from(allocation) + 1));
            let chain = clock::timed(&mut spent.lay_out_ns, || Chain::new(memory, seed))?;
            self.chains.insert(number, (allocation, chain));
            return Ok(true);
        }

        if self.streamed.as_ref().is_some_and(|held| held.allocation == allocation && held.serves(&setup)) {
            return Ok(false);
        }
        self.streamed = None;
        let first = self.range(bound, &setup, spent)?;
        let second = setup.second.then(|| self.range(bound, &setup, spent)).transpose()?;
        let Setup { node, bytes, .. } = setup;
        self.streamed = Some(Streamed { node, bytes, allocation, ranges: Ranges::new(first, second) });
        Ok(true)
    }

    fn serves(&self, setup: usize, allocation: u32) -> bool {
        let is_chain = |number: Option<usize>| {
            number.and_then(|number| self.suite.setups.get(number)).is_none_or(|setup| setup.chain)
        };
        let at_hand = self.streamed.as_ref().filter(|_| !is_chain(self.setup) && !is_chain(Some(setup)));
        at_hand.is_some_and(|held| held.allocation == allocation && held.serves(&self.suite.setups[setup]))
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        let chain = self.setup.and_then(|setup| self.chains.get(&setup));
        let setup = self.setup.and_then(|setup| self.suite.setups.get(setup)).filter(|setup| !setup.chain);
        let streamed = self.streamed.as_ref().filter(|held| setup.is_some_and(|setup| held.serves(setup)));
        if let Some((_, chain)) = chain {
            seen.pages = PagesPerNode::of(chain.bytes(), how, true);
        } else if let Some(Streamed { ranges: Ranges { first, second, .. }, .. }) = streamed {
            seen.pages = PagesPerNode::of(first.bytes(), how, true);
            second.iter().for_each(|second| seen.pages.merge(PagesPerNode::of(second.bytes(), how, true)));
        }
        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        let node = self.suite.setups.get(self.setup?)?.node;
        seen.mismatch(self.pu, node, None)
    }

    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let TrafficCase { access, pace, .. } = self.suite.cases[case];
        if access == Access::Load {
            let (_, chain) =
                self.setup.and_then(|setup| self.chains.get_mut(&setup)).ok_or_else(no_memory)?;
            return Ok(Box::new(Chase::new(chain)));
        }
        let Streamed { ranges, .. } = self.streamed.as_mut().ok_or_else(no_memory)?;
        let key = [self.rank as u64, access as u64, pass].iter().fold(self.suite.seed, |key, part| {
            stats::random::mix(key ^ stats::random::mix(part.wrapping_add(1)))
        });
        Ok(Box::new(Traffic::new(access, pace, key, ranges)))
    }
}
