//! What the first lines say of a run that did not end as it should: why there is no figure, which cases have
//! none, or that it ended early.

use std::collections::{BTreeMap, BTreeSet};

use report::case::{Case, CaseStatus, Order};
use report::device::{Device, DeviceKind, name_on_node};
use report::document::Status;
use report::result::{NO_BLOCK, Outcome};
use report::row::{Row, RowStatus};
use report::settings::Repetition;
use report::{Document, Figures};
use stats::stop::StopReason;

use crate::words;

/// So many cases without a figure are named.
const NAMED: usize = 2;
/// How the reason begins of a copy for which there was no memory.
const NO_ROOM: &str = "does not fit";

/// The sentences of a run, with how it ended where that is not well: a run without any figure has this one
/// sentence, one that ended early says so after the answer. Other endings are in the sentences already.
pub fn with_ending(document: &Document, mut said: Vec<String>) -> Vec<String> {
    let status = words::status(document.status);
    let reason = document.status_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let valid = document.cases.iter().filter(|case| case.status != CaseStatus::Invalid);
    let has_figure = valid.flat_map(|case| &case.ranks).any(|result| result.summary().is_some());

    if !has_figure {
        return match document.status {
            Status::Complete | Status::Running => said,
            _ => vec![format!("No figure was measured ({status}{reason}).")],
        };
    }

    said.splice(0..0, trouble(document));

    if matches!(document.status, Status::Interrupted | Status::TimedOut) && !said.is_empty() {
        said.insert(
            1,
            format!("The run ended early ({status}{reason}): the figures are those measured until then."),
        );
    }
    said
}

/// What stands before any figure: that bytes were wrong, that the run is partial; nothing of a run that is
/// complete or ended early.
fn trouble(document: &Document) -> Option<String> {
    match document.status {
        Status::Complete | Status::Running | Status::Interrupted | Status::TimedOut => None,
        // What was skipped has a sentence of its own.
        Status::Partial => partial(document),
        Status::Failed | Status::DataCorrupt | Status::Newer => in_short(document),
    }
}

/// `DATA CORRUPT: rank 1: byte 0 should be 0xe2 and is 0xe3.`; nothing of a complete run.
pub(crate) fn in_short(document: &Document) -> Option<String> {
    if document.status == Status::Complete {
        return None;
    }
    let reason = document.status_reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    Some(format!("{}{reason}.", words::status(document.status)))
}

/// That figures rest on fewer rounds than were asked for.
pub(crate) fn fewer_rounds(document: &Document) -> Option<String> {
    let Repetition::Fixed { reps, .. } = document.settings.repetition else { return None };
    let results = || document.cases.iter().flat_map(|case| &case.ranks);
    let stopped = results().filter_map(|result| match &result.outcome {
        Outcome::Measured { stop_reason, .. } => Some(*stop_reason),
        _ => None,
    });
    let stopped: Vec<StopReason> = stopped.collect();
    let cut = stopped.iter().filter(|reason| **reason == StopReason::MaxTime).count();
    let all = stopped.len();
    (cut > 0).then(|| {
        format!("{cut} of {all} figures rest on fewer rounds than --reps {reps}: --max-time ended the run.")
    })
}

/// What a run that is partial says first: which cases have no figure, why, and what to do; none of another
/// run.
pub fn partial(document: &Document) -> Option<String> {
    if document.status != Status::Partial {
        return None;
    }

    // What was skipped has a sentence of its own, but for what had no time.
    let had_no_time = |row: &Row| row.reason.as_deref() == Some(NO_BLOCK);
    let lacking = |row: &&Row| match row.status {
        RowStatus::Measured => false,
        RowStatus::Skipped => had_no_time(row),
        _ => true,
    };
    let without: BTreeSet<&str> = document.rows.iter().filter(lacking).map(|row| &row.case[..]).collect();
    let cases: Vec<_> = document.cases.iter().filter(|case| without.contains(&case.id[..])).collect();

    if cases.is_empty() {
        return left_out(document);
    }
    // Where every case lacks something, a device does; what a ping-pong says of its ranks says which.
    if cases.len() == document.cases.len() {
        return (document.figures() != Figures::Ranks).then(|| without_device(document));
    }
    let named: Vec<String> = cases.iter().take(NAMED).map(|case| name(document, case)).collect();
    let more = cases.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let why = document.rows.iter().filter(lacking).find_map(|row| row.reason.clone());
    let remedy = match why.as_deref() {
        Some(NO_BLOCK) => " Give a longer --max-time.",
        Some(why) if why.contains("is not possible on this device") => "",
        _ => " Run the same command again.",
    };
    let why = document.status_reason.clone().or(why).map_or_else(String::new, |why| format!(": {why}"));
    let has_some = |case: &&Case| {
        document.rows.iter().any(|row| row.case == case.id && row.status == RowStatus::Measured)
    };
    let some = cases.iter().any(has_some);
    let lack = match (cases.len(), some) {
        (1, false) => "has no figure",
        (_, false) => "have no figure",
        (1, true) => "lacks figures",
        (_, true) => "lack figures",
    };

    Some(format!(
        "PARTIAL: {} of {} cases {lack} ({}{more}){why}. The other figures are unaffected.{remedy}",
        cases.len(),
        document.cases.len(),
        named.join("; ")
    ))
}

/// What is said where every case lacks figures: which devices have none in any case, or how many are missing.
fn without_device(document: &Document) -> String {
    let mut measured: BTreeMap<&str, bool> = BTreeMap::new();
    for row in &document.rows {
        *measured.entry(&row.device).or_default() |= row.status == RowStatus::Measured;
    }
    let has_none = |device: &&Device| measured.get(&device.id[..]) == Some(&false);
    let without: Vec<String> = document.devices.iter().filter(has_none).map(device_name).collect();
    let why = document.status_reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let lacking = document.rows.iter().filter(|row| row.status != RowStatus::Measured).count();

    match without.is_empty() {
        true => format!("PARTIAL: {lacking} of {} figures are missing{why}.", document.rows.len()),
        false => {
            format!("PARTIAL: no figure of {}{why}. The other figures are unaffected.", without.join(", "))
        }
    }
}

/// `GPU 1`, with its node's where there are several; `node 0`.
fn device_name(device: &Device) -> String {
    let host = device.id.rsplit_once('/').map_or(String::new(), |(host, _)| format!(" of {host}"));
    match device.kind {
        DeviceKind::Gpu => format!("GPU {}{host}", device.index),
        DeviceKind::HostMemory | DeviceKind::Newer => name_on_node(&device.id).to_owned() + &host,
    }
}

/// What a sweep says first that left out the sizes for which there was no memory.
fn left_out(document: &Document) -> Option<String> {
    let is_too_large = |row: &&Row| {
        let why = row.reason.as_deref().filter(|_| row.status == RowStatus::Skipped);
        why.is_some_and(|why| why.starts_with(NO_ROOM))
    };
    let rows = || document.rows.iter().filter(is_too_large).filter(|_| document.command == "sweep");
    let sizes: BTreeSet<u64> = rows().map(|row| row.bytes).collect();
    let (first, all) = (sizes.first()?, document.settings.sizes_bytes.len());
    let why = rows().find_map(|row| row.reason.as_deref()?.strip_prefix(NO_ROOM))?;
    let beyond = if sizes.len() > 1 { " and larger do" } else { " does" };
    Some(format!(
        "PARTIAL: {}{beyond} not fit ({}): {} of {all} sizes left out.",
        stats::units::size(*first),
        why.trim_start_matches(": "),
        sizes.len()
    ))
}

/// A case as a reader calls it: `read, node 0, memory of node 0`; `H2D 64 MiB`, and whether ranks were at it
/// at once where that tells it from another.
fn name(document: &Document, case: &Case) -> String {
    let direction = words::direction(case.direction);
    let alike = |other: &&Case| {
        (other.direction, other.bytes, &other.group) == (case.direction, case.bytes, &case.group)
            && other.order != case.order
    };
    let order = match case.order {
        Order::Alone => ", alone",
        Order::Simultaneous => ", at once",
        Order::Newer => "",
    };
    let order = document.cases.iter().find(alike).map_or("", |_| order);
    match &case.group {
        Some(group) => format!("{direction}, {group}{order}"),
        None => format!("{direction} {}{order}", stats::units::size(case.bytes)),
    }
}
