//! GPUs that are slower than their twins: which are named, and which are not.

use analysis::slower_twins::slower_twins;
use render::terminal::{self, Style};
use report::Document;
use report::case::Order;
use report::contention::Penalty;
use report::device::DeviceKind;
use report::result::Outcome;
use report::settings::{Direction, MemoryKind};

use crate::samples::{self, MIB};

/// A node of eight GPUs whose rank i needs `ns[i]` for 256 MiB.
fn node(order: Order, ns: [f64; 8]) -> Document {
    let mut document = samples::eight_ranks();
    (document.cases, document.penalties) = (Vec::new(), Vec::<Penalty>::new());
    let case = samples::case(&document, Direction::H2d, 256 * MIB, MemoryKind::Pinned, order, &ns);
    document.cases.push(case);
    document
}

/// One GPU at this part of the others' rate.
fn one_at(part: f64, order: Order) -> Document {
    let mut ns = [4.86e6; 8];
    ns[5] /= part;
    node(order, ns)
}

fn named(document: &Document) -> Vec<u32> {
    slower_twins(document).iter().map(|slower| slower.rank).collect()
}

#[test]
fn a_gpu_at_half_the_rate_of_its_twins_is_named_with_its_link() {
    let mut document = one_at(0.5, Order::Alone);
    if let Some(link) = &mut document.devices[5].link.value {
        link.width = Some(8);
    }
    let found = slower_twins(&document);
    assert_eq!(found.len(), 1);
    let slower = &found[0];
    assert_eq!((&slower.device[..], slower.rank, slower.twins), ("0000:d6:00.0", 5, 7));
    assert!((slower.bytes_per_s / slower.twins_bytes_per_s - 0.5).abs() < 0.01, "{slower:?}");
    assert_eq!((slower.slower_cases, slower.judged_cases), (1, 1));
    assert_eq!(slower.cause, "its link has 8 of 16 lanes");
}

#[test]
fn without_an_interval_it_takes_three_slow_blocks_and_none_that_is_not() {
    let with_blocks = |mut document: Document, blocks: u64| {
        for result in document.cases.iter_mut().flat_map(|case| &mut case.ranks) {
            if let Outcome::Measured { summary, .. } = &mut result.outcome {
                (summary.median_interval_ns, summary.blocks) = (None, blocks);
            }
        }
        named(&document)
    };
    let slow = || one_at(0.5, Order::Alone);
    assert_eq!([1, 2, 3].map(|blocks| with_blocks(slow(), blocks).len()), [0, 0, 1]);

    let mut twice = slow();
    twice.cases.extend(node(Order::Alone, [4.86e6; 8]).cases);
    assert_eq!(with_blocks(twice, 3), [0; 0], "in another case it is as fast as the others");
}

#[test]
fn of_two_twins_the_slower_one_is_named_also_at_once() {
    let mut document = samples::eight_ranks();
    (document.cases, document.penalties) = (Vec::new(), Vec::<Penalty>::new());
    document.ranks.truncate(2);
    document.devices.truncate(2);
    let both = [11.05e6, 21.8e6];
    let case =
        samples::case(&document, Direction::H2d, 256 * MIB, MemoryKind::Pinned, Order::Simultaneous, &both);
    document.cases.push(case);
    document.slower_twins = slower_twins(&document);
    assert_eq!(named(&document), [1]);
    let style = Style { width: 100, color: false, quiet: true, saved_to: None, screen: None };
    let table = terminal::table(&document, &style);
    // The answer, the twin, and the remedy: what stands before the tables.
    let before: Vec<&str> = table.lines().take_while(|line| !line.starts_with("Placement")).collect();
    insta::assert_snapshot!("slower_of_two_twins", before.join("\n"));
}

#[test]
fn ten_per_cent_count_where_each_copied_alone_and_a_quarter_where_all_did_at_once() {
    for (part, order, is_named) in [
        (0.88, Order::Alone, true),
        (0.92, Order::Alone, false),
        (0.80, Order::Simultaneous, false),
        (0.70, Order::Simultaneous, true),
        (1.30, Order::Alone, false),
    ] {
        assert_eq!(named(&one_at(part, order)), if is_named { vec![5] } else { vec![] }, "{part} {order:?}");
    }
}

#[test]
fn half_of_a_node_that_is_slower_than_the_other_half_is_its_shape() {
    let document = samples::eight_ranks();
    assert!(document.cases.iter().any(|case| case.order == Order::Simultaneous), "20 and 27 GB/s at once");
    assert_eq!(named(&document), [0; 0]);
}

#[test]
fn only_like_gpus_used_alike_are_twins() {
    let slow = || one_at(0.5, Order::Alone);
    let mut other = slow();
    other.devices[5].name = "NVIDIA GH200".into();
    assert_eq!(named(&other), [0; 0], "another model");
    other = slow();
    other.ranks[5].locality = report::rank::Locality::Remote;
    assert_eq!(named(&other), [0; 0], "a rank that is far from it");
    other = slow();
    other.ranks[5].asked.memory_node = Some(3);
    assert_eq!(named(&other), [0; 0], "memory that is far from it");
    other = slow();
    other.ranks[4].asked.device = other.ranks[5].asked.device.clone();
    assert_eq!(named(&other), [0; 0], "two ranks on it");
    other = slow();
    other.devices.iter_mut().for_each(|device| device.kind = DeviceKind::HostMemory);
    assert_eq!(named(&other), [0; 0], "not a GPU");
    other = slow();
    other.cases[0].memory = MemoryKind::Pageable;
    assert_eq!(named(&other), [0; 0], "pageable memory");
    other = slow();
    other.cases[0].bytes = 4096;
    assert_eq!(named(&other), [0; 0], "small copies");
}

/// The same node as a matrix has it: each GPU copies from its own node's memory, and from another node's.
fn from_near_and_far(near_ns: [f64; 8], far_ns: [f64; 8]) -> Document {
    let mut document = samples::eight_ranks();
    (document.cases, document.penalties) = (Vec::new(), Vec::<Penalty>::new());
    let far = document.ranks.clone().into_iter().map(|mut rank| {
        rank.rank += 8;
        rank.locality = report::rank::Locality::Remote;
        rank.asked.memory_node = rank.asked.memory_node.map(|node| (node + 1) % 4);
        rank
    });
    let far: Vec<_> = far.collect();
    document.ranks.extend(far);
    let ns = [near_ns, far_ns].concat();
    let case = samples::case(&document, Direction::H2d, 256 * MIB, MemoryKind::Pinned, Order::Alone, &ns);
    document.cases.push(case);
    document
}

#[test]
fn in_a_matrix_a_gpu_is_judged_by_its_copies_of_near_memory() {
    let (like, far) = ([4.86e6; 8], [9.0e6; 8]);
    let mut slow = like;
    slow[5] *= 2.0;
    assert_eq!(named(&from_near_and_far(slow, far)), [5]);
    assert_eq!(named(&from_near_and_far(like, far)), [0; 0]);
    let mut slow_from_afar = far;
    slow_from_afar[5] *= 2.0;
    assert_eq!(named(&from_near_and_far(like, slow_from_afar)), [0; 0], "the way between nodes");
    let mut unknown = from_near_and_far(far, like);
    let reason = "a virtual machine does not show it";
    unknown.devices.iter_mut().for_each(|device| device.numa_node = report::Known::unknown("hwloc", reason));
    unknown.ranks.iter_mut().for_each(|rank| rank.locality = report::rank::Locality::Unknown);
    assert_eq!(named(&unknown), [0; 0], "the faster node counts where nobody knows which is near");
}

#[test]
fn sets_that_copy_at_once_are_not_judged_where_each_is_measured_alone() {
    let mut document = one_at(0.5, Order::Simultaneous);
    assert_eq!(named(&document), [5]);
    document.cases[0].group = Some("GPUs 0-7".to_owned());
    assert_eq!(named(&document), [0; 0]);
}
