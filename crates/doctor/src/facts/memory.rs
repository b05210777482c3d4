//! Memory as the kernel manages it, beyond what the environment's probes have: reclaim, shared memory, swap.

use topo::fs_root::{FsRoot, value_of};

/// What is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySettings {
    /// vm.zone_reclaim_mode.
    pub zone_reclaim: Option<u32>,
    /// The size of the file system at /dev/shm, bytes; without an option it is half of the memory.
    pub shm: Shm,
    /// Memory of the machine, bytes.
    pub total_bytes: Option<u64>,
    /// Swap space, bytes.
    pub swap_bytes: Option<u64>,
    /// Swap space in use, bytes.
    pub swap_used_bytes: Option<u64>,
}

/// The file system at /dev/shm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shm {
    /// The list of mounts cannot be read.
    #[default]
    Unknown,
    /// Nothing is mounted there.
    Missing,
    /// It has this size, bytes; `None` where the mount names none, which is half of the memory.
    Bytes(Option<u64>),
}

/// Reads it.
pub fn memory(root: &FsRoot) -> MemorySettings {
    let meminfo = root.lines("/proc/meminfo", &["MemTotal", "SwapTotal", "SwapFree"]).unwrap_or_default();
    let kib = |key| value_of(&meminfo, key)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024);
    let (swap, free) = (kib("SwapTotal"), kib("SwapFree"));
    MemorySettings {
        zone_reclaim: root.text("/proc/sys/vm/zone_reclaim_mode").ok().and_then(|text| text.parse().ok()),
        shm: root.lines_holding("/proc/self/mountinfo", " /dev/shm ").map_or(Shm::Unknown, |lines| shm(&lines)),
        total_bytes: kib("MemTotal"),
        swap_bytes: swap,
        swap_used_bytes: swap.zip(free).map(|(swap, free)| swap.saturating_sub(free)),
    }
}

/// A line such as `29 23 0:25 / /dev/shm rw,nosuid shared:3 - tmpfs tmpfs rw,size=65536k,inode64` (proc_pid_mountinfo(5)); the last mount hides others.
fn shm(lines: &str) -> Shm {
    let Some(options) = lines.lines().last().and_then(|line| line.rsplit(' ').next()) else { return Shm::Missing };
    let size = options.split(',').find_map(|option| option.strip_prefix("size="));
    let bytes = |text: &str| match text.strip_suffix('k') {
        Some(kib) => kib.parse::<u64>().ok()?.checked_mul(1024),
        None => text.parse().ok(),
    };
    Shm::Bytes(size.and_then(bytes))
}
