//! Limits on the memory of this process: those of its cgroup and of the groups above it, in either version,
//! and its resource limits.
//!
//! What goes beyond a cgroup's limit is not refused but killed (`memory.max`, `memory.limit_in_bytes`) or
//! slowed down until it hardly moves
//! (`memory.high`); what goes beyond a resource limit is an allocation that fails. Files: cgroup-v2.rst and
//! cgroup-v1/memory.rst in the kernel's
//! Documentation/admin-guide, proc_pid_limits(5). Left out: swap, and limits on locked memory (they are the
//! driver's to meet).

use crate::cgroup::group_limits;
use crate::fs_root::{FsRoot, THIS, kernel_bytes, value_of};
use crate::model::MemoryLimit;

/// Of a group's `memory.stat`: the names of version 1, which sums up the groups below in `total_`, and of
/// version 2.
const STATS: [Stats; 2] = [
    Stats { swap_backed: ["total_rss", "total_shmem"], prefix: "total_" },
    Stats { swap_backed: ["anon", "shmem"], prefix: "" },
];

/// How a version names what the kernel cannot take back without swap.
struct Stats {
    /// Memory of processes and of tmpfs, all of it.
    swap_backed: [&'static str; 2],
    /// Before the names of the lists.
    prefix: &'static str,
}
/// The resource limits on memory as `/proc/self/limits` names them, and the lines of `/proc/self/status` that
/// say what counts against them.
const RESOURCES: [(&str, &str, &str); 2] =
    [("Max address space", "VmSize", "ulimit -v"), ("Max data size", "VmData", "ulimit -d")];

/// The lines of `/proc/self/status` that are read of this process: every reader asks for the same ones,
/// because the last answer is kept in a saved file.
pub(crate) const STATUS_LINES: [&str; 4] = ["Cpus_allowed_list", "Mems_allowed_list", "VmSize", "VmData"];

/// The limits of this process; `status`: its `/proc/self/status`.
pub(crate) fn memory_limits(root: &FsRoot, status: &str) -> Vec<MemoryLimit> {
    let of_groups = group_limits(root, THIS).into_iter().map(|limit| MemoryLimit {
        bytes: limit.bytes,
        used_bytes: held(root, &limit.group),
        source: limit.file,
    });
    of_groups.chain(of_resources(root, status)).collect()
}

/// What a group holds that cannot be taken back, bytes.
fn held(root: &FsRoot, group: &str) -> Option<u64> {
    let text = root.text(&format!("{group}/memory.stat")).ok()?;
    let value = |key: &str| {
        let mut words = text.lines().map(|line| line.split_whitespace());
        words.find_map(|mut words| {
            (words.next() == Some(key)).then(|| words.next()?.parse::<u64>().ok()).flatten()
        })
    };
    // Of the kernel's own memory caches of files' names can be taken back.
    let kernel = value("kernel").unwrap_or(0).saturating_sub(value("slab_reclaimable").unwrap_or(0));
    let pages = |stats: &Stats| -> Option<u64> {
        let of_list = |list: &str| value(&format!("{}{list}", stats.prefix));
        let all = stats.swap_backed.iter().filter_map(|key| value(key)).fold(0, u64::saturating_add);
        // A page is on one list alone: locked memory of processes is on `unevictable`, and only there.
        let lists = ["active_anon", "inactive_anon", "unevictable"].map(of_list);
        let listed = lists.into_iter().try_fold(0_u64, |sum, list| Some(sum.saturating_add(list?)));
        value(stats.swap_backed[0]).map(|_| listed.unwrap_or(all))
    };

    STATS.iter().find_map(pages).map(|pages| pages.saturating_add(kernel))
}

fn of_resources(root: &FsRoot, status: &str) -> Vec<MemoryLimit> {
    let names = RESOURCES.map(|(name, ..)| name);
    let Ok(text) = root.lines_holding(&format!("{THIS}/limits"), "Max ") else { return Vec::new() };
    let soft = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let in_use = |key: &str| kernel_bytes(value_of(status, key)?);
    let limit = |(name, (_, key, words)): (&str, &(&str, &str, &str))| {
        let bytes = soft(name)?;
        Some(MemoryLimit { bytes, used_bytes: in_use(key), source: (*words).to_owned() })
    };
    names.into_iter().zip(&RESOURCES).filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], status: &str) -> std::io::Result<Vec<(u64, u64, String)>> {
        let root = tempfile::tempdir()?;
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
            std::fs::write(path, text)?;
        }
        let live = FsRoot::at(root.path());
        let limits = memory_limits(&live, status);
        assert_eq!(memory_limits(&FsRoot::saved(live.seen()), status), limits, "a saved file says the same");
        Ok(limits.into_iter().map(|limit| (limit.bytes, limit.left_bytes(), limit.source)).collect())
    }

    #[test]
    fn version_2_limits_by_two_files_in_every_group_above() -> std::io::Result<()> {
        let all = found(
            &[
                ("proc/self/cgroup", "0::/job/step\n"),
                ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
                ("sys/fs/cgroup/job/memory.max", "4096\n"),
                ("sys/fs/cgroup/job/memory.high", "2048\n"),
                ("sys/fs/cgroup/job/memory.stat", "anon 100\nfile 900\nkernel 10\nshmem 1\nunevictable 0\n"),
                ("sys/fs/cgroup/job/step/memory.max", "max\n"),
                ("sys/fs/cgroup/job/step/memory.high", "max\n"),
            ],
            "",
        )?;
        let file = |name: &str| format!("/sys/fs/cgroup/job/{name}");
        assert_eq!(all, [(4096, 3985, file("memory.max")), (2048, 1937, file("memory.high"))]);
        Ok(())
    }

    #[test]
    fn locked_memory_counts_once_and_caches_of_the_kernel_not_at_all() -> std::io::Result<()> {
        let held_of = |stat: &str| -> std::io::Result<Option<u64>> {
            let root = tempfile::tempdir()?;
            std::fs::write(root.path().join("memory.stat"), stat)?;
            Ok(held(&FsRoot::at(root.path()), ""))
        };

        // 600 of the 1000 bytes of processes are locked, and 50 of files.
        let stat = "anon 1000\nfile 900\nkernel 300\nshmem 20\nslab_reclaimable 200\nslab_unreclaimable 60\n\
                    inactive_anon 400\nactive_anon 20\ninactive_file 800\nactive_file 30\nunevictable 650\n";
        assert_eq!(held_of(stat)?, Some(400 + 20 + 650 + 100));
        let first = "cache 5\nrss 1\ntotal_rss 1000\ntotal_shmem 20\ntotal_inactive_anon 400\n\
                     total_active_anon 20\ntotal_unevictable 650\n";
        assert_eq!(held_of(first)?, Some(400 + 20 + 650));
        assert_eq!(
            held_of("anon 1000\nshmem 20\nunevictable 650\n")?,
            Some(1020),
            "lists are not told apart"
        );
        assert_eq!(held_of("")?, None);
        Ok(())
    }

    #[test]
    fn version_1_limits_by_one_file_and_what_has_no_limit_is_none() -> std::io::Result<()> {
        let all = found(
            &[
                ("proc/self/cgroup", "4:memory:/pbs/1\n0::/\n"),
                ("proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/memory/pbs/1/memory.limit_in_bytes", "1073741824\n"),
                (
                    "sys/fs/cgroup/memory/pbs/1/memory.stat",
                    "rss 1\ntotal_cache 7\ntotal_rss 1024\ntotal_shmem 0\n",
                ),
            ],
            "",
        )?;

        let file = "/sys/fs/cgroup/memory/pbs/1/memory.limit_in_bytes".to_owned();
        assert_eq!(all, [(1 << 30, (1 << 30) - 1024, file)]);
        Ok(())
    }

    #[test]
    fn resource_limits_are_taken_with_what_counts_against_them() -> std::io::Result<()> {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         4294967296           unlimited            bytes\n";
        let all = found(&[("proc/self/limits", limits)], "VmSize:\t  1024 kB\nVmData:\t 24 kB")?;
        assert_eq!(all, [(4 << 30, (4 << 30) - (1 << 20), "ulimit -v".to_owned())]);
        Ok(())
    }

    #[test]
    fn a_machine_that_says_nothing_has_no_limits() -> std::io::Result<()> {
        assert!(found(&[], "")?.is_empty());
        Ok(())
    }
}
