//! A run: starts one thread a rank, collects what each brings back from every pass, decides what is measured next, and hands
//! the state to a journal after every pass.
//!
//! The coordinator is the thread that calls [`run`]. It sleeps while ranks measure; it decides, and the journal writes, while
//! they wait: nothing is drawn or written while a sample is being timed. It is also the one that can give up: a rank stuck in
//! a driver cannot be ended from inside the process, so after the timeout the run returns without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use device::Platform;
use placement::Plan;
use ranks::Threads;
use stats::stop::{self, StopReason};

use crate::case::Case;
use crate::config::{self, Amount, RunConfig};
use crate::failure::{Failure, Stage};
use crate::rank::{Decision, Rank, Report};
use crate::sample::Trouble;
use crate::state::{RunEnd, RunState};

/// How long the coordinator sleeps before it looks at the signal flag and the clock again.
const NAP: Duration = Duration::from_millis(200);
/// How long ranks may take to leave after a signal before the run is given up without them.
const GRACE: Duration = Duration::from_secs(10);

/// Told of the state after every pass, while no rank measures.
pub trait Journal {
    /// One pass is over; `state` holds everything so far.
    fn pass_ended(&mut self, state: &RunState);
}

/// Runs every case of `config` on the ranks of `plan`. `interrupted` may be set at any time (a signal handler): the ranks then
/// leave at the end of the round they are in, and what is finished is in the state returned.
pub fn run(
    config: &RunConfig,
    plan: &Plan,
    platform: Arc<dyn Platform>,
    one_node: bool,
    interrupted: &Arc<AtomicBool>,
    journal: &mut dyn Journal,
) -> RunState {
    let cases = Arc::new(Case::all(config));
    let state = RunState::new(&cases, plan.ranks.len());
    let (reports, inbox) = mpsc::channel();
    let (mut decisions, mut threads) = (Vec::new(), Vec::new());
    for (rank, group) in plan.ranks.iter().zip(Threads::group(plan.ranks.len())) {
        let (decide, decided) = mpsc::channel();
        let rank = Rank {
            plan: rank.clone(),
            config: Arc::new(config.clone()),
            cases: Arc::clone(&cases),
            platform: Arc::clone(&platform),
            group: Box::new(group),
            interrupted: Arc::clone(interrupted),
            one_node,
            shared_device: plan.ranks.iter().filter(|other| other.target.id == rank.target.id).count() > 1,
            reports: reports.clone(),
            decisions: decided,
        };
        decisions.push(decide);
        threads.push(thread::spawn(move || rank.live()));
    }
    drop(reports);
    let began = Instant::now();
    let coordinator = Coordinator { config, inbox, decisions, interrupted, began, signalled: None, state };
    coordinator.conduct(threads, journal)
}

struct Coordinator<'a> {
    config: &'a RunConfig,
    inbox: Receiver<Report>,
    decisions: Vec<Sender<Decision>>,
    interrupted: &'a AtomicBool,
    began: Instant,
    /// When the signal flag was first seen set while a rank was waited for.
    signalled: Option<Instant>,
    state: RunState,
}

impl Coordinator<'_> {
    fn conduct(mut self, threads: Vec<JoinHandle<()>>, journal: &mut dyn Journal) -> RunState {
        self.state.end = self.passes(journal);
        for decide in &self.decisions {
            // A rank that is gone no longer listens, which is no news here.
            drop(decide.send(Decision::Stop));
        }
        if self.all_left() {
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        self.state.finish();
        self.state
    }

    fn passes(&mut self, journal: &mut dyn Journal) -> RunEnd {
        if !self.collect() {
            return self.gone();
        }
        for pass in 0.. {
            let finished = self.state.finished();
            if finished.iter().all(|finished| *finished) {
                return RunEnd::Complete;
            }
            if self.is_late() {
                return RunEnd::TimedOut;
            }
            let finished = Arc::new(finished);
            for (rank, decide) in self.decisions.iter().enumerate() {
                let out = self.state.out(rank);
                drop(decide.send(Decision::Go { pass, finished: Arc::clone(&finished), out }));
            }
            if !self.collect() {
                return self.gone();
            }
            self.judge();
            self.state.passes = pass + 1;
            journal.pass_ended(&self.state);
            if self.interrupted.load(Ordering::Relaxed) {
                return RunEnd::Interrupted;
            }
        }
        RunEnd::Complete
    }

    /// Why not every rank reported: a timeout, or ranks that are gone.
    fn gone(&mut self) -> RunEnd {
        if self.interrupted.load(Ordering::Relaxed) {
            RunEnd::Interrupted
        } else if self.is_late() {
            RunEnd::TimedOut
        } else {
            RunEnd::RankLost
        }
    }

    /// Waits for one report of every rank; false when that will not come.
    fn collect(&mut self) -> bool {
        let mut missing = self.decisions.len();
        while missing > 0 {
            match self.inbox.recv_timeout(NAP) {
                Ok(Report::Started { rank, thread_id, latch }) => {
                    self.state.started(rank, thread_id, latch);
                    missing -= 1;
                }
                Ok(Report::Pass { rank, blocks, link }) => {
                    self.state.add(rank, blocks, link);
                    missing -= 1;
                }
                Ok(Report::Ended { rank }) => {
                    let lost =
                        Failure::new(Stage::Measure, format!("rank {rank} ended unexpectedly; please report this"));
                    self.state.lost(rank, &Trouble::Failed(lost));
                    return false;
                }
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if self.gives_up() => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        true
    }

    /// Waits until every rank has left; false when that takes longer than the run may.
    fn all_left(&mut self) -> bool {
        loop {
            match self.inbox.recv_timeout(NAP) {
                // What still comes belongs to a pass that is not whole.
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) if self.gives_up() => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Whether the run's time is up.
    fn is_late(&self) -> bool {
        self.config.timeout.is_some_and(|limit| self.began.elapsed() >= limit)
    }

    /// Whether ranks that do not answer are waited for no longer.
    fn gives_up(&mut self) -> bool {
        let signalled = self.interrupted.load(Ordering::Relaxed);
        self.is_late() || (signalled && self.signalled.get_or_insert_with(Instant::now).elapsed() > GRACE)
    }

    /// Decides for each case whether it has enough.
    fn judge(&mut self) {
        // A case that a signal cut short ended by the signal.
        let late = self.began.elapsed() >= self.config.max_time && !self.interrupted.load(Ordering::Relaxed);
        let amount = self.config.amount;
        self.state.judge(|values| match amount {
            Amount::Fixed { reps, .. } if values.len() as u64 >= config::fixed_blocks(reps) => Some(StopReason::Fixed),
            Amount::Fixed { .. } => late.then_some(StopReason::MaxTime),
            Amount::Adaptive(rule) => stop::decide(values, &rule).or(late.then_some(StopReason::MaxTime)),
        });
    }
}
