//! What is said and shown of copies between GPUs: pairs, each GPU's own memory apart from them, and copies of
//! all at once.

use analysis::matrix_analysis::verdict;
use render::terminal::{Style, table};
use report::case::{Order, Timing};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{Direction, MemoryKind};
use report::{Document, Known};
use stats::IdSet;

use crate::golden::cases;
use crate::samples::{self, MIB};

const GPUS: u32 = 3;
const SIZE: u64 = 512 * MIB;

/// The rank of a copy from one GPU to another, or to itself.
fn rank(from: u32, to: u32) -> u32 {
    from * GPUS + to
}

/// GPUs as rows and columns, whose cells are of the case of this group.
fn matrix(compares: Compares, group: &str, words: [&str; 2], rank: fn(u32, u32) -> u32) -> Matrix {
    let row = |row: u32| MatrixRow {
        name: format!("{} GPU {row}", words[0]),
        pus: IdSet::from_iter([row]),
        memory_node: None,
        ranks: (0..GPUS).map(|column| rank(row, column)).collect(),
        group: Some(group.to_owned()),
        reason: None,
        note: None,
    };
    let column = |column: u32| MatrixColumn {
        name: format!("{} GPU {column}", words[1]),
        device: format!("0000:{column:02x}:00.0"),
        ranks: (0..GPUS).map(|row| rank(row, column)).collect(),
        declared_nodes: Known::unknown("hwloc", "none"),
    };
    let title = format!("GPU to GPU, {}", group.replace('-', " "));
    Matrix { title, compares, rows: (0..GPUS).map(row).collect(), columns: (0..GPUS).map(column).collect() }
}

/// Copies alone, and of all to one at once; GB/s of a copy from one GPU to another.
fn measured(alone: fn(u32, u32) -> f64, at_once: fn(u32, u32) -> f64) -> Document {
    let mut document = samples::empty();
    document.command = "peer".into();
    let ends = || (0..GPUS).flat_map(|from| (0..GPUS).map(move |to| (from, to)));
    document.ranks = ends()
        .map(|(from, to)| samples::rank(rank(from, to), from, 0, &format!("0000:{from:02x}:00.0")))
        .collect();
    for (group, order, rate) in
        [("one-way", Order::Alone, alone), ("all-to-one", Order::Simultaneous, at_once)]
    {
        let ns: Vec<f64> = ends().map(|(from, to)| SIZE as f64 / rate(from, to)).collect();
        let mut case = samples::case(&document, Direction::Peer, SIZE, MemoryKind::Device, order, &ns);
        case.group = Some(group.to_owned());
        // Nobody copies to itself at once with others.
        case.ranks.retain(|result| group == "one-way" || result.rank % (GPUS + 1) != 0);
        document.cases.push(case);
    }
    document.matrices = vec![
        matrix(Compares::Pairs, "one-way", ["from", "to"], rank),
        matrix(Compares::Together, "all-to-one", ["to", "from"], |to, from| rank(from, to)),
    ];
    document.verdict = verdict(&document);
    document
}

fn pair(from: u32, to: u32) -> f64 {
    if from == to { 1500.0 } else { 400.0 }
}

#[test]
fn a_gpus_own_memory_is_told_apart_and_no_pair_is_behind_it() {
    let shown = table(
        &measured(pair, pair),
        &Style { width: 100, color: false, quiet: true, saved_to: None, screen: None },
    );
    let mut rows = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let first = rows.find(|row| row.first() == Some(&"from")).unwrap_or_default();
    assert_eq!(first, ["from", "GPU", "0", "1500", "400.0", "█", "400.0", "█"], "{shown}");
}

#[test]
fn pairs_are_compared_with_pairs_own_memory_with_own_memory_and_what_is_lost_at_once_with_what_each_has_alone()
 {
    let said = |alone, at_once| measured(alone, at_once).verdict.join("\n");
    let at_once = |rate| measured(pair, rate).verdict.pop().unwrap_or_default();
    let slow = |from: u32, to: u32| if (from, to) == (1, 1) { 750.0 } else { pair(from, to) };
    let mut without_a_sum = measured(pair, pair);
    let reason = "told to".to_owned();
    let mut without_a_pair =
        measured(|from, to| if (from, to) == (0, 1) { 200.0 } else { pair(from, to) }, pair);
    without_a_pair.cases[0].ranks[5].outcome = report::result::Outcome::Skipped { reason: reason.clone() };
    without_a_sum.cases[1].ranks[0].outcome = report::result::Outcome::Skipped { reason };
    insta::assert_snapshot!(
        "said_of_peers",
        cases(&[
            ("pairs alike", said(pair, pair)),
            ("the own memory of GPU 1 is slow", said(slow, pair)),
            ("nothing is lost at once", at_once(|_, _| 390.0)),
            ("every pair loses half", at_once(|from, _| 200.0 + f64::from(from))),
            ("those to GPU 1 lose", at_once(|_, to| if to == 1 { 100.0 } else { 400.0 })),
            ("a pair has no figure and another is slow", verdict(&without_a_pair).remove(0)),
            ("a sum lacks a figure", verdict(&without_a_sum).pop().unwrap_or_default()),
        ])
    );
}

#[test]
fn rates_of_two_clocks_are_compared_where_a_wait_is_no_part_of_them() {
    let said = |rate: fn(u32, u32) -> f64, clocks: [Timing; 2]| {
        let mut document = measured(rate, |_, _| 100.0);
        document.cases.iter_mut().zip(clocks).for_each(|(case, clock)| case.timing = clock);
        verdict(&document).pop().unwrap_or_default()
    };
    // What a pair keeps of its rate alone is a percentage.
    let told = |said: &str| said.contains('%');
    // 512 MiB at 400 GB/s take 1.3 ms, at 2000 GB/s 0.3.
    assert!(told(&said(pair, [Timing::Device, Timing::Host])));
    assert!(told(&said(|_, _| 2000.0, [Timing::Device, Timing::Device])));
    assert!(!told(&said(|_, _| 2000.0, [Timing::Device, Timing::Host])));
    assert!(!told(&said(pair, [Timing::Host, Timing::Device])));
}

#[test]
fn a_gpu_whose_copies_to_all_others_are_slow_is_below_its_twins_and_one_slow_pair_is_not_the_gpus() {
    let named = |rate: fn(u32, u32) -> f64| {
        let mut document = measured(rate, pair);
        document.devices = (0..GPUS).map(|at| samples::device(at, at as u8, 0)).collect();
        analysis::slower_twins::slower_twins(&document)
            .iter()
            .map(|slower| slower.device.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(named(pair), [""; 0]);
    assert_eq!(named(|from, to| if from == 1 { 200.0 } else { pair(from, to) }), ["0000:01:00.0"]);
    assert_eq!(named(|from, to| if (from, to) == (1, 2) { 200.0 } else { pair(from, to) }), [""; 0]);
    assert_eq!(
        named(|from, to| if from == 1 && to == 1 { 700.0 } else { pair(from, to) }),
        [""; 0],
        "copies within it"
    );
}

#[test]
fn where_not_every_pair_was_asked_for_no_gpu_is_below_its_twins() {
    let slow_to_next = |from: u32, to: u32| if (from, to) == (1, 2) { 200.0 } else { pair(from, to) };
    let slow = |from: u32, to: u32| if from == 1 { 200.0 } else { pair(from, to) };
    let named = |rate: fn(u32, u32) -> f64, is_asked: fn(u32, u32) -> bool| {
        let mut document = measured(rate, pair);
        document.devices = (0..GPUS).map(|at| samples::device(at, at as u8, 0)).collect();
        for case in &mut document.cases {
            case.ranks.retain(|result| is_asked(result.rank / GPUS, result.rank % GPUS));
        }
        analysis::slower_twins::slower_twins(&document).len()
    };
    let is_in_ring = |from: u32, to: u32| from == to || to == (from + 1) % GPUS;

    assert_eq!(named(slow_to_next, is_in_ring), 0, "the way to its only partner may be long");
    // Of a sample the slow one has all its pairs, and another one has not.
    assert_eq!(named(slow, |from, to| (from, to) != (2, 0)), 0);
    assert_eq!(named(slow, |_, _| true), 1, "of all pairs it is found");
}
