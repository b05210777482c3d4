//! What leading a large launch costs rank 0: a simulation, in which the other ranks are messages made up by
//! one thread.
//!
//! Nothing is measured by these ranks; what is measured is the lead. The test says its figures, in one line
//! for each size. It runs with 256 ranks by default and with 1,024 when NUMABENCH_FULL_SIMULATION is set.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use ranks::{Communicator, LocalWorld};
use stats::figures::BlockFigures;
use stats::flag::TimerFacts;
use stats::sample::Block;
use stats::stage::Stage;
use stats::stop::{Patience, StopRule};
use stats::summary::summarize;
use stats::time_spent::TimeSpent;

use crate::bound::Bound;
use crate::case::{Case, Order};
use crate::config::{Amount, EngineConfig};
use crate::failure::Failure;
use crate::lead::{Journal, lead};
use crate::message::{self, Decision, Report};
use crate::sample::{Outcome, Sample, SoFar};
use crate::state::{RunEnd, RunState};
use crate::stop_policy::PerCase;
use crate::timing::Timing;
use crate::work::{Site, Suite};
use crate::worker::Worker;
use crate::workers::Workers;

const BLOCKS: usize = 100;
const RANKS_PER_NODE: usize = 8;

/// Twenty cases, and no site: the lead's own rank fails at once, and alone it ends nobody else's case.
struct Nothing;

const CASES: usize = 20;

impl Suite for Nothing {
    fn cases(&self) -> Vec<Case> {
        (0..CASES)
            .map(|index| Case {
                index,
                order: Order::Alone,
                setup: 0,
                phase: 0,
                members: None,
                most_blocks: None,
            })
            .collect()
    }

    fn site(self: Arc<Self>, _worker: &Worker, _bound: &Bound) -> Result<Box<dyn Site>, Failure> {
        Err(Failure::new(Stage::Open, "there is nothing to open"))
    }
}

struct Quiet;

impl Journal for Quiet {
    fn pass_ended(&mut self, _state: &RunState) {}

    fn signalled(&mut self, _state: &RunState) {}
}

/// Each case of 100 blocks.
fn config() -> EngineConfig {
    EngineConfig {
        verify: false,
        amount: Amount::Adaptive(StopRule {
            min_blocks: BLOCKS,
            max_blocks: BLOCKS,
            target_half_width: 0.0,
            patience: Patience::Long,
        }),
        ..EngineConfig::default()
    }
}

/// What one rank says after a pass: a block of each case that is not finished.
fn report(rank: usize, pass: u64, finished: &[bool], blocks: &[Block]) -> Report {
    let block = BlockFigures::of(&blocks[0]);
    let summary = summarize(blocks);
    let outcome = |case: usize| {
        let sample = Sample {
            block: BlockFigures { allocation: (pass / 4) as u32, ..block? },
            timing: Timing::Host,
            overlap: None,
            start_skew_ns: None,
            verified_bytes: Some(1 << 20),
            told: None,
        };
        let so_far = summary.clone().map(|summary| SoFar { summary, flags: Vec::new() });
        Some(Outcome { case, sample: Ok(sample), seen: [None, None], so_far })
    };

    let open = finished.iter().enumerate().filter(|(_, finished)| !**finished);

    Report::Pass {
        rank,
        outcomes: open.filter_map(|(case, _)| outcome(case)).collect(),
        devices: Vec::new(),
        spent: TimeSpent::default(),
        signalled: false,
    }
}

/// Answers for all ranks but the first until all have been told to stop.
fn pretend(worlds: &[LocalWorld]) {
    let round_ns = vec![100.0, 110.0, 120.0];
    let block =
        Block { elapsed_ns: 330.0, bytes: 3 << 20, round_ns, copies_per_round: 1, ..Block::default() };
    let blocks = [block.clone(), block];
    let mut comms: Vec<(usize, Communicator)> =
        worlds.iter().enumerate().map(|(at, world)| (at + 1, Communicator::new(world))).collect();
    for (rank, comm) in &comms {
        let started = Report::Started { rank: *rank, thread_id: 0, latch: None };
        comm.send(0, &message::write(&started)).expect("the lead is there");
    }

    while !comms.is_empty() {
        comms.retain_mut(|(rank, comm)| {
            let Ok(Some(told)) = comm.try_receive() else { return true };
            match message::read::<message::LeadMessage>(told.from, &told.bytes) {
                Ok(message::LeadMessage::Decide(Decision::Go { pass, finished, .. })) => {
                    drop(comm.send(0, &message::write(&report(*rank, pass, &finished, &blocks))));
                    true
                }
                Ok(message::LeadMessage::Here) => {
                    drop(comm.send(0, &message::write(&Report::Here { rank: *rank })));
                    true
                }
                _ => false,
            }
        });
        thread::sleep(Duration::from_micros(200));
    }
}

/// The time of a pass with so many ranks, and what the lead has at the end.
fn simulate(ranks: usize) -> (Duration, RunState) {
    let mut worlds = LocalWorld::launch(&vec![RANKS_PER_NODE; ranks / RANKS_PER_NODE]);
    let own = worlds.remove(0);
    let others = thread::spawn(move || pretend(&worlds));
    let timer = TimerFacts { resolution_ns: 1.0, cost_ns: 30.0 };
    let workers = Workers {
        nodes: (0..ranks).map(|rank| rank / RANKS_PER_NODE).collect(),
        ..Workers::threads(vec![Worker { rank: 0, pu: sys::affinity::current_pu().unwrap_or(0) }], timer)
    };
    let (config, suite) = (config(), Arc::new(Nothing) as Arc<dyn Suite>);
    let interrupted = Arc::new(AtomicBool::new(false));
    let (mut comm, mut enough) = (Communicator::new(&own), PerCase::new(config.amount));
    let began = Instant::now();
    let state = lead(&config, workers, &suite, &mut comm, &interrupted, &mut enough, &mut Quiet);
    let took = began.elapsed();
    others.join().expect("the pretenders end well");

    (took / BLOCKS as u32, state)
}

/// Bytes of blocks that the lead holds, with what vectors keep in reserve.
fn held(state: &RunState) -> usize {
    state.results.iter().flatten().map(|rank| rank.samples.capacity() * size_of::<Sample>()).sum()
}

#[test]
fn the_lead_of_a_thousand_ranks_stays_small_and_its_work_grows_no_faster_than_they_do() {
    let full = std::env::var_os("NUMABENCH_FULL_SIMULATION").is_some();
    let most = if full { 1024 } else { 256 };
    let mut times = Vec::new();
    for ranks in [most / 4, most] {
        let (pass, state) = simulate(ranks);
        assert_eq!((state.end, state.passes), (RunEnd::Complete, BLOCKS as u64));
        let blocks: usize = state.results.iter().flatten().map(|rank| rank.samples.len()).sum();
        assert_eq!(blocks, (ranks - 1) * BLOCKS * CASES);
        let (mib, peak) = (held(&state) >> 20, peak_mib());
        let ms = pass.as_secs_f64() * 1e3;
        drop(writeln!(
            io::stderr(),
            "{ranks} ranks: {ms:.1} ms a pass, {mib} MiB of blocks, peak of this process {peak:?} MiB"
        ));
        // 1,024 ranks of 2,000 blocks within 400 MiB: the rest of the GiB is the document's.
        assert!(held(&state) <= ranks * (400 << 20) / 1024, "{mib} MiB");
        times.push(pass.as_secs_f64());
    }

    // Four times the ranks: four times the work, with room for a machine that does something else as well.
    assert!(times[1] < times[0] * 4.0 * 3.0, "{times:?}");
}

/// The most memory this process ever had (proc(5), VmHWM).
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? >> 10)
}
