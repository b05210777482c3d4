//! How the kernel manages memory.

use report::doctor::{Check, Part};
use stats::units::rounded_size;

use super::UNREADABLE;
use super::probe::{Probe, listed};
use crate::facts::SystemFacts;
use crate::facts::memory::Shm;

const BALANCING: Probe = Probe {
    name: "memory.numa-balancing",
    part: Part::Memory,
    why: "the kernel unmaps pages to see who uses them and moves them: bound programs pay for it and gain \
        nothing",
    source: "kernel, admin-guide/sysctl/kernel (numa_balancing)",
};

const THP: Probe = Probe {
    name: "memory.transparent-huge-pages",
    part: Part::Memory,
    why: "with 4 KiB pages alone, address translation takes bandwidth of large arrays",
    source: "kernel, admin-guide/mm/transhuge",
};

const RECLAIM: Probe = Probe {
    name: "memory.zone-reclaim",
    part: Part::Memory,
    why: "a full node first throws its cached files away before it takes far memory: allocations stall",
    source: "kernel, admin-guide/sysctl/vm (zone_reclaim_mode)",
};

const MEMLOCK: Probe = Probe {
    name: "memory.memlock",
    part: Part::Memory,
    why: "network adapters lock the memory that they read and write: beyond the limit messages are copied, \
        or fail",
    source: "getrlimit(2), RLIMIT_MEMLOCK; capabilities(7), CAP_IPC_LOCK; Open MPI, OpenFabrics FAQ; NCCL \
        user guide, Runtime and MPI issues (Docker)",
};

const SHM: Probe = Probe {
    name: "memory.shm",
    part: Part::Memory,
    why: "ranks of a node exchange messages there: NCCL does not start where it is too small, and a program \
        that fills it ends with a bus error",
    source: "NCCL user guide, Runtime and MPI issues (Shared memory); kernel, filesystems/tmpfs",
};

const SWAP: Probe = Probe {
    name: "memory.swap",
    part: Part::Memory,
    why: "memory that was swapped out comes back at a disk's rate",
    source: "kernel, admin-guide/sysctl/vm (swappiness); proc_meminfo(5)",
};

const HUGE: Probe = Probe {
    name: "memory.huge-pages",
    part: Part::Memory,
    why: "reserved huge pages serve only programs that ask for them: ordinary memory of that node is smaller \
        by as much",
    source: "kernel, admin-guide/mm/hugetlbpage",
};

/// Smaller limits on locked memory do not hold a message's buffers.
const LEAST_MEMLOCK: u64 = 1 << 30;
/// Smaller shared memory does not hold a node's exchange buffers; a container has 64 MiB by default.
const LEAST_SHM: u64 = 1 << 30;
/// From here on swap in use is more than what nobody has needed for long, of the memory.
const SWAP_SHARE: u64 = 100;
/// From here on a reserve of huge pages that nobody uses counts, of a node's memory.
const HUGE_SHARE: u64 = 10;

pub(super) fn numa_balancing(facts: &SystemFacts<'_>) -> Option<Check> {
    let Some(value) = facts.probe("kernel.numa_balancing") else {
        return match (facts.memory.shows_settings, facts.survey.topology.machine_has_one_node()) {
            (true, _) => BALANCING.ok("not in this kernel"),
            (false, true) => BALANCING.ok("there is one NUMA node"),
            (false, false) => BALANCING.open("/proc/sys/kernel/numa_balancing cannot be read", UNREADABLE),
        };
    };
    match (value.as_str(), facts.survey.topology.machine_has_one_node()) {
        ("0", _) => BALANCING.ok("off"),
        (_, true) => BALANCING.ok(format!("on ({value}); there is one NUMA node")),
        (_, false) => BALANCING.costs(format!("on ({value})"), "as root: sysctl -w kernel.numa_balancing=0"),
    }
}

pub(super) fn transparent_huge_pages(facts: &SystemFacts<'_>) -> Option<Check> {
    match facts.probe("memory.transparent_huge_pages") {
        Some(mode) if mode == "never" => THP
            .costs("never", "as root: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled (or always)"),
        Some(mode) => THP.ok(mode),
        None => THP.open("/sys/kernel/mm/transparent_hugepage cannot be read", UNREADABLE),
    }
}

pub(super) fn zone_reclaim(facts: &SystemFacts<'_>) -> Option<Check> {
    match facts.memory.zone_reclaim {
        Some(0) => RECLAIM.ok("off"),
        Some(mode) if facts.survey.topology.machine_has_one_node() => {
            RECLAIM.ok(format!("{mode}; there is one NUMA node"))
        }
        Some(mode) => RECLAIM.remark(format!("on ({mode})"), "as root: sysctl -w vm.zone_reclaim_mode=0"),
        // A kernel without NUMA has none.
        None if facts.memory.shows_settings => None,
        None => RECLAIM.unknown("/proc/sys/vm/zone_reclaim_mode cannot be read", UNREADABLE),
    }
}

pub(super) fn memlock(facts: &SystemFacts<'_>) -> Option<Check> {
    let Some(limit) = facts.probe("limits.memlock_soft_bytes") else {
        return MEMLOCK.open("/proc/self/limits cannot be read", UNREADABLE);
    };
    let Ok(bytes) = limit.parse::<u64>() else { return MEMLOCK.ok("unlimited") };
    let size = rounded_size(bytes);
    if bytes >= LEAST_MEMLOCK {
        return MEMLOCK.ok(size);
    }
    let change = "raise memlock to unlimited: in the job manager's unit (LimitMEMLOCK=infinity), in \
        /etc/security/limits.conf, or with the container's --ulimit";
    let names = facts.adapters.names();

    match (&facts.adapters.rdma, facts.memory.may_lock) {
        (_, Some(true)) => MEMLOCK.ok(format!("{size}, and this process may lock more (CAP_IPC_LOCK)")),
        (None, _) => MEMLOCK
            .open(format!("{size}; whether adapters lock memory is not shown here (/sys/class)"), UNREADABLE),
        (Some(_), _) if names.is_empty() => MEMLOCK.ok(format!("{size}; no adapter here locks memory")),
        (Some(_), None) => {
            MEMLOCK.open(format!("{size}; this process's capabilities are not shown"), UNREADABLE)
        }
        (Some(_), Some(false)) => MEMLOCK.costs(format!("{size}, with {} here", listed(&names)), change),
    }
}

pub(super) fn shm(facts: &SystemFacts<'_>) -> Option<Check> {
    match (&facts.memory.shm, facts.memory.total_bytes) {
        (Shm::Unknown, _) => SHM.open("the list of mounts cannot be read", UNREADABLE),
        (Shm::Missing, _) => SHM.costs(
            "nothing is mounted at /dev/shm",
            "mount a tmpfs there; in a container use --ipc=host or --shm-size",
        ),
        (Shm::Bytes(Some(bytes)), total)
            if *bytes < LEAST_SHM && total.is_none_or(|total| *bytes < total / 4) =>
        {
            SHM.costs(
                rounded_size(*bytes),
                "start the container with --shm-size=1g or more, or with --ipc=host",
            )
        }
        (Shm::Bytes(Some(bytes)), _) => SHM.ok(rounded_size(*bytes)),
        (Shm::Bytes(None), total) => SHM.ok(total.map_or_else(
            || "half of the memory".to_owned(),
            |total| format!("{} (half of the memory)", rounded_size(total / 2)),
        )),
    }
}

pub(super) fn swap(facts: &SystemFacts<'_>) -> Option<Check> {
    let (Some(all), Some(used)) = (facts.memory.swap_bytes, facts.memory.swap_used_bytes) else {
        return SWAP.open("/proc/meminfo cannot be read", UNREADABLE);
    };
    if all == 0 {
        return SWAP.ok("none");
    }
    let (size, of) = (rounded_size(used), rounded_size(all));
    if used > facts.memory.total_bytes.unwrap_or(u64::MAX) / SWAP_SHARE {
        return SWAP.costs(
            format!("{size} of {of} are in use"),
            "free memory and, as root, swapoff -a; swapon -a; see what took the memory",
        );
    }
    // Without the amount, which changes by itself: two days of a node are compared by these words.
    SWAP.ok(format!("hardly any of {of} in use"))
}

pub(super) fn huge_pages(facts: &SystemFacts<'_>) -> Option<Check> {
    let pages = &facts.survey.huge_pages;
    let mut idle = Vec::new();
    for one in pages {
        let free = one.free.unwrap_or(one.total).saturating_mul(one.page_bytes);
        let memory = facts.survey.topology.node(one.node).map_or(0, |node| node.total_bytes);
        if free > 0 && free > memory / HUGE_SHARE {
            idle.push(format!("{} on NUMA node {}", rounded_size(free), one.node));
        }
    }

    let total: u64 = pages.iter().map(|one| one.total.saturating_mul(one.page_bytes)).sum();

    match (pages.is_empty(), idle.is_empty(), total) {
        (true, ..) if facts.cpu.is_shown => None,
        (true, ..) => HUGE.unknown("huge pages are not shown here (/sys)", UNREADABLE),
        (_, false, _) => HUGE.remark(
            format!("reserved and unused: {}", listed(&idle)),
            "as root, a node: echo 0 >/sys/devices/system/node/nodeN/hugepages/hugepages-SIZE/nr_hugepages, \
             unless a program needs them",
        ),
        (_, true, 0) => HUGE.ok("none reserved"),
        (_, true, total) => HUGE.ok(format!("{} reserved", rounded_size(total))),
    }
}
