//! Runs that `witness` looked at, as runs to compare.
//!
//! Which bytes are far and which are pageable is counted, so that two runs that differ in it differ in fact
//! (`judge` says how such shares are judged). Where only a part of the pages was looked at, the far share is
//! an estimate. Rates and times are one value a run. Counts say what the program did and are neither good nor
//! bad: they are conditions, which a comparison names where they differ.

use std::collections::{BTreeMap, BTreeSet};

use report::witness::{Distance, WitnessBuffer, WitnessRate};

use crate::conditions::Condition;
use crate::figure::{Figure, Key, Unit};
use crate::run::{NoRun, Run};
use crate::witness_answer::{direction, memory};
use crate::witness_launch::WitnessLaunch;

/// The place of what is of all copies, and of what is of the program.
const ALL: &str = "all copies";
const PROGRAM: &str = "the program";

/// A run as comparisons see it.
///
/// # Errors
/// [`NoRun`]: no copy was counted.
pub fn run(launch: &WitnessLaunch) -> Result<Run, NoRun> {
    let sum = &launch.sum;
    if sum.total.bytes == 0 {
        return Err(NoRun::NoCopies);
    }
    let mut figures = shares(launch);
    figures.extend(sum.rates.iter().filter_map(rate));
    let waited = sum.waited_s.filter(|waited| *waited > 0.0);
    figures.extend(waited.map(|waited| one("time waited in blocking copies", ALL, Unit::S, waited, true)));
    if sum.elapsed_s > 0.0 {
        let (key, figure) = one("run time", PROGRAM, Unit::S, sum.elapsed_s, false);
        figures.insert(key, figure);
    }

    Ok(Run {
        name: launch.name.clone(),
        host: sum.host.clone().unwrap_or_default(),
        started_at: sum.started_at.clone(),
        conditions: conditions(launch),
        figures: figures.into_iter().map(|(key, figure)| (key, Ok(figure))).collect(),
    })
}

/// The shares of far and of pageable bytes, and of far ones by direction and kind of memory.
fn shares(launch: &WitnessLaunch) -> BTreeMap<Key, Figure> {
    let total = &launch.sum.total;
    let far = |buffers: &[&WitnessBuffer]| {
        let sum = |of: fn(&WitnessBuffer) -> u64| buffers.iter().map(|buffer| of(buffer)).sum::<u64>();
        let unit = unit(sum(|buffer| buffer.looked_at_bytes), sum(|buffer| buffer.bytes));
        (unit, share(sum(|buffer| buffer.far_bytes), sum(|buffer| buffer.bytes)))
    };
    let mut kinds: BTreeMap<String, Vec<&WitnessBuffer>> = BTreeMap::new();
    for buffer in launch.sum.buffers.iter().filter(|buffer| buffer.bytes > 0) {
        let place = format!("{} {}", direction(buffer.direction), memory(buffer.memory));
        kinds.entry(place).or_default().push(buffer);
    }

    let pageable = share(total.pageable_bytes, total.bytes);
    let of_all = unit(total.looked_at_bytes, total.bytes);
    let of_kinds = kinds.iter().map(|(place, buffers)| {
        let (unit, share) = far(buffers);
        one("bytes from far memory", place, unit, share, true)
    });
    [
        one("bytes from far memory", ALL, of_all, share(total.far_bytes, total.bytes), false),
        one("bytes of pageable memory", ALL, Unit::Share, pageable, false),
    ]
    .into_iter()
    .chain(of_kinds)
    .collect()
}

/// A share by pages is counted where all of them were looked at.
fn unit(looked_at: u64, bytes: u64) -> Unit {
    if looked_at >= bytes { Unit::Share } else { Unit::EstimatedShare }
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
    let joined = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join(", ");
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
    ]
}
