//! How long the ranges of the CPU's accesses must be: longer than what the caches hold, or a figure is theirs
//! and not the memory's.
//!
//! A range that is chosen here depends on what the machine is (its caches, its memory) and on the limits of
//! the job, never on what is free at the moment: two runs of one machine measure the same. Where there is too
//! little memory, a range is the largest power of two that there is room for, so that a small difference of
//! memory changes nothing; its figures are then marked as the cache's.

use stats::units::{rounded_size, size};
use topo::Topology;

use crate::fault::Fault;

const MIB: u64 = 1 << 20;
/// The smallest range of a thread that is wanted; it is less where memory is short.
const THREAD_BYTES: u64 = 64 * MIB;
/// The smallest range of a chase that is wanted, four times an L3 of 32 MiB; less where memory is short.
const CHASE_BYTES: u64 = 128 * MIB;
/// The smallest copy that is wanted, the case study's; less where memory is short.
pub const COPY_BYTES: u64 = 128 * MIB;
/// A copy is a multiple of this.
const COPY_STEP: u64 = 32 * MIB;
/// So many times the L3: in random order or one word after the other, what is left of the last turn is then
/// gone.
pub use analysis::figure::TIMES_L3;
/// All ranges on a node may take this part of its memory, one eighth; copies have two or three each.
const PARTS: u64 = 8;

/// The largest L3 of the machine, bytes; 0 where it has none, or where nobody says.
fn largest_l3(topology: &Topology) -> u64 {
    topology.l3s.iter().filter_map(|l3| l3.size_bytes).max().unwrap_or(0)
}

/// The room for each of `ranges` ranges of a node, on the one with the least memory; all nodes share what the
/// limit of this process allows.
fn room(topology: &Topology, ranges: usize) -> u64 {
    let host = || topology.nodes.iter().filter(|node| node.kind.has_host_memory());
    let least = host().map(|node| node.total_bytes).filter(|bytes| *bytes > 0).min().unwrap_or(u64::MAX);
    let allowed = host().filter(|node| node.allowed).count().max(1) as u64;
    let limit = topology.allowed.memory_limit().map_or(u64::MAX, |limit| limit.bytes / allowed);
    (least.min(limit) / PARTS / ranges.max(1) as u64).max(MIB)
}

/// What is wanted, or the largest power of two that there is room for.
fn within(wanted: u64, room: u64) -> u64 {
    if wanted <= room { wanted } else { 1 << room.ilog2() }
}

/// What a thread must go through so that all threads of this row together go beyond each L3 that they share.
fn beyond_l3s(topology: &Topology, row: &[u32]) -> u64 {
    let shared = topology.l3s.iter().filter_map(|l3| {
        let threads = row.iter().filter(|pu| l3.pus.contains(**pu)).count() as u64;
        (threads > 0).then(|| (l3.size_bytes.unwrap_or(0) * TIMES_L3).div_ceil(threads))
    });
    let unknown = || (largest_l3(topology) * TIMES_L3).div_ceil(row.len().max(1) as u64);
    shared.max().unwrap_or_else(unknown)
}

/// The range of each thread where the PUs of each row stream at once; `all`: the threads that keep one on the
/// node that has most of them.
pub fn streamed<'r>(topology: &Topology, rows: impl IntoIterator<Item = &'r [u32]>, all: usize) -> u64 {
    let each = rows.into_iter().map(|row| beyond_l3s(topology, row)).max().unwrap_or(0);
    within(each.max(THREAD_BYTES).next_multiple_of(MIB), room(topology, all))
}

/// The range of a chase, of which a node has so many at most.
pub fn chased(topology: &Topology, ranges: usize) -> u64 {
    let wanted = (largest_l3(topology) * TIMES_L3).max(CHASE_BYTES).next_multiple_of(MIB);
    within(wanted, room(topology, ranges))
}

/// The size of a copy by so many ranks where a NUMA node stands in for the device: what is copied and the
/// copy go beyond the L3.
pub fn copied(topology: &Topology, ranks: usize) -> u64 {
    let wanted = (largest_l3(topology) * TIMES_L3 / 2).next_multiple_of(COPY_STEP);
    within(wanted.max(COPY_BYTES), room(topology, ranks))
}

/// Bytes in whole lines.
///
/// # Errors
/// Exit 2 for more than this machine can address.
pub fn whole(bytes: u64, line: usize) -> Result<usize, Fault> {
    let whole = usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_next_multiple_of(line));
    whole.ok_or_else(|| {
        Fault::usage(format!("--range: {} are more than this machine can address", size(bytes)))
    })
}

/// The range of a chase in whole lines, of which there can be [`engine::MOST_LINES`].
///
/// # Errors
/// Exit 2 for a longer one.
pub fn chase(bytes: u64, line: usize) -> Result<usize, Fault> {
    let longest = u64::from(engine::MOST_LINES) * line as u64;
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
    use topo::model::{L3, MemoryLimit};

    use super::*;

    const GIB: u64 = 1 << 30;

    /// A node of so much memory whose PUs share an L3 by fours.
    fn machine(memory: u64, l3: u64) -> Topology {
        let mut topology = topo::read().expect("this machine");
        topology.nodes.truncate(1);
        topology.nodes[0].total_bytes = memory;
        let l3s =
            (0..4).map(|at| L3 { os_index: None, size_bytes: Some(l3), pus: (at * 4..at * 4 + 4).collect() });
        topology.l3s = l3s.collect();
        topology.allowed.memory_limits = Vec::new();
        topology
    }

    #[test]
    fn a_range_depends_on_the_caches_where_there_is_memory_and_on_what_is_free_never() {
        let of = |memory: u64, free: u64| {
            let mut topology = machine(memory, 480 * MIB);
            topology.nodes[0].free_bytes = Some(free);
            [streamed(&topology, [&[0, 1][..]], 2), chased(&topology, 1), copied(&topology, 1)]
        };
        assert_eq!(of(64 * GIB, GIB), [960 * MIB, 1920 * MIB, 960 * MIB]);
        assert_eq!(of(64 * GIB, GIB), of(512 * GIB, 60 * GIB));
    }

    #[test]
    fn where_memory_is_short_a_range_is_a_power_of_two() {
        for memory in [GIB, GIB + 300 * MIB, 2 * GIB - 1] {
            let topology = machine(memory, 480 * MIB);
            assert_eq!(
                [streamed(&topology, [&[0][..]], 1), chased(&topology, 1)],
                [128 * MIB; 2],
                "{memory}"
            );
        }
    }

    #[test]
    fn the_limit_of_the_job_counts_as_the_machines_memory() {
        let mut topology = machine(64 * GIB, 480 * MIB);
        topology.allowed.memory_limits.push(MemoryLimit {
            bytes: 4 * GIB,
            used_bytes: None,
            source: String::new(),
        });
        assert_eq!(chased(&topology, 1), 512 * MIB);
        assert_eq!(copied(&topology, 2), 256 * MIB);
    }

    #[test]
    fn threads_of_different_caches_do_not_count_as_sharers() {
        let topology = machine(512 * GIB, 64 * MIB);
        assert_eq!(streamed(&topology, [&[0, 4, 8, 12][..]], 4), 256 * MIB, "each has a cache to itself");
        assert_eq!(streamed(&topology, [&[0, 1, 2, 3][..]], 4), 64 * MIB);
        assert_eq!(streamed(&topology, [&[0, 1, 2, 3][..], &[0, 4]], 6), 256 * MIB, "one range for all rows");
    }

    #[test]
    fn a_range_that_cannot_be_is_refused_with_the_longest_that_can() {
        assert_eq!((whole(1, 64).ok(), whole(65, 64).ok()), (Some(64), Some(128)));
        assert!(whole(u64::MAX, 64).is_err_and(|fault| fault.to_string().contains("--range")));
        assert_eq!(chase(255 * GIB, 64).ok(), Some(255 << 30));
        for bytes in [256 * GIB, 300 * GIB, u64::MAX] {
            assert!(chase(bytes, 64).is_err_and(|fault| fault.to_string().contains("--range:")));
        }
    }
}
