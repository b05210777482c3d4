//! A second kind of work beside the copies to devices: host memory copied to host memory. It is here to hold
//! the walk of ARCHITECTURE ("adding a kind of work") to its word: everything below is what a kind has to
//! bring, and the engine was not changed for it.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use engine::{
    Amount, Bound, Case, EngineConfig, Failure, Journal, Latch, ObservedPlacement, Order, PageCheck,
    PagesPerNode, PerCase, PlacedMemory, PlacingRules, RunEnd, RunState, Site, Suite, TimeSpent, Timing,
    Trouble, Work, Worker, Workers, WrongByte, clock,
};
use ranks::{Communicator, Single};

/// Bytes a copy, one case each; the last one is done by the first rank only, and after the others.
const SIZES: [usize; 3] = [4096, 1 << 20, 3 << 20];

/// What goes wrong in the timed rounds.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Nothing is copied.
    Idle,
    /// Pages are on another node when they are looked at again.
    Moves,
}

struct HostCopies {
    node: u32,
    fault: Fault,
    /// How often all ranks were set up, and how often they looked.
    set_up: AtomicU32,
    looks: AtomicU32,
}

impl Suite for HostCopies {
    fn cases(&self) -> Vec<Case> {
        let case =
            |index| Case { index, order: Order::Alone, setup: 0, phase: 0, members: None, most_blocks: None };
        let last = Case { order: Order::Simultaneous, setup: 1, phase: 1, members: Some(vec![0]), ..case(2) };
        // Two setups of the same memory, and the second one again in a later phase.
        vec![case(0), Case { order: Order::Simultaneous, setup: 1, ..case(1) }, last]
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        Ok(Box::new(Pair { pu: worker.pu, suite: self, memory: None }))
    }
}

/// Two ranges of a rank.
struct Pair {
    pu: u32,
    suite: Arc<HostCopies>,
    memory: Option<(u32, PlacedMemory, PlacedMemory)>,
}

impl Site for Pair {
    fn latch(&self) -> Option<Latch> {
        None
    }

    fn set_up(
        &mut self,
        bound: &Bound,
        _: usize,
        allocation: u32,
        spent: &mut TimeSpent,
    ) -> Result<bool, Trouble> {
        self.suite.set_up.fetch_add(1, Ordering::Relaxed);
        if self.serves(0, allocation) {
            return Ok(false);
        }
        let (node, len) = (self.suite.node, SIZES[2]);
        let rules = PlacingRules { one_node: true, ..PlacingRules::default() };
        let range = || PlacedMemory::new(bound, len, node, &rules);
        let (from, to) = clock::timed(&mut spent.allocate_ns, || Ok::<_, Failure>((range()?, range()?)))?;
        self.memory = Some((allocation, from, to));
        Ok(true)
    }

    fn serves(&self, _: usize, allocation: u32) -> bool {
        self.memory.as_ref().is_some_and(|(there, ..)| *there == allocation)
    }

    fn look(&mut self, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        self.suite.looks.fetch_add(1, Ordering::Relaxed);
        let mut seen = ObservedPlacement::thread()?;
        if let Some((_, from, to)) = &self.memory {
            seen.pages = PagesPerNode::of(from.bytes(), how, true);
            seen.pages.merge(PagesPerNode::of(to.bytes(), how, true));
        }
        if self.suite.fault == Fault::Moves && how == PageCheck::Again {
            seen.pages.per_node = [(self.suite.node + 1, 1)].into_iter().collect();
        }
        Ok(seen)
    }

    fn mismatch(&self, seen: &ObservedPlacement) -> Option<String> {
        seen.mismatch(self.pu, self.suite.node, None)
    }

    fn work(&mut self, case: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let Some((_, from, to)) = &mut self.memory else {
            return Err(Trouble::Skipped("no memory".to_owned()));
        };
        let bytes = SIZES[case];
        let (from, to) = (&mut from.bytes_mut()[..bytes], &mut to.bytes_mut()[..bytes]);
        Ok(Box::new(HostCopy {
            from,
            to,
            value: pass as u8 | 1,
            before: 0,
            armed: false,
            fault: self.suite.fault,
        }))
    }
}

struct HostCopy<'a> {
    from: &'a mut [u8],
    to: &'a mut [u8],
    value: u8,
    /// Rounds so far that do not count.
    before: u32,
    armed: bool,
    fault: Fault,
}

/// Rounds that do not count before each block.
const BEFORE: u32 = 3;

impl Work for HostCopy<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        self.from.len() as f64
    }

    fn calls_before(&self) -> u32 {
        BEFORE
    }

    fn lay_out(&mut self) -> Result<(), Failure> {
        self.from.fill(self.value);
        self.to.fill(!self.value);
        Ok(())
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.to.fill(!self.value);
        self.armed = true;
        Ok(())
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.before += u32::from(!self.armed);
        if !(self.armed && self.fault == Fault::Idle) {
            self.to.copy_from_slice(self.from);
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        if self.before < BEFORE {
            return Err(Trouble::Invalid(format!("{} rounds before the block, not {BEFORE}", self.before)));
        }
        let wrong = self.to.iter().position(|byte| *byte != self.value);
        match wrong {
            None => Ok(self.to.len() as u64),
            Some(at) => {
                Err(Trouble::Corrupt(WrongByte { offset: at as u64, expected: self.value, got: self.to[at] }))
            }
        }
    }
}

struct Quiet;

impl Journal for Quiet {
    fn pass_ended(&mut self, _: &RunState) {}

    fn signalled(&mut self, _: &RunState) {}
}

/// A run by two ranks on PUs of this process's own.
fn run(fault: Fault) -> Result<RunState, Box<dyn Error>> {
    Ok(run_and_suite(fault)?.0)
}

fn run_and_suite(fault: Fault) -> Result<(RunState, Arc<HostCopies>), Box<dyn Error>> {
    let topology = topo::read()?;
    let pus: Vec<u32> = topology.allowed.pus.iter().collect();
    let first = *pus.first().ok_or("no PU is allowed")?;
    let node_of = |pu: u32| topology.pu(pu).and_then(|pu| pu.nodes.first().copied());
    let node = node_of(first).ok_or("the PU is on no node")?;
    let near = |pu: &&u32| node_of(**pu) == Some(node);
    let second = pus.iter().skip(1).find(near).copied().unwrap_or(first);
    let workers = vec![Worker { rank: 0, pu: first }, Worker { rank: 1, pu: second }];
    let config = EngineConfig {
        seed: 3,
        // Blocks of some ten milliseconds: on a machine that other tests keep busy, threads begin several
        // milliseconds apart.
        amount: Amount::Fixed { reps: 2000, warmup: 1 },
        timeout: Some(Duration::from_secs(60)),
        ..EngineConfig::default()
    };
    let workers = Workers::threads(workers, clock::measure());
    let copies = Arc::new(HostCopies { node, fault, set_up: AtomicU32::new(0), looks: AtomicU32::new(0) });
    let suite = Arc::clone(&copies) as Arc<dyn Suite>;
    let (world, interrupted) = (Single::default(), Arc::new(AtomicBool::new(false)));
    let mut enough = PerCase::new(config.amount);
    let mut comm = Communicator::new(&world);
    let state = engine::lead(&config, workers, &suite, &mut comm, &interrupted, &mut enough, &mut Quiet);
    Ok((state, copies))
}

#[test]
fn a_work_that_the_engine_knows_nothing_of_is_bound_proven_timed_and_verified() -> Result<(), Box<dyn Error>>
{
    let state = run(Fault::None)?;
    assert_eq!(state.end, RunEnd::Complete);
    for (case, ranks) in state.results.iter().enumerate() {
        for (rank, result) in ranks.iter().enumerate() {
            if (case, rank) == (2, 1) {
                assert!(
                    !result.member && result.samples.is_empty() && result.trouble.is_none(),
                    "{result:?}"
                );
                continue;
            }
            // More where the other rank missed a block, on a busy machine.
            assert!(
                result.samples.len() >= 10 && result.trouble.is_none(),
                "case {case} rank {rank}: {result:?}"
            );
            for sample in &result.samples {
                let block = &sample.block;
                assert_eq!(sample.verified_bytes, Some(SIZES[case] as u64));
                assert_eq!(block.bytes, block.rounds * SIZES[case] as u64);
                assert!(block.elapsed_ns > 0.0);
            }
            assert!(result.seen.iter().flatten().count() == 2, "its place is proven before and after");
        }
    }
    for rank in &state.ranks {
        let TimeSpent { init_ns, allocate_ns, prove_ns, measure_ns, verify_ns, .. } = rank.spent;
        assert!(
            [init_ns, allocate_ns, prove_ns, measure_ns, verify_ns].iter().all(|ns| *ns > 0),
            "{:?}",
            rank.spent
        );
    }
    Ok(())
}

#[test]
fn cases_of_a_later_phase_begin_when_those_of_the_earlier_one_are_done() -> Result<(), Box<dyn Error>> {
    let state = run(Fault::None)?;
    let earlier = state.results[..2].iter().flatten().flat_map(|result| &result.samples);
    let ended = earlier.map(|sample| sample.block.end_ns).max().ok_or("no blocks")?;
    let began =
        state.results[2][0].samples.iter().map(|sample| sample.block.start_ns).min().ok_or("no blocks")?;
    assert!(ended <= began, "{ended} {began}");
    Ok(())
}

#[test]
fn a_later_phase_has_three_allocations_among_its_first_ten_blocks_too() -> Result<(), Box<dyn Error>> {
    let state = run(Fault::None)?;
    let allocations: Vec<u32> =
        state.results[2][0].samples.iter().take(10).map(|sample| sample.block.allocation).collect();
    assert_eq!(allocations, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]);
    Ok(())
}

#[test]
fn a_work_that_does_nothing_once_the_clock_runs_is_found() -> Result<(), Box<dyn Error>> {
    let state = run(Fault::Idle)?;
    for result in state.results.iter().flatten().filter(|result| result.member) {
        assert!(matches!(result.trouble, Some(Trouble::Corrupt(_))), "{result:?}");
        assert!(result.samples.is_empty());
    }
    Ok(())
}

#[test]
fn cases_of_two_setups_on_the_same_memory_are_proven_by_one_look_before_and_one_after_all()
-> Result<(), Box<dyn Error>> {
    let (state, copies) = run_and_suite(Fault::None)?;
    assert_eq!(state.end, RunEnd::Complete);
    let [set_up, looks] = [&copies.set_up, &copies.looks].map(|count| count.load(Ordering::Relaxed));
    // A pass of two setups has one look, and one more where memory is new.
    assert!(looks < set_up, "{looks} looks in {set_up} setups");
    Ok(())
}

#[test]
fn pages_that_move_make_the_blocks_of_every_setup_on_that_memory_invalid() -> Result<(), Box<dyn Error>> {
    let state = run(Fault::Moves)?;
    for result in state.results.iter().flatten().filter(|result| result.member) {
        // Or the other rank's was found first, and this one's block was left out with it.
        assert!(matches!(result.trouble, Some(Trouble::Misplaced(_))) || result.missed > 0, "{result:?}");
        assert!(result.samples.is_empty());
    }
    Ok(())
}
