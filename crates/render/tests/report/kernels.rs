//! What kernels that compute say and show: on the rates of the published table of two NUMA nodes (5.5 GB/s
//! near, 4.3 from afar), with its losses as far as that difference allows; and where one node is all there
//! is.

use analysis::kernels::{kernels, verdict};
use render::terminal::{Style, table};
use report::case::Order;
use report::kernels::{COPIES, KernelFigures, RESIDENT, WorkUnit};
use report::matrix::{Compares, Matrix, MatrixColumn, MatrixRow};
use report::settings::{Direction, MemoryKind};
use report::{Document, Known};
use stats::IdSet;
use stats::interval::Interval;

use crate::golden::cases;
use crate::samples;

const MIB: u64 = 1 << 20;
const COPY: u64 = 64 * MIB;
const NEAR: f64 = 5.5;
const FAR: f64 = 4.3;
/// The published losses: stencil and scan, which hardly compute, lose nearly all that bandwidth does.
const PUBLISHED: [(&str, f64); 8] = [
    ("stencil", 0.36),
    ("scan", 0.31),
    ("fft", 0.12),
    ("reduction", 0.119),
    ("md", 0.09),
    ("sort", 0.089),
    ("dgemm", 0.04),
    ("sgemm", 0.03),
];

/// Kernels whose runs take as long as makes the transfers' share give three quarters of the published loss,
/// from so many nodes.
fn two_nodes(nodes: usize) -> Document {
    let mut document = samples::empty();
    document.command = "kernels".into();
    let device = "0000:01:00.0";
    document.ranks = (0..nodes as u32).map(|node| samples::rank(node, node * 8, node, device)).collect();
    let mut add = |direction, group: String, ns: [f64; 2]| {
        let mut case =
            samples::case(&document, direction, COPY, MemoryKind::Pinned, Order::Alone, &ns[..nodes]);
        case.id = format!("{}/{group}", case.id);
        case.group = Some(group);
        document.cases.push(case);
    };
    let copies = [NEAR, FAR].map(|rate| COPY as f64 / rate);
    add(Direction::H2d, COPIES.to_owned(), copies);
    add(Direction::D2h, COPIES.to_owned(), copies);
    for (name, loss) in PUBLISHED {
        let run = copies[0] * ((NEAR / FAR - 1.0) / (0.75 * loss) - 1.0);
        add(Direction::Kernel, name.to_owned(), copies.map(|copy| copy + run));
        add(Direction::Kernel, format!("{name}{RESIDENT}"), [run; 2]);
    }
    let figures = |(name, _): (&str, f64)| KernelFigures {
        name: name.to_owned(),
        unit: WorkUnit::Flop,
        amount: 1e9,
        input_bytes: COPY / 2,
        output_bytes: COPY / 2,
        iterations: 1,
        by: None,
        places: Vec::new(),
        losses: Vec::new(),
    };
    document.kernels = PUBLISHED.map(figures).to_vec();
    let row = |row: u32| MatrixRow {
        name: format!("node {row}"),
        pus: IdSet::from_iter([row * 8]),
        memory_node: Some(row),
        ranks: IdSet::from_iter([row]),
        group: Some(COPIES.to_owned()),
        reason: None,
        note: None,
    };
    document.matrices = vec![Matrix {
        title: "host memory and GPUs".into(),
        compares: Compares::Rows,
        rows: (0..nodes as u32).map(row).collect(),
        columns: vec![MatrixColumn {
            name: "GPU 0".into(),
            device: device.into(),
            ranks: (0..nodes as u32).collect(),
            declared_nodes: Known::value(IdSet::from_iter([0]), "hwloc"),
        }],
    }];
    document.kernels = kernels(&document);
    document.verdict = verdict(&document);
    document
}

#[test]
fn losses_are_ordered_as_published_and_each_is_what_the_transfers_share_predicts() {
    let document = two_nodes(2);
    let losses: Vec<f64> = document.kernels.iter().map(|kernel| kernel.losses[0].loss).collect();
    assert!(losses.windows(2).all(|pair| pair[0] > pair[1]), "{losses:?}");
    for kernel in &document.kernels {
        let (loss, place) = (&kernel.losses[0], &kernel.places[0]);
        assert_eq!((&loss.near[..], &loss.far[..], &loss.of[..]), ("node 0", "node 1", "GPU 0"));
        let share = place.transfer_share.unwrap_or_default();
        let predicted = loss.predicted_loss.unwrap_or_default();
        assert!(
            (predicted - share * (NEAR / FAR - 1.0)).abs() < 0.003,
            "{}: {predicted} of {share}",
            kernel.name
        );
        assert!((predicted - loss.loss).abs() < 0.03, "{}: {predicted}, {}", kernel.name, loss.loss);
    }
}

#[test]
fn a_kernel_whose_run_is_as_short_as_its_launch_has_no_rate_alone_in_the_answer() {
    let mut document = two_nodes(1);
    document.kernels[0].places[0].resident_ns = Some(5_000.0);
    let (name, said) = (document.kernels[0].name.clone(), verdict(&document));
    let alone = said.iter().find(|sentence| sentence.starts_with("Alone, ")).cloned().unwrap_or_default();
    assert!(alone.ends_with(&format!(", {name} too short to tell.")), "{said:#?}");
    assert!(said[0].starts_with("Rates with transfers: "), "{said:#?}");

    // Runs alone that failed leave rates with transfers, which are called so.
    for place in document.kernels.iter_mut().flat_map(|kernel| &mut kernel.places) {
        (place.resident_ns, place.resident_per_s) = (None, None);
    }
    let said = verdict(&document);
    assert!(said[0].starts_with("Rates with transfers: "), "{said:#?}");
    assert!(!said.concat().contains("Alone, "), "{said:#?}");
}

#[test]
fn the_answer_names_the_loss_of_each_kernel_and_one_node_has_rates_and_nothing_to_compare() {
    let (two, one) = (two_nodes(2), two_nodes(1));
    let mut noisy = two_nodes(1);
    for place in noisy.kernels.iter_mut().flat_map(|kernel| &mut kernel.places) {
        place.interval_ns =
            place.interval_ns.map(|interval| Interval { low: 0.7 * place.median_ns, ..interval });
    }
    assert!(one.kernels.iter().all(|kernel| kernel.losses.is_empty() && kernel.places.len() == 1));
    insta::assert_snapshot!(
        "said_of_kernels",
        cases(&[
            ("two nodes", two.verdict.join("\n")),
            ("one node", one.verdict.join("\n")),
            ("one node whose figures are noisy", verdict(&noisy).join("\n")),
        ])
    );
}

#[test]
fn the_table_has_the_loss_of_each_kernel_and_from_where_on_it_fades() {
    let document = two_nodes(2);
    let shown =
        table(&document, &Style { width: 100, color: false, quiet: true, saved_to: None, screen: None });
    for text in [
        "GPU 0, host memory of node 1",
        "GFLOP/s",
        "GPU 0: node 1 instead of node 0",
        "below 1 % from",
        "iterations",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    // Times grow by a run each, and what is longer stays.
    let sgemm = &document.kernels[7];
    let from = sgemm.losses[0].below_one_percent_from_iterations.unwrap_or_default();
    assert!((2..=4).contains(&from), "{from}");
}
