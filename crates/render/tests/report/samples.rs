//! Documents as runs would give them. Times are made from a seeded generator; everything else is written out.
//! `machine` is where they ran, `nodes` holds the runs over several nodes. Some 430 lines because each kind
//! of result has its sample.

mod machine;
mod nodes;

use report::case::{Case, CaseStatus, Order, Timing};
use report::contention::{Aggregate, NodeAggregate, Penalty, Together};
use report::device::{Device, DeviceKind};
use report::document::{Document, Platform, PlatformKind, Status, Tool};
use report::outlier_node::outlier_nodes;
use report::rank::{ChosenBy, Locality, Placement, Rank};
use report::result::{BlockSample, NodePages, Outcome, PlacementSeen, RankResult, Verification};
use report::settings::{
    CopyEngine, Direction, Membind, MemoryKind, OrderAsked, Repetition, Settings, TimingAsked,
};
use report::{Known, SavedDocument, timestamp};
use stats::IdSet;
use stats::block_interval::BlockValue;
use stats::compare::TwoSampleComparison;
use stats::random::SplitMix64;
use stats::sample::Block;
use stats::stop::{Patience, StopReason};
use stats::summary::summarize;

pub use machine::{device, node};
pub use nodes::{PLACES, on_nodes, several_nodes};

pub const MIB: u64 = 1 << 20;

/// One rank on one GPU of LUMI's shape, the case study's sizes and counts.
pub fn one_rank() -> Document {
    let mut document = empty();
    document.settings.floats = Some(33_554_432);
    document.settings.repetition = Repetition::Fixed { reps: 100, warmup: 10 };
    document.argv =
        ["numabench", "pingpong", "--cpus", "49", "--gpus", "0", "--floats", "33554432", "--reps", "100"]
            .map(String::from)
            .to_vec();
    document.devices = vec![device(0, 0xc1, 3)];
    document.ranks = vec![rank(0, 49, 3, "0000:c1:00.0")];
    document.nodes[0].ranks = IdSet::from_iter([0]);
    for (direction, ns) in
        [(Direction::H2d, 5.308e6), (Direction::D2h, 5.348e6), (Direction::RoundTrip, 10.656e6)]
    {
        document.cases.push(case(
            &document,
            direction,
            128 * MIB,
            MemoryKind::Pinned,
            Order::Simultaneous,
            &[ns],
        ));
    }
    document
}

/// Eight ranks on the eight GPUs of LUMI-G's shape, alone and at once.
pub fn eight_ranks() -> Document {
    let mut document = empty();
    document.settings.sizes_bytes = vec![256 * MIB];
    document.settings.order = OrderAsked::Both;
    document.settings.directions.truncate(2);
    document.argv = ["numabench", "pingpong", "--gpus", "all", "--size", "256MiB", "--order", "both"]
        .map(String::from)
        .to_vec();
    for (index, (pu, node, bus)) in (0..).zip(PLACES) {
        let device = device(index, bus, node);
        let mut rank = rank(index, pu, node, &device.id);
        rank.chosen_by = ChosenBy::Automatic { rule: "first allowed core of its locality".into() };
        document.nodes[0].ranks.0.insert(index);
        document.devices.push(device);
        document.ranks.push(rank);
    }
    // Host memory on one socket only: half of the ranks reach it over the other.
    let near_and_far =
        |near: f64, far: f64| -> Vec<f64> { (0..8).map(|rank| if rank < 4 { far } else { near }).collect() };
    for (direction, ns, far, near) in
        [(Direction::H2d, 4.86e6, 13.4e6, 9.9e6), (Direction::D2h, 4.88e6, 25.5e6, 17.9e6)]
    {
        let one = |document: &Document, order, ns: &[f64]| {
            case(document, direction, 256 * MIB, MemoryKind::Pinned, order, ns)
        };
        let alone = one(&document, Order::Alone, &[ns; 8]);
        let at_once = one(&document, Order::Simultaneous, &near_and_far(near, far));
        for rank in 0..8 {
            document.penalties.push(penalty(&alone, &at_once, rank));
        }
        document.cases.extend([alone, at_once]);
    }
    document
}

/// The case study's eight ranks with the right placement: H2D, D2H and the round trip of 67108864 floats, all
/// at once.
pub fn case_study() -> Document {
    let mut document = eight_ranks();
    (document.cases, document.penalties) = Default::default();
    document.settings.sizes_bytes = vec![256 * MIB];
    document.settings.floats = Some(67_108_864);
    document.settings.order = OrderAsked::Simultaneous;
    document.settings.directions = vec![Direction::RoundTrip, Direction::H2d, Direction::D2h];
    document.settings.repetition = Repetition::Fixed { reps: 100, warmup: 10 };
    let line =
        "numabench pingpong --cpus 49,57,17,25,1,9,33,41 --gpus 0,1,2,3,4,5,6,7 --floats 67108864 --reps 100";
    document.argv = line.split(' ').map(String::from).collect();
    // Milliseconds of the listing's full transfers.
    let full = [28.37514, 28.03862, 27.26915, 28.45257, 30.58955, 30.63158, 30.57258, 30.61326];
    for (direction, part) in [(Direction::RoundTrip, 1.0), (Direction::H2d, 0.49), (Direction::D2h, 0.51)] {
        let times = full.map(|ms| ms * 1e6 * part);
        let made = case(&document, direction, 256 * MIB, MemoryKind::Pinned, Order::Simultaneous, &times);
        document.cases.push(made);
    }
    document
}

/// A laptop: no GPU, one node's memory stands in.
pub fn host() -> Document {
    let mut document = empty();
    document.platform = Platform {
        kind: PlatformKind::Host,
        reason: Some("no libcuda.so.1 could be loaded: it is not installed".into()),
        api_version: None,
        driver_version: None,
        visible_devices: 2,
        simulated: None,
    };
    document.devices = vec![Device {
        id: "node 0".into(),
        node: 0,
        pci_address: None,
        kind: DeviceKind::HostMemory,
        index: 0,
        runtime_index: None,
        name: "host memory of NUMA node 0".into(),
        uuid: None,
        total_bytes: 16_000_000_000,
        numa_node: Known::value(0, "the device is the node"),
        link: Known::unknown("none asked", "memory of a node has no PCIe link"),
        coherence: None,
        host_link: None,
        memory_node: None,
        conditions: None,
        bound_bytes_per_s: Known::unknown("none asked", "nothing names the rate of this machine's memory"),
        latch: Known::unknown("host platform", "host copies are done by the calling thread itself"),
    }];
    document.ranks = vec![rank(0, 0, 0, "node 0")];
    document.nodes[0].ranks = IdSet::from_iter([0]);
    document.settings.memory = vec![MemoryKind::Pageable];
    for (direction, ns) in
        [(Direction::H2d, 12.1e6), (Direction::D2h, 12.3e6), (Direction::RoundTrip, 24.6e6)]
    {
        let mut case =
            case(&document, direction, 128 * MIB, MemoryKind::Pageable, Order::Simultaneous, &[ns]);
        case.timing = Timing::Host;
        for result in &mut case.ranks {
            if let Outcome::Measured { percent_of_bound, .. } = &mut result.outcome {
                *percent_of_bound = None;
            }
            for seen in result.seen_before.iter_mut().chain(&mut result.seen_after) {
                seen.device_pages = seen.host_pages.clone();
            }
        }
        document.cases.push(case);
    }
    document
}

/// 4 B to 1 GiB in all three kinds of memory.
pub fn sweep() -> Document {
    let mut document = one_rank();
    document.cases.clear();
    document.settings.floats = None;
    document.argv =
        ["numabench", "pingpong", "--size", "4B..1GiB", "--memory", "pinned,pinned-driver,pageable"]
            .map(String::from)
            .to_vec();
    document.settings.sizes_bytes = (2..=30).map(|power| 1 << power).collect();
    document.settings.memory = vec![MemoryKind::Pinned, MemoryKind::PinnedDriver, MemoryKind::Pageable];
    document.settings.repetition = adaptive();
    for memory in document.settings.memory.clone() {
        for bytes in document.settings.sizes_bytes.clone() {
            for (direction, legs) in
                [(Direction::H2d, 1.0), (Direction::D2h, 1.01), (Direction::RoundTrip, 2.01)]
            {
                let rate = if memory == MemoryKind::Pageable { 6.3 } else { 55.3 };
                let ns = (1193.0 + bytes as f64 / rate) * legs;
                let mut case = case(&document, direction, bytes, memory, Order::Simultaneous, &[ns]);
                case.timing = if memory == MemoryKind::Pageable { Timing::Host } else { Timing::Device };
                document.cases.push(case);
            }
        }
    }
    document
}

pub fn empty() -> Document {
    Document {
        schema: Document::SCHEMA.into(),
        schema_version: Document::VERSION.number(),
        tool: Tool { name: "numabench".into(), version: "0.1.0".into(), git: Some("4459a95".into()) },
        command: "pingpong".into(),
        argv: vec!["numabench".into(), "pingpong".into()],
        started_at: timestamp::rfc3339_utc(
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_795_208_645),
        ),
        elapsed_s: 1.639_23,
        status: Status::Complete,
        status_reason: None,
        exit_code: Some(0),
        platform: Platform {
            kind: PlatformKind::Cuda,
            reason: None,
            api_version: Some("13.0".into()),
            driver_version: Some("580.95.05".into()),
            visible_devices: 8,
            simulated: None,
        },
        settings: Settings {
            cpus_asked: None,
            gpus_asked: None,
            backend_asked: "auto".into(),
            sizes_bytes: vec![128 * MIB],
            floats: None,
            directions: vec![Direction::H2d, Direction::D2h, Direction::RoundTrip],
            memory: vec![MemoryKind::Pinned],
            membind: Membind::Local,
            huge_pages: true,
            timing: TimingAsked::Auto,
            engine: CopyEngine::Ce,
            order: OrderAsked::Simultaneous,
            repetition: adaptive(),
            seed: 7_331_000_000_000_000_001,
            verify: true,
        },
        launch: None,
        environment: machine::environment(),
        nodes: vec![node(0, "nid005123")],
        devices: Vec::new(),
        ranks: Vec::new(),
        missing: Vec::new(),
        cases: Vec::new(),
        rows: Vec::new(),
        slower_twins: Vec::new(),
        verdict: Vec::new(),
        matrices: Vec::new(),
        groups: Vec::new(),
        loaded_latency: Vec::new(),
        kernels: Vec::new(),
        laplace: None,
        pieces: None,
        fits: Vec::new(),
        size_losses: Vec::new(),
        pair_sample: None,
        penalties: Vec::new(),
        messages: Vec::new(),
    }
}

fn adaptive() -> Repetition {
    Repetition::Adaptive {
        target_half_width: 0.01,
        min_blocks: 10,
        max_blocks: 50,
        patience: Patience::Short,
        max_time_s: Some(60.0),
    }
}

pub fn rank(rank: u32, pu: u32, node: u32, device: &str) -> Rank {
    Rank {
        time: None,
        l3_bytes: None,
        l3_first_pu: None,
        rank,
        node: 0,
        node_rank: rank,
        host: "nid005123".into(),
        process_id: 4242,
        thread_id: Some(4243 + rank),
        visible_devices: Some(8),
        asked: Placement { pu, memory_node: Some(node), memory_spread: Vec::new(), device: device.into() },
        chosen_by: ChosenBy::User,
        locality: Locality::L3Local,
        locality_reason: "hwloc attached the device to the PU's L3".into(),
        notes: Vec::new(),
    }
}

/// A case in which rank i's rounds take about `round_ns[i]`.
pub fn case(
    document: &Document,
    direction: Direction,
    bytes: u64,
    memory: MemoryKind,
    order: Order,
    round_ns: &[f64],
) -> Case {
    let ranks: Vec<RankResult> =
        document.ranks.iter().zip(round_ns).map(|(rank, &ns)| measured(rank, direction, bytes, ns)).collect();
    let rates: Vec<(u32, f64)> =
        ranks.iter().filter_map(|r| Some((r.rank, r.summary()?.bytes_per_s))).collect();
    let at_once = order == Order::Simultaneous && rates.len() > 1;
    let together = |_| Together { overlap: Some(0.987), start_skew_ns: Some(1840.0), invalid: None };
    let nodes = if at_once { NodeAggregate::of_nodes(&document.ranks, &ranks, together) } else { Vec::new() };
    Case {
        id: Case::id_for(order, memory, direction, bytes),
        order,
        direction,
        bytes,
        memory,
        timing: Timing::Device,
        status: CaseStatus::of_ranks(&ranks),
        reason: None,
        overlap: at_once.then_some(0.987),
        start_skew_ns: at_once.then_some(1840.0),
        aggregate: if at_once { Aggregate::of_rates(&rates) } else { None },
        group: None,
        range_bytes: None,
        outlier_nodes: outlier_nodes(&document.ranks, &ranks, &nodes, 1),
        nodes,
        ranks,
    }
}

/// Ten blocks of ten rounds, 0.1 % of noise.
fn measured(rank: &Rank, direction: Direction, bytes: u64, round_ns: f64) -> RankResult {
    let mut random = SplitMix64::new(bytes ^ u64::from(rank.rank) ^ round_ns as u64);
    let moved =
        bytes * if matches!(direction, Direction::RoundTrip | Direction::Bidirectional) { 2 } else { 1 };
    let blocks: Vec<Block> = (0..10)
        .map(|index| {
            let rounds: Vec<f64> = (0..10)
                .map(|_| round_ns * (1.0 + 0.002 * (random.next_u64() as f64 / u64::MAX as f64 - 0.5)))
                .collect();
            let elapsed_ns: f64 = rounds.iter().sum();
            let start_ns = 1_000_000_000 + index * 100_000_000;
            Block {
                start_ns,
                end_ns: start_ns + elapsed_ns as u64,
                elapsed_ns,
                bytes: moved * 10,
                round_ns: rounds,
                copies_per_round: 1,
                allocation: index as u32 / 4,
            }
        })
        .collect();
    let outcome = match summarize(&blocks) {
        Some(summary) => Outcome::Measured {
            percent_of_bound: Some(summary.bytes_per_s / 63.015e9 * 100.0),
            summary: Box::new(summary),
            stop_reason: StopReason::Target,
            flags: Vec::new(),
        },
        None => Outcome::Skipped { reason: "the sample has no blocks".into() },
    };
    RankResult {
        rank: rank.rank,
        outcome,
        seen_before: Some(seen(rank, bytes)),
        seen_after: Some(seen(rank, bytes)),
        verification: Verification {
            checked: true,
            reason: None,
            blocks_checked: 10,
            bytes_checked: 10 * moved,
            mismatch: None,
        },
        blocks: (0..).zip(&blocks).map(|(index, block)| block_sample(index, block)).collect(),
        host_round_ns: Vec::new(),
        away: Vec::new(),
    }
}

fn block_sample(index: u32, block: &Block) -> BlockSample {
    let mut sorted = block.round_ns.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    BlockSample {
        index,
        allocation: block.allocation,
        start_ns: block.start_ns,
        end_ns: block.end_ns,
        elapsed_ns: block.elapsed_ns,
        rounds: 10,
        copies_per_round: 1,
        bytes: block.bytes,
        min_round_ns: sorted[0],
        median_round_ns: sorted[5],
        p95_round_ns: sorted[9],
        max_round_ns: sorted[9],
    }
}

pub fn seen(rank: &Rank, bytes: u64) -> PlacementSeen {
    let node = rank.asked.memory_node.unwrap_or_default();
    PlacementSeen {
        pu: Known::value(rank.asked.pu, "getcpu"),
        affinity: Known::value(IdSet::from_iter([rank.asked.pu]), "sched_getaffinity"),
        host_pages: Known::value(vec![NodePages { node, pages: 2 * bytes.div_ceil(4096) }], "move_pages"),
        device_pages: Known::unknown("none asked", "a GPU's own memory is no node's"),
    }
}

fn penalty(alone: &Case, at_once: &Case, rank: u32) -> Penalty {
    let rates = |case: &Case| -> Vec<f64> {
        let blocks = case.ranks.iter().filter(|result| result.rank == rank).flat_map(|result| &result.blocks);
        blocks.map(|block| block.bytes as f64 / block.elapsed_ns * 1e9).collect()
    };
    let whole = |case: &Case| {
        let result = case.ranks.iter().find(|result| result.rank == rank);
        result.and_then(|result| result.summary()).map_or(0.0, |summary| summary.bytes_per_s)
    };
    let (before, after, scatter) = (rates(alone), rates(at_once), stats::scatter::Scatter::default());
    let ratios: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after / before).collect();
    let level = stats::level::Level::of(&BlockValue::on_one_allocation(&ratios), &scatter);
    Penalty {
        rank,
        direction: alone.direction,
        bytes: alone.bytes,
        memory: alone.memory,
        alone_case: alone.id.clone(),
        simultaneous_case: at_once.id.clone(),
        alone_bytes_per_s: whole(alone),
        simultaneous_bytes_per_s: whole(at_once),
        comparison: level.and_then(|level| TwoSampleComparison::of_ratios(level, [&before, &after], 1)),
    }
}
