//! One run of a program that `witness` looked at: of one process, or of all ranks of a launch, each of which
//! wrote a document of its own.
//!
//! A document says its rank and not its launch. Documents of the same program and of different ranks are one
//! launch if they began before its first rank had ended, or no more than a minute behind that: two launches
//! of fewer and more ranks that follow so closely are taken for one.

use std::collections::BTreeMap;

use report::WitnessDocument;
use report::timestamp::unix_ns;
use report::witness::{Distance, WitnessBuffer, WitnessBytes, WitnessDirection, WitnessGain, WitnessMemory};
use report::witness::{NodeBytes, WitnessRate};
use stats::alike::distinct;

use crate::witness_answer::verdict;

/// Launchers start ranks some seconds apart, and a short program may have ended by then.
const APART_NS: u64 = 60_000_000_000;

/// One run of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct WitnessLaunch {
    /// The file of its first rank's document.
    pub name: String,
    /// The documents of its ranks, by number; a single one where there was no launch.
    pub ranks: Vec<WitnessDocument>,
    /// All ranks together: bytes, copies and waiting added up, with the longest rank's time.
    pub sum: WitnessDocument,
}

/// Bytes between a NUMA node and a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct WitnessLink {
    /// The host, where there are several.
    pub host: Option<String>,
    /// Which way.
    pub direction: WitnessDirection,
    /// The kind of memory.
    pub memory: WitnessMemory,
    /// The node; `None` for bytes whose node is not known.
    pub node: Option<u32>,
    /// The GPU's PCI address.
    pub gpu: String,
    /// Its index in PCI order, where the topology shows it.
    pub gpu_index: Option<u32>,
    /// How far the node is from it.
    pub distance: Distance,
    /// The bytes.
    pub bytes: u64,
    /// Copies that events timed, of buffers that lie on this node alone.
    pub timed: u64,
    /// Their bytes per second.
    pub bytes_per_s: Option<f64>,
}

/// The runs that these documents are of, with their files' names, in the order given.
pub fn launches(documents: Vec<(String, WitnessDocument)>) -> Vec<WitnessLaunch> {
    let mut in_time: Vec<(usize, (String, WitnessDocument))> = documents.into_iter().enumerate().collect();
    in_time.sort_by(|(_, (_, one)), (_, (_, other))| one.started_at.cmp(&other.started_at));

    let mut groups: Vec<Vec<(usize, (String, WitnessDocument))>> = Vec::new();
    for one in in_time {
        // The last one that began: an earlier launch of fewer ranks has the others' numbers free.
        let joined =
            groups.iter_mut().rev().find(|group| joins(group.iter().map(|(_, (_, rank))| rank), &one.1.1));
        match joined {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }

    groups.sort_by_key(|group| group.iter().map(|(at, _)| *at).min());
    groups
        .into_iter()
        .map(|group| WitnessLaunch::of(group.into_iter().map(|(_, one)| one).collect()))
        .collect()
}

/// Whether a document is of a further rank of the launch that these ranks are of.
fn joins<'r>(ranks: impl Iterator<Item = &'r WitnessDocument> + Clone, other: &WitnessDocument) -> bool {
    let end = |rank: &WitnessDocument| Some(unix_ns(&rank.started_at)? + (rank.elapsed_s * 1e9) as u64);
    let first_end = ranks.clone().filter_map(end).min();
    let is_in_time = first_end
        .zip(unix_ns(&other.started_at))
        .is_some_and(|(end, start)| start <= end.saturating_add(APART_NS));

    let mut ranks = ranks;
    let is_further = |rank: &WitnessDocument| {
        rank.rank.is_some() && rank.rank != other.rank && rank.program == other.program
    };
    other.rank.is_some() && is_in_time && ranks.all(is_further)
}

impl WitnessLaunch {
    /// The run of these ranks' documents, of which there is one at least.
    fn of(mut documents: Vec<(String, WitnessDocument)>) -> Self {
        documents.sort_by_key(|(_, document)| document.rank);
        let name = documents.first().map(|(name, _)| name.clone()).unwrap_or_default();
        let ranks: Vec<WitnessDocument> = documents.into_iter().map(|(_, document)| document).collect();
        Self { name, sum: sum(&ranks), ranks }
    }

    /// The run of a program without a launch, or one rank's part of it.
    pub fn of_one(name: &str, document: WitnessDocument) -> Self {
        Self { name: name.to_owned(), sum: document.clone(), ranks: vec![document] }
    }
}

/// All ranks as one document; a single one is itself.
fn sum(ranks: &[WitnessDocument]) -> WitnessDocument {
    let all = |of: fn(&WitnessDocument) -> u64| ranks.iter().map(of).sum::<u64>();
    let waits: Vec<f64> = ranks.iter().filter_map(|rank| rank.waited_s).collect();
    let mut sum = ranks[0].clone();
    if ranks.len() == 1 {
        return sum;
    }

    sum.rank = None;
    sum.elapsed_s = ranks.iter().map(|rank| rank.elapsed_s).fold(0.0, f64::max);
    sum.exit_code = ranks.iter().map(|rank| rank.exit_code).find(|code| *code != Some(0)).unwrap_or(Some(0));
    sum.signal = ranks.iter().find_map(|rank| rank.signal);
    sum.simulated = ranks.iter().any(|rank| rank.simulated);
    sum.waited_s = (!waits.is_empty()).then(|| waits.iter().sum());
    sum.loaded = all(|rank| rank.loaded);
    sum.not_counted = ranks.iter().map(|rank| rank.not_counted).sum();
    let left = ranks.iter().filter_map(|rank| rank.still_running.clone()).flatten();
    sum.still_running = ranks.iter().any(|rank| rank.still_running.is_some()).then(|| left.collect());
    sum.distance_unknown = ranks.iter().find_map(|rank| rank.distance_unknown.clone());

    sum.total = ranks.iter().fold(WitnessBytes::default(), |total, rank| added(total, rank.total));
    sum.rates = rates(ranks);
    sum.gain = gain(ranks);
    sum.remedy = remedy(ranks);
    sum.buffers = ranks.iter().flat_map(|rank| rank.buffers.clone()).collect();
    sum.buffers.sort_by_key(|buffer| std::cmp::Reverse((buffer.far_bytes, buffer.bytes)));
    sum.processes = ranks.iter().flat_map(|rank| rank.processes.clone()).collect();
    sum.not_seen = ranks.iter().flat_map(not_seen).collect();
    let times: Vec<f64> = ranks.iter().map(|rank| rank.elapsed_s).collect();
    sum.verdict = verdict(&sum, &times);
    sum
}

fn added(one: WitnessBytes, other: WitnessBytes) -> WitnessBytes {
    WitnessBytes {
        copies: one.copies + other.copies,
        bytes: one.bytes + other.bytes,
        near_bytes: one.near_bytes + other.near_bytes,
        far_bytes: one.far_bytes + other.far_bytes,
        unknown_bytes: one.unknown_bytes + other.unknown_bytes,
        looked_at_bytes: one.looked_at_bytes + other.looked_at_bytes,
        pageable_bytes: one.pageable_bytes + other.pageable_bytes,
        pinned_bytes: one.pinned_bytes + other.pinned_bytes,
        managed_bytes: one.managed_bytes + other.managed_bytes,
    }
}

/// Each rate over all ranks: their bytes by their time.
fn rates(ranks: &[WitnessDocument]) -> Vec<WitnessRate> {
    let mut rates: BTreeMap<_, WitnessRate> = BTreeMap::new();
    for of in ranks.iter().flat_map(|rank| &rank.rates) {
        let key = (of.direction, of.memory, of.distance);
        let rate = rates.entry(key).or_insert(WitnessRate { timed: 0, timed_bytes: 0, timed_s: 0.0, ..*of });
        rate.timed += of.timed;
        rate.timed_bytes += of.timed_bytes;
        rate.timed_s += of.timed_s;
        rate.bytes_per_s = rate.timed_bytes as f64 / rate.timed_s;
    }
    rates.into_values().collect()
}

/// The gain of all ranks; `None` where one with far bytes has none. Ranks wait at the same time, so the
/// program's lower end is that of the rank which gains most.
fn gain(ranks: &[WitnessDocument]) -> Option<WitnessGain> {
    let of_far = ranks.iter().filter(|rank| rank.total.far_bytes > 0).map(|rank| rank.gain.clone());
    let gains: Vec<WitnessGain> = of_far.collect::<Option<_>>()?;

    gains.into_iter().reduce(|one, other| WitnessGain {
        matrix: one.matrix,
        far_bytes: one.far_bytes + other.far_bytes,
        without_rates_bytes: one.without_rates_bytes + other.without_rates_bytes,
        copies_low_s: one.copies_low_s + other.copies_low_s,
        copies_high_s: one.copies_high_s + other.copies_high_s,
        program_low_s: one.program_low_s.max(other.program_low_s),
        program_high_s: one.program_high_s + other.program_high_s,
    })
}

/// The line that starts all ranks near their GPUs; `None` where no line does that for one of them.
fn remedy(ranks: &[WitnessDocument]) -> Option<String> {
    let of_far = ranks.iter().filter(|rank| rank.total.far_bytes > 0).map(|rank| rank.remedy.clone());
    of_far.collect::<Option<Vec<String>>>()?.into_iter().next()
}

fn not_seen(rank: &WitnessDocument) -> impl Iterator<Item = String> {
    let number = rank.rank.map_or("?".to_owned(), |rank| rank.to_string());
    rank.not_seen.iter().map(move |sentence| format!("Rank {number}: {sentence}"))
}

/// The bytes of a run, of which these are the documents of its ranks, between each NUMA node and GPU of a
/// host by direction and kind of memory, most far bytes first.
pub fn links(ranks: &[WitnessDocument]) -> Vec<WitnessLink> {
    let are_apart = distinct(ranks.iter().map(|rank| &rank.host)).len() > 1;
    let buffers = ranks.iter().flat_map(|rank| rank.buffers.iter().map(|buffer| (&rank.host, buffer)));
    let mut links: BTreeMap<_, (WitnessLink, f64)> = BTreeMap::new();

    for (host, buffer) in buffers {
        let parts = parts(buffer);
        let is_one = parts.len() == 1;
        for (node, distance, bytes) in parts {
            let key = (host, buffer.direction, buffer.memory, &buffer.gpu, node);
            let host = host.clone().filter(|_| are_apart);
            let first = || (WitnessLink { host, ..empty(buffer, node, distance) }, 0.0);
            let (link, seconds) = links.entry(key).or_insert_with(first);
            link.bytes += bytes;
            if is_one && buffer.timed_s > 0.0 {
                let before = link.bytes_per_s.unwrap_or(0.0) * *seconds;
                *seconds += buffer.timed_s;
                link.timed += buffer.timed;
                link.bytes_per_s = Some((before + buffer.timed_bytes as f64) / *seconds);
            }
        }
    }

    let mut links: Vec<WitnessLink> = links.into_values().map(|(link, _)| link).collect();
    links.sort_by_key(|link| std::cmp::Reverse((link.distance == Distance::Far, link.bytes)));
    links
}

fn empty(buffer: &WitnessBuffer, node: Option<u32>, distance: Distance) -> WitnessLink {
    WitnessLink {
        host: None,
        direction: buffer.direction,
        memory: buffer.memory,
        node,
        gpu: buffer.gpu.clone(),
        gpu_index: buffer.gpu_index,
        distance,
        bytes: 0,
        timed: 0,
        bytes_per_s: None,
    }
}

/// A buffer's bytes by node, and those whose node is not known.
fn parts(buffer: &WitnessBuffer) -> Vec<(Option<u32>, Distance, u64)> {
    // Before 1.1 only a whole buffer has a distance.
    let of_buffer = match buffer.distance {
        Distance::Mixed => Distance::Unknown,
        distance => distance,
    };
    let part = |of: &NodeBytes| (Some(of.node), of.distance.unwrap_or(of_buffer), of.bytes);
    let known: u64 = buffer.nodes.iter().map(|of| of.bytes).sum();
    let rest = buffer.bytes.saturating_sub(known);

    let rest = (rest > 0).then_some((None, Distance::Unknown, rest));
    buffer.nodes.iter().map(part).chain(rest).collect()
}
