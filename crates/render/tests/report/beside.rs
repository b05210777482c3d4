//! What is said of copies beside the CPU's traffic, and of GPUs at once, on given figures: who loses, against
//! what, and where that cannot be told.

use analysis::matrix_analysis::verdict;
use report::Document;
use report::Known;
use report::case::Order;
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::result::Outcome;
use report::settings::{Direction, MemoryKind};
use stats::IdSet;

use crate::samples::{self, MIB};

fn empty(ranks: u32) -> Document {
    let mut document = samples::empty();
    document.command = "contend".into();
    document.ranks =
        (0..ranks).map(|rank| samples::rank(rank, rank, 0, &format!("0000:{rank:02x}:00.0"))).collect();
    let (rows, columns) = (Vec::new(), Vec::new());
    document.matrices = vec![Matrix { title: "given".into(), compares: Compares::Load, rows, columns }];
    document
}

/// A case of these ranks, GB/s each.
fn case(
    document: &mut Document,
    direction: Direction,
    group: &str,
    ranks: std::ops::Range<u32>,
    gb_per_s: f64,
) {
    let ns = vec![(64 * MIB) as f64 / gb_per_s; document.ranks.len()];
    let mut made = samples::case(document, direction, 64 * MIB, MemoryKind::Pinned, Order::Simultaneous, &ns);
    made.ranks.retain(|result| ranks.contains(&result.rank));
    made.group = Some(group.into());
    document.cases.push(made);
}

fn row(document: &mut Document, name: &str, group: &str, ranks: std::ops::Range<u32>) {
    let (pus, ranks) = (IdSet::from_iter([0]), ranks.collect());
    let group = Some(group.into());
    let row =
        MatrixRow { name: name.into(), pus, memory_node: Some(0), ranks, group, reason: None, note: None };
    document.matrices[0].rows.push(row);
}

fn column(document: &mut Document, name: &str, ranks: std::ops::Range<u32>) {
    let declared_nodes = Known::value(IdSet::from_iter([0]), "hwloc");
    let column =
        MatrixColumn { name: name.into(), device: name.into(), ranks: ranks.collect(), declared_nodes };
    document.matrices[0].columns.push(column);
}

/// A GPU's copies (rank 0) beside two threads that copy (ranks 1 and 2), as `contend --beside copy` has them:
/// the threads' rates together without copies, and beside those of each direction, GB/s.
fn copies_beside_threads(without: f64, beside: &[(Direction, &str, f64)]) -> Document {
    let mut document = empty(3);
    row(&mut document, "alone", "alone", 0..1);
    row(&mut document, "beside 2 threads", "beside 2 threads", 0..1);
    row(&mut document, "without copies (2 threads)", "2 threads without copies", 1..3);
    for (direction, _, _) in beside {
        case(&mut document, *direction, "alone", 0..1, 50.0);
    }
    case(&mut document, Direction::Copy, "2 threads without copies", 1..3, without / 2.0);
    for (direction, way, traffic) in beside {
        let group = format!("beside 2 threads, {way}");
        row(&mut document, &format!("beside {way} copies (2 threads)"), &group, 1..3);
        case(&mut document, *direction, "beside 2 threads", 0..1, 40.0);
        case(&mut document, Direction::Copy, &group, 1..3, traffic / 2.0);
    }
    column(&mut document, "GPU 0", 0..1);
    column(&mut document, "all threads", 1..3);
    document
}

/// A group has no figures in this direction.
fn leave_out(document: &mut Document, direction: Direction, group: &str) {
    let of =
        |case: &&mut report::case::Case| case.direction == direction && case.group.as_deref() == Some(group);
    for result in document.cases.iter_mut().filter(of).flat_map(|case| &mut case.ranks) {
        result.outcome = Outcome::Skipped { reason: "the time was up".into() };
        result.blocks.clear();
    }
}

#[test]
fn what_threads_lose_beside_copies_of_one_direction_is_said_and_nothing_of_ways_that_nobody_measured() {
    let said = verdict(&copies_beside_threads(80.0, &[(Direction::H2d, "h2d", 60.0)]));
    assert_eq!(
        said,
        [
            "H2D, GPU 0: 40.0 GB/s beside 2 threads, 80 % of the 50.0 GB/s alone.",
            "copy, all threads: 60.0 GB/s beside h2d copies (2 threads), 75 % of the 80.0 GB/s without \
             copies (2 threads).",
        ]
    );
}

#[test]
fn threads_that_lose_nothing_beside_copies_are_said_to_lose_nothing() {
    let said = verdict(&copies_beside_threads(80.0, &[(Direction::H2d, "h2d", 80.0)]));
    assert_eq!(said[1..], ["copy, all threads: no measurable loss."], "{said:?}");
}

#[test]
fn threads_beside_copies_are_not_compared_with_threads_beside_other_copies() {
    let mut document =
        copies_beside_threads(80.0, &[(Direction::H2d, "h2d", 60.0), (Direction::D2h, "d2h", 60.0)]);
    leave_out(&mut document, Direction::Copy, "2 threads without copies");
    let said = verdict(&document);
    let of_threads: Vec<&String> = said.iter().filter(|sentence| sentence.starts_with("copy,")).collect();
    let nothing = "copy, all threads: 2 rows have no figure of all ranks (see the table).";
    assert_eq!(of_threads, [nothing], "{said:?}");
}

/// Three GPUs alone, two at once and three at once, 10 GB/s each but the third: twice that.
fn gpus_at_once() -> Document {
    let mut document = empty(3);
    for (name, ranks) in [("alone", 0..3), ("GPUs 0-1", 0..2), ("GPUs 0-2", 0..3)] {
        row(&mut document, name, name, ranks.clone());
        case(&mut document, Direction::H2d, name, ranks, 10.0);
    }
    for result in document.cases.iter_mut().flat_map(|case| &mut case.ranks).filter(|result| result.rank == 2)
    {
        result.blocks.iter_mut().for_each(|block| block.elapsed_ns /= 2.0);
    }
    (0..3).for_each(|gpu| column(&mut document, &format!("GPU {gpu}"), gpu..gpu + 1));
    document
}

#[test]
fn a_set_of_gpus_of_which_a_figure_is_missing_is_not_compared_with_a_smaller_set_or_another_gpu() {
    let whole = verdict(&gpus_at_once());
    assert_eq!(whole, ["H2D: no contention: every rank keeps its bandwidth alone, within 5 %."]);
    for missing in ["alone", "GPUs 0-2"] {
        let mut document = gpus_at_once();
        let of = |case: &&mut report::case::Case| case.group.as_deref() == Some(missing);
        let third = document
            .cases
            .iter_mut()
            .filter(of)
            .flat_map(|case| &mut case.ranks)
            .find(|result| result.rank == 2);
        if let Some(third) = third {
            third.outcome = Outcome::Skipped { reason: "the time was up".into() };
            third.blocks.clear();
        }
        let said = verdict(&document);
        let untold = "H2D: 1 row has no figure of all ranks (see the table).";
        assert_eq!(said[1..], [untold], "{missing}: {said:?}");
    }
}
