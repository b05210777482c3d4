//! Where the memory of GPUs lies that share it with their CPU, in sentences: one memory for both, and memory
//! that fell elsewhere.
//!
//! A driver gives out device memory without saying on which NUMA node it lies, and on a coherent machine it
//! may lie on another GPU's or on the host's. Only what the kernel located is said; of GPUs behind PCIe there
//! is nothing to say.

use std::collections::BTreeSet;

use report::Document;
use report::device::{Coherence, Device, DeviceKind};
use report::environment::NodeKind;
use stats::IdSet;
use stats::units::counted;

use crate::words;

/// More GPUs than this are counted, not named.
const MOST: usize = 4;

/// That copies between host and device stay in one memory, where those of all GPUs do.
pub(crate) fn one_memory(document: &Document) -> Option<String> {
    let gpus = document.devices.iter().filter(|device| device.kind == DeviceKind::Gpu);
    let kinds: BTreeSet<Option<&str>> = gpus.map(|device| shared(device.coherence?)).collect();
    let kind = kinds.first().copied().flatten().filter(|_| kinds.len() == 1)?;
    Some(format!("CPU and GPU share one memory ({kind}): H2D and D2H copy from {kind} to {kind}."))
}

fn shared(coherence: Coherence) -> Option<&'static str> {
    match coherence {
        Coherence::SharedHbm => Some("HBM"),
        Coherence::SharedMemory => Some("host memory"),
        Coherence::NvlinkC2c | Coherence::Newer => None,
    }
}

/// Whose memory lies on another node than its own.
pub(crate) fn elsewhere(document: &Document) -> Vec<String> {
    let mut said: Vec<String> =
        document.devices.iter().filter_map(|device| of_device(document, device)).collect();
    let more = said.len().saturating_sub(MOST);
    said.truncate(MOST);
    said.extend((more > 0).then(|| {
        format!("The memory of {} lies elsewhere too: see the document.", counted(more, "more GPU"))
    }));
    said
}

fn of_device(document: &Document, device: &Device) -> Option<String> {
    let own = device.memory_node.as_ref()?.value?;
    let seen = located_nodes(document, device);
    let away: IdSet = seen.iter().copied().filter(|node| *node != own).collect();
    if away.is_empty() {
        return None;
    }
    let name = if document.nodes.len() > 1 { device.id.clone() } else { format!("GPU {}", device.index) };
    let where_to: Vec<String> =
        away.iter().map(|node| format!("NUMA node {node}, {}", whose(document, device, node))).collect();
    let where_to = where_to.join(" and ");

    Some(match seen.contains(&own) {
        true => format!(
            "Part of the memory of {name} lies on {where_to}, not on its own node {own}. The driver placed \
             it there: the figures are of all of them."
        ),
        false => format!(
            "The memory of {name} lies on {where_to}, not on its own node {own}. The driver placed it there: \
             the figures are of that memory, not of {name}'s own."
        ),
    })
}

/// The nodes on which pages of a device's memory were located.
fn located_nodes(document: &Document, device: &Device) -> BTreeSet<u32> {
    let ranks: BTreeSet<u32> =
        document.ranks.iter().filter(|rank| rank.asked.device == device.id).map(|rank| rank.rank).collect();
    let results =
        document.cases.iter().flat_map(|case| &case.ranks).filter(|result| ranks.contains(&result.rank));
    let seen = results.flat_map(|result| result.seen_before.iter().chain(&result.seen_after));
    let pages = seen.filter_map(|seen| seen.device_pages.value.as_ref()).flatten();
    pages.filter(|located| located.pages > 0).map(|located| located.node).collect()
}

/// What a node is to this device.
fn whose(document: &Document, device: &Device, node: u32) -> String {
    let is_it = |other: &&Device| {
        other.node == device.node
            && other.id != device.id
            && other.memory_node.as_ref().and_then(|known| known.value) == Some(node)
    };
    let owners: Vec<u32> = document.devices.iter().filter(is_it).map(|other| other.index).collect();
    if !owners.is_empty() {
        return format!("the memory of {}", words::devices(device.kind, owners.into_iter()));
    }

    // The environment is the first node's.
    let machine = (device.node == 0).then_some(&document.environment.topology);
    let found = machine.and_then(|machine| machine.nodes.iter().find(|known| known.os_index == node));

    match (found.map(|node| node.kind), device.coherence) {
        (Some(NodeKind::GpuMemory), _) => "the memory of another GPU".to_owned(),
        (_, Some(Coherence::SharedHbm)) => "the memory of another package".to_owned(),
        (Some(_), _) => "host memory".to_owned(),
        (None, _) => "a memory that the document does not name".to_owned(),
    }
}
