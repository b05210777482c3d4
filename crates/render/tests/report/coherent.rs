//! GPUs that share memory with their CPU: what the answer and the tables say of them, and that nothing of PCIe is said.

use analysis::answer::answer;
use render::terminal::{Style, table};
use report::device::Coherence;
use report::result::NodePages;
use report::{Document, Known};

use crate::samples;

/// Four GPUs of this kind, whose own memory is these NUMA nodes.
fn sharing(coherence: Coherence, own: [u32; 4]) -> Document {
    let mut document = samples::eight_ranks();
    for (device, node) in document.devices.iter_mut().zip(own) {
        device.coherence = Some(coherence);
        device.memory_node = Some(Known::value(node, "the driver"));
        device.bound_bytes_per_s = Known::unknown("the kind of GPU", "copies do not go over PCIe");
    }
    document
}

/// The device memory of this rank is found on these nodes.
fn found(document: &mut Document, rank: u32, nodes: &[u32]) {
    let results = document.cases.iter_mut().flat_map(|case| &mut case.ranks).filter(|result| result.rank == rank);
    for seen in results.flat_map(|result| result.seen_before.iter_mut().chain(&mut result.seen_after)) {
        let pages = nodes.iter().map(|node| NodePages { node: *node, pages: 16 }).collect();
        seen.device_pages = Known::value(pages, "move_pages(2), one page in 512");
    }
}

fn shown(document: &Document) -> String {
    table(document, &Style { width: 160, color: false, quiet: false, saved_to: None })
}

#[test]
fn memory_of_an_apu_that_fell_into_another_package_is_said_with_whose_it_is() {
    let mut document = sharing(Coherence::SharedHbm, [0, 1, 2, 3]);
    found(&mut document, 0, &[0]);
    found(&mut document, 1, &[3]);
    let said = answer(&document).join("\n");
    assert!(said.contains("CPU and GPU share one memory (HBM): H2D and D2H copy from HBM to HBM."), "{said}");
    let want = "The memory of GPU 1 lies on NUMA node 3, the memory of GPU 3, not on its own node 1";
    assert!(said.contains(want), "{said}");
    assert!(!said.contains("memory of GPU 0 lies"), "what is where it belongs is not news: {said}");
    found(&mut document, 1, &[1, 7]);
    let said = answer(&document).join("\n");
    assert!(said.contains("Part of the memory of GPU 1 lies on NUMA node 7, the memory of another package"), "{said}");
}

#[test]
fn memory_of_a_superchips_gpu_in_host_memory_is_said() {
    let mut document = sharing(Coherence::NvlinkC2c, [4, 12, 20, 28]);
    found(&mut document, 2, &[2]);
    let said = answer(&document).join("\n");
    assert!(said.contains("The memory of GPU 2 lies on NUMA node 2, host memory, not on its own node 20"), "{said}");
    assert!(!said.contains("share one memory"), "each has its own: {said}");
    (0..4).for_each(|rank| found(&mut document, rank, &[99]));
    assert_eq!(answer(&document).join("\n").matches("lies on NUMA node 99").count(), 4);
}

#[test]
fn a_gpu_that_does_not_copy_over_pcie_has_no_pcie_link_in_the_table() {
    for (coherence, link) in [(Coherence::NvlinkC2c, "NVLink-C2C"), (Coherence::SharedHbm, "one memory")] {
        let mut document = sharing(coherence, [0, 1, 2, 3]);
        document.devices.truncate(4);
        let text = shown(&document);
        assert!(text.contains(link) && !text.contains("PCIe 5"), "{text}");
        assert!(text.contains("its memory is NUMA node 3, by the driver"), "{text}");
    }
    assert!(shown(&samples::eight_ranks()).contains("PCIe 5"));
}

#[test]
fn memory_that_the_kernel_does_not_locate_is_no_news() {
    let mut document = sharing(Coherence::SharedHbm, [0, 1, 2, 3]);
    let before = answer(&document);
    for seen in document.cases.iter_mut().flat_map(|case| &mut case.ranks).filter_map(|rank| rank.seen_after.as_mut()) {
        seen.device_pages = Known::unknown("move_pages(2)", "the kernel does not know where this GPU's memory lies");
    }
    assert_eq!(answer(&document), before);
    assert!(before.last().is_some_and(|proof| proof.starts_with("Placed as asked")), "{before:?}");
}
