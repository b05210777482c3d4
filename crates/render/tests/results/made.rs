//! Documents with figures of a test's choosing, made from one that numabench wrote: two GPUs of one node, one
//! rank each.

use report::case::Case;
use report::kernels::{KernelFigures, WorkUnit};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::result::{BlockSample, Outcome, RankResult};
use report::rows::rows;
use report::settings::{Direction, MemoryKind};
use report::{Document, Known, SavedDocument};
use stats::random::SplitMix64;
use stats::sample::Block;
use stats::stop::StopReason;
use stats::summary::summarize;

/// How a test ends.
pub type Done = Result<(), Box<dyn std::error::Error>>;

/// The size of the cases' copies.
pub const BYTES: u64 = 128 << 20;

/// A run of these directions in which rank i copies at `rates[i]` bytes/s, with 0.2 % of noise from `seed`.
pub fn document(
    rates: &[f64; 2],
    directions: &[Direction],
    seed: u64,
) -> Result<Document, Box<dyn std::error::Error>> {
    let bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/fixtures/v1.0-two-ranks.json"))?;
    let mut document = Document::from_json(&bytes)?;
    let like = document.cases.first().cloned().ok_or("the fixture has a case")?;
    document.status = report::document::Status::Complete;
    let mut random = SplitMix64::new(seed);
    document.cases = directions.iter().map(|direction| case(&like, *direction, rates, &mut random)).collect();
    document.penalties.clear();
    document.rows = rows(&document);
    Ok(document)
}

fn case(like: &Case, direction: Direction, rates: &[f64; 2], random: &mut SplitMix64) -> Case {
    let mut case = like.clone();
    (case.direction, case.bytes, case.memory) = (direction, BYTES, MemoryKind::Pinned);
    case.id = Case::id_for(case.order, case.memory, direction, BYTES);
    (case.status, case.reason) = (report::case::CaseStatus::Measured, None);
    for (result, rate) in case.ranks.iter_mut().zip(rates) {
        let blocks: Vec<Block> = (0..12).map(|_| block(*rate, random)).collect();
        result.blocks = (0..).zip(&blocks).map(|(index, block)| sample(index, block)).collect();
        if let Some(summary) = summarize(&blocks) {
            let (stop_reason, flags) = (StopReason::Target, Vec::new());
            result.outcome =
                Outcome::Measured { summary: Box::new(summary), percent_of_bound: None, stop_reason, flags };
        }
    }
    case
}

fn block(rate: f64, random: &mut SplitMix64) -> Block {
    let noise = 1.0 + 0.004 * (random.next_u64() as f64 / u64::MAX as f64 - 0.5);
    let round_ns = BYTES as f64 / rate * 1e9 * noise;
    Block {
        start_ns: 1,
        end_ns: 1 + (10.0 * round_ns) as u64,
        elapsed_ns: 10.0 * round_ns,
        bytes: 10 * BYTES,
        round_ns: vec![round_ns; 10],
        copies_per_round: 1,
        allocation: 0,
    }
}

fn sample(index: u32, block: &Block) -> BlockSample {
    BlockSample {
        index,
        allocation: index / 4,
        start_ns: block.start_ns,
        end_ns: block.end_ns,
        elapsed_ns: block.elapsed_ns,
        rounds: 10,
        copies_per_round: 1,
        bytes: block.bytes,
        min_round_ns: block.round_ns[0],
        median_round_ns: block.round_ns[0],
        p95_round_ns: block.round_ns[0],
        max_round_ns: block.round_ns[0],
    }
}

/// What SGEMM is, 1e9 operations a run, with so many runs between its copies; its figures are for others to
/// work out.
pub fn sgemm(iterations: u32) -> KernelFigures {
    KernelFigures {
        name: "sgemm".to_owned(),
        unit: WorkUnit::Flop,
        amount: 1e9,
        input_bytes: 0,
        output_bytes: 0,
        iterations,
        by: None,
        places: Vec::new(),
        losses: Vec::new(),
    }
}

/// A run of `numabench peer` of so many GPUs, from each to each and to itself; the last figure takes so many
/// times as long.
pub fn between_gpus(gpus: usize, slower: f64) -> Result<Document, Box<dyn std::error::Error>> {
    let mut document = document(&[50e9, 50e9], &[Direction::Peer], 1)?;
    document.command = "peer".to_owned();
    let (rank, result) = (document.ranks[0].clone(), document.cases[0].ranks[0].clone());
    let device = |gpu: usize| format!("0000:{gpu:02x}:00.0");
    (document.ranks, document.cases[0].ranks) = (Vec::new(), Vec::new());
    for number in 0..gpus * gpus {
        let mut rank = rank.clone();
        (rank.rank, rank.asked.device) = (number as u32, device(number / gpus));
        document.ranks.push(rank);
        document.cases[0].ranks.push(RankResult { rank: number as u32, ..result.clone() });
    }
    let last = document.cases[0].ranks.last_mut().ok_or("no result")?;
    last.blocks.iter_mut().for_each(|block| block.elapsed_ns *= slower);
    if let Outcome::Measured { summary, .. } = &mut last.outcome {
        summary.median_bytes_per_s /= slower;
    }
    let ranks = |wanted: &dyn Fn(usize) -> bool| {
        (0..gpus * gpus).filter(|at| wanted(*at)).map(|at| at as u32).collect()
    };
    let row = |gpu: usize| MatrixRow {
        name: format!("from GPU {gpu}"),
        pus: ranks(&|_| false),
        memory_node: None,
        ranks: ranks(&|at| at / gpus == gpu),
        group: None,
        reason: None,
        note: None,
    };
    let column = |gpu: usize| MatrixColumn {
        name: format!("to GPU {gpu}"),
        device: device(gpu),
        ranks: ranks(&|at| at % gpus == gpu),
        declared_nodes: Known::unknown("hwloc", "none"),
    };
    document.matrices = vec![Matrix {
        title: "GPU to GPU".to_owned(),
        compares: Compares::Pairs,
        rows: (0..gpus).map(row).collect(),
        columns: (0..gpus).map(column).collect(),
    }];
    document.rows = rows(&document);
    Ok(document)
}
