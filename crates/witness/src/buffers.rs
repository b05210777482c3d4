//! Entries as buffers: those of one allocation, or of addresses next to each other, together; with the
//! distance of their nodes from the GPU.

use std::collections::BTreeMap;

use report::witness::{Distance, NodeBytes, WitnessBuffer, WitnessBytes, WitnessMemory, WitnessRate};
use stats::IdSet;

use crate::layout::head;
use crate::record::{Entry, ProcessRecord};

/// A GPU, and what is near to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearNodes {
    /// Its PCI address, as the driver says it: `0000:05:00.0`.
    pub gpu: String,
    /// Its index in PCI order.
    pub index: u32,
    /// The NUMA nodes local to it; empty where they are not known.
    pub nodes: IdSet,
    /// How that is known, or why it is not.
    pub reason: String,
}

impl NearNodes {
    /// Those of a machine.
    pub fn of(topology: &topo::Topology) -> Vec<Self> {
        let of = |gpu: &topo::model::Gpu| Self {
            gpu: gpu.pci.to_string(),
            index: gpu.index,
            nodes: gpu.locality.nodes.clone(),
            reason: gpu.locality.reason.clone(),
        };
        topology.gpus.iter().map(of).collect()
    }
}

/// The buffers of all processes, most far bytes first, then most bytes.
pub fn buffers(processes: &[ProcessRecord], near: &[NearNodes]) -> Vec<WitnessBuffer> {
    let mut buffers: Vec<WitnessBuffer> =
        processes.iter().flat_map(|process| of_process(process, near)).collect();
    buffers.sort_by(|a, b| {
        (b.far_bytes, b.bytes).cmp(&(a.far_bytes, a.bytes)).then_with(|| a.address.cmp(&b.address))
    });
    buffers
}

fn of_process(process: &ProcessRecord, near: &[NearNodes]) -> Vec<WitnessBuffer> {
    let pid = u32::try_from(process.head(head::PID)).unwrap_or(0);
    let mut groups: BTreeMap<_, Vec<Entry>> = BTreeMap::new();
    for entry in process.entries() {
        groups.entry((entry.gpu.clone(), entry.direction, entry.memory)).or_default().push(entry);
    }
    let mut found = Vec::new();

    for mut entries in groups.into_values() {
        entries.sort_by_key(|entry| entry.address);
        let mut begun: Option<(u64, u64)> = None;
        let mut together: Vec<Entry> = Vec::new();
        for entry in entries {
            let (start, end) = match entry.range {
                Some((start, bytes)) if entry.address != 0 => (start, start.saturating_add(bytes)),
                _ => (entry.address, entry.end),
            };
            let joins = begun.is_some_and(|(first, last)| first != 0 && start <= last);
            if !joins {
                found.extend(merged(pid, &std::mem::take(&mut together), near));
                begun = Some((start, end));
            } else if let Some((_, last)) = &mut begun {
                *last = end.max(*last);
            }
            together.push(entry);
        }
        found.extend(merged(pid, &together, near));
    }
    found
}

/// Of entries that are one buffer.
fn merged(pid: u32, entries: &[Entry], near: &[NearNodes]) -> Option<WitnessBuffer> {
    let first = entries.first()?;
    let gpu = near.iter().find(|near| near.gpu == first.gpu);
    let sum = |of: &dyn Fn(&Entry) -> u64| entries.iter().map(of).sum::<u64>();
    let nodes = nodes(entries);
    let known: u64 = nodes.values().sum();
    let near_nodes = gpu.map(|gpu| &gpu.nodes).filter(|nodes| !nodes.is_empty());
    let far: u64 = near_nodes.map_or(0, |near| {
        nodes.iter().filter(|(node, _)| !near.contains(**node)).map(|(_, bytes)| bytes).sum()
    });
    let distance = match near_nodes {
        None => Distance::Unknown,
        Some(_) if known == 0 => Distance::Unknown,
        Some(_) if far == 0 => Distance::Near,
        Some(_) if far == known => Distance::Far,
        Some(_) => Distance::Mixed,
    };

    let end = entries.iter().map(|entry| entry.end).max().unwrap_or(0);
    let (waited_bytes, waited_ns) = (sum(&|entry| entry.waited.0), sum(&|entry| entry.waited.1));
    let blocking_bytes = sum(&|entry| entry.blocking_bytes);

    // Of small copies a share is timed: the time is that of all, at the same rate.
    let waited_s = (waited_bytes > 0)
        .then(|| waited_ns as f64 / 1e9 * (blocking_bytes as f64 / waited_bytes as f64).max(1.0));

    Some(WitnessBuffer {
        pid,
        address: (first.address != 0).then(|| format!("{:#x}", first.address)),
        extent_bytes: end.saturating_sub(first.address),
        memory: first.kind(),
        direction: first.way(),
        gpu: first.gpu.clone(),
        platform: first.platform,
        gpu_index: gpu.map(|gpu| gpu.index),
        copies: sum(&|entry| entry.copies),
        bytes: sum(&|entry| entry.bytes),
        nodes: nodes.into_iter().map(|(node, bytes)| node_bytes(node, bytes, near_nodes)).collect(),
        looked_at_bytes: sum(&|entry| looked_at(entry).min(entry.bytes)),
        nowhere_bytes: sum(&|entry| entry.nowhere),
        distance,
        far_bytes: far,
        blocking_bytes,
        waited_s,
        timed: sum(&|entry| entry.timed.0),
        timed_bytes: sum(&|entry| entry.timed.1),
        timed_s: sum(&|entry| entry.timed.2) as f64 / 1e9,
    })
}

/// The bytes on a node, with how far it is from the GPU whose near nodes these are.
fn node_bytes(node: u32, bytes: u64, near: Option<&IdSet>) -> NodeBytes {
    let of = |near: &IdSet| if near.contains(node) { Distance::Near } else { Distance::Far };
    NodeBytes { node, bytes, distance: Some(near.map_or(Distance::Unknown, of)) }
}

fn looked_at(entry: &Entry) -> u64 {
    entry.nowhere + entry.nodes.iter().map(|(_, bytes)| bytes).sum::<u64>()
}

/// The bytes on each node: of each entry in the shares of what was looked at.
fn nodes(entries: &[Entry]) -> BTreeMap<u32, u64> {
    let mut nodes = BTreeMap::new();
    for entry in entries {
        let all = u128::from(looked_at(entry)).max(1);
        for (node, bytes) in &entry.nodes {
            let share = u128::from(entry.bytes) * u128::from(*bytes) / all;
            *nodes.entry(*node).or_insert(0) += u64::try_from(share).unwrap_or(u64::MAX);
        }
    }
    nodes
}

/// The sums of all buffers.
pub fn total(buffers: &[WitnessBuffer]) -> WitnessBytes {
    let mut total = WitnessBytes::default();
    for buffer in buffers {
        let known: u64 = buffer.nodes.iter().map(|node| node.bytes).sum();
        let near =
            if buffer.distance == Distance::Unknown { 0 } else { known.saturating_sub(buffer.far_bytes) };
        total.copies += buffer.copies;
        total.bytes += buffer.bytes;
        total.near_bytes += near;
        total.far_bytes += buffer.far_bytes;
        total.unknown_bytes += buffer.bytes.saturating_sub(near + buffer.far_bytes);
        total.looked_at_bytes += buffer.looked_at_bytes;
        match buffer.memory {
            WitnessMemory::Pageable => total.pageable_bytes += buffer.bytes,
            WitnessMemory::Managed => total.managed_bytes += buffer.bytes,
            WitnessMemory::Pinned | WitnessMemory::Newer => total.pinned_bytes += buffer.bytes,
        }
    }

    total
}

/// The rates that events timed, by direction, kind and distance.
pub fn rates(buffers: &[WitnessBuffer]) -> Vec<WitnessRate> {
    let mut groups: BTreeMap<_, (u64, u64, f64)> = BTreeMap::new();
    for buffer in buffers.iter().filter(|buffer| buffer.timed > 0 && buffer.timed_s > 0.0) {
        let sums = groups.entry((buffer.direction, buffer.memory, buffer.distance)).or_default();
        sums.0 += buffer.timed;
        sums.1 += buffer.timed_bytes;
        sums.2 += buffer.timed_s;
    }

    let rate = |((direction, memory, distance), (timed, timed_bytes, timed_s))| WitnessRate {
        direction,
        memory,
        distance,
        timed,
        timed_bytes,
        timed_s,
        bytes_per_s: timed_bytes as f64 / timed_s,
    };
    groups.into_iter().map(rate).collect()
}
