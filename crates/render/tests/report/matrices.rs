//! What a matrix says and shows: on the published figures of a GH200 node, where nothing differs, and where the platform is wrong.

use analysis::matrix_figures::verdict;
use render::terminal::{Style, table};
use report::document::PlatformKind;
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{Direction, MemoryKind};
use report::{Document, Known};
use stats::IdSet;

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
            document.ranks.push(samples::rank(number(row, column), row as u32 * 72, row as u32, &device(column)));
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

/// The published 4 x 4 matrices of a node of four GH200s: 411.6 and 88.6 GB/s to the GPU, 169.4 and 88.3 back.
fn gh200() -> Document {
    gpus(&[(Direction::H2d, near_and_far(4, 411.6, 88.6)), (Direction::D2h, near_and_far(4, 169.4, 88.3))])
}

fn shown(document: &Document) -> String {
    table(document, &Style { width: 100, color: false, quiet: true, saved_to: None })
}

#[test]
fn the_published_matrix_of_a_gh200_node_says_4_6_times_and_that_the_topology_agrees() {
    let document = gh200();
    let said = &document.verdict;
    assert_eq!(said[0], "Where host memory lies matters: up to 4.6x (GPU 0, H2D).");
    assert!(said[1].starts_with("GPU 0: node 0 is 4.6x node "), "{said:?}");
    assert!(said[1].ends_with("(H2D, 411.6 GB/s against 88.6 GB/s)."), "{said:?}");
    assert_eq!(said.len(), 6, "{said:?}");
    assert!(said[5].starts_with("The topology agrees"), "{said:?}");
    let text = shown(&document);
    assert!(text.starts_with("Where host memory lies matters"), "the answer first: {text}");
    insta::assert_snapshot!("matrix_gh200", text);
}

#[test]
fn figures_within_a_per_cent_are_no_measurable_difference() {
    let said = gpus(&[(Direction::H2d, near_and_far(2, 55.4, 55.3))]).verdict;
    assert!(said[0].starts_with("No measurable difference: where host memory lies"), "{said:?}");
    assert!(said[1].starts_with("The topology agrees"), "{said:?}");
}

#[test]
fn a_gpu_that_is_faster_from_elsewhere_than_declared_is_named() {
    let mut document = gpus(&[(Direction::H2d, vec![vec![9.0, 9.0], vec![18.0, 18.0]])]);
    let said = verdict(&document);
    let contradiction = "GPU 0: the topology declares node 0 near, but node 1 is faster (H2D).";
    assert!(said.contains(&contradiction.to_owned()), "{said:?}");
    assert!(!said.iter().any(|sentence| sentence.contains("GPU 1: the topology")), "{said:?}");
    if let [matrix] = &mut document.matrices[..] {
        matrix.columns[1].declared_nodes = Known::unknown("hwloc", "a virtual machine");
    }
    let said = verdict(&document);
    assert!(said.iter().any(|sentence| sentence == "NUMA node of GPU 1 unknown: a virtual machine."));
}

#[test]
fn rows_without_figures_are_labelled_and_one_row_has_nothing_to_be_compared_with() {
    let mut document = gh200();
    if let [matrix] = &mut document.matrices[..] {
        for (row, reason) in
            [(1, "it has neither memory nor CPUs"), (2, "it has neither memory nor CPUs"), (3, "a GPU's memory")]
        {
            matrix.rows[row].reason = Some(reason.to_owned());
            matrix.rows[row].ranks = IdSet::default();
        }
        matrix.rows[0].note = Some("measured from PU 9 of node 7".to_owned());
    }
    document.verdict = verdict(&document);
    // GPUs that only one row reaches have nothing to be compared with.
    let said = &document.verdict[0];
    let nothing = "One NUMA node: no near/far comparison.";
    assert!(said.starts_with("H2D ") && said.contains("411.6 GB/s per GPU (GPUs 0-"), "{said}");
    assert!(said.ends_with(nothing), "{said}");
    let text = shown(&document);
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
fn nodes_against_nodes_are_compared_by_bandwidth_and_by_latency() {
    let document = memory();
    let said = &document.verdict;
    assert!(said[0].starts_with("Which memory a core uses matters: up to 1.91x (node "), "{said:?}");
    assert_eq!(said[1], "node 0: node 0 is 1.91x node 1 (read, 98.2 GB/s against 51.3 GB/s).");
    assert_eq!(said[2], "node 0: a load from node 0 takes 82.0 ns, from node 1 141.0 ns (1.72x).");
    let text = shown(&document);
    for words in
        ["read by the CPU, 256 MiB a thread, GB/s", "load by the CPU, random order over 256 MiB, ns a load", "82.0 █"]
    {
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
fn a_gpus_loads_are_compared_by_node_and_less_is_better() {
    let document = with_loads();
    let said = &document.verdict;
    assert!(
        said.contains(&"GPU 0: a load from node 0 takes 700.0 ns, from node 1 1.050 µs (1.50x).".to_owned()),
        "{said:?}"
    );
    assert!(
        said.contains(&"GPU 1: a load from node 1 takes 700.0 ns, from node 0 1.050 µs (1.50x).".to_owned()),
        "{said:?}"
    );
    let text = shown(&document);
    for words in ["load by the GPU, random order over 64 MiB, ns a load", "700.0 █   1050 ▒"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn figures_that_no_cell_has_are_said_once_and_those_that_some_have_cell_by_cell() {
    let why = "skipped: there is no kernel here";
    let mut document = with_loads();
    let missing = report::result::Outcome::Skipped { reason: "there is no kernel here".into() };
    let loads = document.cases.iter_mut().filter(|case| case.direction == Direction::Load);
    let mut results: Vec<_> = loads.flat_map(|case| &mut case.ranks).collect();
    results[0].outcome = missing.clone();
    let one_is_missing = document.clone();
    let loads = document.cases.iter_mut().filter(|case| case.direction == Direction::Load);
    loads.flat_map(|case| &mut case.ranks).for_each(|result| result.outcome = missing.clone());

    document.verdict = verdict(&document);
    let said = document.verdict.iter().filter(|said| said.contains(why)).count();
    assert_eq!(
        (said, document.verdict.last().map(String::as_str)),
        (1, Some(&*format!("load latency: no figure ({why}).")))
    );
    let text = shown(&document);
    assert_eq!(text.matches(&format!("every cell  {why}")).count(), 1, "{text}");
    assert!(verdict(&one_is_missing).iter().all(|said| !said.contains(why)), "{:?}", verdict(&one_is_missing));
    let text = shown(&one_is_missing);
    assert!(text.contains(&format!("GPU 0: {why}")) && !text.contains("every cell"), "{text}");
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

/// In how many of 40 runs it is said to matter where memory lies, where blocks scatter by 1 % and allocations by `between` (uniform, standard deviation
/// 1 %), and memory of node 0 is `slower` for all GPUs.
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
