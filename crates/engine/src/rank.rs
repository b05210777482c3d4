//! One rank's life: bind, open its site, and then pass after pass: set up, prove, warm up, measure, verify,
//! prove again.
//!
//! Every path through a pass meets the same barriers, whether the rank is well or not: one that failed goes
//! on taking part as someone who has nothing to bring, so that a failing rank ends its own results and nobody
//! else's. Memory and devices are only touched between barriers in which no latch holds, because a driver's
//! allocation may wait for a held queue. What happens between two barriers for one case is in `block`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use ranks::{Aborted, Ranks};
use stats::flag::TimerFacts;
use stats::time_spent::TimeSpent;

use crate::bound::Bound;
use crate::case::Case;
use crate::clock;
use crate::common_window::Timeline;
use crate::config::EngineConfig;
use crate::failure::Failure;
use crate::measured::{History, Measured, PassBlock};
use crate::message::{Decision, Report};
use crate::observed_placement::{ObservedPlacement, PageCheck};
use crate::sample::Trouble;
use crate::schedule;
use crate::work::{Site, Suite};
use crate::worker::{Group, Worker};

/// Everything a rank needs.
pub(crate) struct Rank {
    pub worker: Worker,
    /// The number in the run of each rank of its node, in the order of its group.
    pub node: Arc<Vec<usize>>,
    pub config: Arc<EngineConfig>,
    pub cases: Arc<Vec<Case>>,
    pub suite: Arc<dyn Suite>,
    /// The ranks of its node.
    pub group: Group,
    pub interrupted: Arc<AtomicBool>,
    /// The node's clock.
    pub timer: TimerFacts,
    pub reports: Sender<Report>,
    pub decisions: Receiver<Decision>,
}

/// Tells everyone when a rank leaves, however it leaves: a panic too must not keep the others waiting.
struct Farewell<'a> {
    rank: usize,
    group: &'a dyn Ranks,
    reports: &'a Sender<Report>,
    /// It leaves because another one gave up.
    aborted: bool,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        // First, so that the rank that is named is this one and not one that leaves because of it. A
        // coordinator that gave up no longer listens.
        drop(self.reports.send(Report::Ended { rank: self.rank, aborted: self.aborted }));
        if std::thread::panicking() {
            self.group.abort();
        }
    }
}

/// Whether a case was warmed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Warmth {
    /// Never on this rank.
    Cold,
    /// On earlier memory; how long a round took there.
    Fresh { round_ns: f64 },
    /// On the present memory; how long a round took last.
    Warm { round_ns: f64 },
}

/// What a case's latest block tells of how much its next one takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    /// Blocks that have their figures.
    pub blocks: u64,
    /// How long a round took in a block of several ranks.
    pub among_others_ns: Option<f64>,
    /// How long the next block of several ranks lasts at least, where that is longer than usual: they started
    /// far apart, or were not at once.
    pub lasting_ns: Option<f64>,
    /// How many times as long as the other's the rounds of the slower of two lanes took.
    pub lanes_apart: Option<f64>,
}

/// A rank that is bound, with its site open.
pub(crate) struct Ready {
    bound: Bound,
    pub site: Box<dyn Site>,
    /// The number of the present memory's allocation.
    pub allocation: u32,
    /// Of each case.
    pub warm: Vec<Warmth>,
    /// Of each case.
    pub pace: Vec<Pace>,
    pub timeline: Timeline,
    pub spent: TimeSpent,
    /// What was seen last of the memory of which setup.
    latest: Option<(usize, ObservedPlacement)>,
}

/// In which pass the cases of the phase under way began.
#[derive(Default)]
struct PhaseBegan(Option<(u8, u64)>);

impl PhaseBegan {
    /// The passes of this phase before this one: a later phase has allocations of its own, as many as the
    /// first one.
    fn passes(&mut self, groups: &[(usize, Vec<Case>)], pass: u64) -> u64 {
        let Some(phase) = groups.iter().flat_map(|(_, cases)| cases).map(|case| case.phase).next() else {
            return pass;
        };
        let began = match self.0 {
            Some((under_way, began)) if under_way == phase => began,
            _ => pass,
        };
        self.0 = Some((phase, began));
        pass - began
    }
}

impl Rank {
    /// Runs until the coordinator says stop. The thread this is called on is the rank.
    pub(crate) fn run(self) {
        let rank = self.worker.rank;
        let mut farewell = Farewell { rank, group: &*self.group, reports: &self.reports, aborted: false };
        let mut history = History::new(self.cases.len(), self.timer);
        let mut ready = self.start();
        let latch = ready.as_ref().ok().and_then(|ready| ready.site.latch());
        let started = Report::Started {
            rank,
            thread_id: rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(),
            latch,
        };
        if self.reports.send(started).is_err() {
            return;
        }
        if self.group.barrier().is_err() {
            farewell.aborted = true;
            return;
        }
        let mut phase = PhaseBegan::default();

        while let Ok(Decision::Go { pass, finished, out }) = self.decisions.recv() {
            let groups = schedule::pass(&self.cases, &finished, self.config.seed, pass);
            let of_phase = phase.passes(&groups, pass);
            let Ok(blocks) = self.pass(&mut ready, pass, of_phase, groups, &out) else {
                farewell.aborted = true;
                return;
            };
            let outcomes = blocks.into_iter().map(|block| history.keep(block)).collect();
            let signalled = self.interrupted.load(Ordering::Relaxed);
            let (devices, spent) = ready
                .as_mut()
                .map_or((Vec::new(), TimeSpent::default()), |ready| (ready.site.conditions(), ready.spent));
            let report = Report::Pass { rank, outcomes, devices, spent, signalled };
            if self.reports.send(report).is_err() {
                return;
            }
        }
    }

    fn start(&self) -> Result<Ready, Failure> {
        let began = clock::now_ns();
        let bound = Bound::to(self.worker.pu)?;
        let site = Arc::clone(&self.suite).site(&self.worker, &bound)?;
        let warm = vec![Warmth::Cold; self.cases.len()];
        let spent = TimeSpent { init_ns: clock::now_ns() - began, ..TimeSpent::default() };
        Ok(Ready {
            bound,
            site,
            allocation: 0,
            warm,
            pace: vec![Pace::default(); self.cases.len()],
            timeline: Timeline::default(),
            spent,
            latest: None,
        })
    }

    fn pass(
        &self,
        ready: &mut Result<Ready, Failure>,
        pass: u64,
        of_phase: u64,
        groups: Vec<(usize, Vec<Case>)>,
        out: &[bool],
    ) -> Result<Vec<PassBlock>, Aborted> {
        let allocation = self.suite.allocation(of_phase);
        let mut all = Vec::new();
        // Blocks after which nobody has looked yet: those on the memory at hand.
        let mut unseen = 0;
        let mut interrupted = self.interrupted_by_anyone()?;

        for (setup, cases) in groups {
            if interrupted {
                break;
            }
            let member = cases.iter().any(|case| case.has(self.worker.rank));
            if !Self::keeps(ready, member.then_some(setup), allocation) {
                self.prove_after(ready, &mut all[unseen..]);
                unseen = all.len();
            }
            let before = self.set_up(ready, setup, allocation, member);
            self.group.barrier()?;
            for case in &cases {
                let (measured, ends) = self.block(ready, &before, case, pass, out[case.index])?;
                interrupted |= ends;
                // A block that a signal cut short is no block, and nobody's fault. What failed or arrived
                // wrong did so all the same.
                let by_signal = self.interrupted.load(Ordering::Relaxed);
                let is_cut = |measured: &Result<Measured, Trouble>| {
                    let may_be = matches!(
                        measured,
                        Ok(_) | Err(Trouble::Invalid(_) | Trouble::NotAtOnce(_) | Trouble::AnotherFailed)
                    );
                    by_signal && may_be
                };
                if let Some(measured) = measured.filter(|measured| !is_cut(measured)) {
                    let seen = [before.as_ref().ok().cloned(), None];
                    all.push(PassBlock { case: case.index, measured, seen });
                }
                if interrupted {
                    break;
                }
            }
            // Memory of another setup may be made next, which a driver may do only while no queue is held.
            interrupted |= self.interrupted_by_anyone()?;
        }

        self.prove_after(ready, &mut all[unseen..]);
        Ok(all)
    }

    /// Whether the memory at hand stays for the cases of this setup (`None`: the rank takes no part in what
    /// comes): what was seen before it was used first was then seen before all, and one look after all tells
    /// what moved.
    fn keeps(ready: &mut Result<Ready, Failure>, setup: Option<usize>, allocation: u32) -> bool {
        let Ok(Ready { site, latest: Some((of, _)), .. }) = ready else { return false };
        let setup = setup.unwrap_or(*of);
        let keeps = site.serves(setup, allocation);
        if keeps {
            *of = setup;
        }
        keeps
    }

    /// Collective: waits for all ranks; whether any has seen a signal, so that all leave at the same place.
    pub(crate) fn interrupted_by_anyone(&self) -> Result<bool, Aborted> {
        Ok(self.group.max(u64::from(self.interrupted.load(Ordering::Relaxed)))? > 0)
    }

    /// Has the site make what a setup needs unless it is there already, and looks where it lies.
    fn set_up(
        &self,
        ready: &mut Result<Ready, Failure>,
        setup: usize,
        allocation: u32,
        member: bool,
    ) -> Result<ObservedPlacement, Trouble> {
        let ready = ready.as_mut().map_err(|failure| failure.clone())?;
        if !member {
            ready.site.set_aside();
            return Err(Trouble::Skipped("it takes no part".to_owned()));
        }
        let latest = ready.latest.take().filter(|(of, _)| *of == setup);
        let fresh = ready.site.set_up(&ready.bound, setup, allocation, &mut ready.spent)?;
        ready.allocation = allocation;

        if fresh {
            for case in self.cases.iter().filter(|case| case.setup == setup) {
                let warmth = &mut ready.warm[case.index];
                if let Warmth::Warm { round_ns } = *warmth {
                    *warmth = Warmth::Fresh { round_ns };
                }
            }
        }

        let seen = match latest {
            // The same memory: what moved meanwhile is seen after the next blocks.
            Some((_, seen)) if !fresh => seen,
            _ => Self::look(ready, if fresh { PageCheck::First } else { PageCheck::Again })?,
        };
        ready.latest = Some((setup, seen.clone()));

        match ready.site.mismatch(&seen) {
            Some(mismatch) => Err(Trouble::Misplaced(mismatch)),
            None => Ok(seen),
        }
    }

    fn look(ready: &mut Ready, how: PageCheck) -> Result<ObservedPlacement, Failure> {
        let Ready { site, spent, .. } = ready;
        clock::timed(&mut spent.prove_ns, || site.look(how))
    }

    /// Looks again after blocks, at the links first: whatever moved meanwhile makes them invalid.
    fn prove_after(&self, ready: &mut Result<Ready, Failure>, blocks: &mut [PassBlock]) {
        let Ok(ready) = ready else { return };
        if blocks.iter().all(|block| block.measured.is_err()) {
            return;
        }
        clock::timed(&mut ready.spent.prove_ns, || ready.site.read_links());
        let after = Self::look(ready, PageCheck::Again);
        let setup = ready.latest.take().map(|(setup, _)| setup);
        ready.latest = setup.zip(after.as_ref().ok().cloned());

        for block in blocks {
            if block.measured.is_err() {
                continue;
            }
            match &after {
                Ok(seen) => {
                    block.seen[1] = Some(seen.clone());
                    if let Some(mismatch) = ready.site.mismatch(seen) {
                        block.measured = Err(Trouble::Misplaced(format!("after measuring: {mismatch}")));
                    }
                }
                Err(failure) => block.measured = Err(failure.clone().into()),
            }
        }
    }
}
