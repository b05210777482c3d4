//! Rank 0's memory in an eighth of the largest run that is meant to work, which has 1,024 ranks, 100 blocks
//! and 20 cases; memory grows with the blocks, and the whole takes a minute to write.
//!
//! The document is made from what a coordinator keeps of as many blocks, and written by a sink, in a process
//! of its own, whose peak (`VmHWM`, proc(5)) is then read. What a measured run adds is the tool itself and
//! MPI, which is not in the figure.

#![allow(
    clippy::print_stdout,
    reason = "the measured process tells its parent; the figures are worth seeing"
)]

use std::fmt::Write;
use std::process::Command;

use render::terminal::{Style, table};
use report::Document;
use report::case::{Case, Order};
use report::result::{BlockSample, RankResult};
use report::settings::{Direction, MemoryKind};
use report::sink::Sink;

use crate::samples;

type Done = Result<(), Box<dyn std::error::Error>>;

const PART: u32 = 8;
const NODES: u32 = 128 / PART;
const RANKS: u32 = 1024 / PART;
const BLOCKS: usize = 100;
const CASES: u64 = 20;
/// Of the whole, a gibibyte.
const LIMIT_BYTES: u64 = (1 << 30) / PART as u64;

/// Set in the process that is measured.
const CHILD: &str = "NUMABENCH_TEST_SIZE_CHILD";

/// What a coordinator keeps of a block until the document is made: its sample and who sent it, 120 bytes.
#[derive(Clone)]
struct Kept {
    sample: BlockSample,
    _overlap: f64,
    _start_skew_ns: f64,
    _verified_bytes: u64,
    _from: [u32; 2],
}

#[test]
fn an_eighth_of_a_thousand_ranks_document_is_made_and_written_in_less_than_an_eighth_of_a_gibibyte() -> Done {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let name = "size::an_eighth_of_a_thousand_ranks_document_is_made_and_written_in_less_than_an_eighth_of_a_gibibyte";
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let peak = text.lines().find_map(|line| line.split_once("VmHWM:")).ok_or("the child told no VmHWM")?;
    let kib: u64 = peak.1.trim().trim_end_matches(" kB").parse()?;
    println!("{text}");
    assert!(kib * 1024 < LIMIT_BYTES, "rank 0 needed {} MiB", kib >> 10);
    Ok(())
}

fn child() -> Done {
    let mut said = String::new();
    let began = std::time::Instant::now();
    let kept = kept();
    writeln!(said, "kept: {} blocks of {} B", kept.len() * BLOCKS, size_of::<Kept>())?;
    let document = document(&kept);
    writeln!(said, "made: {} B a block, {:.1} s", size_of::<BlockSample>(), began.elapsed().as_secs_f64())?;
    // On the disk of the build: a temporary folder may be memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = folder.path().join("result.json");
    Sink::open(&path)?.keep(&document)?;
    let (written, elapsed) = (std::fs::metadata(&path)?.len(), began.elapsed().as_secs_f64());
    writeln!(said, "written: {} MiB, {elapsed:.1} s", written >> 20)?;
    let style = Style { width: 100, color: false, quiet: false, saved_to: None, screen: None };
    let (began, lines) = (std::time::Instant::now(), table(&document, &style).lines().count());
    writeln!(said, "shown: {lines} lines, {:.1} s", began.elapsed().as_secs_f64())?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak =
        status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    println!("{said}{peak}");
    // Both are needed to the end, as in a run that goes on.
    assert_eq!(kept.len() as u64, CASES * u64::from(RANKS));
    assert_eq!(document.cases.len() as u64, CASES);
    Ok(())
}

/// The blocks of each case and rank.
fn kept() -> Vec<Vec<Kept>> {
    let sample = |index: usize| BlockSample {
        index: index as u32,
        allocation: index as u32 / 10,
        start_ns: 1_234_567_890_123_456 + 100_000_000 * index as u64,
        end_ns: 1_234_567_900_123_456 + 100_000_000 * index as u64,
        elapsed_ns: 9_987_654.321_098,
        rounds: 12,
        copies_per_round: 1,
        bytes: 1 << 30,
        min_round_ns: 832_304.526_758_1,
        median_round_ns: 832_404.526_758_2,
        p95_round_ns: 832_504.526_758_3,
        max_round_ns: 832_604.526_758_4,
    };
    let block = |index| Kept {
        sample: sample(index),
        _overlap: 0.99,
        _start_skew_ns: 900.0,
        _verified_bytes: 1 << 30,
        _from: [0; 2],
    };
    (0..CASES * u64::from(RANKS)).map(|_| (0..BLOCKS).map(block).collect()).collect()
}

fn document(kept: &[Vec<Kept>]) -> Document {
    let mut document = samples::empty();
    document.nodes = (0..NODES).map(|node| samples::node(node, &format!("nid{node:06}"))).collect();
    let per_node = RANKS / NODES;
    for number in 0..RANKS {
        let (node, local) = (number / per_node, number % per_node);
        let host = format!("nid{node:06}");
        let mut device = samples::device(local, 0xc1 + local as u8, local / 2);
        device.node = node;
        device.id = format!("{host}/{}", device.id);
        let mut rank = samples::rank(number, 8 * local + 1, local / 2, &device.id);
        (rank.node, rank.node_rank, rank.host) = (node, local, host);
        document.nodes[node as usize].ranks.0.insert(number);
        document.devices.push(device);
        document.ranks.push(rank);
    }
    for (case, results) in (0..CASES).zip(kept.chunks(RANKS as usize)) {
        let bytes = 1 << case;
        let round_ns = vec![832_404.5; RANKS as usize];
        let mut made = samples::case(
            &document,
            Direction::H2d,
            bytes,
            MemoryKind::Pinned,
            Order::Simultaneous,
            &round_ns,
        );
        made.ranks.iter_mut().zip(results).for_each(|(result, kept)| fill(result, kept));
        made.id = Case::id_for(made.order, made.memory, made.direction, bytes);
        document.cases.push(made);
    }
    document
}

fn fill(result: &mut RankResult, kept: &[Kept]) {
    result.blocks = kept.iter().map(|kept| kept.sample.clone()).collect();
}
