//! Leading a run: collects what every rank brings back from each pass, decides what is measured next, and hands the state to a
//! journal after every pass.
//!
//! The lead is the thread that calls [`lead`], in the process with rank 0. It sleeps while ranks measure; it decides, and the journal
//! writes, while they wait: nothing is drawn or written while a sample is being timed. It is also the one that can give up: a rank
//! stuck in a driver cannot be ended from inside its process, and one whose process died says nothing any more, so after the
//! timeout, or when a neighbour says that it is gone, the run goes on to its end without it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use device::Platform;
use ranks::Mailbox;
use stats::stop::{self, StopReason};

use crate::case::Case;
use crate::config::{self, Amount, RunConfig};
use crate::crew::{Crew, Neighbours, Staff};
use crate::letter::{self, Decision, Order, Report};
use crate::state::{RunEnd, RunState};

/// How long the lead sleeps, while ranks of its process measure, before it looks at the signal flag and the clock again.
pub(crate) const NAP: Duration = Duration::from_millis(200);
/// How long it sleeps while it only waits for letters: they come by polling.
pub(crate) const SHORT_NAP: Duration = Duration::from_micros(500);
/// How long ranks may take to leave after a signal before the run is given up without them.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// How long a process may take to say whether its rank waits.
const ANSWER: Duration = Duration::from_secs(1);
/// How long after a rank that left because of another one is the other one's own report, or a neighbour's of it, waited for.
const NAMING: Duration = Duration::from_secs(2);

/// Told of the state between passes.
pub trait Journal {
    /// One pass is over and no rank measures; `state` holds everything so far.
    fn pass_ended(&mut self, state: &RunState);

    /// A signal came: ranks are on their way out, and what sent the signal may soon send a harder one.
    fn signalled(&mut self, state: &RunState);
}

/// Runs every case of `config` on the ranks of `crew` and of the processes that [`follow`](crate::follow) at the other ends of `mailbox`. `interrupted` may be
/// set at any time (a signal handler): the ranks then leave at the end of the round they are in, and what is finished is in the
/// state returned.
pub fn lead(
    config: &RunConfig,
    mut crew: Crew,
    platform: &Arc<dyn Platform>,
    mailbox: &mut Mailbox,
    interrupted: &Arc<AtomicBool>,
    journal: &mut dyn Journal,
) -> RunState {
    let staff = Staff::start(&mut crew, config, platform, interrupted);
    let state = RunState::new(&Case::all(config), &crew.nodes);
    let neighbours = crew.neighbours.take();
    let began = Instant::now();
    let lead = Lead {
        config,
        mailbox,
        staff,
        neighbours,
        interrupted,
        began,
        signalled: None,
        waited_for: BTreeSet::new(),
        left: None,
        state,
    };
    lead.conduct(journal)
}

/// Tells the processes that follow how the run ended, once its document is written. Afterwards all have been told, not all have left.
pub fn dismiss(mailbox: &Mailbox, state: &RunState, code: u8) {
    let all_well = state.ranks.iter().all(|rank| rank.lost.is_none());
    let leave = letter::write(&Order::Leave { code, all_well });
    for rank in (1..mailbox.place().size).filter(|rank| state.ranks.get(*rank).is_some_and(|rank| !rank.gone)) {
        // A process that cannot be told ends by itself.
        drop(mailbox.tell(rank, &leave));
    }
}

struct Lead<'a, 'w> {
    config: &'a RunConfig,
    mailbox: &'a mut Mailbox<'w>,
    staff: Staff,
    neighbours: Option<Neighbours>,
    interrupted: &'a AtomicBool,
    began: Instant,
    /// When the signal flag was first seen set while a rank was waited for.
    signalled: Option<Instant>,
    /// The ranks whose report of the present pass has not come.
    waited_for: BTreeSet<usize>,
    /// When a rank first left because of another one.
    left: Option<Instant>,
    state: RunState,
}

impl Lead<'_, '_> {
    fn conduct(mut self, journal: &mut dyn Journal) -> RunState {
        self.state.end = self.passes(journal);
        if self.state.end == RunEnd::RankLost {
            self.staff.give_up();
        }
        let stop = letter::write(&Order::Decide(Decision::Stop));
        for rank in (0..self.state.ranks.len()).filter(|rank| !self.staff.has(*rank)) {
            drop(self.mailbox.tell(rank, &stop));
        }
        let Self { staff, config, began, interrupted, mut signalled, mut state, .. } = self;
        staff.dismiss(NAP, || !gives_up(config, began, interrupted, &mut signalled));
        state.finish();
        state
    }

    fn passes(&mut self, journal: &mut dyn Journal) -> RunEnd {
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
            for rank in 0..self.state.ranks.len() {
                let decision = Decision::Go { pass, finished: finished.clone(), out: self.state.out(rank) };
                if self.staff.has(rank) {
                    self.staff.tell(rank, decision);
                } else {
                    drop(self.mailbox.tell(rank, &letter::write(&Order::Decide(decision))));
                }
            }
            if !self.collect(journal) {
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

    /// Why not every rank reported. A rank that is gone is the cause also where a signal came: launchers send one to those who
    /// are left.
    fn gone(&mut self) -> RunEnd {
        if self.left.is_some() || self.state.ranks.iter().any(|rank| rank.lost.is_some()) {
            return RunEnd::RankLost;
        }
        if self.interrupted.load(Ordering::Relaxed) {
            return RunEnd::Interrupted;
        }
        for rank in self.who_hangs() {
            let limit = self.config.timeout.unwrap_or_default().as_secs_f64();
            let why = format!(
                "rank {rank} did not come back within the time limit of {limit:.0} s: a driver's call hangs, its process is stopped, or its \
                 node is gone"
            );
            self.state.lost(rank, why);
        }
        RunEnd::TimedOut
    }

    /// Of the ranks that are waited for, those that do not themselves wait for another one.
    fn who_hangs(&mut self) -> BTreeSet<usize> {
        let all = std::mem::take(&mut self.waited_for);
        let mut silent = all.clone();
        silent.retain(|rank| !self.staff.waits(*rank));
        let asked = letter::write(&Order::Where);
        for rank in silent.iter().filter(|rank| !self.staff.has(**rank)) {
            drop(self.mailbox.tell(*rank, &asked));
        }
        let until = Instant::now() + ANSWER;
        while silent.iter().any(|rank| !self.staff.has(*rank)) && Instant::now() < until {
            for report in self.letters() {
                if let Report::Waits { rank, waiting: true } = report {
                    silent.remove(&rank);
                }
            }
            std::thread::sleep(SHORT_NAP);
        }
        if silent.is_empty() { all } else { silent }
    }

    /// Waits for one report of every rank; false when that will not come.
    fn collect(&mut self, journal: &mut dyn Journal) -> bool {
        self.waited_for = (0..self.state.ranks.len()).collect();
        while !self.waited_for.is_empty() || self.left.is_some_and(|left| left.elapsed() < NAMING) {
            let measuring = self.waited_for.iter().any(|rank| self.staff.has(*rank));
            let nap = if measuring { NAP } else { SHORT_NAP };
            let came = match self.staff.next(nap) {
                Ok(report) => vec![report],
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => {
                    // All ranks of this process have left; those of others may still be on their way.
                    std::thread::sleep(nap);
                    Vec::new()
                }
            };
            let letters = self.letters();
            for report in came.into_iter().chain(letters) {
                match self.hear(report) {
                    Heard::Report => {}
                    Heard::Left => self.left = self.left.or_else(|| Some(Instant::now())),
                    Heard::Lost => return false,
                }
            }
            let lost = self.neighbours.as_ref().map_or_else(Vec::new, |neighbours| neighbours.lost());
            if !lost.is_empty() {
                for (rank, why) in lost {
                    self.state.lost(rank, why);
                    self.state.ranks[rank].gone = true;
                }
                return false;
            }
            if self.interrupted.load(Ordering::Relaxed) && self.signalled.is_none() {
                journal.signalled(&self.state);
            }
            if !self.waited_for.is_empty() && gives_up(self.config, self.began, self.interrupted, &mut self.signalled) {
                return false;
            }
        }
        self.left.is_none()
    }

    fn hear(&mut self, report: Report) -> Heard {
        if !matches!(report, Report::Waits { .. }) {
            self.waited_for.remove(&report.rank());
        }
        match report {
            // An answer that came too late to be of use.
            Report::Waits { .. } => {}
            Report::Started { rank, thread_id, latch } => self.state.started(rank, thread_id, latch),
            Report::Pass { rank, outcomes, link, signalled } => {
                self.state.add(rank, outcomes, link);
                if signalled {
                    self.interrupted.store(true, Ordering::Relaxed);
                }
            }
            // Whoever made it leave is named by a report of its own.
            Report::Ended { aborted: true, .. } => return Heard::Left,
            Report::Ended { rank, aborted: false } => {
                self.state.lost(rank, format!("rank {rank} ended unexpectedly; please report this"));
                return Heard::Lost;
            }
            Report::Lost { rank, why, gone } => {
                self.state.lost(rank, why);
                self.state.ranks[rank].gone |= gone;
                return Heard::Lost;
            }
        }
        Heard::Report
    }

    /// Every letter that has come.
    fn letters(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        loop {
            match self.mailbox.told() {
                Ok(None) => return reports,
                Ok(Some(letter)) => match letter::read(letter.from, &letter.bytes) {
                    Ok(report) => reports.push(report),
                    Err(why) => reports.push(Report::Lost { rank: letter.from, why: why.to_string(), gone: false }),
                },
                Err(error) => {
                    // Nothing can be heard of anyone elsewhere any more.
                    let elsewhere = self.waited_for.iter().filter(|rank| !self.staff.has(**rank));
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

/// What a report amounted to.
enum Heard {
    /// A rank's part of the pass.
    Report,
    /// A rank that leaves because of another one.
    Left,
    /// A rank that is gone.
    Lost,
}

/// Whether the run's time is up.
fn is_late(config: &RunConfig, began: Instant) -> bool {
    config.timeout.is_some_and(|limit| began.elapsed() >= limit)
}

/// Whether ranks that do not answer are waited for no longer.
fn gives_up(config: &RunConfig, began: Instant, interrupted: &AtomicBool, signalled: &mut Option<Instant>) -> bool {
    let flagged = interrupted.load(Ordering::Relaxed);
    is_late(config, began) || (flagged && signalled.get_or_insert_with(Instant::now).elapsed() > GRACE)
}
