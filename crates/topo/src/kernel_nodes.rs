//! What the kernel says of NUMA nodes beyond hwloc, on this machine: free memory, each node's own CPUs, and
//! the nodes that hwloc leaves out.
//!
//! hwloc leaves out the memory of NVIDIA GPUs unless HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES is set; a user who sees
//! 36 nodes in `numactl -H` must find 36 here, each named as what it is. Files:
//! Documentation/ABI/stable/sysfs-devices-node.

use stats::IdSet;

use crate::fs_root::{FsRoot, kernel_bytes, value_of};
use crate::model::Distances;
use crate::nodes::RawNode;

/// Adds to `nodes` and `distances` what `/sys/devices/system/node` says.
pub(crate) fn complete(root: &FsRoot, nodes: &mut Vec<RawNode>, distances: &mut Option<Distances>) {
    let Some(online) = online(root) else { return };
    let known = nodes.len();
    for os_index in online.iter() {
        if !nodes.iter().any(|node| node.os_index == os_index) {
            nodes.push(left_out(os_index));
        }
    }

    for node in nodes.iter_mut() {
        let directory = format!("/sys/devices/system/node/node{}", node.os_index);
        node.kernel_pus = root.text(&format!("{directory}/cpulist")).ok().and_then(|list| list.parse().ok());
        let keys = ["MemTotal", "MemFree"].map(|key| format!("Node {} {key}", node.os_index));
        let keys = keys.each_ref().map(String::as_str);
        let Ok(meminfo) = root.lines(&format!("{directory}/meminfo"), &keys) else { continue };
        node.free_bytes = bytes(&meminfo, node.os_index, "MemFree");
        if let Some(total) = bytes(&meminfo, node.os_index, "MemTotal") {
            node.total_bytes = total;
        }
    }

    bring_up(root, nodes);

    if nodes.len() > known || distances.is_none() {
        let full = matrix(root, &online);
        if full.is_some() {
            *distances = full;
        }
    }
}

/// The memory of a machine of one node is what `/proc/meminfo` says where that is more: a guest whose kernel
/// brings its memory up bit by bit shows in the node's
/// file what is up now (7.2, then 20.6 of 23.5 GiB within minutes), and what is chosen by a machine's memory
/// must not depend on the moment.
fn bring_up(root: &FsRoot, nodes: &mut [RawNode]) {
    let [node] = nodes else { return };
    let meminfo = root.lines("/proc/meminfo", &["MemTotal"]).unwrap_or_default();
    node.total_bytes =
        node.total_bytes.max(value_of(&meminfo, "MemTotal").and_then(kernel_bytes).unwrap_or(0));
}

/// The nodes that are online.
fn online(root: &FsRoot) -> Option<IdSet> {
    root.text("/sys/devices/system/node/online").ok()?.parse().ok()
}

/// A node that hwloc has not got. Whether this process may allocate there is for the caller to cut down by
/// `Mems_allowed`.
fn left_out(os_index: u32) -> RawNode {
    RawNode { os_index, allowed: true, ..RawNode::default() }
}

/// A line such as `Node 0 MemTotal:  131921272 kB`; the kernel's kB are KiB.
fn bytes(meminfo: &str, node: u32, key: &str) -> Option<u64> {
    kernel_bytes(value_of(meminfo, &format!("Node {node} {key}"))?)
}

/// The kernel's distance matrix of the online nodes; `None` for one node, or where a row is missing.
fn matrix(root: &FsRoot, online: &IdSet) -> Option<Distances> {
    if online.len() < 2 {
        return None;
    }
    let row = |node: u32| -> Option<Vec<u64>> {
        let text = root.text(&format!("/sys/devices/system/node/node{node}/distance")).ok()?;
        let row: Option<Vec<u64>> = text.split_whitespace().map(|number| number.parse().ok()).collect();
        row.filter(|row| row.len() == online.len())
    };
    let rows: Option<Vec<Vec<u64>>> = online.iter().map(row).collect();
    Some(Distances { nodes: online.iter().collect(), rows: rows? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &std::path::Path, path: &str, text: &str) -> std::io::Result<()> {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(root))?;
        std::fs::write(path, text)
    }

    #[test]
    fn a_node_that_hwloc_leaves_out_is_added_with_its_memory() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        write(root.path(), "sys/devices/system/node/online", "0,4\n")?;
        for (node, cpus, kib, row) in [(0, "0-71", 1000, "10 80"), (4, "", 2000, "80 10")] {
            let directory = format!("sys/devices/system/node/node{node}");
            write(root.path(), &format!("{directory}/cpulist"), &format!("{cpus}\n"))?;
            write(root.path(), &format!("{directory}/distance"), &format!("{row}\n"))?;
            let meminfo =
                format!("Node {node} MemTotal:       {kib} kB\nNode {node} MemFree:         500 kB\n");
            write(root.path(), &format!("{directory}/meminfo"), &meminfo)?;
        }

        let mut nodes = vec![left_out(0)];
        let mut distances = None;
        complete(&FsRoot::at(root.path()), &mut nodes, &mut distances);
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[1].os_index, 4);
        assert_eq!(nodes[1].total_bytes, 2000 * 1024);
        assert_eq!(nodes[1].free_bytes, Some(500 * 1024));
        assert_eq!(nodes[1].kernel_pus, Some(IdSet::default()));
        assert_eq!(nodes[0].kernel_pus.as_ref().map(ToString::to_string), Some("0-71".to_owned()));
        assert_eq!(distances.map(|d| d.rows), Some(vec![vec![10, 80], vec![80, 10]]));
        Ok(())
    }

    #[test]
    fn the_memory_of_a_guest_that_is_still_brought_up_is_that_of_the_machine() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        write(root.path(), "sys/devices/system/node/online", "0\n")?;
        write(root.path(), "sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:   7000 kB\n")?;
        write(root.path(), "proc/meminfo", "MemTotal:       24000 kB\nMemFree:    5 kB\n")?;
        let mut nodes = vec![left_out(0)];
        complete(&FsRoot::at(root.path()), &mut nodes, &mut None);
        assert_eq!(nodes[0].total_bytes, 24000 * 1024);
        Ok(())
    }

    #[test]
    fn without_the_kernels_files_nothing_is_changed() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let mut nodes = vec![left_out(0)];
        complete(&FsRoot::at(root.path()), &mut nodes, &mut None);
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].free_bytes, None);
        Ok(())
    }
}
