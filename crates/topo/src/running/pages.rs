//! Where the memory of a process is: its pages by NUMA node, from `numa_maps` (proc_pid_numa_maps(5)).
//!
//! Only memory of its own is counted: heap, stack, anonymous and shared memory. Pages of program files are
//! the page cache's, which lies wherever somebody first read the file. Each line counts pages in its own
//! size, `kernelpagesize_kB`; transparent huge pages are counted as the small pages that they replace
//! (`gather_pte_stats` in the kernel's fs/proc/task_mmu.c).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fs_root::FsRoot;

/// What `file=` begins with where it is memory and not a file.
const SHARED_MEMORY: [&str; 6] = ["/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage", "/hugetlb"];

/// Where the memory of a process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pages {
    /// The nodes that hold some of it, by OS index; null where that is not known.
    pub nodes: Option<Vec<NodePages>>,
    /// Why it is not known; null where it is.
    pub reason: Option<String>,
}

/// What of it is on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodePages {
    /// The node's OS index.
    pub node: u32,
    /// How much.
    pub bytes: u64,
}

/// Where the memory of the process is whose folder in /proc this is.
pub(super) fn pages(root: &FsRoot, folder: &str) -> Pages {
    match root.text(&format!("{folder}/numa_maps")) {
        Ok(text) if !text.is_empty() => Pages { nodes: Some(node_pages(&text)), reason: None },
        // The kernel gives nothing, and no error, for a process that has ended or that has no memory of its
        // own.
        Ok(_) => Pages { nodes: None, reason: Some(format!("{folder}/numa_maps is empty")) },
        Err(reason) => {
            Pages { nodes: None, reason: Some(format!("{reason} (a kernel without NUMA has no such file)")) }
        }
    }
}

/// The memory of a process by node, from the text of its `numa_maps`.
pub fn node_pages(maps: &str) -> Vec<NodePages> {
    let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
    for line in maps.lines().filter(|line| is_memory(line)) {
        let value = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key));
        let page = value("kernelpagesize_kB=").and_then(|size| size.parse::<u64>().ok()).unwrap_or(4) << 10;
        for (node, pages) in line.split(' ').filter_map(on_node) {
            let all = bytes.entry(node).or_default();
            *all = all.saturating_add(pages.saturating_mul(page));
        }
    }
    bytes.into_iter().map(|(node, bytes)| NodePages { node, bytes }).collect()
}

/// Whether a line is of memory and not of a file.
fn is_memory(line: &str) -> bool {
    let mut words = line.split(' ');
    match words.find_map(|word| word.strip_prefix("file=")) {
        None => true,
        Some(file) => {
            line.split(' ').any(|word| word == "huge")
                || SHARED_MEMORY.iter().any(|name| file.starts_with(name))
        }
    }
}

/// `N3=512`: so many pages on node 3.
fn on_node(word: &str) -> Option<(u32, u64)> {
    let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
    Some((node.parse().ok()?, pages.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_in_each_lines_page_size_and_files_are_not() {
        let maps = "00400000 default file=/usr/bin/cat mapped=5 N0=3 N1=2 kernelpagesize_kB=4\n\
            005f0000 default heap anon=100 dirty=100 N0=90 N3=10 kernelpagesize_kB=4\n\
            7f0000000000 bind:1 anon=2 dirty=2 N1=2 kernelpagesize_kB=64\n\
            7f1000000000 default file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N3=3 \
            kernelpagesize_kB=2048\n\
            7f2000000000 default file=/mnt/huge/x huge dirty=1 N2=1 kernelpagesize_kB=2048\n\
            7f3000000000 default file=/dev/shm/page mapped=1 N2=1 kernelpagesize_kB=4\n\
            7ffc00000000 default stack anon=3 dirty=3 N0=3";
        let shown: Vec<(u32, u64)> =
            node_pages(maps).into_iter().map(|pages| (pages.node, pages.bytes >> 10)).collect();
        assert_eq!(shown, [(0, 93 * 4), (1, 128), (2, 2048 + 4), (3, 40 + 3 * 2048)]);
    }

    #[test]
    fn a_missing_and_an_empty_file_are_nothing_known_with_the_reason() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = FsRoot::at(folder.path());
        let missing = pages(&root, "/proc/7");
        assert!(
            missing.nodes.is_none()
                && missing.reason.is_some_and(|reason| reason.contains("/proc/7/numa_maps"))
        );
        std::fs::create_dir_all(folder.path().join("proc/7"))?;
        std::fs::write(folder.path().join("proc/7/numa_maps"), "")?;
        assert_eq!(pages(&root, "/proc/7").reason.as_deref(), Some("/proc/7/numa_maps is empty"));
        Ok(())
    }
}
