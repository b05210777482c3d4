//! A run whose ranks are processes of a launch, simulated by threads with messages between them: one leads,
//! the others follow.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use pingpong::{
    CopySuite, EngineConfig, Followed, Journal, Order, PlacingRules, RunConfig, RunEnd, RunState, Workers,
};
use placement::Plan;
use ranks::{Communicator, Deadline, LocalWorld, Processes, World};
use stats::flag::TimerFacts;

use crate::harness::{Outcome, config, engine, plan};
use crate::mock::{Fault, Misdeed, Mock};
use device::Direction;

const TIMER: TimerFacts = TimerFacts { resolution_ns: 1.0, cost_ns: 30.0 };

/// How a process of the launch ended.
enum Ended {
    Led(Box<RunState>),
    Followed(usize, Followed),
}

struct Passes(u64);

impl Journal for Passes {
    fn pass_ended(&mut self, state: &RunState) {
        self.0 = state.passes;
    }

    fn signalled(&mut self, _state: &RunState) {}
}

/// Two ranks on each of two "nodes", each with its faults; the lead's signal flag is set at first if
/// `interrupts`.
fn launch(
    faults: &[Vec<Fault>],
    config: &RunConfig,
    interrupts: bool,
) -> Result<Vec<Ended>, Box<dyn std::error::Error>> {
    let (all, rules) = plan(4)?;
    let (done, over) = mpsc::channel();
    for (world, faults) in LocalWorld::launch(&[2, 2]).into_iter().zip(faults.to_vec()) {
        let (done, config, all, rules) = (done.clone(), config.clone(), all.clone(), rules.clone());
        thread::spawn(move || drop(done.send(process(&world, faults, &config, &all, rules, interrupts))));
    }
    (0..4).map(|_| over.recv_timeout(Duration::from_secs(60)).map_err(|_| "a process hangs".into())).collect()
}

fn process(
    world: &LocalWorld,
    faults: Vec<Fault>,
    config: &RunConfig,
    all: &Plan,
    rules: PlacingRules,
    interrupts: bool,
) -> Ended {
    let place = world.place();
    let mut comm = Communicator::new(world);
    let group = Processes::rendezvous(&mut comm, Deadline::until(Instant::now() + Duration::from_secs(20)))
        .expect("they meet");
    let nodes = vec![0, 0, 1, 1];
    let mut node: Vec<_> = all.ranks.iter().filter(|plan| nodes[plan.rank] == place.node).cloned().collect();
    // Each process has one device, its own, which its mock platform calls the first.
    for plan in &mut node {
        let device = if plan.rank == place.rank { 0 } else { 1 + plan.rank };
        plan.target.id = placement::TargetId::Gpu(crate::mock::address(device));
    }
    let workers = Workers::process(pingpong::workers(&node), place.rank, group, nodes, TIMER);
    let mock = Mock::new(vec![faults], Duration::from_millis(1));
    let interrupted = Arc::clone(&mock.state.interrupted);
    let platform: Arc<dyn device::Platform> = Arc::new(mock);
    let suite = Arc::new(CopySuite::new(config, &node, &platform, rules));
    if place.rank != 0 {
        return Ended::Followed(
            place.rank,
            pingpong::follow(config, workers, &suite, &mut comm, &interrupted),
        );
    }
    if interrupts {
        interrupted.store(true, Ordering::SeqCst);
    }
    let state = pingpong::lead(config, workers, &suite, &mut comm, &interrupted, &mut Passes(0));
    pingpong::dismiss(&comm, &state, 42);
    // Messages are moved along by whoever goes on collecting; threads' are there at once.
    Ended::Led(Box::new(state))
}

fn led(ended: &[Ended]) -> &RunState {
    let state = ended.iter().find_map(|ended| match ended {
        Ended::Led(state) => Some(&**state),
        Ended::Followed(..) => None,
    });
    state.expect("one of them leads")
}

fn codes(ended: &[Ended]) -> Vec<(usize, Followed)> {
    let mut codes: Vec<_> = ended
        .iter()
        .filter_map(|ended| match ended {
            Ended::Followed(rank, followed) => Some((*rank, followed.clone())),
            Ended::Led(_) => None,
        })
        .collect();
    codes.sort_by_key(|(rank, _)| *rank);
    codes
}

#[test]
fn four_processes_on_two_nodes_measure_what_four_threads_do_and_leave_with_one_code() -> Outcome {
    let ended = launch(&vec![vec![]; 4], &config(), false)?;
    let state = led(&ended);
    assert_eq!((state.end, state.passes, &state.nodes), (RunEnd::Complete, 10, &vec![0, 0, 1, 1]));
    for rank in state.results.iter().flatten() {
        assert_eq!((rank.trouble.as_ref(), rank.samples.len()), (None, 10));
        let so_far = rank.so_far.as_ref().ok_or("blocks that say nothing")?;
        assert_eq!(so_far.summary.blocks, 10);
    }
    assert!(state.ranks.iter().all(|rank| rank.lost.is_none() && rank.thread_id.is_some()));
    let leave = Followed::Dismissed { code: 42, all_well: true };
    assert_eq!(codes(&ended), [(1, leave.clone()), (2, leave.clone()), (3, leave)]);
    Ok(())
}

#[test]
fn a_device_that_fails_ends_simultaneous_cases_of_its_own_node_only() -> Outcome {
    let fails = Fault::Round(Direction::H2d, 6, Misdeed::Fails);
    let config = RunConfig { orders: vec![Order::Simultaneous], ..config() };
    let ended = launch(&[vec![], vec![], vec![], vec![fails]], &config, false)?;
    let state = led(&ended);
    assert_eq!(state.end, RunEnd::Complete);
    let blocks: Vec<usize> = state.results[0].iter().map(|rank| rank.samples.len()).collect();
    assert_eq!(&blocks[..2], [10, 10], "the other node goes on: {:?}", state.results[0][0].trouble);
    assert!(blocks[2] < 10 && blocks[3] < 10, "{blocks:?}");
    Ok(())
}

#[test]
fn a_rank_that_panics_in_its_process_is_named_by_the_lead_and_everybody_leaves() -> Outcome {
    for lost in 1..4 {
        let mut faults = vec![vec![]; 4];
        faults[lost].push(Fault::Round(Direction::H2d, 5, Misdeed::Panics));
        let ended = launch(&faults, &config(), false)?;
        let state = led(&ended);
        // On the lead's own node it ends the run; another node is out, and the lead's goes on to its end.
        assert_eq!(state.end, if lost == 1 { RunEnd::RankLost } else { RunEnd::Complete });
        let blocks = state.results.iter().flat_map(|ranks| &ranks[..2]).map(|rank| rank.samples.len());
        assert!(lost == 1 || blocks.into_iter().all(|blocks| blocks == 10));
        let named: Vec<usize> = (0..4).filter(|rank| state.ranks[*rank].lost.is_some()).collect();
        assert_eq!(named, [lost]);
        let told = codes(&ended).into_iter().filter(|(rank, _)| *rank != lost);
        for (rank, followed) in told {
            assert_eq!(followed, Followed::Dismissed { code: 42, all_well: false }, "rank {rank}");
        }
    }
    Ok(())
}

#[test]
fn a_device_that_hangs_in_another_process_is_left_when_the_time_is_up() -> Outcome {
    let hangs = Fault::Round(Direction::H2d, 1, Misdeed::HangsFor(Duration::from_secs(30)));
    let engine = EngineConfig { timeout: Some(Duration::from_secs(2)), ..engine() };
    let config = RunConfig { engine, ..config() };
    let began = Instant::now();
    let ended = launch(&[vec![], vec![], vec![hangs], vec![]], &config, false)?;
    assert!(began.elapsed() < Duration::from_secs(20));
    let state = led(&ended);
    assert_eq!(state.end, RunEnd::TimedOut);
    let why = state.ranks[2].lost.as_deref().unwrap_or_default();
    assert!(why.contains("rank 2") && why.contains("2 s"), "{why}");
    let named: Vec<usize> = (0..4).filter(|rank| state.ranks[*rank].lost.is_some()).collect();
    assert_eq!(named, [2], "the others only wait for it");
    Ok(())
}

#[test]
fn a_signal_to_the_lead_ends_the_run_for_all() -> Outcome {
    let ended = launch(&vec![vec![]; 4], &config(), true)?;
    assert_eq!(led(&ended).end, RunEnd::Interrupted);
    assert!(
        codes(&ended).iter().all(|(_, followed)| matches!(followed, Followed::Dismissed { code: 42, .. }))
    );
    Ok(())
}
