//! Following a run that rank 0 leads in another process: passes this process's reports on as messages and the
//! lead's decisions back to its rank, and watches over its neighbours.
//!
//! The calling thread sleeps while its rank measures. It never waits for ever: not for a lead on its own node
//! that died, and not beyond the run's time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use ranks::Communicator;

use crate::config::EngineConfig;
use crate::heartbeat::Contact;
use crate::lead::{GRACE, NAP};
use crate::message::{self, Decision, LeadMessage, Report};
use crate::work::Suite;
use crate::workers::{ThreadTeam, Workers};

/// How much longer than the lead a follower waits for the end: the lead's document is written meanwhile.
const LEAVE: Duration = Duration::from_secs(60);

/// How following ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The lead said so, with the exit code that all processes have; `all_well`: every process of the launch
    /// is there to leave together.
    Dismissed {
        /// The exit code.
        code: u8,
        /// Whether every process is there.
        all_well: bool,
    },
    /// Nothing more is to be expected of the lead.
    Alone {
        /// Why.
        why: String,
    },
}

/// Does this process's part of a run that rank 0 leads.
pub fn follow(
    config: &EngineConfig,
    mut workers: Workers,
    suite: &Arc<dyn Suite>,
    comm: &mut Communicator,
    interrupted: &Arc<AtomicBool>,
) -> Followed {
    let me = comm.place().rank;
    let team = ThreadTeam::start(&mut workers, config, suite, interrupted);
    let neighbours = workers.neighbours.take();
    let node = workers.nodes.get(me);
    let mut contact = Contact::new(workers.nodes.iter().position(|other| Some(other) == node) == Some(me));
    let began = Instant::now();
    let (mut measuring, mut signalled, mut watching) = (true, None, true);

    // Only from its rank's report to the lead's answer is it looked for messages often.
    let mut naps = comm.place().naps();

    loop {
        match team.next(if measuring { NAP } else { naps.next() }) {
            Ok(report) => {
                measuring = false;
                naps.awake();
                if let Err(error) = comm.send(0, &message::write(&report)) {
                    return Followed::Alone { why: error.to_string() };
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                measuring = false;
                std::thread::sleep(naps.next());
            }
        }
        loop {
            let order = match comm.try_receive() {
                Ok(Some(message)) => message::read::<LeadMessage>(message.from, &message.bytes),
                Ok(None) => break,
                Err(error) => return Followed::Alone { why: error.to_string() },
            };
            contact.heard();
            match order {
                Ok(LeadMessage::Here) => {}
                Ok(LeadMessage::Decide(decision)) => {
                    measuring = matches!(decision, Decision::Go { .. });
                    // From then on neighbours may leave.
                    watching &= measuring;
                    team.send(me, decision);
                }
                Ok(LeadMessage::Where) => {
                    let here = Report::Waits { rank: me, waiting: team.waits(me) };
                    drop(comm.send(0, &message::write(&here)));
                }
                Ok(LeadMessage::Leave { code, all_well }) => return Followed::Dismissed { code, all_well },
                Err(unreadable) => return Followed::Alone { why: unreadable.to_string() },
            }
        }
        let lost =
            neighbours.as_ref().filter(|_| watching).map_or_else(Vec::new, |neighbours| neighbours.lost());
        if !lost.is_empty() {
            watching = false;
            let lead = lost.iter().find(|(rank, _)| *rank == 0).map(|(_, why)| why.clone());
            for (rank, why) in lost {
                drop(comm.send(0, &message::write(&Report::Lost { rank, why, gone: true })));
            }
            // Nobody of this node can go on without it.
            team.give_up();
            if let Some(why) = lead {
                return Followed::Alone { why };
            }
        }
        if contact.is_due()
            && let Err(error) = comm.send(0, &message::write(&Report::Here { rank: me }))
        {
            return Followed::Alone { why: error.to_string() };
        }
        if contact.is_lost() {
            team.give_up();
            return Followed::Alone {
                why: "rank 0 has sent nothing for minutes: its node is down or cut off".to_owned(),
            };
        }
        let flagged = interrupted.load(Ordering::Relaxed);
        let left_by = if flagged { Some(GRACE * 2) } else { None };
        let late = config.timeout.is_some_and(|limit| began.elapsed() > limit + LEAVE);
        if late || left_by.is_some_and(|grace| signalled.get_or_insert_with(Instant::now).elapsed() > grace) {
            return Followed::Alone {
                why: "rank 0 did not say within the time limit how the run ended".to_owned(),
            };
        }
    }
}
