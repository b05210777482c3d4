//! How a run ended: its status in the document and its exit code, which say the same thing.

use pingpong::{RankCase, RunEnd, RunState, Trouble};
use report::document::Status;

use super::cases::not_simultaneous;
use crate::exit::Exit;

/// The exit code for a state; `signalled` is the signal that came, if one did.
pub fn exit(state: &RunState, signalled: Option<Exit>) -> Exit {
    let all = || state.results.iter().flatten();
    if all().any(|rank| matches!(rank.trouble, Some(Trouble::Corrupt(_)))) {
        return Exit::DataCorrupt;
    }
    // A rank that is gone is the cause also where a signal came: launchers send one to those who are left.
    let signalled = signalled.filter(|_| state.end != RunEnd::RankLost && !state.ranks.iter().any(|rank| rank.gone));
    if let Some(signal) = signalled {
        return signal;
    }
    if state.end == RunEnd::TimedOut {
        return Exit::TimedOut;
    }
    if all().any(|rank| matches!(rank.trouble, Some(Trouble::Misplaced(_)))) && !failed(state) {
        return Exit::Finding;
    }
    let at_once = |ranks: &&Vec<RankCase>| not_simultaneous(ranks, &state.nodes).is_none();
    let valid = state.results.iter().filter(at_once).flatten();
    let measured = valid.filter(|rank| rank.trouble.is_none() && !rank.samples.is_empty()).count();
    // Nothing asked for may be missing, not even for a good reason: a pipeline must not take half for the whole.
    let expected = all().filter(|rank| rank.member).count();
    match measured {
        0 => Exit::NoResult,
        some if some < expected => Exit::Partial,
        _ => Exit::Ok,
    }
}

fn failed(state: &RunState) -> bool {
    state.results.iter().flatten().any(|rank| matches!(rank.trouble, Some(Trouble::Failed(_))))
}

/// The status that goes with an exit code; running while there is none yet.
pub fn status(state: &RunState, exit: Option<Exit>) -> (Status, Option<String>) {
    let trouble = || {
        let ranks = || state.results.iter().flat_map(|ranks| ranks.iter().enumerate());
        let troubles = ranks().filter_map(|(rank, result)| Some((rank, result.trouble.as_ref()?)));
        // First who is gone, then who failed, and only then who could not go on because of another one.
        let order = |(rank, trouble): &(usize, &Trouble)| {
            (state.ranks[*rank].lost.is_none(), matches!(trouble, Trouble::Skipped(_) | Trouble::Invalid(_)))
        };
        let mut found = troubles.min_by_key(order).map(|(rank, trouble)| format!("rank {rank}: {trouble}")).into_iter();
        let invalid = || state.results.iter().find_map(|ranks| not_simultaneous(ranks, &state.nodes));
        found.next().or_else(invalid)
    };
    match exit {
        None => (Status::Running, None),
        Some(Exit::Ok) => (Status::Complete, None),
        Some(Exit::Signal(number)) => (Status::Interrupted, Some(format!("signal {number}"))),
        Some(Exit::TimedOut) => (Status::TimedOut, Some("a rank did not come back within --timeout".to_owned())),
        Some(Exit::DataCorrupt) => (Status::DataCorrupt, trouble()),
        Some(Exit::NoResult) => (Status::Failed, trouble()),
        Some(_) => (Status::Partial, trouble()),
    }
}
