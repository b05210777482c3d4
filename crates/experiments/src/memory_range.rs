//! How long the ranges of the CPU's accesses must be: longer than what the caches hold, or a figure is theirs and not the memory's. Where a node has
//! too little memory for that, as long as it has room for.

use stats::units::{rounded_size, size};
use topo::Topology;
use topo::model::NodeKind;

use crate::fault::Fault;

const MIB: u64 = 1 << 20;
/// A thread's range at least.
const THREAD_BYTES: u64 = 64 * MIB;
/// A chase's range at least: an L3 of 32 MiB four times over.
const CHASE_BYTES: u64 = 128 * MIB;
/// So many times the L3: in random order or one word after the other, what is left of the last turn is then gone.
const TIMES_L3: u64 = 4;
/// The part of a node's memory that all ranges on it may take; copies have two each.
const PART: u64 = 8;

/// The largest L3 of the machine, bytes; 0 where it has none, or where nobody says.
fn largest_l3(topology: &Topology) -> u64 {
    topology.l3s.iter().filter_map(|l3| l3.size_bytes).max().unwrap_or(0)
}

/// What each of so many ranges can have on the node with the least memory.
fn room(topology: &Topology, ranges: usize) -> u64 {
    let host = topology.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Normal | NodeKind::MemoryOnly));
    let least = host.map(|node| node.total_bytes).filter(|bytes| *bytes > 0).min().unwrap_or(u64::MAX);
    (least / PART / ranges.max(1) as u64).max(MIB)
}

/// The range of each of so many threads that stream at once; `all`: the threads that keep one.
pub fn streamed(topology: &Topology, threads: usize, all: usize) -> u64 {
    let each = (largest_l3(topology) * TIMES_L3).div_ceil(threads.max(1) as u64);
    each.max(THREAD_BYTES).next_multiple_of(MIB).min(room(topology, all) / MIB * MIB)
}

/// The range of a chase, of which each node has so many.
pub fn chased(topology: &Topology, rows: usize) -> u64 {
    (largest_l3(topology) * TIMES_L3).max(CHASE_BYTES).next_multiple_of(MIB).min(room(topology, rows) / MIB * MIB)
}

/// Bytes in whole lines.
///
/// # Errors
/// Exit 2 for more than this machine can address.
pub fn whole(bytes: u64, line: usize) -> Result<usize, Fault> {
    let whole = usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_next_multiple_of(line));
    whole.ok_or_else(|| Fault::usage(format!("--range: {} are more than this machine can address", size(bytes))))
}

/// The range of a chase in whole lines, of which there can be so many.
///
/// # Errors
/// Exit 2 for a longer one.
pub fn chase(bytes: u64, line: usize, most: u32) -> Result<usize, Fault> {
    let longest = u64::from(most) * line as u64;
    if bytes > longest {
        let text = format!(
            "--range: loads go over {} at most, and {} were asked for: ask for a smaller --range",
            rounded_size(longest),
            size(bytes)
        );
        return Err(Fault::usage(text));
    }
    whole(bytes, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_cannot_be_is_refused_with_the_longest_that_can() {
        const GIB: u64 = 1 << 30;
        assert_eq!((whole(1, 64).ok(), whole(65, 64).ok()), (Some(64), Some(128)));
        assert!(whole(u64::MAX, 64).is_err_and(|fault| fault.to_string().contains("--range")));
        assert_eq!(chase(255 * GIB, 64, u32::MAX).ok(), Some(255 << 30));
        for bytes in [256 * GIB, 300 * GIB, u64::MAX] {
            assert!(chase(bytes, 64, u32::MAX).is_err_and(|fault| fault.to_string().contains("--range:")));
        }
    }
}
