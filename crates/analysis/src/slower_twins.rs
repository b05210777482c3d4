//! GPUs that copy much slower than those of their node that are like them: a bad link or a bad GPU shows without any baseline.
//!
//! Twins have the same model, memory and best link, and are used alike: one rank each, as near to it, with memory as near. Only pinned copies of
//! 1 MiB and more are looked at, because pageable ones are as noisy as the CPU's caches. Where ranks copied one after the other, 10 %
//! below the median of the twins is a finding. Where they copied at once they also contend, and GPUs share switches, sockets and memory:
//! there it takes 25 %, and fewer than half of the twins may be slow, for half of a node being slower than the other half is its
//! shape and no fault. Left out on purpose: GPUs that are faster.

use std::collections::BTreeMap;

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::device::{Device, DeviceKind};
use report::rank::Rank;
use report::result::RankResult;
use report::settings::MemoryKind;
use report::slower_twin::SlowerTwin;

use crate::baseline::{Class, values};
use crate::gate::OWN_MEMORY;

/// Copies below this size are told by their latency, which is not the link's.
const LEAST_BYTES: u64 = 1 << 20;

/// How far below its twins a GPU is a finding where each copied alone.
const SLOWER_ALONE: f64 = 0.10;

/// The same where all copied at once.
const SLOWER_AT_ONCE: f64 = 0.25;

/// What twins have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'d> {
    node: u32,
    name: &'d str,
    total_bytes: u64,
    best_link: Option<(Option<u8>, Option<u8>)>,
    locality: u8,
    memory_is_near: Option<bool>,
}

/// A twin in a case: its device and the position of that, its rank, its rate, and the most that its rate may be.
struct Twin<'d> {
    at: usize,
    device: &'d Device,
    rank: u32,
    rate: f64,
    at_most: f64,
}

/// The schema's first minor version with a field for them.
const SINCE_MINOR: u32 = 2;

/// The document, with the slower twins that its schema had no field for.
pub fn completed<B>(mut document: Document<B>) -> Document<B> {
    let minor = document.schema_version.split_once('.').and_then(|(_, minor)| minor.parse().ok());
    if minor.is_some_and(|minor: u32| minor < SINCE_MINOR) {
        document.slower_twins = slower_twins(&document);
    }
    document
}

/// The GPUs of a document that are slower than their twins, in the order of its devices.
pub fn slower_twins<B>(document: &Document<B>) -> Vec<SlowerTwin> {
    let places = places(document);
    let mut found: BTreeMap<usize, SlowerTwin> = BTreeMap::new();
    let mut judged: BTreeMap<&str, u32> = BTreeMap::new();
    let wanted = |case: &&Case<B>| {
        case.status != CaseStatus::Invalid
            && case.bytes >= LEAST_BYTES
            && matches!(case.memory, MemoryKind::Pinned | MemoryKind::PinnedDriver)
    };
    for case in document.cases.iter().filter(wanted) {
        for twins in groups(&places, case).into_values().filter(|twins| twins.len() > 1) {
            for twin in &twins {
                *judged.entry(&twin.device.id).or_default() += 1;
            }
            for (twin, reference) in slow_ones(case.order, &twins) {
                let at = twin.at;
                let part = |slower: &SlowerTwin| slower.bytes_per_s / slower.twins_bytes_per_s;
                let this = SlowerTwin {
                    device: twin.device.id.clone(),
                    rank: twin.rank,
                    case: case.id.clone(),
                    bytes_per_s: twin.rate,
                    twins_bytes_per_s: reference,
                    twins: twins.len() as u32 - 1,
                    slower_cases: 1,
                    judged_cases: 0,
                    cause: cause(twin.device, case.order),
                };
                let slower_cases = found.get(&at).map_or(0, |before| before.slower_cases) + 1;
                let worst = found.remove(&at).filter(|before| part(before) <= part(&this)).unwrap_or(this);
                found.insert(at, SlowerTwin { slower_cases, ..worst });
            }
        }
    }
    let counted = |slower: SlowerTwin| {
        let judged_cases = judged.get(&slower.device[..]).copied().unwrap_or_default();
        SlowerTwin { judged_cases, ..slower }
    };
    found.into_values().map(counted).collect()
}

/// The GPUs whose copies within their own memory are slower than those of their twins here: the clocks or the memory of one are at fault, no link.
pub fn slower_memory(document: &Document) -> Vec<SlowerTwin> {
    let mut groups: BTreeMap<(Class, String), Vec<(String, f64)>> = BTreeMap::new();
    for value in values(document).into_iter().filter(|value| value.case.ends_with("/within")) {
        groups.entry((value.class, value.case)).or_default().push((value.device, value.rate));
    }
    let mut found = Vec::new();
    for ((_, case), twins) in groups {
        let against_others = |at: usize| {
            let others = twins.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, twin)| twin.1);
            stats::interval::median(&others.collect::<Vec<f64>>())
        };
        let slow = (0..twins.len()).filter_map(|at| Some((at, against_others(at)?)));
        let slow: Vec<(usize, f64)> =
            slow.filter(|(at, others)| twins[*at].1 < others * (1.0 - SLOWER_ALONE)).collect();
        if twins.len() > 2 && slow.len() * 2 >= twins.len() {
            continue;
        }
        found.extend(slow.into_iter().map(|(at, others)| SlowerTwin {
            device: twins[at].0.clone(),
            rank: document.ranks.iter().find(|rank| rank.asked.device == twins[at].0).map_or(0, |rank| rank.rank),
            case: case.clone(),
            bytes_per_s: twins[at].1,
            twins_bytes_per_s: others,
            twins: twins.len() as u32 - 1,
            slower_cases: 1,
            judged_cases: 1,
            cause: OWN_MEMORY.to_owned(),
        }));
    }
    found
}

/// Each rank that has a GPU to itself, with that GPU and its position.
fn places<B>(document: &Document<B>) -> BTreeMap<u32, (usize, &Device, &Rank)> {
    let devices: BTreeMap<&str, (usize, &Device)> =
        document.devices.iter().enumerate().map(|(at, device)| (&device.id[..], (at, device))).collect();
    let mut users: BTreeMap<&str, u32> = BTreeMap::new();
    for rank in &document.ranks {
        *users.entry(&rank.asked.device).or_default() += 1;
    }
    let to_itself = |rank: &&Rank| users.get(&rank.asked.device[..]) == Some(&1);
    let place = |rank: &'_ Rank| devices.get(&rank.asked.device[..]).copied();
    let ranks = document.ranks.iter().filter(to_itself).filter_map(|rank| {
        let (at, device) = place(rank)?;
        (device.kind == DeviceKind::Gpu).then_some((rank.rank, (at, device, rank)))
    });
    ranks.collect()
}

/// The measured GPUs of a case, by what twins have in common.
fn groups<'d, B>(
    places: &BTreeMap<u32, (usize, &'d Device, &'d Rank)>,
    case: &Case<B>,
) -> BTreeMap<Kind<'d>, Vec<Twin<'d>>> {
    let mut groups: BTreeMap<Kind<'_>, Vec<Twin<'_>>> = BTreeMap::new();
    for result in &case.ranks {
        let Some((at, device, rank)) = places.get(&result.rank).copied() else { continue };
        if let Some(twin) = twin(at, device, result) {
            groups.entry(kind(device, rank)).or_default().push(twin);
        }
    }
    groups
}

fn twin<'d, B>(at: usize, device: &'d Device, result: &RankResult<B>) -> Option<Twin<'d>> {
    let summary = result.summary()?;
    let rate = summary.median_bytes_per_s;
    let at_most = summary.median_interval_ns.map_or(rate, |interval| rate * summary.median_ns / interval.low);
    let is_rate = rate.is_finite() && rate > 0.0 && at_most.is_finite();
    is_rate.then_some(Twin { at, device, rank: result.rank, rate, at_most })
}

fn kind<'d>(device: &'d Device, rank: &Rank) -> Kind<'d> {
    let near = rank.asked.memory_node.zip(device.numa_node.value);
    Kind {
        node: device.node,
        name: &device.name,
        total_bytes: device.total_bytes,
        best_link: device.link.value.as_ref().map(|link| (link.max_generation, link.max_width)),
        locality: rank.locality as u8,
        memory_is_near: near.map(|(memory, device)| memory == device),
    }
}

/// Those far below the median of the others, with that median; none where they are half of the twins or more, unless there are but two.
fn slow_ones<'t, 'd>(order: Order, twins: &'t [Twin<'d>]) -> Vec<(&'t Twin<'d>, f64)> {
    let limit = if order == Order::Alone { SLOWER_ALONE } else { SLOWER_AT_ONCE };
    let against_others = |at: usize| {
        let others = twins.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, twin)| twin.rate);
        stats::interval::median(&others.collect::<Vec<f64>>())
    };
    let slow = twins.iter().enumerate().filter_map(|(at, twin)| Some((twin, against_others(at)?)));
    let slow: Vec<(&Twin<'d>, f64)> = slow.filter(|(twin, others)| twin.at_most < others * (1.0 - limit)).collect();
    if twins.len() > 2 && slow.len() * 2 >= twins.len() { Vec::new() } else { slow }
}

fn cause(device: &Device, order: Order) -> String {
    match (device.state(), order) {
        (Err(fault), _) => fault,
        (Ok(state), Order::Alone) => format!("{state}: look for Xid and AER messages in the kernel's log (dmesg)"),
        (Ok(state), _) => format!("{state}; all ranks copied at once: `--order alone` tells contention from a fault"),
    }
}
