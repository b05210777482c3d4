//! Leading a run: collects what every rank brings back from each pass, decides what is measured next, and
//! hands the state to a journal after every pass.
//!
//! Some 440 lines because who is waited for, who is out and when to give up are one state. The lead is the
//! thread that calls [`lead`], in the process with rank 0. It sleeps while ranks measure; it decides, and the
//! journal writes, while they wait: nothing is drawn or written while a sample is being timed. It is also the
//! one that can give up: a rank stuck in a driver cannot be ended from inside its process, and one whose
//! process died says nothing any more, so after the timeout the run ends without it.
//!
//! Nodes do not need each other: when a rank of another node is gone, or nothing at all is heard of that node
//! (each says every second that it is there), that node is out and the run goes on to its end with the
//! others. On the lead's own node a rank that is gone ends the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use ranks::Communicator;

use crate::config::EngineConfig;
use crate::heartbeat::Pulse;
use crate::message::{self, Decision, LeadMessage, Report};
use crate::state::{RunEnd, RunState};
use crate::stop_policy::Enough;
use crate::work::Suite;
use crate::workers::{Neighbours, ThreadTeam, Workers};

/// How long the lead sleeps, while ranks of its process measure, before it looks at the signal flag and the
/// clock again.
pub(crate) const NAP: Duration = Duration::from_millis(200);
/// How long ranks may take to leave after a signal before the run is given up without them.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// How long a process may take to say whether its rank waits.
const ANSWER: Duration = Duration::from_secs(1);
/// How long after a rank that left because of another one is the other one's own report, or a neighbour's of
/// it, waited for.
const NAMING: Duration = Duration::from_secs(2);

/// Told of the state between passes.
pub trait Journal {
    /// One pass is over and no rank measures; `state` holds everything so far.
    fn pass_ended(&mut self, state: &RunState);

    /// A signal came: ranks are on their way out, and what sent the signal may soon send a harder one.
    fn signalled(&mut self, state: &RunState);
}

/// Runs every case of `suite` on the ranks of `workers` and of the processes that [`follow`](crate::follow)
/// at the other ends of `comm`. `interrupted` may be set at any time (a signal handler): the ranks then leave
/// at the end of the round they are in, and what is finished is in the state returned.
pub fn lead(
    config: &EngineConfig,
    mut workers: Workers,
    suite: &Arc<dyn Suite>,
    comm: &mut Communicator,
    interrupted: &Arc<AtomicBool>,
    enough: &mut dyn Enough,
    journal: &mut dyn Journal,
) -> RunState {
    let team = ThreadTeam::start(&mut workers, config, suite, interrupted);
    let state = RunState::new(&suite.cases(), &workers.nodes);
    let neighbours = workers.neighbours.take();
    let began = Instant::now();
    let lead = Lead {
        config,
        comm,
        team,
        neighbours,
        interrupted,
        began,
        signalled: None,
        waited_for: BTreeSet::new(),
        left: BTreeMap::new(),
        out: BTreeSet::new(),
        pulse: Pulse::new(&workers.nodes),
        state,
    };

    lead.conduct(enough, journal)
}

/// Tells the processes that follow how the run ended, once its document is written. Afterwards all have been
/// told, not all have left.
pub fn dismiss(comm: &Communicator, state: &RunState, code: u8) {
    let all_well = state.ranks.iter().all(|rank| rank.lost.is_none());
    let leave = message::write(&LeadMessage::Leave { code, all_well });
    for rank in (1..comm.place().size).filter(|rank| state.ranks.get(*rank).is_some_and(|rank| !rank.gone)) {
        // A process that cannot be told ends by itself.
        drop(comm.send(rank, &leave));
    }
}

struct Lead<'a, 'w> {
    config: &'a EngineConfig,
    comm: &'a mut Communicator<'w>,
    team: ThreadTeam,
    neighbours: Option<Neighbours>,
    interrupted: &'a AtomicBool,
    began: Instant,
    /// When the signal flag was first seen set while a rank was waited for.
    signalled: Option<Instant>,
    /// The ranks whose report of the present pass has not come.
    waited_for: BTreeSet<usize>,
    /// By node, when a rank of it first left because of another one.
    left: BTreeMap<usize, Instant>,
    /// The ranks of other nodes that the run goes on without.
    out: BTreeSet<usize>,
    /// When each node was last heard.
    pulse: Pulse,
    state: RunState,
}

impl Lead<'_, '_> {
    fn conduct(mut self, enough: &mut dyn Enough, journal: &mut dyn Journal) -> RunState {
        self.state.end = self.passes(enough, journal);
        if self.state.end == RunEnd::RankLost {
            self.team.give_up();
        }
        let stop = message::write(&LeadMessage::Decide(Decision::Stop));
        for rank in
            (0..self.state.ranks.len()).filter(|rank| !self.team.has(*rank) && !self.state.ranks[*rank].gone)
        {
            drop(self.comm.send(rank, &stop));
        }
        let Self { team, config, began, interrupted, mut signalled, mut state, .. } = self;
        team.dismiss(NAP, || !gives_up(config, began, interrupted, &mut signalled));
        state.finish();
        state
    }

    fn passes(&mut self, enough: &mut dyn Enough, journal: &mut dyn Journal) -> RunEnd {
        if !self.collect(journal) {
            return self.gone();
        }
        for pass in 0.. {
            let finished = self.state.finished();
            if finished.iter().all(|finished| *finished) {
                return RunEnd::Complete;
            }
            if is_late(self.config, self.began) {
                return RunEnd::TimedOut;
            }
            for rank in self.there() {
                let decision = Decision::Go { pass, finished: finished.clone(), out: self.state.out(rank) };
                if self.team.has(rank) {
                    self.team.send(rank, decision);
                } else {
                    drop(self.comm.send(rank, &message::write(&LeadMessage::Decide(decision))));
                }
            }
            if !self.collect(journal) {
                return self.gone();
            }
            let (elapsed, late) = (self.began.elapsed(), self.is_late_for_more());
            enough.judge(&mut self.state, elapsed, late);
            self.state.passes = pass + 1;
            journal.pass_ended(&self.state);
            if self.interrupted.load(Ordering::Relaxed) {
                return RunEnd::Interrupted;
            }
        }

        RunEnd::Complete
    }

    /// Why not every rank reported. A rank that is gone is the cause also where a signal came: launchers send
    /// one to those who are left.
    fn gone(&mut self) -> RunEnd {
        let mut ranks = self.state.ranks.iter().zip(&self.state.nodes);
        let lost = ranks.any(|(rank, node)| rank.lost.is_some() && self.is_own_node(*node));
        if lost || self.left.keys().any(|node| self.is_own_node(*node)) {
            return RunEnd::RankLost;
        }
        if self.interrupted.load(Ordering::Relaxed) {
            return RunEnd::Interrupted;
        }

        for rank in self.who_hangs() {
            let limit = self.config.timeout.unwrap_or_default().as_secs_f64();
            let why = format!(
                "rank {rank} did not come back within the time limit of {limit:.0} s: a driver's call hangs, \
                 its process is stopped, or its node is gone; --timeout changes the limit"
            );
            self.state.lost(rank, why);
        }
        RunEnd::TimedOut
    }

    /// Of the ranks that are waited for, those that do not themselves wait for another one.
    fn who_hangs(&mut self) -> BTreeSet<usize> {
        let all = std::mem::take(&mut self.waited_for);
        let mut silent = all.clone();
        silent.retain(|rank| !self.team.waits(*rank));
        let asked = message::write(&LeadMessage::Where);
        for rank in silent.iter().filter(|rank| !self.team.has(**rank)) {
            drop(self.comm.send(*rank, &asked));
        }
        let until = Instant::now() + ANSWER;
        let naps = self.comm.place().naps();

        while silent.iter().any(|rank| !self.team.has(*rank)) && Instant::now() < until {
            for report in self.messages() {
                if let Report::Waits { rank, waiting: true } = report {
                    silent.remove(&rank);
                }
            }
            std::thread::sleep(naps.next());
        }
        if silent.is_empty() { all } else { silent }
    }

    /// Waits for one report of every rank; false when that will not come.
    fn collect(&mut self, journal: &mut dyn Journal) -> bool {
        self.waited_for = self.there().into_iter().collect();
        self.pulse.awaken();
        let mut naps = self.comm.place().naps();
        while !self.waited_for.is_empty() || !self.left.is_empty() {
            let measuring = self.waited_for.iter().any(|rank| self.team.has(*rank));
            // Messages come by looking for them.
            let nap = if measuring { NAP } else { naps.next() };
            let came = match self.team.next(nap) {
                Ok(report) => vec![report],
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                // All ranks of this process have left; those of others may still be on their way.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(nap);
                    Vec::new()
                }
            };
            let messages = self.messages();
            if !messages.is_empty() {
                naps.awake();
            }
            for report in came.into_iter().chain(messages) {
                match self.hear(report) {
                    Heard::Report => {}
                    Heard::Left(node) => {
                        self.left.entry(node).or_insert_with(Instant::now);
                    }
                    Heard::Lost => return false,
                }
            }
            self.beat();
            let lost = self.neighbours.as_ref().map_or_else(Vec::new, |neighbours| neighbours.lost());
            if !lost.is_empty() {
                for (rank, why) in lost {
                    self.lost(rank, why, true);
                }
                return false;
            }
            if self.interrupted.load(Ordering::Relaxed) && self.signalled.is_none() {
                journal.signalled(&self.state);
            }
            // Of this node; of others they are out by now.
            let unnamed =
                self.waited_for.is_empty() && self.left.values().any(|left| left.elapsed() >= NAMING);
            if unnamed || gives_up(self.config, self.began, self.interrupted, &mut self.signalled) {
                return false;
            }
        }

        true
    }

    /// The ranks that are still part of the run.
    fn there(&self) -> Vec<usize> {
        (0..self.state.ranks.len()).filter(|rank| !self.out.contains(rank)).collect()
    }

    /// Whether it is the node of this process.
    fn is_own_node(&self, node: usize) -> bool {
        self.state.nodes.get(self.comm.place().rank) == Some(&node)
    }

    /// Says that the lead is there, and looks which other nodes are.
    fn beat(&mut self) {
        if self.pulse.is_due() {
            let here = message::write(&LeadMessage::Here);
            for rank in self.there().into_iter().filter(|rank| !self.team.has(*rank)) {
                drop(self.comm.send(rank, &here));
            }
        }

        for (node, seconds) in self.pulse.silent() {
            // Who has reported has done its part of this pass: it is missed in the next one.
            let is_awaited = self.waited_for.iter().any(|rank| self.state.nodes[*rank] == node);
            if is_awaited && !self.is_own_node(node) {
                let why = format!(
                    "its node has said nothing for {seconds} s: it is down, cut off, or all of its ranks \
                     were ended"
                );
                self.lose_node(node, &why, true);
            }
        }

        let unexplained = |(node, left): (&usize, &Instant)| (left.elapsed() >= NAMING).then_some(*node);

        for node in self.left.iter().filter_map(unexplained).collect::<Vec<_>>() {
            if !self.is_own_node(node) {
                self.lose_node(node, "it left because another rank of its node gave up", false);
            }
        }
    }

    /// The run goes on without the ranks of another node; `gone`: there is nobody to tell anything, and else
    /// they only lack the one that is.
    fn lose_node(&mut self, node: usize, why: &str, gone: bool) {
        self.left.remove(&node);
        self.pulse.forget(node);
        for rank in
            (0..self.state.ranks.len()).filter(|rank| self.state.nodes[*rank] == node).collect::<Vec<_>>()
        {
            self.waited_for.remove(&rank);
            self.out.insert(rank);
            if gone {
                self.state.lost(rank, format!("rank {rank} is gone: {why}"));
                self.state.ranks[rank].gone = true;
            } else {
                self.state.skip(rank, why);
            }
        }
    }

    fn hear(&mut self, report: Report) -> Heard {
        let rank = report.rank();
        let Some(node) = self.state.nodes.get(rank).copied() else { return Heard::Report };
        self.pulse.heard(node);
        if self.out.contains(&rank) {
            // Its node is out already; who of it is gone is still to be known.
            if let Report::Lost { why, gone: true, .. } = report {
                self.state.lost(rank, why);
                self.state.ranks[rank].gone = true;
            }
            return Heard::Report;
        }

        if !matches!(report, Report::Waits { .. } | Report::Here { .. }) {
            self.waited_for.remove(&rank);
        }

        match report {
            // An answer that came too late to be of use; a word that says no more than that it came.
            Report::Waits { .. } | Report::Here { .. } => {}
            Report::Started { thread_id, latch, .. } => self.state.started(rank, thread_id, latch),
            Report::Pass { outcomes, devices, spent, signalled, .. } => {
                self.state.add(rank, outcomes, devices, spent);
                if signalled {
                    self.interrupted.store(true, Ordering::Relaxed);
                }
            }
            // Whoever made it leave is named by a report of its own.
            Report::Ended { aborted: true, .. } => return Heard::Left(node),
            Report::Ended { aborted: false, .. } => {
                return self.lost(rank, format!("rank {rank} ended unexpectedly; please report this"), false);
            }
            Report::Lost { why, gone, .. } => return self.lost(rank, why, gone),
        }
        Heard::Report
    }

    /// A rank is lost; on another node that node is out, and nothing else.
    fn lost(&mut self, rank: usize, why: String, gone: bool) -> Heard {
        self.state.lost(rank, why);
        self.state.ranks[rank].gone |= gone;
        let node = self.state.nodes[rank];
        if self.is_own_node(node) {
            return Heard::Lost;
        }
        self.lose_node(node, &format!("rank {rank} of its node is gone"), false);
        Heard::Report
    }

    /// Every message that has come.
    fn messages(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        loop {
            match self.comm.try_receive() {
                Ok(None) => return reports,
                Ok(Some(message)) => match message::read(message.from, &message.bytes) {
                    Ok(report) => reports.push(report),
                    Err(why) => {
                        reports.push(Report::Lost { rank: message.from, why: why.to_string(), gone: false })
                    }
                },
                Err(error) => {
                    // Nothing can be heard of anyone elsewhere any more.
                    let elsewhere = self.waited_for.iter().filter(|rank| !self.team.has(**rank));
                    reports.extend(elsewhere.map(|rank| Report::Lost {
                        rank: *rank,
                        why: error.to_string(),
                        gone: true,
                    }));
                    return reports;
                }
            }
        }
    }

    /// Whether the time for the phase under way is up. Each phase has the part of the whole time that its
    /// cases are of all cases, and what earlier ones left over. A case that a signal cut short ended by the
    /// signal.
    fn is_late_for_more(&self) -> bool {
        let phase = self.state.phase().unwrap_or(u8::MAX);
        let until = self.state.cases.iter().filter(|case| case.phase <= phase).count();
        let share = until as f64 / self.state.cases.len().max(1) as f64;
        let is_over = |limit: Duration| {
            let limit = if share < 1.0 { limit.mul_f64(share) } else { limit };
            self.began.elapsed() >= limit
        };
        self.config.max_time.is_some_and(is_over) && !self.interrupted.load(Ordering::Relaxed)
    }
}

/// What a report amounted to.
enum Heard {
    /// A rank's part of the pass.
    Report,
    /// A rank of this node leaves because of another one.
    Left(usize),
    /// A rank that is gone.
    Lost,
}

/// Whether the run's time is up.
fn is_late(config: &EngineConfig, began: Instant) -> bool {
    config.timeout.is_some_and(|limit| began.elapsed() >= limit)
}

/// Whether ranks that do not answer are waited for no longer.
fn gives_up(
    config: &EngineConfig,
    began: Instant,
    interrupted: &AtomicBool,
    signalled: &mut Option<Instant>,
) -> bool {
    let flagged = interrupted.load(Ordering::Relaxed);
    is_late(config, began) || (flagged && signalled.get_or_insert_with(Instant::now).elapsed() > GRACE)
}
