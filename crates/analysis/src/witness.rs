//! Runs that `witness` looked at, as runs to compare.
//!
//! Which bytes are far and which are pageable is counted, so that two runs that differ in it differ in fact
//! (`judge` says how such shares are judged). The far share is of the bytes whose distance is known: where
//! none is, there is no share, and where only a part of the pages was looked at, it is an estimate. So is
//! each share where copies were made and not counted. Rates and times are one value a run. Counts say what
//! the program did and are neither good nor bad: they are conditions, which a comparison names where they
//! differ.

use std::collections::{BTreeMap, BTreeSet};

use report::WitnessDocument;
use report::settings::CopyEngine;
use report::witness::{Distance, WitnessBuffer, WitnessBytes, WitnessProcess, WitnessRate};

use crate::conditions::Condition;
use crate::figure::{Figure, Key, Unit};
use crate::run::{NoRun, Run};
use crate::witness_answer::{direction, memory};
use crate::witness_launch::WitnessLaunch;

/// The place of what is of all copies, and of what is of the program.
const ALL: &str = "all copies";
const PROGRAM: &str = "the program";
const FAR: &str = "bytes from far memory";

/// A run as comparisons see it.
///
/// # Errors
/// [`NoRun`]: no copy was counted.
pub fn run(launch: &WitnessLaunch) -> Result<Run, NoRun> {
    let sum = &launch.sum;
    if sum.total.bytes == 0 {
        return Err(NoRun::NoCopies);
    }
    let waited = sum.waited_s.filter(|waited| *waited > 0.0);
    let waited = waited.map(|waited| one("time waited in blocking copies", ALL, Unit::S, waited, true));
    let elapsed = Some(sum.elapsed_s).filter(|elapsed| *elapsed > 0.0);
    let elapsed = elapsed.map(|elapsed| one("run time", PROGRAM, Unit::S, elapsed, false));
    let measured = sum.rates.iter().filter_map(rate).chain(waited).chain(elapsed);
    let mut figures = shares(launch);
    figures.extend(measured.map(|(key, figure)| (key, Ok(figure))));

    Ok(Run {
        name: launch.name.clone(),
        host: sum.host.clone().unwrap_or_default(),
        started_at: sum.started_at.clone(),
        asked: None,
        conditions: conditions(launch),
        engine: CopyEngine::default(),
        figures,
    })
}

/// The shares of far and of pageable bytes, and of far ones by direction and kind of memory.
fn shares(launch: &WitnessLaunch) -> BTreeMap<Key, Result<Figure, String>> {
    let total = &launch.sum.total;
    let counted = |(unit, share)| (if is_whole(&launch.sum) { unit } else { Unit::EstimatedShare }, share);
    let far = |buffers: &[&WitnessBuffer]| {
        let sum = |of: fn(&WitnessBuffer) -> u64| buffers.iter().map(|buffer| of(buffer)).sum::<u64>();
        let all = [sum(|buffer| buffer.bytes), sum(|buffer| buffer.looked_at_bytes)];
        far_of(sum(|buffer| buffer.far_bytes), sum(known_bytes), all).map(counted)
    };
    let mut kinds: BTreeMap<String, Vec<&WitnessBuffer>> = BTreeMap::new();
    for buffer in launch.sum.buffers.iter().filter(|buffer| buffer.bytes > 0) {
        let place = format!("{} {}", direction(buffer.direction), memory(buffer.memory));
        kinds.entry(place).or_default().push(buffer);
    }

    let of_all = match far_share(total).map(counted) {
        Some((unit, share)) => Ok(one(FAR, ALL, unit, share, false).1),
        None => Err(launch.sum.distance_unknown.clone().unwrap_or("no page was found on a node".to_owned())),
    };
    let (unit, pageable) = counted((Unit::Share, share(total.pageable_bytes, total.bytes)));
    let (key, pageable) = one("bytes of pageable memory", ALL, unit, pageable, false);

    let of_kind = |(place, buffers): (&String, &Vec<&WitnessBuffer>)| {
        let (unit, share) = far(buffers)?;
        let (key, figure) = one(FAR, place, unit, share, true);
        Some((key, Ok(figure)))
    };
    let of_kinds = kinds.iter().filter_map(of_kind);
    [(Key::in_words(FAR, ALL.to_owned()), of_all), (key, Ok(pageable))].into_iter().chain(of_kinds).collect()
}

/// The bytes of a buffer of which it is known whether they are far.
fn known_bytes(buffer: &WitnessBuffer) -> u64 {
    match buffer.distance {
        Distance::Near | Distance::Far | Distance::Mixed => buffer.bytes.saturating_sub(buffer.nowhere_bytes),
        Distance::Unknown | Distance::Newer => 0,
    }
}

/// Whether every copy of every process was counted.
fn is_whole(document: &WitnessDocument) -> bool {
    let is_seen = |process: &WitnessProcess| process.graphs_not_seen == 0 && process.lost == 0;
    let has_ended = document.still_running.as_ref().is_none_or(Vec::is_empty);
    has_ended && document.not_counted == 0 && document.processes.iter().all(is_seen)
}

/// The part of the bytes of known distance that are far, counted or estimated; `None` where of none it is
/// known.
pub fn far_share(total: &WitnessBytes) -> Option<(Unit, f64)> {
    let known = total.far_bytes + total.near_bytes;
    far_of(total.far_bytes, known, [total.bytes, total.looked_at_bytes])
}

/// The far share of the known bytes, counted where all bytes are known and were looked at; `None` where none
/// is known.
fn far_of(far: u64, known: u64, [bytes, looked_at]: [u64; 2]) -> Option<(Unit, f64)> {
    let is_counted = looked_at >= bytes && known >= bytes;
    let unit = if is_counted { Unit::Share } else { Unit::EstimatedShare };
    (known > 0).then(|| (unit, share(far.min(known), known)))
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

fn rate(of: &WitnessRate) -> Option<(Key, Figure)> {
    let from = match of.distance {
        Distance::Near => "rate, near memory",
        Distance::Far => "rate, far memory",
        Distance::Mixed => "rate, near and far memory",
        Distance::Unknown | Distance::Newer => "rate, memory of unknown place",
    };
    let place = format!("{} {}", direction(of.direction), memory(of.memory));
    let is_figure = of.bytes_per_s.is_finite() && of.bytes_per_s > 0.0;
    is_figure.then(|| one(from, &place, Unit::BytesPerS, of.bytes_per_s, true))
}

/// A figure; an incidental one is of copies that another run of the program may not make.
fn one(case: &str, place: &str, unit: Unit, value: f64, is_incidental: bool) -> (Key, Figure) {
    let figure = Figure { unit, median: value, blocks: Vec::new(), is_incidental };
    (Key::in_words(case, place.to_owned()), figure)
}

fn conditions(launch: &WitnessLaunch) -> Vec<Condition> {
    let (sum, total) = (&launch.sum, &launch.sum.total);
    let names: BTreeSet<&str> = sum.processes.iter().map(|process| &process.name[..]).collect();
    let gpus: BTreeSet<&str> = sum.buffers.iter().map(|buffer| &buffer.gpu[..]).collect();
    let hosts: BTreeSet<&str> = launch.ranks.iter().filter_map(|rank| rank.host.as_deref()).collect();
    let unseen = |of: fn(&WitnessProcess) -> u64| sum.processes.iter().map(of).sum::<u64>().to_string();
    let joined = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join(", ");
    let outlived = sum.still_running.as_ref().map_or(0, Vec::len);
    let yes_or_no = if sum.simulated { "yes" } else { "no" };

    vec![
        Condition::new("processes that copied", joined(names), true),
        Condition::new("simulated devices", yes_or_no, true),
        Condition::new("ranks", launch.ranks.len().to_string(), true),
        Condition::new("host", joined(hosts), false),
        Condition::new("GPUs", joined(gpus), false),
        Condition::new("command line", sum.program.join(" "), false),
        Condition::new("numabench", &sum.tool.version, false),
        Condition::new("copies", total.copies.to_string(), false),
        Condition::new("bytes copied", total.bytes.to_string(), false),
        Condition::new("bytes from far memory", total.far_bytes.to_string(), false),
        Condition::new("bytes from near memory", total.near_bytes.to_string(), false),
        Condition::new("bytes of pageable memory", total.pageable_bytes.to_string(), false),
        Condition::new("processes that were not counted", sum.not_counted.to_string(), false),
        Condition::new("processes that outlived the program", outlived.to_string(), false),
        Condition::new("launches of graphs that were not seen", unseen(|of| of.graphs_not_seen), false),
        Condition::new("copies that were not counted", unseen(|of| of.lost), false),
    ]
}
