//! The ranks that live in this process: their threads, and the channels to them.
//!
//! On its own a process has all ranks of the run, one thread each. Launched with others it has exactly one:
//! its own number in the launch.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ranks::{Aborted, Processes, Ranks, Threads, VALUES};
use stats::flag::TimerFacts;

use crate::abandoned::abandon;
use crate::config::EngineConfig;
use crate::message::{Decision, Report};
use crate::rank::Rank;
use crate::work::Suite;
use crate::worker::{Group, Worker};

/// Pause between two looks whether the others are there.
const LOOK: Duration = Duration::from_millis(100);

/// The other processes of this node, as this one can watch them.
pub struct Neighbours {
    /// The group of them all.
    pub group: Processes,
    /// The rank in the run of each member.
    pub ranks: Vec<usize>,
    /// When it was looked last: a look reads files, and messages are looked for two thousand times a second.
    looked: Cell<Option<Instant>>,
}

impl Neighbours {
    /// Ranks of the run whose process is gone, each with what that means.
    pub(crate) fn lost(&self) -> Vec<(usize, String)> {
        let rank = |member: usize| self.ranks.get(member).copied().unwrap_or(member);
        let why = |rank| {
            format!(
                "rank {rank} is gone: its process was killed or crashed; the job's log and dmesg (out of \
                 memory?) may say why"
            )
        };
        if self.looked.get().is_some_and(|looked| looked.elapsed() < LOOK) {
            return Vec::new();
        }
        self.looked.set(Some(Instant::now()));
        self.group.watched().into_iter().map(|member| (rank(member), why(rank(member)))).collect()
    }
}

/// The ranks that live in this process.
pub struct Workers {
    /// Every rank of this node, by its number in the run.
    pub node: Vec<Worker>,
    /// Those that live here, each with its view of the node's group.
    pub members: Vec<(usize, Group)>,
    /// The node of every rank of the run; its length is the number of ranks.
    pub nodes: Vec<usize>,
    /// The node's clock.
    pub timer: TimerFacts,
    /// The processes beside this one, where there are some.
    pub neighbours: Option<Neighbours>,
}

impl Workers {
    /// All ranks of a run as threads of this process.
    pub fn threads(ranks: Vec<Worker>, timer: TimerFacts) -> Self {
        let groups = Threads::group(ranks.len()).into_iter().map(|group| Arc::new(group) as Group);
        Self {
            members: ranks.iter().map(|rank| rank.rank).zip(groups).collect(),
            nodes: vec![0; ranks.len()],
            node: ranks,
            timer,
            neighbours: None,
        }
    }

    /// This process's rank, `rank`, as one of those of its node; `nodes`: the node of every rank of the run.
    pub fn process(
        node: Vec<Worker>,
        rank: usize,
        group: Processes,
        nodes: Vec<usize>,
        timer: TimerFacts,
    ) -> Self {
        let ranks = node.iter().map(|plan| plan.rank).collect();
        let members = vec![(rank, Arc::new(group.clone()) as Group)];
        Self {
            node,
            members,
            nodes,
            timer,
            neighbours: Some(Neighbours { group, ranks, looked: Cell::default() }),
        }
    }
}

/// A rank's view of its node's group, and whether it waits in it: one that hangs elsewhere is the one that
/// the others wait for.
struct WatchedGroup {
    group: Group,
    waiting: AtomicBool,
}

impl Ranks for WatchedGroup {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn size(&self) -> usize {
        self.group.size()
    }

    fn max_of_each(&self, values: [u64; VALUES]) -> Result<[u64; VALUES], Aborted> {
        self.waiting.store(true, Ordering::Relaxed);
        let largest = self.group.max_of_each(values);
        self.waiting.store(false, Ordering::Relaxed);
        largest
    }

    fn arrive(&self) {
        // From here on it only keeps the others company.
        self.waiting.store(true, Ordering::Relaxed);
        self.group.arrive();
    }

    fn all_arrived(&self) -> bool {
        let all = self.group.all_arrived();
        if all {
            self.waiting.store(false, Ordering::Relaxed);
        }
        all
    }

    fn abort(&self) {
        self.group.abort();
    }
}

/// The running threads of these workers.
pub(crate) struct ThreadTeam {
    inbox: Receiver<Report>,
    decisions: Vec<(usize, Sender<Decision>)>,
    threads: Vec<JoinHandle<()>>,
    watched: Vec<(usize, Arc<WatchedGroup>)>,
}

impl ThreadTeam {
    /// Starts a thread a rank. One that cannot be started is as one that ended at once.
    pub(crate) fn start(
        workers: &mut Workers,
        config: &EngineConfig,
        suite: &Arc<dyn Suite>,
        interrupted: &Arc<AtomicBool>,
    ) -> Self {
        let (cases, config) = (Arc::new(suite.cases()), Arc::new(*config));
        let node = Arc::new(workers.node.iter().map(|worker| worker.rank).collect::<Vec<_>>());
        let (reports, inbox) = mpsc::channel();
        let mut team = Self { inbox, decisions: Vec::new(), threads: Vec::new(), watched: Vec::new() };

        for (number, group) in workers.members.drain(..) {
            let Some(worker) = workers.node.iter().find(|worker| worker.rank == number) else { continue };
            let (decide, decided) = mpsc::channel();
            let one = Arc::new(WatchedGroup { group, waiting: AtomicBool::new(false) });
            let rank = Rank {
                worker: *worker,
                node: Arc::clone(&node),
                config: Arc::clone(&config),
                cases: Arc::clone(&cases),
                suite: Arc::clone(suite),
                group: Arc::clone(&one) as Group,
                interrupted: Arc::clone(interrupted),
                timer: workers.timer,
                reports: reports.clone(),
                decisions: decided,
            };
            match thread::Builder::new().name(format!("rank {number}")).spawn(move || rank.run()) {
                Ok(thread) => team.threads.push(thread),
                Err(error) => {
                    let why = format!(
                        "its thread could not be started: {error}; see ulimit -u and the job's limit of \
                         processes"
                    );
                    // The receiver is in this very struct.
                    drop(reports.send(Report::Lost { rank: number, why, gone: false }));
                    one.abort();
                }
            }
            team.watched.push((number, one));
            team.decisions.push((number, decide));
        }
        team
    }

    /// The next report, if one comes within `nap`.
    pub(crate) fn next(&self, nap: Duration) -> Result<Report, RecvTimeoutError> {
        self.inbox.recv_timeout(nap)
    }

    /// Whether rank `number` lives here.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.decisions.iter().any(|(rank, _)| *rank == number)
    }

    /// Whether rank `number`, which lives here, waits for another one.
    pub(crate) fn waits(&self, number: usize) -> bool {
        self.watched.iter().any(|(rank, one)| *rank == number && one.waiting.load(Ordering::Relaxed))
    }

    /// Frees every rank of the node that waits for one that is gone.
    pub(crate) fn give_up(&self) {
        self.watched.iter().for_each(|(_, one)| one.abort());
    }

    /// Tells a rank that lives here.
    pub(crate) fn send(&self, number: usize, decision: Decision) {
        if let Some((_, decide)) = self.decisions.iter().find(|(rank, _)| *rank == number) {
            // A rank that is gone no longer listens, which is no news here.
            drop(decide.send(decision));
        }
    }

    /// Tells every rank that lives here to stop, and waits for them as long as `patient`; whether all have
    /// left.
    pub(crate) fn dismiss(mut self, nap: Duration, mut patient: impl FnMut() -> bool) -> bool {
        for (_, decide) in self.decisions.drain(..) {
            drop(decide.send(Decision::Stop));
        }
        loop {
            match self.inbox.recv_timeout(nap) {
                // What still comes belongs to a pass that is not whole.
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if patient() => {}
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
        true
    }
}

impl Drop for ThreadTeam {
    fn drop(&mut self) {
        if self.threads.iter().any(|thread| !thread.is_finished()) {
            abandon();
        }
    }
}
