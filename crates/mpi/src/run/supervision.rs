//! What supervisors know of messages: what ranks wait for, what the end of a session means, and the exit code
//! of a run.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use analysis::mpi_adapters::{Nearness, nearness};
use experiments::document::DocumentState;
use experiments::supervised::{
    PlaceAsked, RankProcess, RankSession, SessionEnd, SessionOutcome, Supervised, SupervisedRun, signal_name,
};
use experiments::{Exit, Fault};
use report::MpiDocument;
use report::awareness::{Awareness, MpiDeviceMemory, Transport};
use report::document::Status;

use super::document::document;
use super::facts::MessageRanks;
use super::options::{Expectation, MessageOptions};
use super::session;
use crate::case::{MessageCase, MessagePath, MessagePattern};
use crate::operation::{Attempt, AttemptOutcome, DeviceOperation};
use crate::results::{CaseFound, MessageResults, MessageStep, PairFound};

impl Supervised for MessageOptions {
    type Met = MessageRanks;
    type Doing = MessageStep;
    type Found = MessageResults;
    type Document = MpiDocument;

    fn place_asked(&self) -> &PlaceAsked {
        &self.place
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn operation_limit(&self) -> (Duration, &'static str) {
        (self.operation_timeout, "--operation-timeout")
    }

    fn session(&self, session: &RankSession<Self>) -> Result<Exit, Fault> {
        session::run(session)
    }

    fn processes(met: &MessageRanks) -> Vec<RankProcess> {
        met.ranks.iter().map(|rank| rank.location.session.clone()).collect()
    }

    fn awaited(doing: &MessageStep, _: &[RankProcess]) -> Option<Vec<usize>> {
        match doing {
            MessageStep::Case { ranks, .. } | MessageStep::Operation { ranks, .. } => Some(ranks.to_vec()),
            MessageStep::Else => None,
        }
    }

    fn is_interrupted(found: &MessageResults) -> bool {
        found.interrupted
    }

    /// What is known of the operation in which a session ended, is said of it.
    fn settle(&self, found: &mut MessageResults, ending: &SessionOutcome<MessageStep>) {
        let outcome = match &ending.end {
            SessionEnd::Hung => AttemptOutcome::Hang(self.operation_timeout.as_secs()),
            SessionEnd::Partner(rank) => {
                AttemptOutcome::Crash(format!("the process of rank {rank} died in it"))
            }
            SessionEnd::Left(status) => match status.signal() {
                Some(signal) => AttemptOutcome::Crash(signal_name(signal)),
                None => AttemptOutcome::Crash(format!(
                    "MPI ended the process with code {}",
                    status.code().unwrap_or_default()
                )),
            },
            SessionEnd::Over | SessionEnd::Signalled => return,
        };

        let (ranks, operation, bytes) = match ending.doing {
            MessageStep::Operation { ranks, operation, bytes } => (ranks, operation, bytes),
            MessageStep::Case {
                ranks,
                case: MessageCase { path: MessagePath::GpuAware, pattern, bytes },
            } => {
                let operation = if pattern == MessagePattern::PingPong {
                    DeviceOperation::Send
                } else {
                    DeviceOperation::Isend
                };
                (ranks, operation, bytes)
            }
            _ => return,
        };

        let Some(pair) = found.pairs.iter_mut().find(|pair| pair.ranks == ranks) else { return };
        pair.attempts.retain(|attempt| attempt.outcome != AttemptOutcome::NotTried);
        pair.attempts.push(Attempt { operation, bytes, outcome });

        // Those asked for that come after the one that MPI did not survive.
        let known: Vec<DeviceOperation> = pair.attempts.iter().map(|attempt| attempt.operation).collect();
        let missing = self.operations.iter().copied().filter(|operation| !known.contains(operation));
        pair.attempts.extend(missing.map(|operation| Attempt {
            operation,
            bytes: 0,
            outcome: AttemptOutcome::NotTried,
        }));
    }

    fn ended(
        &self,
        met: &MessageRanks,
        found: &MessageResults,
        ending: &SessionOutcome<MessageStep>,
    ) -> (Status, Exit, Option<String>) {
        let (status, exit) = ended(met.pairs.len(), found, ending);
        let why = || match status {
            Status::Failed => first_trouble(found).map(|(_, why)| why.to_owned()),
            Status::Partial => why_partial(found),
            _ => None,
        };
        (status, exit, ending.why.clone().or_else(why))
    }

    fn document(
        &self,
        run: &SupervisedRun,
        met: &MessageRanks,
        found: &MessageResults,
        state: DocumentState,
    ) -> MpiDocument {
        document(self, run, met, found, state)
    }

    fn expected(&self, document: &mut MpiDocument) -> Exit {
        let Some(expect) = self.expect else { return Exit::Ok };
        let memory = document.pairs.iter().map(|pair| pair.device_memory.as_ref());
        let (name, exit) = match expect {
            Expectation::Aware => ("aware", aware(false, memory)),
            Expectation::Direct => ("direct", aware(true, memory)),
            Expectation::Near => ("near", near(document)),
        };

        let said = match exit {
            Exit::Ok => None,
            Exit::Finding => Some("is not so"),
            _ => Some("is not known: the pairs and notes below say of which and why"),
        };
        document.verdict.splice(0..0, said.map(|said| format!("--expect {name} {said}.")));
        document.exit_code = Some(exit.code());
        exit
    }
}

/// How the run of so many pairs stands at its end.
fn ended(pairs: usize, found: &MessageResults, ending: &SessionOutcome<MessageStep>) -> (Status, Exit) {
    if let Some(signal) = ending.signal {
        return (Status::Interrupted, signal);
    }
    let cases = || found.pairs.iter().flat_map(|pair| &pair.cases);

    // What MPI does wrong with device memory is what is looked for: a finding, and no fault of the run. Wrong
    // bytes of host memory are one.
    let host = cases().any(|case| {
        case.case.path != MessagePath::GpuAware
            && case.trouble.as_deref().is_some_and(|why| why.starts_with("corrupt"))
    });
    if host {
        return (Status::DataCorrupt, Exit::DataCorrupt);
    }
    let figures = cases().filter(|case| case.trouble.is_none() && !case.block_ns.is_empty()).count();
    if figures == 0 {
        return (Status::Failed, Exit::NoResult);
    }
    let ended_by_mpi = |pair: &PairFound| {
        pair.attempts
            .iter()
            .any(|attempt| matches!(attempt.outcome, AttemptOutcome::Crash(_) | AttemptOutcome::Hang(_)))
    };

    // A library that died in an operation that it was tried with did what was asked: it answered, if no pair
    // is left that it was not tried with.
    let last = found.pairs.len() == pairs && found.pairs.iter().all(|pair| !pair.attempts.is_empty());
    let answered = match ending.end {
        SessionEnd::Over => found.broken.is_none() && !found.interrupted,
        _ => last && found.pairs.iter().any(ended_by_mpi),
    };
    if !answered {
        return (Status::Partial, Exit::Partial);
    }
    match (first_trouble(found), does_harm(found)) {
        (Some(_), true) => (Status::Partial, Exit::Finding),
        (Some(_), false) => (Status::Partial, Exit::Partial),
        (None, true) => (Status::Complete, Exit::Finding),
        (None, false) => (Status::Complete, Exit::Ok),
    }
}

/// Whether MPI crashes, hangs or brings wrong bytes with device memory.
fn does_harm(found: &MessageResults) -> bool {
    let harms = |attempt: &Attempt| {
        matches!(
            attempt.outcome,
            AttemptOutcome::Crash(_) | AttemptOutcome::Hang(_) | AttemptOutcome::Garbage(_)
        )
    };
    let is_corrupt = |case: &CaseFound| case.trouble.as_deref().is_some_and(|why| why.starts_with("corrupt"));
    found.pairs.iter().any(|pair| pair.attempts.iter().any(harms) || pair.cases.iter().any(is_corrupt))
}

/// The first case without a figure that counts, and why it has none.
fn first_trouble(found: &MessageResults) -> Option<(MessageStep, &str)> {
    let mut all = found.pairs.iter().flat_map(|pair| pair.cases.iter().map(move |case| (pair.ranks, case)));
    all.find_map(|(ranks, found)| {
        Some((MessageStep::Case { ranks, case: found.case }, found.trouble.as_deref()?))
    })
}

/// Why a session that came to its end has less than was asked for.
fn why_partial(found: &MessageResults) -> Option<String> {
    let of_case = || first_trouble(found).map(|(case, why)| format!("{case}: {why}"));
    found.broken.clone().or_else(of_case)
}

/// The exit where MPI is expected to do something with the device memory of these pairs.
fn aware<'p>(direct: bool, pairs: impl Iterator<Item = Option<&'p MpiDeviceMemory>>) -> Exit {
    let holds = |found: Option<&MpiDeviceMemory>| {
        let found = found.filter(|found| found.awareness != Awareness::Unknown)?;
        match (found.awareness, found.transport) {
            (Awareness::Aware, _) if !direct => Some(true),
            (Awareness::Aware, Transport::Unknown) => None,
            (awareness, transport) => {
                Some(awareness == Awareness::Aware && direct && transport == Transport::Direct)
            }
        }
    };

    let all: Vec<Option<bool>> = pairs.map(holds).collect();
    match () {
        () if all.contains(&Some(false)) => Exit::Finding,
        () if all.is_empty() || all.contains(&None) => Exit::Undecided,
        () => Exit::Ok,
    }
}

/// The exit where near adapters are expected; where none was counted, the document says why.
fn near(document: &mut MpiDocument) -> Exit {
    if document.pairs.iter().all(|pair| pair.carried.is_empty()) {
        let why = "no message went between two hosts, or there was no time or counter for it";
        document.notes.push(format!("--expect near: no network adapter was counted: {why}"));
    }
    match nearness(document) {
        Nearness::Near => Exit::Ok,
        Nearness::Far => Exit::Finding,
        Nearness::Unknown => Exit::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_tried_with_device_memory_is_not_known_to_be_as_expected() {
        let memory = |awareness, transport| MpiDeviceMemory {
            awareness,
            transport,
            failing: Vec::new(),
            not_tried: Vec::new(),
            faster_than_staged_from_bytes: None,
            slower_than_staged_up_to_bytes: None,
            witnesses: Vec::new(),
            peer_copies: None,
        };
        let both = |found: &[Option<MpiDeviceMemory>]| {
            [false, true].map(|direct| aware(direct, found.iter().map(Option::as_ref)))
        };
        let staged = || Some(memory(Awareness::Aware, Transport::Staged));
        let direct = || Some(memory(Awareness::Aware, Transport::Direct));

        assert_eq!(both(&[direct()]), [Exit::Ok; 2]);
        assert_eq!(both(&[direct(), staged()]), [Exit::Ok, Exit::Finding]);
        assert_eq!(both(&[Some(memory(Awareness::Aware, Transport::Unknown))]), [Exit::Ok, Exit::Undecided]);
        assert_eq!(both(&[Some(memory(Awareness::NotAware, Transport::Unknown))]), [Exit::Finding; 2]);
        assert_eq!(both(&[Some(memory(Awareness::Unknown, Transport::Direct))]), [Exit::Undecided; 2]);
        assert_eq!(both(&[direct(), None]), [Exit::Undecided; 2], "a pair without device memory");
        assert_eq!(both(&[]), [Exit::Undecided; 2]);
    }

    fn pair(ranks: [usize; 2], attempts: Vec<Attempt>) -> PairFound {
        let case = MessageCase { path: MessagePath::Host, pattern: MessagePattern::PingPong, bytes: 8 };
        let measured = CaseFound {
            case,
            block_ns: vec![500.0],
            gpu_bytes_per_s: Vec::new(),
            rounds: 1,
            verified_bytes: 16,
            stop: None,
            trouble: None,
        };

        let placed = [[None, None], [None, None]];

        PairFound {
            ranks,
            cases: vec![measured],
            attempts,
            counted: None,
            carried: Vec::new(),
            peer: None,
            placed,
        }
    }

    #[test]
    fn a_crash_is_the_answer_of_a_run_only_where_no_pair_is_left() {
        let crash = || {
            let outcome = AttemptOutcome::Crash("SIGSEGV".to_owned());
            vec![Attempt { operation: DeviceOperation::Send, bytes: 1024, outcome }]
        };
        let ended = |pairs: usize, found: Vec<PairFound>| {
            let (end, doing) = (SessionEnd::Hung, MessageStep::Else);
            let ending = SessionOutcome { end, doing, why: Some("it died".to_owned()), signal: None };
            ended(pairs, &MessageResults { pairs: found, ..MessageResults::default() }, &ending)
        };

        assert_eq!(ended(1, vec![pair([0, 1], crash())]), (Status::Complete, Exit::Finding));

        // One not begun, and one whose device memory was not.
        assert_eq!(ended(2, vec![pair([0, 1], crash())]), (Status::Partial, Exit::Partial));
        let other = pair([0, 2], Vec::new());
        assert_eq!(ended(2, vec![pair([0, 1], crash()), other]), (Status::Partial, Exit::Partial));
    }

    #[test]
    fn a_session_that_came_to_its_end_is_complete_only_if_it_left_nothing_out() {
        let ended = |found: &MessageResults| {
            let (end, doing) = (SessionEnd::Over, MessageStep::Else);
            let ending = SessionOutcome { end, doing, why: None, signal: None };
            (ended(1, found, &ending).0, why_partial(found))
        };
        let works = Attempt { operation: DeviceOperation::Send, bytes: 1024, outcome: AttemptOutcome::Works };
        let whole = MessageResults { pairs: vec![pair([0, 1], vec![works])], ..MessageResults::default() };
        assert_eq!(ended(&whole), (Status::Complete, None));

        // A figure that MPI refused at both ranks.
        let mut refused = whole.clone();
        let mut case = refused.pairs[0].cases[0].clone();
        (case.case.path, case.trouble) = (MessagePath::GpuAware, Some("MPI_Send failed".to_owned()));
        refused.pairs[0].cases.push(case);
        let why = Some("gpu-aware ping-pong of 8 B: MPI_Send failed".to_owned());
        assert_eq!(ended(&refused), (Status::Partial, why));

        // What does harm is a finding, also where a figure is missing, and so are wrong bytes of one.
        let mut harmful = refused.clone();
        harmful.pairs[0].attempts[0].outcome = AttemptOutcome::Crash("SIGSEGV".to_owned());
        let mut corrupt = refused.clone();
        corrupt.pairs[0].cases[1].trouble = Some("corrupt: byte 0".to_owned());
        for found in [harmful, corrupt] {
            let (end, doing) = (SessionEnd::Over, MessageStep::Else);
            let ending = SessionOutcome { end, doing, why: None, signal: None };
            let ended = super::ended(1, &found, &ending);
            assert_eq!(ended, (Status::Partial, Exit::Finding));
        }

        // A call that failed at one rank alone.
        let broken = MessageResults { broken: Some("MPI_Put failed".to_owned()), ..whole };
        assert_eq!(ended(&broken), (Status::Partial, Some("MPI_Put failed".to_owned())));
    }
}
