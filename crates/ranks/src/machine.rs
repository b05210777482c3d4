//! Which machine a process is on, as far as sharing memory goes.
//!
//! An MPI tells nodes apart by what its launcher calls them, so one machine named twice (`mpiexec -hosts localhost,127.0.0.1`) is two nodes to it, whose
//! ranks would all take the same first core. What the kernel says does not depend on names: processes of one boot that have one /dev/shm share memory.
//! Two daemons of Slurm on one machine are two nodes because that is what they are asked to be.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;

/// A number that the processes have in common which share a boot of a kernel, a /dev/shm and a Slurm daemon's name, and others have not; 0 where the
/// kernel does not tell.
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

/// The number of each node's machine, where node i has `keys[i]`: nodes of one key are one machine, numbered in the order they come; a node
/// without a key is one of its own.
pub fn machines(keys: &[u64]) -> Vec<u32> {
    let mut known = HashMap::new();
    let mut next = 0..;
    let mut number = |key: &u64| {
        let mut new = || next.next().unwrap_or(u32::MAX);
        if *key == 0 { new() } else { *known.entry(*key).or_insert_with(new) }
    };
    keys.iter().map(&mut number).collect()
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
}
