//! Which machine a process is on, as far as sharing memory goes.
//!
//! An MPI tells nodes apart by what its launcher calls them, so one machine named twice (`mpiexec -hosts
//! localhost,127.0.0.1`) is two nodes to it, whose ranks would all take the same first core. What the kernel
//! says does not depend on names: processes of one boot that have one /dev/shm share memory. Two daemons of
//! Slurm on one machine are two nodes because that is what they are asked to be.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;

/// A number that the processes have in common which share a boot of a kernel, a /dev/shm and a Slurm daemon's
/// name, and others have not; 0 where the kernel does not tell.
pub fn key() -> u64 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let shared_memory = std::fs::metadata("/dev/shm").ok().map(|folder| (folder.dev(), folder.ino()));
    let daemon = std::env::var("SLURMD_NODENAME").ok();
    key_of(boot.as_deref(), shared_memory, daemon.as_deref())
}

fn key_of(boot: Option<&str>, shared_memory: Option<(u64, u64)>, daemon: Option<&str>) -> u64 {
    let (Some(boot), Some(shared_memory)) = (boot, shared_memory) else { return 0 };
    // Its keys are fixed: equal in all processes of one binary.
    let mut hasher = DefaultHasher::new();
    (boot.trim(), shared_memory, daemon).hash(&mut hasher);
    hasher.finish().max(1)
}

/// The number of each node's machine, where node i has `keys[i]`: nodes of one key are one machine, numbered
/// in the order they come; a node without a key is one of its own.
pub fn machines(keys: &[u64]) -> Vec<u32> {
    let mut known = HashMap::new();
    let mut next = 0..;
    let mut number = |key: &u64| {
        let mut new = || next.next().unwrap_or(u32::MAX);
        if *key == 0 { new() } else { *known.entry(*key).or_insert_with(new) }
    };
    keys.iter().map(&mut number).collect()
}

/// Where one of a launch's processes stands among the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePosition {
    /// Its machine's number, by each machine's lowest rank.
    pub node: u32,
    /// Its number among the processes of its machine, in the order of their ranks.
    pub node_rank: u32,
    /// How many processes its machine has.
    pub node_size: u32,
}

/// Where each process stands; by rank, `said` is the first rank of its node, as MPI calls nodes, and its
/// machine's [`key`].
pub fn places(said: &[[u64; 2]]) -> Vec<NodePosition> {
    let firsts: Vec<u64> =
        (0..).zip(said).filter(|(rank, [first, _])| rank == first).map(|(rank, _)| rank).collect();
    let keys: Vec<u64> = firsts.iter().map(|first| said[*first as usize][1]).collect();
    let numbers: HashMap<u64, u32> = firsts.into_iter().zip(machines(&keys)).collect();
    let node = |[first, _]: &[u64; 2]| numbers.get(first).copied().unwrap_or_default();
    let mut sizes: HashMap<u32, u32> = HashMap::new();
    let mut places: Vec<NodePosition> = Vec::with_capacity(said.len());
    for node in said.iter().map(node) {
        let size = sizes.entry(node).or_default();
        places.push(NodePosition { node, node_rank: *size, node_size: 0 });
        *size += 1;
    }
    places.iter_mut().for_each(|place| place.node_size = sizes[&place.node]);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_kernel_and_one_shared_memory_have_one_key() {
        assert_eq!(key(), key());
        assert_ne!(key(), 0, "Linux tells");
        let here = key_of(Some("a\n"), Some((1, 2)), None);
        assert_eq!(here, key_of(Some("a"), Some((1, 2)), None));
        assert_ne!(here, key_of(Some("b"), Some((1, 2)), None), "another boot or machine");
        assert_ne!(here, key_of(Some("a"), Some((1, 3)), None), "a container with its own /dev/shm");
        assert_ne!(here, key_of(Some("a"), Some((1, 2)), Some("n1")), "a node that Slurm makes of it");
        assert_eq!(key_of(None, Some((1, 2)), None), 0);
    }

    #[test]
    fn nodes_of_one_key_are_one_machine_and_nodes_without_are_their_own() {
        assert_eq!(machines(&[7, 7]), [0, 0]);
        assert_eq!(machines(&[7, 8, 7, 9]), [0, 1, 0, 2]);
        assert_eq!(machines(&[0, 0, 5]), [0, 1, 2]);
        assert_eq!(machines(&[]), [0_u32; 0]);
    }

    #[test]
    fn processes_are_numbered_within_the_machine_that_mpis_nodes_are() {
        let stand = |said: &[[u64; 2]]| {
            places(said)
                .iter()
                .map(|place| (place.node, place.node_rank, place.node_size))
                .collect::<Vec<_>>()
        };
        // Two nodes of one process in turn, and one machine under two names.
        assert_eq!(stand(&[[0, 7], [1, 8], [0, 7], [1, 8]]), [(0, 0, 2), (1, 0, 2), (0, 1, 2), (1, 1, 2)]);
        assert_eq!(stand(&[[0, 7], [1, 7], [0, 7]]), [(0, 0, 3), (0, 1, 3), (0, 2, 3)]);
        // Containers of one node that do not share their memory are what MPI says that they are.
        assert_eq!(stand(&[[0, 7], [0, 9], [2, 0]]), [(0, 0, 2), (0, 1, 2), (1, 0, 1)]);
    }
}
