//! How a run ended: its status in the document and its exit code, which say the same thing.

use pingpong::{RankCase, RunEnd, RunState, Trouble};
use report::document::Status;

use super::DocumentState;
use super::cases::not_simultaneous;
use crate::exit::Exit;
use crate::experiment::{CaseMap, CaseMapping};

/// The exit code for a state; `signalled` is the signal that came, if one did.
pub fn exit(state: &RunState, signalled: Option<Exit>) -> Exit {
    let all = || state.results.iter().flatten();
    if all().any(|rank| matches!(rank.trouble, Some(Trouble::Corrupt(_) | Trouble::Wrong(_)))) {
        return Exit::DataCorrupt;
    }

    // A rank that is gone is the cause also where a signal came: launchers send one to those who are left.
    let signalled =
        signalled.filter(|_| state.end != RunEnd::RankLost && !state.ranks.iter().any(|rank| rank.gone));
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

    // Nothing asked for may be missing, not even for a good reason: a pipeline must not take half for the
    // whole.
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

/// The status that goes with an exit code; running while there is none yet. The documents' ranks, which
/// `figures` has, are named: one of the engine's ranks may measure several of their places.
pub fn state(state: &RunState, figures: &CaseMap, exit: Option<Exit>) -> DocumentState {
    let trouble = || {
        let of_mapping = |mapping: &CaseMapping| {
            let at = mapping.at;
            mapping.places.clone().into_iter().map(move |(rank, place)| (at, rank, place))
        };
        let places = figures.mappings.iter().flat_map(of_mapping);
        let troubles = places.filter_map(|(at, rank, place)| {
            let trouble = state.results.get(at)?.get(rank)?.trouble.as_ref()?;
            Some(((rank, place), trouble))
        });
        let found = primary(troubles, |(rank, _)| state.ranks[rank].lost.is_some());
        let found = found.map(|((_, place), trouble)| (place, trouble));
        let invalid = || state.results.iter().find_map(|ranks| not_simultaneous(ranks, &state.nodes));
        found.map(|(rank, trouble)| format!("rank {rank}: {trouble}")).or_else(invalid)
    };

    let (status, reason) = match exit {
        None => (Status::Running, None),
        Some(Exit::Ok) => (Status::Complete, None),
        Some(Exit::Signal(number)) => (Status::Interrupted, Some(format!("signal {number}"))),
        Some(Exit::TimedOut) => (Status::TimedOut, Some(timed_out(state))),
        Some(Exit::DataCorrupt) => (Status::DataCorrupt, trouble()),
        // Of devices that are not here there is nothing, not even a part.
        Some(Exit::NoResult | Exit::Absent | Exit::Usage) => (Status::Failed, trouble()),
        Some(_) => (Status::Partial, trouble()),
    };
    DocumentState { status, reason, exit }
}

/// What did not come back, where that is known.
fn timed_out(state: &RunState) -> String {
    let failed = state.results.iter().flatten().find_map(|rank| match &rank.trouble {
        Some(Trouble::Failed(failure)) => Some(&failure.message),
        _ => None,
    });
    // Before the first pass no rank has begun: what did not come back is a call of this process, which the
    // failure names.
    if let (0, Some(why)) = (state.passes, failed) {
        return why.clone();
    }
    let why = failed.map_or_else(String::new, |why| format!(": {why}"));
    format!("a rank did not come back within --timeout{why}")
}

/// The trouble that others came of: of the ranks' troubles the first of the gravest kind. Wrong bytes come
/// first, as in exit codes; then who is gone, then what went wrong with a rank itself, and last what another
/// rank's trouble left it without.
fn primary<'t, R: Copy>(
    troubles: impl Iterator<Item = (R, &'t Trouble)>,
    is_lost: impl Fn(R) -> bool,
) -> Option<(R, &'t Trouble)> {
    let order = |(rank, trouble): &(R, &Trouble)| {
        let kind = match trouble {
            Trouble::Corrupt(_) | Trouble::Wrong(_) => 0,
            Trouble::Failed(_) => 1,
            Trouble::Misplaced(_) => 2,
            Trouble::Invalid(_) => 3,
            Trouble::NotAtOnce(_) => 4,
            Trouble::Skipped(_) => 5,
            Trouble::AnotherFailed => 6,
        };
        (kind > 0, !is_lost(*rank), kind)
    };

    troubles.min_by_key(order)
}

#[cfg(test)]
mod tests {
    use pingpong::{Failure, Stage, WrongByte};

    use super::*;

    #[test]
    fn whose_trouble_it_was_comes_before_what_came_of_it() {
        let impossible = Trouble::Invalid("the clock gave times that cannot be".to_owned());
        let failed = Trouble::Failed(Failure::new(Stage::Measure, "a copy failed"));
        let corrupt = Trouble::Corrupt(WrongByte { offset: 1, expected: 2, got: 3 });
        let skipped = Trouble::Skipped("the driver has no such call".to_owned());
        let first = |troubles: &[&Trouble], lost: Option<usize>| {
            let found = primary(troubles.iter().copied().enumerate(), |rank| Some(rank) == lost);
            found.map(|(rank, _)| rank)
        };
        let another = Trouble::AnotherFailed;
        assert_eq!(first(&[&another, &impossible], None), Some(1));
        assert_eq!(first(&[&another, &skipped, &another], None), Some(1));
        assert_eq!(first(&[&impossible, &failed, &failed], None), Some(1));

        // Exit code and status are those of the wrong bytes, and so is the reason.
        assert_eq!(first(&[&failed, &corrupt], Some(0)), Some(1));
        assert_eq!(first(&[&failed, &another, &skipped], Some(2)), Some(2));
        assert_eq!(first(&[], None), None);
    }
}
