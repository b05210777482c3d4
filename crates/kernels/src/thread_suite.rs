//! Kernels on CPUs as a suite: each thread has a problem of its own, in the memory of the node at hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{
    Bound, Case, Failure, ObservedPlacement, PageCheck, PagesPerNode, PlacedMemory, PlacingRules, Site,
    Suite, TimeSpent, Timing, Trouble, Work, Worker, clock, no_memory,
};

use crate::case::ThreadCase;
use crate::kernel::{By, Kernel};
use crate::problem::{Layout, Problem};
use crate::size::ProblemSize;

/// Kernels on CPUs.
pub struct ThreadSuite {
    cases: Vec<ThreadCase>,
    problems: BTreeMap<Kernel, Arc<dyn Problem>>,
    rules: PlacingRules,
}

impl ThreadSuite {
    /// These cases, with problems of this size.
    pub fn new(cases: Vec<ThreadCase>, size: ProblemSize, rules: PlacingRules) -> Self {
        let problems =
            cases.iter().map(|case| (case.kernel, case.kernel.problem(By::Thread, size))).collect();
        Self { cases, problems, rules }
    }

    /// A problem that is measured.
    pub fn problem(&self, kernel: Kernel) -> Option<&Arc<dyn Problem>> {
        self.problems.get(&kernel)
    }

    /// The memory of one thread, bytes.
    fn thread_bytes(&self) -> usize {
        self.problems.values().map(|problem| problem.layout().device_bytes()).max().unwrap_or(0)
    }

    /// The most that a node must have at one time, bytes: each rank that ever uses it keeps its last memory
    /// until it gets other.
    pub fn bytes_on(&self, node: u32) -> u64 {
        let here = self.cases.iter().filter(|case| case.node == node).flat_map(|case| &case.ranks);
        here.collect::<std::collections::BTreeSet<_>>().len() as u64 * self.thread_bytes() as u64
    }
}

impl Suite for ThreadSuite {
    fn cases(&self) -> Vec<Case> {
        self.cases.iter().enumerate().map(|(index, case)| Case::by(index, case.ranks.clone())).collect()
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        Ok(Box::new(ThreadSite { suite: self, pu: worker.pu, setup: None, held: None }))
    }
}

/// Memory and what is in it.
struct Held {
    memory: PlacedMemory,
    node: u32,
    allocation: u32,
    holds: Option<Kernel>,
}

/// One rank's end.
struct ThreadSite {
    suite: Arc<ThreadSuite>,
    pu: u32,
    setup: Option<usize>,
    held: Option<Held>,
}

impl Site for ThreadSite {
    fn set_up(
        &mut self,
        bound: &Bound,
        setup: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        let ThreadCase { kernel, node, .. } = self.suite.cases[setup];
        self.setup = Some(setup);
        let is_there = |held: &Held| (held.node, held.allocation) == (node, allocation);
        let fresh = !self.held.as_ref().is_some_and(is_there);

        if fresh {
            // Freed before as much again is allocated.
            self.held = None;
            let make = || PlacedMemory::new(bound, self.suite.thread_bytes(), node, &self.suite.rules);
            let memory = clock::timed(&mut spent.allocate_ns, make)?;
            self.held = Some(Held { memory, node, allocation, holds: None });
        }

        let problem = self.suite.problem(kernel).cloned();

        if let (Some(held), Some(problem)) = (&mut self.held, problem)
            && held.holds != Some(kernel)
        {
            let input = &mut held.memory.bytes_mut()[..problem.layout().input];
            clock::timed(&mut spent.lay_out_ns, || problem.fill(0, input));
            held.holds = Some(kernel);
        }
        Ok(fresh)
    }

    /// All kernels use the same memory of an allocation.
    fn serves(&self, setup: usize, allocation: u32) -> bool {
        let node = self.suite.cases.get(setup).map(|case| case.node);
        self.held.as_ref().is_some_and(|held| (Some(held.node), held.allocation) == (node, allocation))
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let mut seen = ObservedPlacement::thread()?;
        if let Some(held) = &self.held {
            seen.pages = PagesPerNode::of(held.memory.bytes(), how, true);
        }
        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        seen.mismatch(self.pu, self.suite.cases.get(self.setup?)?.node, None)
    }

    fn work(&mut self, case: usize, _pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let problem = self.suite.problem(self.suite.cases[case].kernel).cloned().ok_or_else(no_memory)?;
        let held = self.held.as_mut().ok_or_else(no_memory)?;
        Ok(Box::new(Computed { memory: held.memory.bytes_mut(), layout: problem.layout(), problem }))
    }
}

/// One block of a kernel on the calling thread.
struct Computed<'a> {
    memory: &'a mut [u8],
    layout: Layout,
    problem: Arc<dyn Problem>,
}

impl Work for Computed<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        (self.layout.input + self.layout.output) as f64
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.memory[self.layout.result()].fill(0xff);
        Ok(())
    }

    fn round(&mut self) -> Result<(), Failure> {
        let Layout { input, output_at, output, scratch_at, scratch } = self.layout;
        let (from, rest) = self.memory.split_at_mut(output_at);
        let (to, rest) = rest.split_at_mut(scratch_at - output_at);
        self.problem.compute(&from[..input], &mut to[..output], &mut rest[..scratch]);
        Ok(())
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        let checked =
            self.problem.check(&self.memory[..self.layout.input], &self.memory[self.layout.result()]);
        checked.map(|()| self.layout.output as u64).map_err(|wrong| Trouble::Wrong(wrong.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn one_memory_serves_all_kernels_of_its_node_and_allocation_and_no_others() -> Result<(), Box<dyn Error>>
    {
        let topology = topo::read()?;
        let pu = topology.allowed.pus.first().ok_or("a PU")?;
        let node = topology.pu(pu).and_then(|pu| pu.nodes.first().copied()).ok_or("the PU is on no node")?;
        let on = |kernel, node| ThreadCase { kernel, node, ranks: vec![0] };
        let cases = vec![on(Kernel::Triad, node), on(Kernel::Scan, node), on(Kernel::Triad, node + 1)];
        let rules = PlacingRules { one_node: topology.machine_has_one_node(), ..PlacingRules::default() };
        let suite = Arc::new(ThreadSuite::new(cases, ProblemSize::Bytes(1 << 20), rules));
        let (bound, mut spent) = (Bound::to(pu)?, TimeSpent::default());
        let mut site = suite.site(&Worker { rank: 0, pu }, &bound)?;
        assert!(!site.serves(0, 0), "nothing is there yet");

        let mut set_up = |setup, allocation| {
            let fresh = site.set_up(&bound, setup, allocation, &mut spent);
            let serves =
                [(0, 0), (1, 0), (2, 0), (0, 1)].map(|(setup, allocation)| site.serves(setup, allocation));
            (fresh.is_ok_and(|fresh| fresh), serves)
        };

        assert_eq!(set_up(0, 0), (true, [true, true, false, false]));
        assert_eq!(set_up(1, 0), (false, [true, true, false, false]), "the same memory");
        assert_eq!(set_up(1, 1), (true, [false, false, false, true]), "new memory");
        Ok(())
    }
}
