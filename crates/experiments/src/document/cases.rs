//! What each case gave on each rank.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use engine::{LEAST_OVERLAP, too_little_overlap};
use kernels::Kernel;
use pingpong::{DevicePages, ObservedPlacement, PagesPerNode, RankCase, RunState, Sample, SoFar, Trouble};
use report::Known;
use report::case::{self, Case, CaseStatus};
use report::conditions::Conditions;
use report::contention::{Aggregate, NodeAggregate, Together};
use report::device::{Device, DeviceKind};
use report::outlier_node::outlier_nodes;
use report::rank::{Rank, l3_sharers};
use report::result::{
    BlockSample, Mismatch, NO_BLOCK, NodePages, Outcome, PlacementSeen, RankResult, Verification,
};
use report::settings::{Direction, MemoryKind, TimingAsked};
use stats::flag::Flag;
use stats::interval::median;
use stats::stop::StopReason;

use super::DocumentFacts;
use super::bounds::percent_of_bound;
use crate::experiment::{CaseMapping, DocumentCase};
use crate::memory_range::TIMES_L3;

/// The cases of the document, each with the figures of all engine cases that stand in it.
pub(super) fn cases(facts: &DocumentFacts, state: &RunState, devices: &[Device]) -> Vec<Case> {
    let devices = devices.iter().map(|device| (device.id.as_str(), device)).collect();
    let mut mappings: Vec<Vec<&CaseMapping>> = vec![Vec::new(); facts.figures.cases.len()];
    for mapping in &facts.figures.mappings {
        mappings[mapping.case].push(mapping);
    }

    let ranks: Vec<Rank> = facts.parts.iter().map(|part| part.rank.clone()).collect();
    let asked = facts.figures.cases.iter().zip(&mappings);
    asked.map(|(asked, mappings)| document_case(facts, &ranks, (asked, mappings), state, &devices)).collect()
}

fn document_case(
    facts: &DocumentFacts,
    all: &[Rank],
    (asked, mappings): (&DocumentCase, &[&CaseMapping]),
    state: &RunState,
    devices: &BTreeMap<&str, &Device>,
) -> Case {
    let order = match asked.order {
        engine::Order::Simultaneous => case::Order::Simultaneous,
        engine::Order::Alone => case::Order::Alone,
    };
    let moved = Moved {
        direction: asked.direction,
        order,
        bytes: asked.bytes,
        range_bytes: asked.range_bytes.or_else(|| bytes_of_kernel(asked)),
    };
    // What goes between GPUs may take another way than the PCIe link that bounds the others, and of touches
    // only some take one.
    let has_own_way = matches!(asked.memory, MemoryKind::Device | MemoryKind::Managed | MemoryKind::System);

    let figures = || mappings.iter().flat_map(|mapping| mapping.figures(state));
    let at_once = l3_sharers(figures().map(|(_, place, _)| &facts.parts[place].rank));
    let mut ranks: Vec<RankResult> = figures()
        .map(|(result, place, _)| {
            let part = &facts.parts[place];
            let device = devices.get(&part.device.id[..]).copied().filter(|_| !has_own_way);
            let sharers = if order == case::Order::Simultaneous { at_once[&part.rank.l3()] } else { 1 };
            rank_result(facts.settings.verify, &part.rank, (moved, sharers), result, device)
        })
        .collect();
    ranks.sort_by_key(|result| result.rank);

    let mut status = CaseStatus::of_ranks(&ranks);
    let reason =
        mappings.iter().find_map(|mapping| not_simultaneous(&state.results[mapping.at], &state.nodes));
    let reason = reason.filter(|_| status == CaseStatus::Measured);
    if reason.is_some() {
        status = CaseStatus::Invalid;
    }

    // Ranks of several engine cases were not at once with each other: of them there is no sum.
    let at_once = order == case::Order::Simultaneous && mappings.len() == 1 && ranks.len() > 1;
    let rates: Vec<(u32, f64)> =
        ranks.iter().filter_map(|rank| Some((rank.rank, rank.summary()?.median_bytes_per_s))).collect();
    let overlaps = by_node(figures().map(|(result, _, node)| (result, node)), |sample| sample.overlap);
    let skews = by_node(figures().map(|(result, _, node)| (result, node)), |sample| sample.start_skew_ns);

    // Each node has its own clock: one whose ranks were not at once says nothing of another.
    let together = |node: u32| {
        let of_node = |values: &BTreeMap<usize, f64>| values.get(&(node as usize)).copied();
        let overlap = of_node(&overlaps);
        let invalid = overlap.filter(|overlap| *overlap < LEAST_OVERLAP).map(too_little_overlap);
        Together { overlap, start_skew_ns: of_node(&skews), invalid }
    };

    let takes_part: BTreeSet<u32> = ranks.iter().map(|result| result.rank).collect();
    let places: Cow<'_, [Rank]> = if takes_part.len() == all.len() {
        Cow::Borrowed(all)
    } else {
        all.iter().filter(|rank| takes_part.contains(&rank.rank)).cloned().collect()
    };
    let aggregates = if at_once { NodeAggregate::of_nodes(&places, &ranks, together) } else { Vec::new() };
    let mut id = Case::id_for(order, asked.memory, asked.direction, asked.bytes);
    if let Some(group) = &asked.group {
        id = format!("{id}/{group}");
    }

    Case {
        id,
        order,
        direction: asked.direction,
        bytes: asked.bytes,
        memory: asked.memory,
        group: asked.group.clone(),
        range_bytes: asked.range_bytes,
        timing: timing(facts, asked, figures().flat_map(|(result, ..)| &result.samples).next()),
        status,
        reason,
        overlap: overlaps.values().copied().reduce(f64::min),
        start_skew_ns: skews.values().copied().reduce(f64::max),
        aggregate: if at_once && status == CaseStatus::Measured { Aggregate::of_rates(&rates) } else { None },
        outlier_nodes: outlier_nodes(&places, &ranks, &aggregates, facts.figures.cases.len()),
        nodes: aggregates,
        ranks,
    }
}

impl CaseMapping {
    /// The figures that stand in its case: each with its place, and the node that it was measured on.
    fn figures<'s>(&'s self, state: &'s RunState) -> impl Iterator<Item = (&'s RankCase, usize, usize)> {
        let results = &state.results[self.at];
        self.places.iter().map(move |(rank, place)| (&results[*rank], *place, state.nodes[*rank]))
    }
}

/// What a kernel works through, bytes, where memory bounds it, and so can the cache.
fn bytes_of_kernel(asked: &DocumentCase) -> Option<u64> {
    let name = asked.group.as_deref().filter(|_| asked.direction == Direction::Kernel)?.split(',').next()?;
    name.parse().ok().filter(|kernel: &Kernel| kernel.is_bound_by_memory()).map(|_| asked.bytes)
}

/// The median of what samples say of being at once, for each node that has some: a node's ranks are at once
/// with each other.
fn by_node<'s>(
    results: impl Iterator<Item = (&'s RankCase, usize)>,
    of: fn(&Sample) -> Option<f64>,
) -> BTreeMap<usize, f64> {
    let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (rank, node) in results {
        values.entry(node).or_default().extend(rank.samples.iter().filter_map(of));
    }
    values.into_iter().filter_map(|(node, values)| Some((node, median(&values)?))).collect()
}

/// Why a case's numbers are not those of ranks at work at once, where that was asked and is not so.
pub(crate) fn not_simultaneous(results: &[RankCase], nodes: &[usize]) -> Option<String> {
    let overlaps = by_node(results.iter().zip(nodes.iter().copied()), |sample| sample.overlap);
    let (node, overlap) =
        overlaps.iter().min_by(|a, b| a.1.total_cmp(b.1)).filter(|(_, at)| **at < LEAST_OVERLAP)?;
    let of_node = if overlaps.len() > 1 { format!("node {node}: ") } else { String::new() };
    Some(format!("{of_node}{}", too_little_overlap(*overlap)))
}

/// The clock of the first block. Without a block it is a guess for copies between host and device, which
/// knows neither latch nor shared devices.
fn timing(facts: &DocumentFacts, asked: &DocumentCase, first: Option<&Sample>) -> case::Timing {
    let is_copy = asked.range_bytes.is_none()
        && matches!(
            asked.direction,
            Direction::H2d | Direction::D2h | Direction::RoundTrip | Direction::Bidirectional
        );
    let is_large =
        asked.memory != MemoryKind::Pageable && asked.bytes >= pingpong::DEVICE_TIMING_FROM_BYTES as u64;
    let by_device = match facts.settings.timing {
        TimingAsked::Device => is_copy,
        TimingAsked::Auto => is_copy && is_large,
        TimingAsked::Host | TimingAsked::Newer => false,
    };

    match first.map(|sample| sample.timing) {
        Some(engine::Timing::Device) => case::Timing::Device,
        None if by_device => case::Timing::Device,
        _ => case::Timing::Host,
    }
}

/// What a case moves on each of its ranks.
#[derive(Clone, Copy)]
pub struct Moved {
    /// Which way.
    pub direction: Direction,
    /// Whether the ranks are at once.
    pub order: case::Order,
    /// The size of a copy, bytes.
    pub bytes: u64,
    /// The bytes that are gone through again and again: the range of the CPU's own accesses, or a kernel's
    /// data; `None` for copies to and from devices.
    pub range_bytes: Option<u64>,
}

impl Moved {
    /// Whether the data of the ranks that share a cache, at once, is below [`TIMES_L3`] times that cache, so
    /// that part of it stays there.
    fn is_cached(self, sharers: u64, cache_bytes: u64) -> bool {
        let ranges = match (self.direction, self.range_bytes) {
            (Direction::H2d | Direction::D2h, None) | (Direction::Copy, Some(_)) => 2,
            (Direction::RoundTrip, None) => 3,
            (Direction::Bidirectional, None) => 4,
            (Direction::Read | Direction::Write | Direction::Load, Some(_)) => 1,
            // What a kernel works through whose rate is that of bytes: its input and its result.
            (Direction::Kernel, Some(_)) => 1,
            _ => return false,
        };
        let each = self.range_bytes.unwrap_or(self.bytes);
        each.saturating_mul(ranges).saturating_mul(sharers) < cache_bytes.saturating_mul(TIMES_L3)
    }
}

/// What a case gave on one rank, whose place this is; `verify`: whether that was asked for, `sharers`: how
/// many ranks behind this rank's L3 move as much at once.
pub fn rank_result(
    verify: bool,
    place: &Rank,
    (moved, sharers): (Moved, u64),
    result: &RankCase,
    device: Option<&Device>,
) -> RankResult {
    let rank = place.rank;
    let is_the_cpus = device.is_some_and(|device| device.kind == DeviceKind::HostMemory);
    let is_cached = is_the_cpus && place.l3_bytes.is_some_and(|cache| moved.is_cached(sharers, cache));
    let outcome = outcome(moved.direction, result, device, is_cached);
    let seen = |seen: Option<&ObservedPlacement>| seen.map(placement_seen);

    RankResult {
        rank,
        outcome,
        seen_before: seen(result.seen[0].as_ref()),
        seen_after: seen(result.seen[1].as_ref()),
        verification: verification(verify, result),
        blocks: (0..).zip(&result.samples).map(|(index, sample)| block_sample(index, sample)).collect(),
        host_round_ns: result.samples.iter().filter_map(Sample::host_ns).collect(),
        away: result.samples.iter().filter_map(Sample::away).collect(),
    }
}

fn outcome(direction: Direction, result: &RankCase, device: Option<&Device>, is_cached: bool) -> Outcome {
    match &result.trouble {
        Some(Trouble::Skipped(reason)) => return Outcome::Skipped { reason: reason.clone() },
        Some(Trouble::Invalid(reason) | Trouble::NotAtOnce(reason) | Trouble::Misplaced(reason)) => {
            return Outcome::Invalid { reason: reason.clone() };
        }
        Some(another @ Trouble::AnotherFailed) => return Outcome::Invalid { reason: another.to_string() },
        Some(corrupt @ (Trouble::Corrupt(_) | Trouble::Wrong(_))) => {
            return Outcome::Corrupt { reason: corrupt.to_string() };
        }
        Some(Trouble::Failed(failure)) => {
            return Outcome::Failed {
                stage: failure.stage,
                call: failure.call.clone(),
                code: failure.code,
                message: failure.message.clone(),
            };
        }
        None => {}
    }

    let Some(SoFar { summary, flags }) = &result.so_far else {
        return Outcome::Skipped { reason: NO_BLOCK.to_owned() };
    };

    let bound = device.and_then(|device| device.bound_bytes_per_s.value);
    let conditions = device.and_then(|device| device.conditions.as_ref()?.value.as_ref());
    let of_device = conditions.map(Conditions::flags).unwrap_or_default();
    let cached = is_cached.then_some(Flag::Cached);

    Outcome::Measured {
        percent_of_bound: percent_of_bound(direction, summary.median_bytes_per_s, bound),
        stop_reason: result.stop.unwrap_or(StopReason::Signal),
        flags: flags.iter().copied().chain(of_device).chain(cached).collect(),
        summary: Box::new(summary.clone()),
    }
}

fn verification(verify: bool, result: &RankCase) -> Verification {
    let compared: Vec<u64> = result.samples.iter().filter_map(|sample| sample.verified_bytes).collect();
    let mismatch = match &result.trouble {
        Some(Trouble::Corrupt(m)) => Some(Mismatch {
            block: result.samples.len() as u32,
            offset_bytes: m.offset,
            expected: m.expected,
            got: m.got,
        }),
        _ => None,
    };

    let wrong = mismatch.is_some() || matches!(result.trouble, Some(Trouble::Wrong(_)));
    let checked = !compared.is_empty() || wrong;
    let reason = match (verify, checked) {
        (false, _) => Some("--no-verify was given".to_owned()),
        (true, false) => Some("no block was measured".to_owned()),
        (true, true) => None,
    };

    Verification {
        checked,
        reason,
        blocks_checked: compared.len() as u64 + u64::from(wrong),
        bytes_checked: compared.iter().sum(),
        mismatch,
    }
}

fn placement_seen(seen: &ObservedPlacement) -> PlacementSeen {
    let source = PagesPerNode::source();
    PlacementSeen {
        pu: Known::value(seen.pu, "getcpu(2)"),
        affinity: Known::value(seen.affinity.clone(), "sched_getaffinity(2)"),
        host_pages: pages(&seen.pages, source),
        device_pages: match &seen.device_pages {
            Some(DevicePages::OfGpu(found)) => device_pages(found, source),
            Some(DevicePages::OfNode(found)) => pages(found, source),
            None => Known::unknown("none", "a GPU's own memory is not on a NUMA node of the host"),
        },
    }
}

fn pages(pages: &PagesPerNode, source: &str) -> Known<Vec<NodePages>> {
    if pages.unknown == 0 && pages.per_node.is_empty() {
        return Known::unknown(source, pages.unknown_reason.as_deref().unwrap_or("there are no pages"));
    }
    // A buffer that is seen in part is not proven: the counts that are known go into the reason.
    if pages.unknown > 0 {
        let why = pages.unknown_reason.as_deref().unwrap_or("the kernel does not say why");
        let known: String =
            pages.per_node.iter().map(|(node, count)| format!("; {count} on node {node}")).collect();
        return Known::unknown(
            source,
            format!("{} pages could not be located ({why}){known}", pages.unknown),
        );
    }

    let source = match pages.one_in {
        0 | 1 => source.to_owned(),
        more => format!("{source}, one page in {more}: pinned pages cannot move"),
    };

    Known::value(by_node_pages(pages), source)
}

/// Some pages of a GPU's memory; what the kernel does not locate is an absence, not a failure.
fn device_pages(found: &PagesPerNode, source: &str) -> Known<Vec<NodePages>> {
    if found.per_node.is_empty() {
        let why = found.unknown_reason.as_deref().unwrap_or("it has no addresses");
        return Known::unknown(
            source,
            format!("the kernel does not know where this GPU's memory lies ({why})"),
        );
    }
    let source = format!("{source}, one page in {}", found.one_in);
    Known::value(by_node_pages(found), source)
}

fn by_node_pages(found: &PagesPerNode) -> Vec<NodePages> {
    found.per_node.iter().map(|(node, pages)| NodePages { node: *node, pages: *pages }).collect()
}

fn block_sample(index: u32, sample: &Sample) -> BlockSample {
    let block = &sample.block;
    BlockSample {
        index,
        allocation: block.allocation,
        start_ns: block.start_ns,
        end_ns: block.end_ns,
        elapsed_ns: block.elapsed_ns,
        rounds: block.rounds,
        copies_per_round: block.copies_per_round,
        bytes: block.bytes,
        min_round_ns: block.min_round_ns,
        median_round_ns: block.median_round_ns,
        p95_round_ns: block.p95_round_ns,
        max_round_ns: block.max_round_ns,
    }
}
