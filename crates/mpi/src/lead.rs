//! Leading: which ranks do what next, in which order, and when it is enough. Some 420 lines because the order
//! of what is measured is decided in one place.
//!
//! What MPI survives in any case is measured first, all of it; then device memory is sent for the first time.
//! So a library that is not GPU-aware costs nothing but what it cannot do. Blocks of all cases of a phase are
//! interleaved in an order drawn anew for each pass.

mod blocks;

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use experiments::supervised::SessionJournal;
use ranks::Communicator;
use stats::interval::median;
use stats::random::SplitMix64;
use stats::stop::StopRule;

use crate::background::{self, ANSWER_TIMEOUT};
use crate::carried::Carried;
use crate::case::{GpuThreadAt, MessageCase, MessagePath, MessagePattern, beside, cases, crowded};
use crate::command::{MessageAnswer, MessageOrder, SILENT, outcome, read, write};
use crate::fault::ExchangeFault;
use crate::follow::{MessageRank, NAP, doing};
use crate::operation::{Attempt, AttemptOutcome, DeviceOperation};
use crate::results::{CaseFound, CountedBytes, MessageResults, MessageStep, PairFound, RankSeen};

/// What is measured, and how long.
#[derive(Clone, Debug)]
pub struct MessageLead {
    /// Bytes of messages.
    pub sizes: Vec<usize>,
    /// How they follow each other.
    pub patterns: Vec<MessagePattern>,
    /// Whether device memory takes part.
    pub devices: bool,
    /// Whether device memory's address is given to MPI.
    pub gpu_aware: bool,
    /// The operations to try on it.
    pub operations: Vec<DeviceOperation>,
    /// Sizes that each is tried at.
    pub attempt_bytes: Vec<usize>,
    /// How many blocks a case gets.
    pub rule: StopRule,
    /// No further pass begins after this time in a phase.
    pub max_time: Duration,
    /// Where each rank has a thread that copies to its device; messages are measured beside it too.
    pub gpu_threads: Vec<GpuThreadAt>,
    /// Whether messages are measured while ranks that are not measured send too.
    pub others_send: bool,
    /// Blocks of all pairs are interleaved, because pairs are compared with each other, and no bounds are
    /// measured; else one pair follows another.
    pub together: bool,
    /// The host of each rank: between two of them network adapters carry the messages, and are counted.
    pub hosts: Vec<String>,
    /// How long windows last in which adapters are counted.
    pub window: Duration,
    /// Of the order within passes.
    pub seed: u64,
}

/// How long a block lasts.
const BLOCK_NS: f64 = 2e6;
/// How long one may last that would have fewer rounds than `FEW_ROUNDS`: what is around a block weighs less
/// in a longer one.
const LONG_BLOCK_NS: f64 = 2e7;
/// See `LONG_BLOCK_NS`.
const FEW_ROUNDS: f64 = 16.0;
/// The most rounds of a block.
const MOST_ROUNDS: f64 = 20_000.0;
/// Bytes of the messages that the links count: far below what makes a PCIe counter wrap.
const COUNTED_BYTES: usize = 1 << 26;
/// Rounds that take longer are not sent once more for adapters to count them: nine windows of two are to stay
/// far below any limit of an operation.
const LONGEST_ROUND_NS: f64 = 4e8;
/// How often ranks that have nothing to do are told so: one that hears nothing has lost the leader.
const STAY_EVERY: Duration = Duration::from_secs(2);
/// The smallest message that is counted: smaller ones may go another way.
const COUNTED_FROM: usize = 4 << 20;

/// One leader at work.
struct Work<'a, 'w, 'h> {
    lead: &'a MessageLead,
    here: &'a mut MessageRank<'h>,
    comm: &'a mut Communicator<'w>,
    interrupted: &'a AtomicBool,
    journal: &'a mut dyn SessionJournal<MessageStep, MessageResults>,
    random: SplitMix64,
    found: MessageResults,
    key: u64,
    told_to_stay: Instant,
    /// Why a rank that was to send beside the measured ones does not, where one has said so.
    failed_beside: Option<String>,
}

impl MessageLead {
    /// Measures these pairs and tells all others that it is over.
    ///
    /// # Errors
    /// The transport between the ranks failed.
    pub fn run(
        &self,
        pairs: &[[usize; 2]],
        here: &mut MessageRank,
        comm: &mut Communicator,
        interrupted: &AtomicBool,
        journal: &mut dyn SessionJournal<MessageStep, MessageResults>,
    ) -> Result<MessageResults, ExchangeFault> {
        let random = SplitMix64::new(self.seed);
        let mut work = Work {
            lead: self,
            here,
            comm,
            interrupted,
            journal,
            random,
            found: MessageResults::default(),
            key: self.seed,
            told_to_stay: Instant::now(),
            failed_beside: None,
        };

        let steps = if self.together { vec![pairs] } else { pairs.chunks(1).collect() };

        for pairs in steps {
            if !work.ends() {
                work.pairs(pairs)?;
            }
        }

        work.found.interrupted = work.is_interrupted();
        work.journal.found(&work.found);
        for rank in (0..work.comm.place().size).filter(|rank| *rank != work.here.rank) {
            work.comm.send(rank, &write(&MessageOrder::Leave))?;
        }
        Ok(work.found)
    }
}

impl Work<'_, '_, '_> {
    /// Whether nothing more is to be measured.
    fn ends(&self) -> bool {
        self.found.broken.is_some() || self.is_interrupted()
    }

    /// Notes that the ranks are no longer at the same place, and why: nothing more can be measured.
    fn break_off(&mut self, step: &MessageStep, why: &str) {
        self.found.broken.get_or_insert_with(|| format!("{step}: {why}"));
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Has both ranks of a pair do the same, each with the other.
    fn both(
        &mut self,
        pair: [usize; 2],
        order: impl Fn(usize) -> MessageOrder,
    ) -> Result<[MessageAnswer; 2], ExchangeFault> {
        let [lower, higher] = pair;
        let messages = matches!(
            order(higher),
            MessageOrder::Rounds { .. }
                | MessageOrder::Check { .. }
                | MessageOrder::Attempt { .. }
                | MessageOrder::Count { .. }
                | MessageOrder::Carry { .. }
        );

        let answers = self.tell(&[(lower, order(higher)), (higher, order(lower))])?;

        // Messages of which one rank's failed are still under way at the other: nothing after them would mean
        // anything.
        if let ([one], true) = (&failures(&answers)[..], messages) {
            let step = doing(lower, &order(higher));
            self.break_off(&step, one);
        }

        let mut answers = answers.into_iter();
        let mut next =
            || answers.next().unwrap_or_else(|| MessageAnswer::Failed("it was not asked".to_owned()));
        Ok([next(), next()])
    }

    /// Has ranks do something, this one last; their answers in the same order.
    fn tell(&mut self, orders: &[(usize, MessageOrder)]) -> Result<Vec<MessageAnswer>, ExchangeFault> {
        let own = self.here.rank;
        self.tell_the_others_to_stay(orders)?;
        for (rank, order) in orders.iter().filter(|(rank, _)| *rank != own) {
            self.comm.send(*rank, &write(order))?;
        }

        let own_order = orders.iter().find(|(rank, _)| *rank == own);
        let shown = own_order.or(orders.first()).map(|(rank, order)| doing(*rank, order));
        let shown = shown.unwrap_or_default();
        self.journal.doing(&shown);

        let mut answers: Vec<Option<MessageAnswer>> = vec![None; orders.len()];
        for (at, (_, order)) in orders.iter().enumerate().filter(|(_, (rank, _))| *rank == own) {
            answers[at] = Some(self.here.perform(order));
        }

        // A rank whose call failed leaves the other one waiting in MPI: that one is not waited for long.
        let mut until: Option<Instant> = None;

        while answers.iter().any(Option::is_none) {
            if let Some(why) = failures(answers.iter().flatten()).first() {
                let until = *until.get_or_insert_with(|| Instant::now() + ANSWER_TIMEOUT);
                if Instant::now() > until {
                    self.break_off(&shown, why);
                    break;
                }
            }
            let Some(message) = self.comm.try_receive()? else {
                thread::sleep(NAP);
                continue;
            };
            let answered: MessageAnswer = read(&message.bytes)?;
            match (orders.iter().position(|(rank, _)| *rank == message.from), answered) {
                (Some(at), answered) => answers[at] = Some(answered),
                (None, MessageAnswer::Failed(why)) => {
                    self.failed_beside = Some(background::failed(message.from, &why));
                }
                (None, _) => {}
            }
        }

        self.journal.doing(&MessageStep::Else);
        let none = || MessageAnswer::Failed(SILENT.to_owned());
        Ok(answers.into_iter().map(|answer| answer.unwrap_or_else(none)).collect())
    }

    /// Tells ranks without an order that they are still needed, if it is time to.
    fn tell_the_others_to_stay(&mut self, orders: &[(usize, MessageOrder)]) -> Result<(), ExchangeFault> {
        if self.told_to_stay.elapsed() < STAY_EVERY {
            return Ok(());
        }
        self.told_to_stay = Instant::now();
        let idle = |rank: &usize| *rank != self.here.rank && orders.iter().all(|(one, _)| one != rank);
        for rank in (0..self.comm.place().size).filter(idle) {
            self.comm.send(rank, &write(&MessageOrder::Stay))?;
        }
        Ok(())
    }

    /// Measures pairs, their blocks in one order.
    fn pairs(&mut self, pairs: &[[usize; 2]]) -> Result<(), ExchangeFault> {
        let from = self.found.pairs.len();
        for ranks in pairs {
            self.found.pairs.push(PairFound::begun(*ranks));
        }
        let all: Vec<usize> = (from..self.found.pairs.len()).collect();
        let mut paths = vec![MessagePath::Host];
        for at in all.iter().copied() {
            self.found.pairs[at].placed[0] = self.look(at, true)?;
        }

        if self.lead.devices {
            paths.push(MessagePath::Staged);
            // Together only what places can be compared by; and a rank reaches one other at a time.
            if !self.lead.together {
                paths.extend([MessagePath::Pipelined, MessagePath::ToHost, MessagePath::ToDevice]);
                paths.extend(self.reach(from)?);
            }
        }

        let mut measured = cases(&paths, &self.lead.patterns, &self.lead.sizes);
        measured.extend(beside(&self.lead.gpu_threads, &self.lead.sizes));
        if self.lead.others_send {
            measured.extend(crowded(&self.lead.gpu_threads, &self.lead.sizes));
        }
        self.measure(&all, &measured)?;
        self.carry(&all, MessagePath::Host)?;
        if self.lead.devices && self.lead.gpu_aware && !self.ends() {
            self.device_memory(&all)?;
        }

        for at in all {
            if self.found.broken.is_some() {
                return Ok(());
            }
            let after = self.look(at, false)?;
            let wrong: Vec<String> =
                after.iter().flatten().filter_map(|placed| placed.mismatch.clone()).collect();
            let pair = &mut self.found.pairs[at];
            pair.placed[1] = after;
            if !wrong.is_empty() {
                let wrong = format!("misplaced: {}", wrong.join("; "));
                pair.cases.iter_mut().for_each(|case| case.trouble = Some(wrong.clone()));
            }
        }

        self.journal.found(&self.found);
        Ok(())
    }

    /// Peer copies of a pair, where there are any.
    fn reach(&mut self, at: usize) -> Result<Option<MessagePath>, ExchangeFault> {
        let [reached, _] = self.both(self.found.pairs[at].ranks, |with| MessageOrder::Reach { with })?;
        let pair = &mut self.found.pairs[at];
        match reached {
            MessageAnswer::Reached(said) => {
                // Staged copies are none of the bound that a direct path is held against, but a figure all
                // the same.
                let copies = said.as_deref().is_none_or(|said| said.starts_with("the driver stages"));
                pair.peer = said;
                return Ok(copies.then_some(MessagePath::Peer));
            }
            MessageAnswer::Failed(why) => pair.peer = Some(why),
            _ => {}
        }
        Ok(None)
    }

    fn look(&mut self, at: usize, first: bool) -> Result<[Option<RankSeen>; 2], ExchangeFault> {
        let answers = self.both(self.found.pairs[at].ranks, |_| MessageOrder::Look { first })?;
        Ok(answers.map(|answer| match answer {
            MessageAnswer::Placed(placed) => Some(placed),
            _ => None,
        }))
    }

    /// What MPI may not survive.
    fn device_memory(&mut self, pairs: &[usize]) -> Result<(), ExchangeFault> {
        let mut send = Vec::new();
        for at in pairs.iter().copied() {
            if !self.ends() && self.attempts(at, DeviceOperation::Send)? {
                send.push(at);
            }
        }

        let largest = self.lead.sizes.iter().copied().max().unwrap_or(COUNTED_FROM);
        let bytes = largest.clamp(COUNTED_FROM, COUNTED_BYTES);

        if bytes <= self.here.memory.half() {
            for at in send.iter().copied() {
                self.count(at, bytes)?;
            }
        }

        self.measure(&send, &cases(&[MessagePath::GpuAware], &self.lead.patterns, &self.lead.sizes))?;
        self.carry(&send, MessagePath::GpuAware)?;
        let others =
            self.lead.operations.iter().copied().filter(|operation| *operation != DeviceOperation::Send);

        for (operation, at) in others.flat_map(|operation| pairs.iter().map(move |at| (operation, *at))) {
            if self.ends() {
                self.found.pairs[at].attempts.push(Attempt {
                    operation,
                    bytes: 0,
                    outcome: AttemptOutcome::NotTried,
                });
                continue;
            }
            self.attempts(at, operation)?;
        }
        Ok(())
    }

    /// Tries an operation at each size; whether it worked at all of them.
    fn attempts(&mut self, at: usize, operation: DeviceOperation) -> Result<bool, ExchangeFault> {
        let mut works = true;
        for bytes in &self.lead.attempt_bytes {
            if self.found.broken.is_some() {
                break;
            }
            // As it stands if this process does not come back from it.
            self.found.pairs[at].attempts.push(Attempt {
                operation,
                bytes: *bytes,
                outcome: AttemptOutcome::NotTried,
            });
            self.journal.found(&self.found);
            let key = self.next_key();
            let ranks = self.found.pairs[at].ranks;
            let answers =
                self.both(ranks, |with| MessageOrder::Attempt { with, operation, bytes: *bytes, key })?;
            let outcome = outcome(&answers);
            works &= outcome == AttemptOutcome::Works;
            if let Some(last) = self.found.pairs[at].attempts.last_mut() {
                last.outcome = outcome;
            }
            self.journal.found(&self.found);
        }

        Ok(works)
    }

    fn count(&mut self, at: usize, bytes: usize) -> Result<(), ExchangeFault> {
        let messages = u32::try_from(COUNTED_BYTES / bytes).unwrap_or(u32::MAX).max(1);
        let answers =
            self.both(self.found.pairs[at].ranks, |with| MessageOrder::Count { with, bytes, messages })?;
        let counted = answers.into_iter().find_map(|answer| match answer {
            MessageAnswer::Counted(Some(counted)) => Some(counted),
            _ => None,
        });
        self.found.pairs[at].counted = counted.filter(CountedBytes::has_any);
        Ok(())
    }

    /// What adapters counted of each case of this path between hosts, the largest messages of a pattern
    /// first.
    fn carry(&mut self, pairs: &[usize], path: MessagePath) -> Result<(), ExchangeFault> {
        let began = Instant::now();
        for at in pairs.iter().copied() {
            let ranks = self.found.pairs[at].ranks;
            let [one, other] = ranks.map(|rank| self.lead.hosts.get(rank));
            let is_counted =
                |found: &&CaseFound| one != other && found.case.path == path && found.case.bytes > 0;
            let cases = self.found.pairs[at].cases.iter().filter(is_counted);
            let mut cases: Vec<(MessageCase, u32)> =
                cases.filter_map(|found| Some((found.case, rounds(found, self.lead.window)?))).collect();
            cases.sort_by_key(|(case, _)| (case.pattern, Reverse(case.bytes)));
            for (case, rounds) in cases {
                if self.ends() || began.elapsed() > self.lead.max_time {
                    return Ok(());
                }
                let window = self.lead.window;
                let answers = self.both(ranks, |with| MessageOrder::Carry { with, case, rounds, window })?;
                if let [MessageAnswer::Carried(lower), MessageAnswer::Carried(higher)] = answers {
                    self.found.pairs[at].carried.push(Carried { case, by: [lower, higher] });
                }
            }
            self.journal.found(&self.found);
        }

        Ok(())
    }

    fn next_key(&mut self) -> u64 {
        self.key = self.key.wrapping_add(1);
        self.key
    }
}

/// Why ranks could not do as they were told.
fn failures<'a>(answers: impl IntoIterator<Item = &'a MessageAnswer>) -> Vec<&'a str> {
    let why = |answer: &'a MessageAnswer| match answer {
        MessageAnswer::Failed(why) => Some(&why[..]),
        _ => None,
    };
    answers.into_iter().filter_map(why).collect()
}

/// How many rounds of a case a window of its messages has; `None` without a figure that counts, and where
/// windows would take too long.
fn rounds(found: &CaseFound, window: Duration) -> Option<u32> {
    let message_ns = median(&found.block_ns).filter(|_| found.trouble.is_none())?;
    let round_ns = message_ns * found.case.turns_a_round();
    (round_ns <= LONGEST_ROUND_NS)
        .then(|| (window.as_nanos() as f64 / round_ns).clamp(1.0, MOST_ROUNDS) as u32)
}
