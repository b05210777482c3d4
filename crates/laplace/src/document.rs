//! The document of a run: a case a way, with each rank's blocks as the engine's would be.

use engine::{Amount, Failure, RankCase, Sample, SoFar, Stage, Timing, Trouble};
use experiments::document::cases::{Moved, rank_result};
use experiments::document::{DocumentState, blank, nodes, warnings};
use experiments::settings;
use experiments::supervised::SupervisedRun;
use report::case::{self, Case, CaseStatus};
use report::contention::Aggregate;
use report::device::Device;
use report::document::Document;
use report::laplace::{Laplace, LaplaceWay};
use report::launch::Launch;
use report::outlier_node::not_judged;
use report::rank::{Rank, l3_sharers};
use report::settings::{CopyEngine, Direction, MemoryKind, OrderAsked, Settings, TimingAsked};
use stats::figures::BlockFigures;
use stats::flag::{self, TimerFacts};
use stats::sample::Block;
use stats::stop::StopReason;
use stats::summary::summarize;

use crate::grid::RowShare;
use crate::meeting::LaplaceRanks;
use crate::options::{LaplaceOptions, RULE};
use crate::results::{BlockFound, LaplaceResults, RankFound, WayFound, WayTrouble};

/// The document of what is known of a run.
pub(crate) fn document(
    options: &LaplaceOptions,
    run: &SupervisedRun,
    met: &LaplaceRanks,
    found: &LaplaceResults,
    state: DocumentState,
) -> Document {
    let report::environment::Timer { resolution_ns, cost_ns, .. } = met.environment.timer;
    let timer = TimerFacts { resolution_ns, cost_ns };
    let launch = Launch {
        launcher: run.launch.launcher.name().to_owned(),
        tasks: met.processes.len() as u32,
        nodes: met.nodes as u32,
        mpi_library: met.library.clone(),
    };
    let ranks: Vec<Rank> = met.parts.iter().map(|part| part.rank.clone()).collect();
    let mut devices: Vec<Device> = Vec::new();

    for part in &met.parts {
        if !devices.iter().any(|device| device.id == part.device.id) {
            devices.push(part.device.clone());
        }
    }

    let cases: Vec<Case> =
        found.ways.iter().map(|way| one_case(options, &timer, (found, way), &ranks, &devices)).collect();
    let mut sizes: Vec<u64> = cases.iter().map(|case| case.bytes).collect();
    sizes.dedup();
    let settings = Settings {
        cpus_asked: options.place.cpus.as_ref().map(ToString::to_string),
        gpus_asked: options.place.gpus.as_ref().map(ToString::to_string),
        backend_asked: options.place.backend.name().to_owned(),
        sizes_bytes: sizes,
        floats: None,
        directions: vec![Direction::Kernel],
        memory: vec![MemoryKind::Pinned],
        membind: settings::membind(&options.place.membind),
        huge_pages: true,
        timing: TimingAsked::Host,
        engine: CopyEngine::Ce,
        order: if ranks.len() == 1 { OrderAsked::Alone } else { OrderAsked::Simultaneous },
        repetition: settings::repetition(Amount::Adaptive(RULE), Some(options.max_time)),
        seed: options.seed,
        verify: true,
    };

    let mut document = Document {
        launch: (!run.launch.is_alone()).then_some(launch),
        nodes: nodes::nodes(&met.parts),
        ranks,
        devices,
        cases,
        laplace: Some(Laplace {
            rows: options.grid.rows as u64,
            columns: options.grid.columns as u64,
            rows_are_each_ranks: options.rows_are_each_ranks,
            cell_bytes: options.precision.bytes() as u32,
            ways: found.ways.iter().map(way).collect(),
        }),
        messages: warnings(&met.parts),
        ..blank("laplace", run.origin, state, (&met.platform, settings, &met.environment))
    };

    document.rows = report::rows::rows(&document);
    match document.exit_code {
        Some(_) => analysis::conclusion::conclude(&mut document, |_| None),
        None => analysis::conclusion::so_far(&mut document),
    }
    document
}

/// What the run alone knows of a way.
fn way(found: &WayFound) -> LaplaceWay {
    LaplaceWay {
        name: found.variant.to_string(),
        way: found.variant.way.name().to_owned(),
        ranks: found.variant.ranks.map(|ranks| ranks as u32),
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
        scaling: None,
        reason: None,
    }
}

/// The part of the time that went to halos, over all blocks and ranks; `None` for a rank alone, and where
/// halos overlap.
fn halo_share(found: &WayFound) -> Option<f64> {
    if found.blocks.len() < 2 || found.variant.overlap {
        return None;
    }
    let all = || found.blocks.iter().flatten();
    let time: u64 = all().map(|block| block.end_ns - block.start_ns).sum();
    (time > 0).then(|| all().map(|block| block.halo_ns).sum::<u64>() as f64 / time as f64)
}

fn one_case(
    options: &LaplaceOptions,
    timer: &TimerFacts,
    (found, way): (&LaplaceResults, &WayFound),
    ranks: &[Rank],
    devices: &[Device],
) -> Case {
    // The first ones compute it.
    let ranks = &ranks[..way.blocks.len().min(ranks.len())];
    let grid = options.grid_of(ranks.len());
    let order = if ranks.len() == 1 { case::Order::Alone } else { case::Order::Simultaneous };
    let memory = if way.variant.way.has_gpu() { MemoryKind::Pinned } else { MemoryKind::Pageable };
    let bytes_of = |rank: usize| bytes_moved(&RowShare::new(grid, options.precision, rank, ranks.len()));
    let bytes = (0..ranks.len()).map(bytes_of).max().unwrap_or(0);
    let moved = Moved { direction: Direction::Kernel, order, bytes, range_bytes: None };
    let sharers = l3_sharers(ranks);
    let result = |(at, rank): (usize, &Rank)| {
        let blocks: Vec<Block> = way.blocks[at].iter().map(|found| block(found, bytes_of(at))).collect();
        let of_rank = rank_case(timer, way, &blocks, found.ranks.get(at), bytes_of(at) / 2);
        let device = devices.iter().find(|device| device.id == rank.asked.device);
        rank_result(true, rank, (moved, sharers[&rank.l3()]), &of_rank, device)
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
fn bytes_moved(share: &RowShare) -> u64 {
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

fn rank_case(
    timer: &TimerFacts,
    way: &WayFound,
    blocks: &[Block],
    rank: Option<&RankFound>,
    checked: u64,
) -> RankCase {
    let last = blocks.len().saturating_sub(1);
    let ended = way.stop.is_some_and(|stop| stop != StopReason::Error) && !way.is_unchecked;
    let sample = |(at, block): (usize, &Block)| {
        // From the known field on, and at the end: then every cell was compared.
        let verified_bytes = (at == 0 || (at == last && ended)).then_some(checked);
        let block = BlockFigures::of(block)?;
        Some(Sample {
            block,
            timing: Timing::Host,
            overlap: None,
            start_skew_ns: None,
            verified_bytes,
            told: None,
        })
    };

    let misplaced = rank.and_then(|rank| rank.mismatch.clone()).map(Trouble::Misplaced);
    let trouble = way.trouble.as_ref().map(|trouble| match trouble {
        WayTrouble::Wrong(why) => Trouble::Wrong(why.clone()),
        WayTrouble::Failed(why) => Trouble::Failed(Failure::new(Stage::Measure, why.clone())),
    });
    let so_far = summarize(blocks).map(|summary| SoFar { summary, flags: flag::flags(blocks, timer) });

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::{HaloWay, WayVariant};

    #[test]
    fn the_last_block_is_verified_only_if_a_check_followed_it() {
        let found = BlockFound { start_ns: 0, end_ns: 1000, iterations: 1, halo_ns: 0 };
        let blocks = vec![block(&found, 16); 3];
        let timer = TimerFacts { resolution_ns: 1.0, cost_ns: 1.0 };
        let verified = |is_unchecked| -> Vec<bool> {
            let begun = WayFound::begun(WayVariant::by_all(HaloWay::GpuAware, false), 2);
            let way = WayFound { stop: Some(StopReason::Target), is_unchecked, ..begun };
            let samples = rank_case(&timer, &way, &blocks, None, 8).samples;
            samples.iter().map(|sample| sample.verified_bytes.is_some()).collect()
        };
        assert_eq!(verified(false), [true, false, true]);
        // MPI died in another way before the check.
        assert_eq!(verified(true), [true, false, false]);
    }
}
