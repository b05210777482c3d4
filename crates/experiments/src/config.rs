//! From arguments as typed to a run that is checked: the only place that fills in defaults.

use std::time::Duration;

use device::{MemoryKind, PlatformKind};
use engine::Amount;
use pingpong::{Order, RunConfig};
use report::settings::OrderAsked;
use topo::Topology;

use crate::fault::Fault;
use crate::memory_range;
use crate::options::{ContendOptions, Measuring, PingPongOptions};

/// The time for measuring when none is asked for: by the number of cases.
const TIME_PER_CASE: Duration = Duration::from_secs(3);
const SUITE_TIME_PER_CASE: Duration = Duration::from_secs(1);
const TIME_AT_LEAST: Duration = Duration::from_secs(30);
/// Blocks of each rank alone in a short pass beside all at once: the least with an exact interval of their
/// median.
const BRIEF_BLOCKS: usize = 6;
/// How much longer than twice the time for measuring processes may be silent before the run is given up.
const SILENCE: Duration = Duration::from_secs(120);

/// What no copy that works is slower than, in bytes per second, and how long a round of few bytes can take.
const SLOWEST_RATE: f64 = 0.1e9;
const SLOWEST_ROUND: Duration = Duration::from_millis(1);

/// The run that `args` ask for with `ranks` ranks on this platform; `size`: that of a copy where none is
/// asked for.
///
/// # Errors
/// Sizes this machine cannot address.
pub fn checked(
    args: &PingPongOptions,
    platform: PlatformKind,
    ranks: usize,
    size: u64,
) -> Result<RunConfig, Fault> {
    let sizes = if args.sizes.is_empty() { vec![size] } else { args.sizes.clone() };
    let sizes = sizes.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    let alone_blocks = has_brief_pass(args, platform, ranks).then_some(BRIEF_BLOCKS);
    let mut config = RunConfig {
        sizes: sizes.map_err(Fault::usage)?,
        memory: memory_kinds(&args.memory, platform),
        directions: unique(&args.directions),
        orders: orders(args.order, ranks, alone_blocks.is_some()),
        alone_blocks,
        timing: args.timing,
        by: args.engine,
        engine: args.measuring.engine,
    };
    config.engine.max_time = time_at(&args.measuring, pingpong::CopyCase::all(&config).len(), TIME_PER_CASE);

    Ok(config)
}

/// The same for ranks that are processes: they end also when one of them never answers again.
///
/// # Errors
/// As [`checked`].
pub fn launched(args: &PingPongOptions, platform: PlatformKind, ranks: usize) -> Result<RunConfig, Fault> {
    // The nodes of a launch measure one size, whatever their caches.
    let mut config = checked(args, platform, ranks, memory_range::COPY_BYTES)?;
    let measuring = config.engine.max_time.unwrap_or_else(|| slowest(&config, ranks));
    let silent = measuring.saturating_mul(2).saturating_add(SILENCE);
    config.engine.timeout = config.engine.timeout.or(Some(silent));
    Ok(config)
}

/// The time that the rounds of every case take where everything is as slow as it can be meant.
fn slowest(config: &RunConfig, ranks: usize) -> Duration {
    let round = |case: &pingpong::CopyCase| {
        SLOWEST_ROUND + Duration::from_secs_f64(case.bytes as f64 * 2.0 / SLOWEST_RATE)
    };
    let turns = |case: &pingpong::CopyCase| if case.order == Order::Alone { ranks } else { 1 };

    // With ranks at once a block has three rounds and 20 ms at least, however few were asked for, and the
    // rounds before the first one take time too.
    let asked = match config.engine.amount {
        Amount::Fixed { reps, warmup } => reps.saturating_add(warmup),
        Amount::Adaptive(_) => 0,
    };
    let rounds = asked.max(400);
    let times = pingpong::CopyCase::all(config).into_iter().map(|case| {
        let rounds = u32::try_from(rounds.saturating_mul(turns(&case) as u64)).unwrap_or(u32::MAX);
        round(&case).saturating_mul(rounds)
    });
    times.fold(Duration::ZERO, Duration::saturating_add)
}

/// The size of a copy where none is asked for: the case study's, and where a NUMA node stands in for the
/// device more than its cache holds.
pub fn copy_size(topology: &Topology, platform: PlatformKind, ranks: usize) -> u64 {
    match platform {
        PlatformKind::Host => memory_range::copied(topology, ranks),
        PlatformKind::Cuda | PlatformKind::Hip => memory_range::COPY_BYTES,
    }
}

/// The run of copies that lose something to others, each alone at first; `size`: that of a copy where none is
/// asked for.
///
/// # Errors
/// A size this machine cannot address.
pub fn contending(args: &ContendOptions, platform: PlatformKind, size: u64) -> Result<RunConfig, Fault> {
    Ok(RunConfig {
        sizes: vec![usize::try_from(args.size.unwrap_or(size)).map_err(Fault::usage)?],
        memory: memory_kinds(args.memory.as_slice(), platform),
        directions: unique(&args.directions),
        orders: vec![Order::Alone],
        timing: args.timing,
        engine: args.measuring.engine,
        ..RunConfig::default()
    })
}

/// When a run with so much time for measuring is given up: at the limit that was asked for, or a minute later
/// than that time.
pub fn given_up_at(asked: Option<Duration>, measuring: Duration) -> Duration {
    asked.unwrap_or(measuring.saturating_add(Duration::from_secs(60)))
}

/// Kinds of host memory as asked, each once; the platform's own where none was.
pub fn memory_kinds(asked: &[MemoryKind], platform: PlatformKind) -> Vec<MemoryKind> {
    let kinds = unique(asked);
    if kinds.is_empty() { vec![default_memory(platform)] } else { kinds }
}

/// The time for measuring so many cases of the suite; `None`: no limit.
pub fn time_for(args: &Measuring, cases: usize) -> Option<Duration> {
    time_at(args, cases, SUITE_TIME_PER_CASE)
}

fn time_at(args: &Measuring, cases: usize, per_case: Duration) -> Option<Duration> {
    let needed = TIME_AT_LEAST.max(per_case.saturating_mul(u32::try_from(cases).unwrap_or(u32::MAX)));
    // A fixed number of rounds is what was asked for, however long it takes.
    let is_adaptive = matches!(args.engine.amount, Amount::Adaptive(_));
    args.engine.max_time.or(is_adaptive.then_some(needed))
}

/// The orders of a run; a single rank is alone, whatever was asked: there is nobody to share with.
fn orders(asked: Option<OrderAsked>, ranks: usize, has_brief_pass: bool) -> Vec<Order> {
    match asked {
        _ if ranks == 1 => vec![Order::Alone],
        Some(OrderAsked::Alone) => vec![Order::Alone],
        Some(OrderAsked::Both) => vec![Order::Simultaneous, Order::Alone],
        None if has_brief_pass => vec![Order::Simultaneous, Order::Alone],
        None | Some(OrderAsked::Simultaneous | OrderAsked::Newer) => vec![Order::Simultaneous],
    }
}

/// Whether each GPU is also measured alone for a moment: what GPUs have at once says whether they share a
/// path only beside what they have alone. Not where the user said how ranks share the machine or how often a
/// case is measured.
fn has_brief_pass(args: &PingPongOptions, platform: PlatformKind, ranks: usize) -> bool {
    let is_default = args.order.is_none() && args.measuring.engine.amount == Amount::default();
    is_default && ranks > 1 && platform != PlatformKind::Host
}

/// Nothing can be pinned where there is no driver.
pub fn default_memory(platform: PlatformKind) -> MemoryKind {
    match platform {
        PlatformKind::Cuda | PlatformKind::Hip => MemoryKind::Pinned,
        PlatformKind::Host => MemoryKind::Pageable,
    }
}

/// What was named twice counts once; the order typed stays.
pub fn unique<T: PartialEq + Clone>(items: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for item in items {
        if !once.contains(item) {
            once.push(item.clone());
        }
    }
    once
}
