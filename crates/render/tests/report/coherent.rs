//! GPUs that share memory with their CPU: what the answer and the tables say of them, and that nothing of
//! PCIe is said.

use analysis::answer::answer;
use render::terminal::{Style, table};
use report::device::Coherence;
use report::result::NodePages;
use report::{Document, Known};

use crate::golden::cases;
use crate::samples;

/// Four GPUs of this kind, whose own memory is these NUMA nodes.
fn sharing(coherence: Coherence, own: [u32; 4]) -> Document {
    let mut document = samples::eight_ranks();
    document.devices.iter_mut().for_each(|device| device.coherence = Some(coherence));
    for (device, node) in document.devices.iter_mut().zip(own) {
        device.memory_node = Some(Known::value(node, "the driver"));
        device.bound_bytes_per_s = Known::unknown("the kind of GPU", "copies do not go over PCIe");
    }
    document
}

/// The device memory of this rank is found on these nodes.
fn found(document: &mut Document, rank: u32, nodes: &[u32]) {
    let results =
        document.cases.iter_mut().flat_map(|case| &mut case.ranks).filter(|result| result.rank == rank);
    for seen in results.flat_map(|result| result.seen_before.iter_mut().chain(&mut result.seen_after)) {
        let pages = nodes.iter().map(|node| NodePages { node: *node, pages: 16 }).collect();
        seen.device_pages = Known::value(pages, "move_pages(2), one page in 512");
    }
}

fn shown(document: &Document) -> String {
    table(document, &Style { width: 160, color: false, quiet: false, saved_to: None, screen: None })
}

#[test]
fn it_is_said_whose_memory_a_gpus_own_fell_into_and_nothing_of_what_is_where_it_belongs() {
    let said = |coherence, own, places: &[(u32, &[u32])]| {
        let mut document = sharing(coherence, own);
        places.iter().for_each(|(rank, nodes)| found(&mut document, *rank, nodes));
        // Beyond what is said of GPUs that have a memory of their own.
        let usual = answer(&samples::eight_ranks());
        answer(&document).into_iter().filter(|said| !usual.contains(said)).collect::<Vec<_>>().join("\n")
    };
    let apus = |places| said(Coherence::SharedHbm, [0, 1, 2, 3], places);
    let superchips = |places| said(Coherence::NvlinkC2c, [4, 12, 20, 28], places);
    let nowhere: [(u32, &[u32]); 4] = [0, 1, 2, 3].map(|rank| (rank, &[99][..]));
    insta::assert_snapshot!(
        "memory_of_coherent_gpus",
        cases(&[
            ("APUs, memory of GPU 0 on node 0, of GPU 1 on node 3", apus(&[(0, &[0]), (1, &[3])])),
            ("APUs, memory of GPU 1 on nodes 1 and 7", apus(&[(1, &[1, 7])])),
            ("superchips, memory of GPU 2 on node 2", superchips(&[(2, &[2])])),
            ("superchips, memory of each on node 99", superchips(&nowhere)),
        ])
    );
}

#[test]
fn one_memory_is_said_of_no_machine_on_which_a_gpu_has_its_own() {
    let is_said = |document: &Document| answer(document).concat().contains("share one memory");
    let mut apus = sharing(Coherence::SharedHbm, [0, 1, 2, 3]);
    assert!(is_said(&apus));
    apus.devices[7].coherence = None;
    assert!(!is_said(&apus));
}

#[test]
fn a_gpu_that_does_not_copy_over_pcie_has_no_pcie_link_in_the_table() {
    let devices = |document: &Document| {
        let text = shown(document);
        let devices =
            text.lines().skip_while(|line| !line.starts_with("Devices")).take_while(|line| !line.is_empty());
        devices.collect::<Vec<_>>().join("\n")
    };
    let of = |coherence| {
        let mut document = sharing(coherence, [0, 1, 2, 3]);
        document.devices.truncate(4);
        devices(&document)
    };
    let [superchips, apus] = [Coherence::NvlinkC2c, Coherence::SharedHbm].map(of);
    insta::assert_snapshot!("links_of_coherent_gpus", cases(&[("superchips", superchips), ("APUs", apus)]));
}

#[test]
fn memory_that_the_kernel_does_not_locate_is_no_news() {
    let mut document = sharing(Coherence::SharedHbm, [0, 1, 2, 3]);
    let before = answer(&document);
    for seen in
        document.cases.iter_mut().flat_map(|case| &mut case.ranks).filter_map(|rank| rank.seen_after.as_mut())
    {
        seen.device_pages =
            Known::unknown("move_pages(2)", "the kernel does not know where this GPU's memory lies");
    }
    assert_eq!(answer(&document), before);
    assert_eq!(
        before.last(),
        answer(&samples::eight_ranks()).last(),
        "the proof of a run that is placed as asked"
    );
}
