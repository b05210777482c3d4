//! GPUs that copy much slower than those of their node that are like them: a bad link or a bad GPU shows
//! without any baseline.
//!
//! Twins have the same model, memory and best link, and are used alike: by a rank as near to it, with memory
//! as near. Only pinned copies and copies to other GPUs, of 1 MiB and more, are looked at, because pageable
//! ones are as noisy as the CPU's caches; and where no case has an interval, three blocks at least have to be
//! slow in all cases: of a single one nobody knows whether it is the GPU's. Where ranks copied one after the
//! other, 10 % below the median of the twins is a finding; of several ranks of a GPU (a matrix has one for
//! each node of host memory, or for each other GPU) those with near memory count, and of them the fastest,
//! which says most of the GPU itself. Where they copied at once they also contend, and GPUs share switches,
//! sockets and memory: there it takes 25 %, each GPU has one rank, and fewer than half of the twins may be
//! slow, for half of a node being slower than the other half is its shape and no fault. Left out on purpose:
//! GPUs that are faster; sets that copy at once and are measured alone as well (`contend`); copies within a
//! GPU's own memory ([`slower_memory`]); copies between GPUs where not every pair was asked for, as in a
//! ring.

use std::collections::{BTreeMap, BTreeSet};

use report::Document;
use report::case::{Case, CaseStatus, Order};
use report::device::{Device, DeviceKind, name_on_node};
use report::rank::Rank;
use report::result::RankResult;
use report::settings::{Direction, MemoryKind};
use report::slower_twin::SlowerTwin;

use crate::baseline::is_staged;
use report::other_end::other_ends;

/// Copies below this size are told by their latency, which is not the link's.
const LEAST_BYTES: u64 = 1 << 20;

/// Without an interval so many blocks have to be slow, of one case or of several, and none may not be.
const LEAST_BLOCKS: u64 = 3;

/// How far below its twins a GPU is a finding where each copied alone.
pub const SLOWER_ALONE: f64 = 0.10;

/// The same where all copied at once.
const SLOWER_AT_ONCE: f64 = 0.25;

/// What twins have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'d> {
    node: u32,
    name: &'d str,
    total_bytes: u64,
    best_link: Option<(Option<u8>, Option<u8>)>,
    /// Of copies of host memory how near the rank is to the GPU, and whether its memory is; of copies between
    /// GPUs `None`, as where the PU is that drives them matters to none of them.
    nearness: Option<(u8, Option<bool>)>,
    /// Whether the driver stages the copies between GPUs through host memory.
    staged: bool,
}

/// A twin in a case: its device and the position of that, its rank and its rate.
struct Twin<'d> {
    at: usize,
    device: &'d Device,
    rank: u32,
    rate: TwinRate,
    evidence: Evidence,
}

/// What it rests on that a GPU is slower.
#[derive(Clone, Copy, Default)]
struct Evidence {
    blocks: u64,
    has_interval: bool,
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
    found(document).into_iter().filter(|(_, is_sure)| *is_sure).map(|(slower, _)| slower).collect()
}

/// What comparing GPUs with their twins came to, case by case: for who looks again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedTwins {
    /// What was compared: a device's and a case's `id`.
    pub compared: BTreeSet<(String, String)>,
    /// Each GPU in each case in which it is slower, also where fewer blocks say so than a finding takes.
    pub slower: Vec<SlowerTwin>,
}

/// Compares the GPUs of a document with their twins.
pub fn compared_twins<B>(document: &Document<B>) -> ComparedTwins {
    let sets = twin_sets(document);
    let compared = |set: &TwinSet<'_, B>| {
        let ids = set.twins.iter().map(|twin| (twin.device.id.clone(), set.case.id.clone()));
        ids.collect::<Vec<_>>()
    };
    ComparedTwins {
        compared: sets.iter().flat_map(compared).collect(),
        slower: slower_cases(&sets).into_iter().map(|case| case.slower).collect(),
    }
}

/// One for all cases in which a GPU is slower: the worst of them, with their number.
pub(crate) fn worst(cases: impl Iterator<Item = SlowerTwin>) -> Option<SlowerTwin> {
    let part = |slower: &SlowerTwin| slower.bytes_per_s / slower.twins_bytes_per_s;
    cases.reduce(|worst, one| {
        let slower_cases = worst.slower_cases + one.slower_cases;
        SlowerTwin { slower_cases, ..if part(&worst) <= part(&one) { worst } else { one } }
    })
}

/// Whether any two GPUs of the document are compared with each other.
pub fn are_compared<B>(document: &Document<B>) -> bool {
    !twin_sets(document).is_empty()
}

/// Each that is slower here, and whether that rests on enough blocks.
fn found<B>(document: &Document<B>) -> Vec<(SlowerTwin, bool)> {
    let mut by_gpu: BTreeMap<usize, Vec<SlowerCase>> = BTreeMap::new();
    for case in slower_cases(&twin_sets(document)) {
        by_gpu.entry(case.at).or_default().push(case);
    }

    let with_sureness = |cases: Vec<SlowerCase>| {
        let has_interval = cases.iter().any(|case| case.evidence.has_interval);
        let blocks: u64 = cases.iter().map(|case| case.evidence.blocks).sum();
        let slower = worst(cases.into_iter().map(|case| case.slower))?;
        let is_sure = has_interval || (blocks >= LEAST_BLOCKS && slower.slower_cases == slower.judged_cases);
        Some((slower, is_sure))
    };
    by_gpu.into_values().filter_map(with_sureness).collect()
}

/// A GPU that is slower than its twins in a case, with its position among the devices.
struct SlowerCase {
    at: usize,
    slower: SlowerTwin,
    evidence: Evidence,
}

/// Every GPU in every case in which it is slower.
fn slower_cases<B>(sets: &[TwinSet<'_, B>]) -> Vec<SlowerCase> {
    let is_alone = |set: &TwinSet<'_, B>| set.case.order == Order::Alone;
    let middling = [false, true].map(|alone| {
        let alike = sets.iter().filter(|set| is_alone(set) == alone);
        middling_reach(alike.flat_map(|set| &set.twins).map(|twin| twin.rate))
    });
    let mut judged: BTreeMap<&str, u32> = BTreeMap::new();
    for twin in sets.iter().flat_map(|set| &set.twins) {
        *judged.entry(&twin.device.id).or_default() += 1;
    }

    let mut found = Vec::new();
    for set in sets {
        let TwinSet { case, twins } = set;
        let limit = if is_alone(set) { SLOWER_ALONE } else { SLOWER_AT_ONCE };
        let rates: Vec<TwinRate> = twins.iter().map(|twin| twin.rate).collect();
        for (number, reference) in slower_than_others(limit, &rates, middling[usize::from(is_alone(set))]) {
            let twin = &twins[number];
            let slower = SlowerTwin {
                device: twin.device.id.clone(),
                rank: twin.rank,
                case: case.id.clone(),
                bytes_per_s: twin.rate.bytes_per_s,
                twins_bytes_per_s: reference,
                twins: twins.len() as u32 - 1,
                slower_cases: 1,
                judged_cases: judged.get(&twin.device.id[..]).copied().unwrap_or_default(),
                cause: cause(twin.device, case),
            };
            found.push(SlowerCase { at: twin.at, slower, evidence: twin.evidence });
        }
    }
    found
}

/// Twins in a case.
struct TwinSet<'d, B> {
    case: &'d Case<B>,
    twins: Vec<Twin<'d>>,
}

/// All twins that are compared with each other.
fn twin_sets<B>(document: &Document<B>) -> Vec<TwinSet<'_, B>> {
    let places = places(document);
    let others = other_ends(document);
    let of_case = |case| {
        let groups = groups(document, &places, &others, case).into_values();
        groups.filter(|twins| twins.len() > 1).map(move |twins| TwinSet { case, twins }).collect::<Vec<_>>()
    };
    document.cases.iter().filter(|case| is_judged(case)).flat_map(of_case).collect()
}

/// Whether GPUs are compared with each other in a case.
fn is_judged<B>(case: &Case<B>) -> bool {
    let is_alone = case.order == Order::Alone;
    let is_copy = match case.memory {
        MemoryKind::Pinned | MemoryKind::PinnedDriver => is_alone || case.group.is_none(),
        MemoryKind::Device => is_alone,
        MemoryKind::Pageable | MemoryKind::Managed | MemoryKind::System | MemoryKind::Newer => false,
    };
    is_copy
        && case.status != CaseStatus::Invalid
        && case.direction != Direction::Kernel
        && case.bytes >= LEAST_BYTES
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
    let ranks_of = |at: usize| {
        case.ranks.iter().filter_map(move |one| places.get(&one.rank).filter(|place| place.0 == at))
    };
    let is_between_gpus = case.memory == MemoryKind::Device;
    let mut groups: BTreeMap<Kind<'_>, Vec<Twin<'_>>> = BTreeMap::new();
    // A GPU counts by its fastest partner: in a ring, or a sample of the pairs, it may have those alone to
    // which its way is long.
    if is_between_gpus && lacks_pairs(places, others, case) {
        return groups;
    }

    for result in &case.ranks {
        let Some((at, device, rank)) = places.get(&result.rank).copied() else { continue };
        let shares = case.order != Order::Alone && ranks_of(at).count() > 1;
        let has_nearer = !is_between_gpus
            && is_near(device, rank) == Some(false)
            && ranks_of(at).any(|(_, device, rank)| is_near(device, rank) == Some(true));
        if shares || has_nearer || is_within(others, device, rank) {
            continue;
        }
        let Some(twin) = twin(at, device, result) else { continue };
        let nearness = (!is_between_gpus).then(|| (rank.locality as u8, is_near(device, rank)));
        let staged = is_between_gpus && is_staged(document, rank.rank);
        let twins = groups.entry(kind(device, nearness, staged)).or_default();
        match twins.iter_mut().find(|same| same.at == at) {
            Some(same) if same.rate.bytes_per_s >= twin.rate.bytes_per_s => {}
            Some(same) => *same = twin,
            None => twins.push(twin),
        }
    }
    groups
}

/// Whether a case between GPUs leaves out a pair of a node's GPUs that were measured.
fn lacks_pairs<B>(
    places: &BTreeMap<u32, RankPlace<'_>>,
    others: &BTreeMap<u32, String>,
    case: &Case<B>,
) -> bool {
    // By node, how many others each of its GPUs copies to.
    let mut partners: BTreeMap<u32, BTreeMap<usize, usize>> = BTreeMap::new();
    for (at, device, rank) in case.ranks.iter().filter_map(|one| places.get(&one.rank)) {
        let of_gpu = partners.entry(device.node).or_default().entry(*at).or_default();
        *of_gpu += usize::from(!is_within(others, device, rank));
    }
    partners.values().any(|gpus| gpus.values().any(|partners| partners + 1 < gpus.len()))
}

/// Whether both ends of a rank's copies between GPUs are its own.
fn is_within(others: &BTreeMap<u32, String>, device: &Device, rank: &Rank) -> bool {
    others.get(&rank.rank).is_some_and(|other| other == name_on_node(&device.id))
}

fn twin<'d, B>(at: usize, device: &'d Device, result: &RankResult<B>) -> Option<Twin<'d>> {
    let summary = result.summary()?;
    // Of a few blocks there is no interval: then the fastest round says how fast the GPU may be.
    let least_ns = summary.median_interval_ns.map_or(summary.min_ns, |interval| interval.low);
    let rate = TwinRate::of(summary.median_bytes_per_s, summary.median_ns, least_ns)?;
    let evidence = Evidence { blocks: summary.blocks, has_interval: summary.median_interval_ns.is_some() };
    Some(Twin { at, device, rank: result.rank, rate, evidence })
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

/// A twin's rate in a case.
#[derive(Clone, Copy, Debug)]
pub struct TwinRate {
    bytes_per_s: f64,
    /// How many times its rate it may have at most: 1 and more.
    reach: f64,
}

impl TwinRate {
    /// Of a rate, and of the time of a round with the least that it may be; `None` where these are no rate.
    pub fn of(bytes_per_s: f64, median_ns: f64, least_ns: f64) -> Option<Self> {
        let reach = median_ns / least_ns;
        let is_rate = bytes_per_s.is_finite() && bytes_per_s > 0.0 && reach.is_finite();
        is_rate.then_some(Self { bytes_per_s, reach })
    }

    /// A rate that several measurements share, and that is taken as it is.
    pub(crate) const fn exact(bytes_per_s: f64) -> Self {
        Self { bytes_per_s, reach: 1.0 }
    }
}

/// How many times its rate a middling one of these twins may have.
pub fn middling_reach(twins: impl Iterator<Item = TwinRate>) -> f64 {
    stats::interval::median(&twins.map(|twin| twin.reach).collect::<Vec<f64>>()).unwrap_or(1.0)
}

/// Those that are so far below the median of the others, by their number, with that median; none where they
/// are half of the twins or more, unless there are but two. No twin's rate is taken to be known better than
/// the `middling` one of all cases: three allocations that happen to be in the same of two modes have a
/// narrow interval, which other intervals of the run show to be luck.
pub fn slower_than_others(limit: f64, twins: &[TwinRate], middling: f64) -> Vec<(usize, f64)> {
    let against_others = |at: usize| {
        let others =
            twins.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, twin)| twin.bytes_per_s);
        stats::interval::median(&others.collect::<Vec<f64>>())
    };

    let is_slow = |(at, twin): (usize, &TwinRate)| {
        let others = against_others(at)?;
        (twin.bytes_per_s * twin.reach.max(middling) < others * (1.0 - limit)).then_some((at, others))
    };
    let slow: Vec<(usize, f64)> = twins.iter().enumerate().filter_map(is_slow).collect();
    if twins.len() > 2 && slow.len() * 2 >= twins.len() { Vec::new() } else { slow }
}

fn cause<B>(device: &Device, case: &Case<B>) -> String {
    match (device.state(), case.order) {
        (Err(fault), _) => fault,
        // Its PCIe link may have no part in them.
        (Ok(_), _) if case.memory == MemoryKind::Device => {
            "look at its links to other GPUs (nvidia-smi nvlink -e; rocm-smi --showxgmierr)".to_owned()
        }
        (Ok(state), Order::Alone) => {
            format!("{state}: look for Xid and AER messages in the kernel's log (dmesg)")
        }
        (Ok(state), _) => {
            format!("{state}; all ranks copied at once: `--order alone` tells contention from a fault")
        }
    }
}

#[cfg(test)]
mod tests;
