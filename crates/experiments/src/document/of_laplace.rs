//! From what ranks found of Jacobi's iteration to the document: a case a way, with each rank's blocks as the engine's would be.

use engine::{Failure, RankCase, Sample, SoFar, Stage, Timing, Trouble};
use laplace::{BlockFound, Found, Grid, RankFound, Share, WayFound};
use report::case::{self, Case, CaseStatus};
use report::contention::Aggregate;
use report::device::Device;
use report::document::{Document, Level, Message, Platform, SCHEMA, schema_version};
use report::environment::Environment;
use report::laplace::{Laplace, LaplaceWay};
use report::launch::Launch;
use report::outlier_node::not_judged;
use report::rank::Rank;
use report::settings::{CopyEngine, Direction, Membind, MemoryKind, OrderAsked, Repetition, Settings, TimingAsked};
use stats::figures::BlockFigures;
use stats::flag;
use stats::sample::Block;
use stats::stop::{Rule, StopReason};
use stats::summary::summarize;

use crate::document::cases::{Moved, rank_result};
use crate::document::part::Part;
use crate::document::{DocumentState, Origin, nodes};
use crate::exit::Exit;

/// What is known before the run.
pub struct Facts<'a> {
    /// What was asked for of cores, GPUs and the backend, as typed.
    pub asked: Asked,
    /// The plane.
    pub grid: Grid,
    /// The precision of its cells.
    pub precision: kernels::jacobi::Precision,
    /// How many blocks a way gets.
    pub rule: Rule,
    /// How long a phase goes on, in seconds.
    pub max_time_s: f64,
    /// Of the order of blocks.
    pub seed: u64,
    /// What each rank's process knows, by rank.
    pub parts: &'a [Part],
    /// The platform.
    pub platform: &'a Platform,
    /// The first node.
    pub environment: &'a Environment,
    /// How the ranks came to be processes; `None` for a rank alone.
    pub launch: Option<&'a Launch>,
    /// What made the document, and when it began.
    pub origin: &'a Origin,
}

impl Facts<'_> {
    /// The node's clock, as its environment has it.
    fn timer(&self) -> flag::TimerFacts {
        let report::environment::Timer { resolution_ns, cost_ns, .. } = self.environment.timer;
        flag::TimerFacts { resolution_ns, cost_ns }
    }
}

/// Options as typed.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `--cpus`.
    pub cpus: Option<String>,
    /// `--gpus`.
    pub gpus: Option<String>,
    /// `--backend`.
    pub backend: String,
    /// `--membind`.
    pub membind: Membind,
}

/// The document for what is found so far.
pub fn build(facts: &Facts, found: &Found, state: DocumentState) -> Document {
    let ranks: Vec<Rank> = facts.parts.iter().map(|part| part.rank.clone()).collect();
    let mut devices: Vec<Device> = Vec::new();
    for part in facts.parts {
        if !devices.iter().any(|device| device.id == part.device.id) {
            devices.push(part.device.clone());
        }
    }
    let cases: Vec<Case> = found.ways.iter().map(|way| one_case(facts, found, way, &ranks, &devices)).collect();
    let Asked { cpus, gpus, backend, membind } = facts.asked.clone();
    let mut sizes: Vec<u64> = cases.iter().map(|case| case.bytes).collect();
    sizes.dedup();
    let mut document = Document {
        schema: SCHEMA.to_owned(),
        schema_version: schema_version(),
        tool: facts.origin.tool.clone(),
        command: "laplace".to_owned(),
        argv: facts.origin.argv.clone(),
        started_at: facts.origin.began.started_at(),
        elapsed_s: facts.origin.began.elapsed().as_secs_f64(),
        status: state.status,
        status_reason: state.reason,
        exit_code: state.exit.map(Exit::code),
        verdict: Vec::new(),
        platform: facts.platform.clone(),
        settings: Settings {
            cpus_asked: cpus,
            gpus_asked: gpus,
            backend_asked: backend,
            sizes_bytes: sizes,
            floats: None,
            directions: vec![Direction::Kernel],
            memory: vec![MemoryKind::Pinned],
            membind,
            huge_pages: true,
            timing: TimingAsked::Host,
            engine: CopyEngine::Ce,
            order: if ranks.len() == 1 { OrderAsked::Alone } else { OrderAsked::Simultaneous },
            repetition: Repetition::Adaptive {
                target_half_width: facts.rule.target_half_width,
                min_blocks: facts.rule.min_blocks as u32,
                max_blocks: facts.rule.max_blocks as u32,
                patience: facts.rule.patience,
                max_time_s: Some(facts.max_time_s),
            },
            seed: facts.seed,
            verify: true,
        },
        launch: facts.launch.cloned(),
        nodes: nodes::nodes(facts.parts),
        environment: facts.environment.clone(),
        ranks,
        missing: Vec::new(),
        penalties: Vec::new(),
        devices,
        cases,
        rows: Vec::new(),
        matrices: Vec::new(),
        groups: Vec::new(),
        loaded_latency: Vec::new(),
        kernels: Vec::new(),
        laplace: Some(Laplace {
            rows: facts.grid.rows as u64,
            columns: facts.grid.columns as u64,
            cell_bytes: facts.precision.bytes() as u32,
            ways: found.ways.iter().map(way).collect(),
        }),
        pieces: None,
        fits: Vec::new(),
        slower_twins: Vec::new(),
        messages: messages(facts.parts),
    };
    document.rows = report::rows::rows(&document);
    document.laplace = analysis::laplace::laplace(&document);
    if state.exit.is_some() {
        document.verdict = analysis::laplace::verdict(&document);
    }
    document
}

/// What the run alone knows of a way.
fn way(found: &WayFound) -> LaplaceWay {
    LaplaceWay {
        name: found.variant.to_string(),
        way: found.variant.way.name().to_owned(),
        overlap: found.variant.overlap,
        residual: found.proof.map(|proof| proof.residual),
        residual_after_iterations: found.proof.map(|proof| proof.iterations),
        block_ns: Vec::new(),
        iteration_ns: None,
        interval_ns: None,
        cells_per_s: None,
        bytes_per_s: None,
        halo_share: halo_share(found),
        speed_ups: Vec::new(),
        reason: None,
    }
}

/// The part of the time that went to halos, over all blocks and ranks; `None` for a rank alone, and where halos overlap.
fn halo_share(found: &WayFound) -> Option<f64> {
    if found.blocks.len() < 2 || found.variant.overlap {
        return None;
    }
    let all = || found.blocks.iter().flatten();
    let time: u64 = all().map(|block| block.end_ns - block.start_ns).sum();
    (time > 0).then(|| all().map(|block| block.halo_ns).sum::<u64>() as f64 / time as f64)
}

fn one_case(facts: &Facts, found: &Found, way: &WayFound, ranks: &[Rank], devices: &[Device]) -> Case {
    let order = if ranks.len() == 1 { case::Order::Alone } else { case::Order::Simultaneous };
    let memory = if way.variant.way.has_gpu() { MemoryKind::Pinned } else { MemoryKind::Pageable };
    let bytes_of = |rank: usize| bytes_moved(&Share::new(facts.grid, facts.precision, rank, ranks.len()));
    let bytes = (0..ranks.len()).map(bytes_of).max().unwrap_or(0);
    let moved = Moved { direction: Direction::Kernel, order, bytes, range_bytes: None, ranks: ranks.len() };
    let result = |(at, rank): (usize, &Rank)| {
        let blocks: Vec<Block> = way.blocks[at].iter().map(|found| block(found, bytes_of(at))).collect();
        let of_rank = rank_case(facts, way, &blocks, found.ranks.get(at), bytes_of(at) / 2);
        let device = devices.iter().find(|device| device.id == rank.asked.device);
        rank_result(true, rank, moved, &of_rank, device)
    };
    let results: Vec<_> = ranks.iter().enumerate().map(result).collect();
    let rates: Vec<(u32, f64)> =
        results.iter().filter_map(|rank| Some((rank.rank, rank.summary()?.median_bytes_per_s))).collect();
    let status = CaseStatus::of_ranks(&results);
    let together = status == CaseStatus::Measured && ranks.len() > 1;
    Case {
        id: format!("{}/{}", Case::id_for(order, memory, Direction::Kernel, bytes), way.variant),
        order,
        direction: Direction::Kernel,
        bytes,
        memory,
        group: Some(way.variant.to_string()),
        range_bytes: None,
        timing: case::Timing::Host,
        status,
        reason: None,
        overlap: None,
        start_skew_ns: None,
        aggregate: if together { Aggregate::of_rates(&rates) } else { None },
        nodes: Vec::new(),
        outlier_nodes: not_judged(),
        ranks: results,
    }
}

/// What an iteration reads and writes of a share, bytes: each cell once.
fn bytes_moved(share: &Share) -> u64 {
    2 * (share.field.rows * share.field.row_bytes()) as u64
}

/// The iterations of a block, timed together.
fn block(found: &BlockFound, bytes: u64) -> Block {
    Block {
        start_ns: found.start_ns,
        end_ns: found.end_ns,
        elapsed_ns: (found.end_ns - found.start_ns) as f64,
        bytes: bytes * u64::from(found.iterations),
        round_ns: vec![found.iteration_ns()],
        copies_per_round: found.iterations,
        allocation: 0,
    }
}

fn rank_case(facts: &Facts, way: &WayFound, blocks: &[Block], rank: Option<&RankFound>, checked: u64) -> RankCase {
    let last = blocks.len().saturating_sub(1);
    let ended = way.stop.is_some_and(|stop| stop != StopReason::Error);
    let sample = |(at, block): (usize, &Block)| {
        // From the known field on, and at the end: then every cell was compared.
        let verified_bytes = (at == 0 || (at == last && ended)).then_some(checked);
        let block = BlockFigures::of(block)?;
        Some(Sample { block, timing: Timing::Host, overlap: None, start_skew_ns: None, verified_bytes, told: None })
    };
    let misplaced = rank.and_then(|rank| rank.mismatch.clone()).map(Trouble::Misplaced);
    let trouble = way.trouble.as_ref().map(|trouble| match trouble {
        laplace::Trouble::Wrong(why) => Trouble::Wrong(why.clone()),
        laplace::Trouble::Failed(why) => Trouble::Failed(Failure::new(Stage::Measure, why.clone())),
    });
    let timer = facts.timer();
    let so_far = summarize(blocks).map(|summary| SoFar { summary, flags: flag::flags(blocks, &timer) });
    RankCase {
        member: true,
        samples: blocks.iter().enumerate().filter_map(sample).collect(),
        missed: 0,
        trouble: trouble.or(misplaced),
        stop: way.stop,
        so_far,
        seen: rank.map(|rank| rank.seen.clone()).unwrap_or_default(),
    }
}

fn messages(parts: &[Part]) -> Vec<Message> {
    let mut notes: Vec<&String> = Vec::new();
    for note in parts.iter().flat_map(|part| &part.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.into_iter().map(|note| Message { level: Level::Warning, text: note.clone() }).collect()
}
