//! A wide node by stand-in: 2, 16, 64 and 256 threads whose host lets each begin milliseconds after the
//! common start, as one does that does not run all of its
//! virtual CPUs at once. Every case has figures, of rounds that all ranks were at.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use engine::{
    Amount, Bound, Case, EngineConfig, Failure, Journal, LEAST_OVERLAP, ObservedPlacement, Order, PageCheck,
    PerCase, RunEnd, RunState, Site, Suite, TimeSpent, Timing, Trouble, Work, Worker, Workers, clock,
};
use ranks::{Communicator, Single};
use stats::interval::median;
use stats::random::mix;
use stats::stop::{Patience, StopRule};

/// How long a round takes, and how late the latest rank begins.
const ROUND: Duration = Duration::from_millis(8);
const LATEST_US: u64 = 13_000;

/// Rounds that sleep: they need no core, so that two cores can stand for hundreds.
struct Sleepers {
    /// How many rounds a block needs before it.
    before: u32,
    /// How many rounds each block had before it, of all ranks.
    had: Mutex<Vec<u32>>,
}

impl Suite for Sleepers {
    fn cases(&self) -> Vec<Case> {
        vec![Case {
            index: 0,
            order: Order::Simultaneous,
            setup: 0,
            phase: 0,
            members: None,
            most_blocks: None,
        }]
    }

    fn site(self: Arc<Self>, worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        Ok(Box::new(Sleeper { rank: worker.rank, suite: self }))
    }
}

struct Sleeper {
    rank: usize,
    suite: Arc<Sleepers>,
}

impl Site for Sleeper {
    fn set_up(&mut self, _: &Bound, _: usize, _: u32, _: &mut TimeSpent) -> Result<bool, Trouble> {
        Ok(false)
    }

    fn serves(&self, _: usize, _: u32) -> bool {
        true
    }

    fn look(&mut self, _: PageCheck) -> Result<ObservedPlacement, Failure> {
        ObservedPlacement::thread()
    }

    fn mismatch(&self, _: &ObservedPlacement) -> Option<String> {
        None
    }

    fn work(&mut self, _: usize, pass: u64) -> Result<Box<dyn Work + '_>, Trouble> {
        let late = mix(self.rank as u64 ^ mix(pass + 1)) % LATEST_US;
        Ok(Box::new(Rounds {
            late: Some(Duration::from_micros(late)),
            armed: false,
            rounds: 0,
            suite: &self.suite,
        }))
    }
}

struct Rounds<'s> {
    late: Option<Duration>,
    armed: bool,
    /// Before it was armed.
    rounds: u32,
    suite: &'s Sleepers,
}

impl Work for Rounds<'_> {
    fn timing(&self) -> Timing {
        Timing::Host
    }

    fn bytes_a_round(&self) -> f64 {
        1e6
    }

    fn calls_before(&self) -> u32 {
        self.suite.before
    }

    fn arm(&mut self) -> Result<(), Failure> {
        self.armed = true;
        self.suite.had.lock().unwrap_or_else(PoisonError::into_inner).push(self.rounds);
        Ok(())
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.rounds += u32::from(!self.armed);
        if self.armed
            && let Some(late) = self.late.take()
        {
            thread::sleep(late);
        }
        thread::sleep(ROUND);
        Ok(())
    }

    fn verify(&mut self) -> Result<u64, Trouble> {
        Ok(0)
    }
}

struct Quiet;

impl Journal for Quiet {
    fn pass_ended(&mut self, _: &RunState) {}

    fn signalled(&mut self, _: &RunState) {}
}

/// A run, and how many rounds each block had before it.
fn run(threads: usize, before: u32) -> Result<(RunState, Vec<u32>), Box<dyn Error>> {
    let pus: Vec<u32> = topo::read()?.allowed.pus.iter().collect();
    let workers = (0..threads).map(|rank| Worker { rank, pu: pus[rank % pus.len()] }).collect();
    let rule = StopRule { min_blocks: 6, max_blocks: 6, target_half_width: 0.0, patience: Patience::Asked };
    let config = EngineConfig {
        seed: 3,
        amount: Amount::Adaptive(rule),
        max_time: Some(Duration::from_secs(60)),
        timeout: Some(Duration::from_secs(120)),
        ..EngineConfig::default()
    };
    let (world, interrupted) = (Single::default(), Arc::new(AtomicBool::new(false)));
    let mut comm = Communicator::new(&world);
    let mut enough = PerCase::new(config.amount);
    let workers = Workers::threads(workers, clock::measure());
    let sleepers = Arc::new(Sleepers { before, had: Mutex::default() });
    let suite = Arc::clone(&sleepers) as Arc<dyn Suite>;
    let state = engine::lead(&config, workers, &suite, &mut comm, &interrupted, &mut enough, &mut Quiet);
    let had = sleepers.had.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok((state, had))
}

#[test]
fn among_others_one_round_before_a_block_is_its_first_and_several_are_had_before_each()
-> Result<(), Box<dyn Error>> {
    // The first block of each rank is warmed up.
    let later = |had: Vec<u32>| had.into_iter().filter(|rounds| *rounds < 10).collect::<Vec<_>>();
    let (_, one) = run(2, 1)?;
    let (_, three) = run(2, 3)?;
    let (one, three) = (later(one), later(three));
    assert!(one.len() >= 10 && three.len() >= 10, "{one:?} {three:?}");
    assert!(one.iter().filter(|rounds| **rounds == 0).count() >= 8, "{one:?}");
    assert!(three.iter().all(|rounds| *rounds >= 3), "{three:?}");
    Ok(())
}

#[test]
fn ranks_that_a_host_starts_milliseconds_apart_have_figures_of_the_time_that_they_shared()
-> Result<(), Box<dyn Error>> {
    for threads in [2, 16, 64, 256] {
        let (state, _) = run(threads, 1)?;
        assert_eq!(state.end, RunEnd::Complete, "{threads} threads");
        let mut overlaps = Vec::new();
        for (rank, result) in state.results[0].iter().enumerate() {
            // A block that one rank has no whole round in is had again by all.
            assert!(
                result.trouble.is_none() && result.samples.len() >= 6,
                "rank {rank} of {threads}: {result:?}"
            );
            overlaps.extend(result.samples.iter().filter_map(|sample| sample.overlap));
            // The late first round is no part of the figure. The middle one: a host that stops all threads for a
            // while is in one of them.
            let rounds_ms: Vec<f64> = result
                .samples
                .iter()
                .map(|sample| sample.block.elapsed_ns / sample.block.rounds as f64 / 1e6)
                .collect();
            let round_ms = median(&rounds_ms).ok_or("no samples")?;
            assert!(round_ms < 3.0 * ROUND.as_secs_f64() * 1e3, "rank {rank} of {threads}: {rounds_ms:?} ms");
        }
        let overlap = median(&overlaps).ok_or("ranks of several")?;
        assert!(overlap >= LEAST_OVERLAP, "{threads} threads: {overlap}");
    }
    Ok(())
}
