//! What a matrix says and shows: on the published figures of a GH200 node, where nothing differs, and where
//! the platform is wrong.

use analysis::matrix_analysis::{MatrixFigures, Plane, verdict};
use analysis::node_run;
use render::terminal::{Style, table};
use report::document::PlatformKind;
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::result::Outcome;
use report::settings::{Direction, MemoryKind};
use report::{Document, Known, SavedDocument};
use stats::IdSet;

use crate::golden::cases;
use crate::samples;

const MIB: u64 = 1 << 20;

/// Rows `node 0..n` against as many GPUs, each declared to be near its own node; `gb_per_s[row][column]`.
fn gpus(figures: &[(Direction, Vec<Vec<f64>>)]) -> Document {
    let mut document = samples::empty();
    document.command = "matrix".into();
    let size = figures[0].1.len();
    let number = |row: usize, column: usize| (row * size + column) as u32;
    let device = |column: usize| format!("0000:{column:02x}:00.0");
    for row in 0..size {
        for column in 0..size {
            document.ranks.push(samples::rank(
                number(row, column),
                row as u32 * 72,
                row as u32,
                &device(column),
            ));
        }
    }
    for (direction, rates) in figures {
        let ways = if *direction == Direction::Bidirectional { 2.0 } else { 1.0 };
        let ns: Vec<f64> = rates.iter().flatten().map(|rate| ways * (512 * MIB) as f64 / rate).collect();
        document.cases.push(samples::case(
            &document,
            *direction,
            512 * MIB,
            MemoryKind::Pinned,
            report::case::Order::Alone,
            &ns,
        ));
    }
    let row = |row: usize| MatrixRow {
        name: format!("node {row}"),
        pus: IdSet::from_iter([row as u32 * 72]),
        memory_node: Some(row as u32),
        ranks: (0..size).map(|column| number(row, column)).collect(),
        group: None,
        reason: None,
        note: None,
    };
    let column = |column: usize| MatrixColumn {
        name: format!("GPU {column}"),
        device: device(column),
        ranks: (0..size).map(|row| number(row, column)).collect(),
        declared_nodes: Known::value(IdSet::from_iter([column as u32]), "hwloc"),
    };
    document.matrices = vec![Matrix {
        title: "host memory and GPUs".into(),
        compares: Compares::Rows,
        rows: (0..size).map(row).collect(),
        columns: (0..size).map(column).collect(),
    }];
    document.verdict = verdict(&document);
    document
}

/// As `near` on the diagonal and `far` beside it.
fn near_and_far(size: usize, near: f64, far: f64) -> Vec<Vec<f64>> {
    (0..size).map(|row| (0..size).map(|column| if row == column { near } else { far }).collect()).collect()
}

/// The published 4 x 4 matrices of a node of four GH200s: 411.6 and 88.6 GB/s to the GPU, 169.4 and 88.3
/// back.
fn gh200() -> Document {
    gpus(&[(Direction::H2d, near_and_far(4, 411.6, 88.6)), (Direction::D2h, near_and_far(4, 169.4, 88.3))])
}

fn shown(document: &Document) -> String {
    table(document, &Style { width: 100, color: false, quiet: true, saved_to: None, screen: None })
}

#[test]
fn the_published_matrix_of_a_gh200_node_says_4_6_times_and_that_the_topology_agrees() {
    let document = gh200();
    let text = shown(&document);
    assert!(text.starts_with(&document.verdict[0]), "the answer first: {text}");
    insta::assert_snapshot!("matrix_gh200", text);
}

/// The published matrix, of which only one row has figures.
fn one_row() -> Document {
    let mut document = gh200();
    if let [matrix] = &mut document.matrices[..] {
        for (row, reason) in [
            (1, "it has neither memory nor CPUs"),
            (2, "it has neither memory nor CPUs"),
            (3, "a GPU's memory"),
        ] {
            matrix.rows[row].reason = Some(reason.to_owned());
            matrix.rows[row].ranks = IdSet::default();
        }
        matrix.rows[0].note = Some("measured from PU 9 of node 7".to_owned());
    }
    document.verdict = verdict(&document);
    document
}

/// Two GPUs of which the first is faster from the other one's node, and nobody knows where the second is.
fn elsewhere(known: bool) -> Document {
    let mut document = gpus(&[(Direction::H2d, vec![vec![9.0, 9.0], vec![18.0, 18.0]])]);
    if let [matrix] = &mut document.matrices[..]
        && !known
    {
        matrix.columns[1].declared_nodes = Known::unknown("hwloc", "a virtual machine");
    }
    document.verdict = verdict(&document);
    document
}

#[test]
fn what_a_matrix_says_is_how_much_places_differ_which_is_better_and_whether_the_topology_agrees() {
    let alike = gpus(&[(Direction::H2d, near_and_far(2, 55.4, 55.3))]);
    insta::assert_snapshot!(
        "said_of_matrices",
        cases(&[
            ("figures within a per cent", alike.verdict.join("\n")),
            ("a GPU that is faster from elsewhere than declared", elsewhere(true).verdict.join("\n")),
            ("a GPU that is declared nowhere", elsewhere(false).verdict.join("\n")),
            ("GPUs that only one row reaches", one_row().verdict.join("\n")),
            ("nodes against nodes", memory().verdict.join("\n")),
            ("loads of GPUs", with_loads().verdict.join("\n")),
        ])
    );
}

#[test]
fn rows_without_figures_are_labelled() {
    let text = shown(&one_row());
    for words in [
        "not measured: node 1, node 2 (it has neither memory nor CPUs)",
        "not measured: node 3 (a GPU's memory)",
        "node 0: measured from PU 9 of node 7",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Two nodes' cores against two nodes' memory, as MLC prints it: bandwidth of reads and latency of loads.
fn memory() -> Document {
    let mut document =
        gpus(&[(Direction::Read, near_and_far(2, 98.2, 51.3)), (Direction::Load, near_and_far(2, 1.0, 1.0))]);
    document.platform.kind = PlatformKind::Host;
    document.platform.reason = Some("--backend host".into());
    for case in &mut document.cases {
        case.range_bytes = Some(256 * MIB);
        case.memory = MemoryKind::Pageable;
        if case.direction == Direction::Load {
            case.bytes = 64;
            for (at, result) in case.ranks.iter_mut().enumerate() {
                let ns = if at == 0 || at == 3 { 82.0 } else { 141.0 };
                for block in &mut result.blocks {
                    (block.elapsed_ns, block.rounds, block.copies_per_round) = (ns * 1024.0 * 10.0, 10, 1024);
                }
            }
        }
    }
    if let [matrix] = &mut document.matrices[..] {
        matrix.compares = Compares::Columns;
        matrix.columns.iter_mut().enumerate().for_each(|(at, column)| column.name = format!("node {at}"));
    }
    document.verdict = verdict(&document);
    document
}

#[test]
fn nodes_against_nodes_have_a_table_of_bandwidth_and_one_of_latency() {
    let text = shown(&memory());
    for words in [
        "read by the CPU, 256 MiB a thread, GB/s",
        "load by the CPU, random order over 256 MiB, ns a load",
        "82.0 █",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Two nodes against two GPUs: copies, and loads of 700 and 1050 ns.
fn with_loads() -> Document {
    let mut document =
        gpus(&[(Direction::H2d, near_and_far(2, 50.0, 25.0)), (Direction::Load, near_and_far(2, 1.0, 1.0))]);
    for case in document.cases.iter_mut().filter(|case| case.direction == Direction::Load) {
        (case.bytes, case.range_bytes) = (128, Some(64 * MIB));
        for (at, result) in case.ranks.iter_mut().enumerate() {
            let ns = if at == 0 || at == 3 { 700.0 } else { 1050.0 };
            for block in &mut result.blocks {
                (block.elapsed_ns, block.rounds, block.copies_per_round) = (ns * 4096.0 * 10.0, 10, 4096);
            }
        }
    }
    document.verdict = verdict(&document);
    document
}

#[test]
fn a_gpus_loads_have_a_table_in_which_less_is_better() {
    let text = shown(&with_loads());
    for words in ["load by the GPU, random order over 64 MiB, ns a load", "700.0 █   1050 ▒"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Loads that no cell has, or that one cell lacks.
fn without_loads(all: bool) -> Document {
    let mut document = with_loads();
    let loads = document.cases.iter_mut().filter(|case| case.direction == Direction::Load);
    let results = loads.flat_map(|case| &mut case.ranks).take(if all { usize::MAX } else { 1 });
    results.for_each(|result| result.outcome = Outcome::Skipped { reason: WHY.into() });
    document.verdict = verdict(&document);
    document
}

/// Why a cell has no load.
const WHY: &str = "there is no kernel here";

#[test]
fn figures_that_no_cell_has_are_said_once_and_those_that_some_have_cell_by_cell() {
    let said = |document: &Document| document.verdict.iter().filter(|said| said.contains(WHY)).count();
    assert_eq!((said(&without_loads(true)), said(&without_loads(false))), (1, 0));
    let told = |document: &Document| {
        let text = shown(document);
        text.lines().filter(|line| line.contains(WHY)).map(str::trim).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(
        "cells_without_a_figure",
        cases(&[
            ("no cell has one", told(&without_loads(true))),
            ("one cell lacks it", told(&without_loads(false)))
        ])
    );
}

#[test]
fn places_that_differ_by_chance_alone_are_said_to_differ_once_in_twenty_times_at_most() {
    let mut random = stats::random::SplitMix64::new(3);
    let mut document =
        gpus(&[(Direction::H2d, near_and_far(4, 50.0, 50.0)), (Direction::D2h, near_and_far(4, 50.0, 50.0))]);
    let mut false_alarms = 0;
    for _ in 0..25 {
        for result in document.cases.iter_mut().flat_map(|case| &mut case.ranks) {
            result
                .blocks
                .iter_mut()
                .for_each(|block| block.elapsed_ns = 1e7 * (1.0 + random.below(1000) as f64 * 1e-4));
        }
        false_alarms += usize::from(verdict(&document)[0].contains("matters"));
    }
    assert!(false_alarms <= 4, "{false_alarms} of 25 at 5 %");
}

/// The allocations of a run's first ten blocks.
const ALLOCATIONS: [u32; 10] = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2];

/// In how many of 40 runs it is said to matter where memory lies, where blocks scatter by 1 % and allocations
/// by `between` (uniform, standard deviation 1 %), and memory of node 0 is `slower` for all GPUs.
fn said_to_matter(between: f64, slower: f64) -> usize {
    let mut random = stats::random::SplitMix64::new(5);
    let mut percent = move || (random.below(10_001) as f64 / 5_000.0 - 1.0) * 0.0173;
    let mut document = gpus(&[(Direction::H2d, near_and_far(4, 50.0, 50.0))]);
    let mut said = 0;
    for _ in 0..40 {
        for result in document.cases.iter_mut().flat_map(|case| &mut case.ranks) {
            let of_allocation = [0; 3].map(|_| between * percent());
            let level = if result.rank < 4 { 1.0 + slower } else { 1.0 };
            for (block, allocation) in result.blocks.iter_mut().zip(ALLOCATIONS) {
                block.allocation = allocation;
                block.elapsed_ns = 1e7 * level * (1.0 + of_allocation[allocation as usize] + percent());
            }
        }
        said += usize::from(verdict(&document)[0].contains("matters"));
    }
    said
}

#[test]
fn the_luck_of_allocations_is_not_taken_for_a_place() {
    for between in [0.0, 0.5, 1.0, 3.0] {
        let said = said_to_matter(between, 0.0);
        // By the blocks alone 0, 4, 20 and 30 of 40.
        assert!(said <= 4, "{between} % between allocations: {said} of 40 at 5 %");
    }
    for (between, slower, least) in [(0.0, 0.05, 38), (1.0, 0.05, 30), (1.0, 0.1, 38)] {
        let said = said_to_matter(between, slower);
        assert!(said >= least, "{between} % between allocations, {slower} slower: {said} of 40");
    }
}

#[test]
fn threads_together_have_one_rate_in_the_matrix_in_their_case_and_in_a_fleet()
-> Result<(), Box<dyn std::error::Error>> {
    // Eight threads that read, of which the median of the sums of blocks is another figure: 57.6 GB/s for
    // 58.2.
    let document = Document::from_json(include_bytes!("../../../../docs/gallery/suite.json"))?;
    let matrix =
        document.matrices.iter().find(|matrix| matrix.title == "cores and memory").ok_or("no such matrix")?;
    let read =
        document.cases.iter().find(|case| case.direction == Direction::Read).ok_or("nothing was read")?;
    let together = read.aggregate.as_ref().ok_or("no aggregate")?.sum_bytes_per_s;

    let figure = matrix.cell(&document, &Plane::of(read), 0, 0).ok_or("no cell")??;
    assert!((figure.median / together - 1.0).abs() < 1e-12, "{} {together}", figure.median);
    let interval = figure.interval.ok_or("ten blocks have an interval")?;
    assert!(interval.contains(figure.median), "{interval:?}");

    for direction in [Direction::Read, Direction::Kernel] {
        let mut document = document.clone();
        document
            .cases
            .iter_mut()
            .filter(|case| case.direction == Direction::Read)
            .for_each(|case| case.direction = direction);
        document.rows.clear();
        let fleet = node_run::of_document(&document);
        let column = fleet.iter().flat_map(|run| &run.points).find(|point| point.column.starts_with("read"));
        assert!(
            column.is_some_and(|point| (point.value / together - 1.0).abs() < 1e-12),
            "{direction:?}: {column:?}"
        );
    }
    Ok(())
}

/// The published matrix without the figures of these rows.
fn without_rows(rows: &[usize]) -> Vec<String> {
    let mut document = gh200();
    for matrix in &mut document.matrices {
        for row in rows {
            matrix.rows[*row].reason = Some("its memory is outside this process's cpuset".to_owned());
            matrix.rows[*row].ranks = IdSet::default();
        }
    }
    verdict(&document)
}

#[test]
fn the_topology_agrees_only_of_gpus_that_were_measured_from_their_node_and_from_another() {
    let agrees = |said: &[String]| said.iter().find(|sentence| sentence.starts_with("The topology")).cloned();
    let one = agrees(&without_rows(&[3])).unwrap_or_default();
    let says = ["for GPUs 0-2:", "Of GPU 3 nobody knows"].map(|words| one.contains(words));
    assert_eq!(says, [true; 2], "{one}");

    let alone = without_rows(&[1, 2, 3]);
    assert_eq!(agrees(&alone), None, "there is no elsewhere");
    assert!(alone[0].ends_with("One NUMA node was measured: no near/far comparison."), "{alone:?}");
}
