//! Starts a run on this machine's own PUs, and ends the test if the run does not end.

use std::error::Error;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use device::{Direction, MemoryKind};
use pingpong::{
    Amount, CopyCase, CopySuite, EngineConfig, Journal, Order, PlacingRules, RankCase, RunConfig, RunState,
    Workers,
};
use placement::{Membind, Plan, Request, Target};
use ranks::{Communicator, Single};
use stats::IdList;
use stats::flag::TimerFacts;
use stats::stop::{Patience, StopRule};

use crate::mock::{Fault, Mock, State};

pub type Outcome = Result<(), Box<dyn Error>>;

/// No run in here may take longer.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A run that is over.
pub struct Done {
    pub state: RunState,
    /// The copies, in the order of the state's cases.
    pub copies: Vec<CopyCase>,
    pub mock: Arc<State>,
    pub took: Duration,
    /// The PU of each rank.
    pub pus: Vec<u32>,
    /// The state after each pass.
    pub journal: Vec<RunState>,
}

impl Done {
    /// The results of the cases that fit, with their case.
    pub fn results_where(&self, fits: impl Fn(&CopyCase) -> bool) -> Vec<(CopyCase, &[RankCase])> {
        let all = self.copies.iter().zip(&self.state.results);
        all.filter(|(case, _)| fits(case)).map(|(case, ranks)| (*case, ranks.as_slice())).collect()
    }

    /// The results of the only case that fits.
    pub fn only(&self, fits: impl Fn(&CopyCase) -> bool) -> &[RankCase] {
        let found = self.results_where(fits);
        assert_eq!(found.len(), 1, "one case was meant");
        found[0].1
    }
}

/// A copy that lasts so long needs no further ones in a block.
pub const A_BLOCK_BY_ITSELF: Duration = Duration::from_millis(5);

/// One kind of memory, one direction, both orders; ten blocks of two rounds (40 where ranks are at once); no
/// limits.
pub fn config() -> RunConfig {
    RunConfig {
        sizes: vec![1 << 20],
        memory: vec![MemoryKind::Pinned],
        directions: vec![Direction::H2d],
        orders: vec![Order::Simultaneous, Order::Alone],
        engine: engine(),
        ..RunConfig::default()
    }
}

/// How [`config`] is measured.
pub fn engine() -> EngineConfig {
    let amount = Amount::Fixed { reps: 20, warmup: 2 };
    EngineConfig { seed: 7, amount, huge_pages: false, ..EngineConfig::default() }
}

/// Until the median's interval is narrow: with this target, as soon as there is one (7 blocks).
pub fn until_there_is_an_interval() -> Amount {
    Amount::Adaptive(StopRule {
        min_blocks: 7,
        max_blocks: 50,
        target_half_width: 1e9,
        patience: Patience::Long,
    })
}

/// The PUs this process may use, as many as ranks; PUs are shared where there are too few.
pub fn plan(ranks: usize) -> Result<(Plan, PlacingRules), Box<dyn Error>> {
    let topology = topo::read()?;
    let allowed: Vec<u32> = topology.allowed.pus.iter().collect();
    let pus = allowed.iter().copied().cycle().take(ranks).collect();
    let target = |index| Target {
        index: index as u32,
        id: placement::TargetId::Gpu(crate::mock::address(index)),
        uuid: None,
    };
    let targets: Vec<Target> = (0..ranks).map(target).collect();
    let request = Request {
        cpus: Some(IdList(pus)),
        targets: Some(targets.clone()),
        available: targets,
        membind: Membind::Local,
    };
    let rules = PlacingRules { one_node: topology.machine_has_one_node(), ..PlacingRules::default() };
    Ok((placement::plan(&topology, &request)?, rules))
}

/// PUs this process may use.
pub fn allowed_pus() -> Result<Vec<u32>, Box<dyn Error>> {
    Ok(topo::read()?.allowed.pus.iter().collect())
}

/// What the journal does after each pass beside keeping the state: nothing, or set the signal flag.
pub type AfterPass = fn(&RunState) -> bool;

/// One rank a list of faults, one device a rank; copies take a quarter of a millisecond.
pub fn run(faults: Vec<Vec<Fault>>, config: &RunConfig) -> Result<Done, Box<dyn Error>> {
    run_with(Mock::new(faults, Duration::from_micros(250)), config, |_| false)
}

/// The same on a platform of one's own; the signal flag is set when `interrupts` says so of the state after a
/// pass.
pub fn run_with(mock: Mock, config: &RunConfig, interrupts: AfterPass) -> Result<Done, Box<dyn Error>> {
    let ranks = device::Platform::devices(&mock).len();
    let (plan, rules) = plan(ranks)?;
    let state = Arc::clone(&mock.state);
    let pus = plan.ranks.iter().map(|rank| rank.pu).collect();
    let (done, over) = mpsc::channel();
    let (config, began, copies) = (config.clone(), Instant::now(), CopyCase::all(config));
    let mut journal = RecordingJournal { interrupts, mock: Arc::clone(&state), states: Vec::new() };
    thread::spawn(move || {
        let interrupted = Arc::clone(&journal.mock.interrupted);
        let timer = TimerFacts { resolution_ns: 1.0, cost_ns: 30.0 };
        let workers = Workers::threads(pingpong::workers(&plan.ranks), timer);
        let platform: Arc<dyn device::Platform> = Arc::new(mock);
        let suite = Arc::new(CopySuite::new(&config, &plan.ranks, &platform, rules));
        let state = pingpong::lead(
            &config,
            workers,
            &suite,
            &mut Communicator::new(&Single::default()),
            &interrupted,
            &mut journal,
        );
        // Nobody listens any more once the watchdog has ended the test.
        drop(done.send((state, journal.states)));
    });
    let (run, journal) = over.recv_timeout(WATCHDOG).map_err(|_| "the run did not end: a rank hangs")?;
    Ok(Done { state: run, copies, mock: state, took: began.elapsed(), pus, journal })
}

struct RecordingJournal {
    interrupts: AfterPass,
    mock: Arc<State>,
    states: Vec<RunState>,
}

impl Journal for RecordingJournal {
    fn pass_ended(&mut self, state: &RunState) {
        self.states.push(state.clone());
        if (self.interrupts)(state) {
            self.mock.interrupted.store(true, Ordering::SeqCst);
        }
    }

    fn signalled(&mut self, _state: &RunState) {}
}
