//! Memory as the kernel manages it, beyond what the environment's probes have: reclaim, shared memory, swap.

use topo::fs_root::{FsRoot, kernel_bytes, value_of};

/// What is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySettings {
    /// Whether the kernel's settings are shown (`/proc/sys`): where they are, one that is missing is not in
    /// this kernel.
    pub shows_settings: bool,
    /// vm.zone_reclaim_mode.
    pub zone_reclaim: Option<u32>,
    /// Whether this process may lock memory beyond its limit; `None` where its capabilities are not shown.
    pub may_lock: Option<bool>,
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
    let bytes = |key| kernel_bytes(value_of(&meminfo, key)?);
    let (swap, free) = (bytes("SwapTotal"), bytes("SwapFree"));

    MemorySettings {
        shows_settings: !root.names("/proc/sys/kernel").is_empty(),
        may_lock: may_lock(root),
        zone_reclaim: root.text("/proc/sys/vm/zone_reclaim_mode").ok().and_then(|text| text.parse().ok()),
        shm: root
            .lines_holding("/proc/self/mountinfo", " /dev/shm ")
            .map_or(Shm::Unknown, |lines| shm(&lines)),
        total_bytes: bytes("MemTotal"),
        swap_bytes: swap,
        swap_used_bytes: swap.zip(free).map(|(swap, free)| swap.saturating_sub(free)),
    }
}

/// Whether this process has CAP_IPC_LOCK (capabilities(7)) in the first user namespace, where the kernel
/// looks for it (`can_do_mlock` in mm/mlock.c).
fn may_lock(root: &FsRoot) -> Option<bool> {
    const IPC_LOCK: u64 = 1 << 14;
    let status = root.lines("/proc/self/status", &["CapEff"]).ok()?;
    let effective = u64::from_str_radix(value_of(&status, "CapEff")?, 16).ok()?;
    let map = root.text("/proc/self/uid_map").ok()?;
    let is_first_namespace = map.split_whitespace().eq(["0", "0", "4294967295"]);
    Some(effective & IPC_LOCK != 0 && is_first_namespace)
}

/// A line such as `29 23 0:25 / /dev/shm rw,nosuid shared:3 - tmpfs tmpfs rw,size=65536k,inode64`
/// (proc_pid_mountinfo(5)); the last mount hides others.
fn shm(lines: &str) -> Shm {
    let Some(options) = lines.lines().last().and_then(|line| line.rsplit(' ').next()) else {
        return Shm::Missing;
    };
    let size = options.split(',').find_map(|option| option.strip_prefix("size="));
    let bytes = |text: &str| match text.strip_suffix('k') {
        Some(kib) => kib.parse::<u64>().ok()?.checked_mul(1024),
        None => text.parse().ok(),
    };
    Shm::Bytes(size.and_then(bytes))
}
