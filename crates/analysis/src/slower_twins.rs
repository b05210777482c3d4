//! GPUs that copy much slower than those of their node that are like them: a bad link or a bad GPU shows without any baseline.
//!
//! Twins have the same model, memory and best link, and are used alike: by a rank as near to it, with memory as near. Only pinned copies and copies to other GPUs, of
//! 1 MiB and more, are looked at, because pageable ones are as noisy as the CPU's caches. Where ranks copied one after the other, 10 %
//! below the median of the twins is a finding; of several ranks of a GPU (a matrix has one for each node of host memory, or for each other GPU) those with near memory count, and of them the fastest, which
//! says most of the GPU itself. Where they copied at once they also contend, and GPUs share switches, sockets and memory:
//! there it takes 25 %, each GPU has one rank, and fewer than half of the twins may be slow, for half of a node being slower than the other half is its
//! shape and no fault. Left out on purpose: GPUs that are faster; sets that copy at once and are measured alone as well (`contend`); copies within a GPU's own memory
//! ([`slower_memory`]).

use std::collections::BTreeMap;

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::device::{Device, DeviceKind, name_on_node};
use report::rank::Rank;
use report::result::RankResult;
use report::settings::{Direction, MemoryKind};
use report::slower_twin::SlowerTwin;

use crate::baseline::{Class, is_staged, values};
use crate::gate::OWN_MEMORY;
use report::other_end::other_ends;

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
    /// Of copies of host memory how near the rank is to the GPU, and whether its memory is; of copies between GPUs `None`, as where the PU is that drives them matters to none of them.
    nearness: Option<(u8, Option<bool>)>,
    /// Whether the driver stages the copies between GPUs through host memory.
    staged: bool,
}

/// A twin in a case: its device and the position of that, its rank, its rate, and how many times that its rate may be at most.
struct Twin<'d> {
    at: usize,
    device: &'d Device,
    rank: u32,
    rate: f64,
    reach: f64,
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
    let others = other_ends(document);
    let mut found: BTreeMap<usize, SlowerTwin> = BTreeMap::new();
    let mut judged: BTreeMap<&str, u32> = BTreeMap::new();
    for case in document.cases.iter().filter(|case| is_judged(case)) {
        let groups = groups(document, &places, &others, case);
        for twins in groups.into_values().filter(|twins| twins.len() > 1) {
            for twin in &twins {
                *judged.entry(&twin.device.id).or_default() += 1;
            }
            let limit = if case.order == Order::Alone { SLOWER_ALONE } else { SLOWER_AT_ONCE };
            for (twin, reference) in slow_ones(limit, &twins, |twin| TwinRate { rate: twin.rate, reach: twin.reach }) {
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
                    cause: cause(twin.device, case),
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
        found.extend(
            slow_ones(SLOWER_ALONE, &twins, |(_, rate)| TwinRate { rate: *rate, reach: 1.0 }).into_iter().map(
                |(twin, others)| SlowerTwin {
                    device: twin.0.clone(),
                    rank: document.ranks.iter().find(|rank| rank.asked.device == twin.0).map_or(0, |rank| rank.rank),
                    case: case.clone(),
                    bytes_per_s: twin.1,
                    twins_bytes_per_s: others,
                    twins: twins.len() as u32 - 1,
                    slower_cases: 1,
                    judged_cases: 1,
                    cause: OWN_MEMORY.to_owned(),
                },
            ),
        );
    }
    found
}

/// Whether GPUs are compared with each other in a case.
fn is_judged<B>(case: &Case<B>) -> bool {
    let is_alone = case.order == Order::Alone;
    let is_copy = match case.memory {
        MemoryKind::Pinned | MemoryKind::PinnedDriver => is_alone || case.group.is_none(),
        MemoryKind::Device => is_alone,
        MemoryKind::Pageable | MemoryKind::Managed | MemoryKind::System | MemoryKind::Newer => false,
    };
    is_copy && case.status != CaseStatus::Invalid && case.direction != Direction::Kernel && case.bytes >= LEAST_BYTES
}

/// A GPU, its position among the devices, and one of its ranks.
type RankPlace<'d> = (usize, &'d Device, &'d Rank);

/// Each rank of a GPU.
fn places<B>(document: &Document<B>) -> BTreeMap<u32, RankPlace<'_>> {
    let devices: BTreeMap<&str, (usize, &Device)> =
        document.devices.iter().enumerate().map(|(at, device)| (&device.id[..], (at, device))).collect();
    let ranks = document.ranks.iter().filter_map(|rank| {
        let (at, device) = devices.get(&rank.asked.device[..]).copied()?;
        (device.kind == DeviceKind::Gpu).then_some((rank.rank, (at, device, rank)))
    });
    ranks.collect()
}

/// The measured GPUs of a case, each once, by what twins have in common.
fn groups<'d, B>(
    document: &'d Document<B>,
    places: &BTreeMap<u32, RankPlace<'d>>,
    others: &BTreeMap<u32, String>,
    case: &Case<B>,
) -> BTreeMap<Kind<'d>, Vec<Twin<'d>>> {
    let ranks_of =
        |at: usize| case.ranks.iter().filter_map(move |one| places.get(&one.rank).filter(|place| place.0 == at));
    let is_between_gpus = case.memory == MemoryKind::Device;
    let mut groups: BTreeMap<Kind<'_>, Vec<Twin<'_>>> = BTreeMap::new();
    for result in &case.ranks {
        let Some((at, device, rank)) = places.get(&result.rank).copied() else { continue };
        let shares = case.order != Order::Alone && ranks_of(at).count() > 1;
        let has_nearer = !is_between_gpus
            && is_near(device, rank) == Some(false)
            && ranks_of(at).any(|(_, device, rank)| is_near(device, rank) == Some(true));
        let is_own = others.get(&rank.rank).is_some_and(|other| other == name_on_node(&device.id));
        if shares || has_nearer || is_own {
            continue;
        }
        let Some(twin) = twin(at, device, result) else { continue };
        let nearness = (!is_between_gpus).then(|| (rank.locality as u8, is_near(device, rank)));
        let staged = is_between_gpus && is_staged(document, rank.rank);
        let twins = groups.entry(kind(device, nearness, staged)).or_default();
        match twins.iter_mut().find(|same| same.at == at) {
            Some(same) if same.rate >= twin.rate => {}
            Some(same) => *same = twin,
            None => twins.push(twin),
        }
    }
    groups
}

fn twin<'d, B>(at: usize, device: &'d Device, result: &RankResult<B>) -> Option<Twin<'d>> {
    let summary = result.summary()?;
    let rate = summary.median_bytes_per_s;
    let reach = summary.median_interval_ns.map_or(1.0, |interval| summary.median_ns / interval.low);
    let is_rate = rate.is_finite() && rate > 0.0 && reach.is_finite();
    is_rate.then_some(Twin { at, device, rank: result.rank, rate, reach })
}

/// Whether a rank's memory is on its GPU's own node; `None` where nobody knows.
fn is_near(device: &Device, rank: &Rank) -> Option<bool> {
    rank.asked.memory_node.zip(device.numa_node.value).map(|(memory, device)| memory == device)
}

fn kind(device: &Device, nearness: Option<(u8, Option<bool>)>, staged: bool) -> Kind<'_> {
    Kind {
        node: device.node,
        name: &device.name,
        total_bytes: device.total_bytes,
        best_link: device.link.value.as_ref().map(|link| (link.max_generation, link.max_width)),
        nearness,
        staged,
    }
}

/// A rate, and how many times that it may be at most: 1 and more.
struct TwinRate {
    rate: f64,
    reach: f64,
}

/// Those that are so far below the median of the others, with that median; none where they are half of the twins or more, unless there are but two. No twin's rate is taken to be
/// known better than a middling one's: three allocations that happen to be in the same of two modes have a narrow interval, which the other twins' intervals show to be luck.
fn slow_ones<T>(limit: f64, twins: &[T], rates: impl Fn(&T) -> TwinRate) -> Vec<(&T, f64)> {
    let reaches: Vec<f64> = twins.iter().map(|twin| rates(twin).reach).collect();
    let middling = stats::interval::median(&reaches).unwrap_or(1.0);
    let at_most = |twin: &T| rates(twin).rate * rates(twin).reach.max(middling);
    let against_others = |at: usize| {
        let others = twins.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, twin)| rates(twin).rate);
        stats::interval::median(&others.collect::<Vec<f64>>())
    };
    let slow = twins.iter().enumerate().filter_map(|(at, twin)| Some((twin, against_others(at)?)));
    let slow: Vec<(&T, f64)> = slow.filter(|(twin, others)| at_most(twin) < others * (1.0 - limit)).collect();
    if twins.len() > 2 && slow.len() * 2 >= twins.len() { Vec::new() } else { slow }
}

fn cause<B>(device: &Device, case: &Case<B>) -> String {
    match (device.state(), case.order) {
        (Err(fault), _) => fault,
        // Its PCIe link may have no part in them.
        (Ok(_), _) if case.memory == MemoryKind::Device => {
            "look at its links to other GPUs (nvidia-smi nvlink -e; rocm-smi --showxgmierr)".to_owned()
        }
        (Ok(state), Order::Alone) => format!("{state}: look for Xid and AER messages in the kernel's log (dmesg)"),
        (Ok(state), _) => format!("{state}; all ranks copied at once: `--order alone` tells contention from a fault"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(twins: &[[f64; 2]]) -> Vec<f64> {
        let slow = slow_ones(SLOWER_ALONE, twins, |[rate, reach]| TwinRate { rate: *rate, reach: *reach });
        slow.into_iter().map(|([rate, _], _)| *rate).collect()
    }

    #[test]
    fn a_twin_whose_allocations_were_all_in_the_slow_mode_is_not_named_where_the_others_show_two_modes() {
        // Three allocations in two modes 20 % apart: Student's interval of those that were in both is wide, and of one whose three were alike narrow.
        let mixed = [50.0, 1.6];
        assert_eq!(slow(&[[41.0, 1.002], mixed, mixed, [50.0, 1.001], mixed]), [0.0; 0]);
        let quiet = [50.0, 1.002];
        assert_eq!(slow(&[[41.0, 1.002], quiet, quiet, quiet, quiet]), [41.0]);
        assert_eq!(slow(&[[25.0, 1.002], mixed, mixed, mixed, mixed]), [25.0], "half of it is beyond both modes");
    }
}
