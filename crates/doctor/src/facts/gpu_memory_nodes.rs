//! What of the host's is in the memory of GPUs, where that memory is NUMA nodes of the host's: file cache and
//! pages of processes.
//!
//! Three kinds of machine: Grace superchips in NUMA mode, whose GPU memory is nodes without CPUs; MI300A,
//! whose only memory is the GPU's HBM; GB10, whose GPU has the CPU's memory. How much there is says the
//! kernel's count of the node (`nodeN/meminfo`, filesystems/proc); whose it is say the cgroups' counts
//! (admin-guide/cgroup-v2, `memory.numa_stat`) and the processes' maps (proc_pid_numa_maps(5)), as far as
//! this user may read them. The maps of a large process take long to make, so a thread reads them, and is
//! left alone after a while: it ends with this program.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use topo::Survey;
use topo::coherence::Coherence;
use topo::fs_root::{FsRoot, kernel_bytes, value_of};
use topo::model::{Gpu, NodeKind, TopologySource};
use topo::running::node_pages;

/// The memory of a GPU that is a NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuMemoryNode {
    /// The node's OS index.
    pub node: u32,
    /// The GPU's number, where it is one GPU's.
    pub gpu: Option<u32>,
    /// Whether it is the CPU's memory as well.
    pub is_shared: bool,
    /// What of the host's is in it; `None` where the kernel does not show it.
    pub content: Option<HostContent>,
}

/// What of the host's is in a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostContent {
    /// Memory of the node, bytes.
    pub total_bytes: u64,
    /// Cached files, bytes.
    pub cache_bytes: u64,
    /// Files in memory (tmpfs) and shared memory, bytes.
    pub shared_bytes: u64,
    /// Memory that processes allocated, bytes.
    pub process_bytes: u64,
    /// Memory that cannot be given back: locked, or in a file system without a disk (ramfs), bytes.
    pub locked_bytes: u64,
    /// The control group that most of the cache was charged to.
    pub cache_of: Option<Holder>,
    /// Processes with memory here, the largest first.
    pub processes: Vec<Holder>,
    /// Which processes were looked at.
    pub looked_at: LookedAt,
}

/// Which processes were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookedAt {
    /// Every process.
    All,
    /// Those that this user may look at.
    Permitted,
    /// Those that there was time for.
    #[default]
    InTime,
}

/// Who has memory in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// A process (`python 4711`), or a control group (`/system.slice/x.service`).
    pub name: String,
    /// How much, bytes.
    pub bytes: u64,
}

impl GpuMemoryNode {
    /// Less than this of the host's is nothing to look at, bytes. Where CPU and GPU share a memory some cache
    /// belongs there.
    pub fn least_bytes(&self) -> u64 {
        let total = self.content.as_ref().map_or(0, |content| content.total_bytes);
        if self.is_shared { total / 10 } else { total / 100 }
    }

    fn has_cache(&self) -> bool {
        self.content.as_ref().is_some_and(|content| content.cache_bytes > self.least_bytes())
    }

    /// Whether memory of processes is there that does not belong there.
    fn has_processes(&self) -> bool {
        let bytes =
            self.content.as_ref().map_or(0, |content| content.shared_bytes.max(content.process_bytes));
        !self.is_shared && bytes > self.least_bytes()
    }
}

/// Processes with less memory than this are not looked at, pages.
const LEAST_PAGES: u64 = 256;

/// The nodes of this machine that are GPUs' memory; of a saved one nobody knows what is in them now.
pub fn gpu_memory_nodes(root: &FsRoot, survey: &Survey, limit: Duration) -> Vec<GpuMemoryNode> {
    if survey.topology.source != TopologySource::ThisSystem {
        return Vec::new();
    }

    let mut nodes = nodes(survey);
    for node in &mut nodes {
        node.content = content(root, node.node);
    }

    let with = |holds: fn(&GpuMemoryNode) -> bool| -> Vec<u32> {
        nodes.iter().filter(|node| holds(node)).map(|node| node.node).collect()
    };
    let wanted =
        Wanted { cache: with(GpuMemoryNode::has_cache), processes: with(GpuMemoryNode::has_processes) };
    if wanted.cache.is_empty() && wanted.processes.is_empty() {
        return nodes;
    }

    let (found, looked_at) = holders(root, wanted, limit);
    for node in &mut nodes {
        if let Some(content) = &mut node.content {
            content.looked_at = looked_at;
            take_holders(content, node.node, &found);
        }
    }
    nodes
}

/// The nodes whose holders are looked for.
struct Wanted {
    cache: Vec<u32>,
    processes: Vec<u32>,
}

/// Which nodes are a GPU's memory, and whose.
fn nodes(survey: &Survey) -> Vec<GpuMemoryNode> {
    let topology = &survey.topology;
    let own =
        topology.nodes.iter().filter(|node| node.kind == NodeKind::GpuMemory).map(|node| GpuMemoryNode {
            node: node.os_index,
            gpu: topology.gpu_of_memory(node.os_index).map(|gpu| gpu.index),
            is_shared: false,
            content: None,
        });
    let shared = topology.gpus.iter().filter(|gpu| shares_memory(gpu)).filter_map(|gpu| {
        Some(GpuMemoryNode {
            node: topology.host_nodes(gpu).first()?,
            gpu: Some(gpu.index),
            is_shared: true,
            content: None,
        })
    });

    let mut nodes: Vec<GpuMemoryNode> = own.chain(shared).collect();
    nodes.sort_by_key(|node| (node.node, node.gpu));
    nodes.dedup_by_key(|node| node.node);
    nodes
}

/// Whether CPU and GPU have one memory.
fn shares_memory(gpu: &Gpu) -> bool {
    gpu.coherence() == Some(Coherence::Hbm)
        || gpu.name.value.as_deref().is_some_and(|name| name.contains("GB10"))
}

/// What the kernel counts in a node. `FilePages` has the pages of tmpfs in it, which `Shmem` counts alone.
fn content(root: &FsRoot, node: u32) -> Option<HostContent> {
    let key = |name: &str| format!("Node {node} {name}");
    let keys = ["MemTotal", "FilePages", "Shmem", "AnonPages", "Unevictable"].map(key);
    let meminfo = root
        .lines(&format!("/sys/devices/system/node/node{node}/meminfo"), &keys.each_ref().map(String::as_str));
    let meminfo = meminfo.ok()?;
    let bytes = |name: &str| kernel_bytes(value_of(&meminfo, &key(name))?);
    let (files, shared) = (bytes("FilePages")?, bytes("Shmem")?);

    Some(HostContent {
        total_bytes: bytes("MemTotal")?,
        cache_bytes: files.saturating_sub(shared),
        shared_bytes: shared,
        process_bytes: bytes("AnonPages")?,
        locked_bytes: bytes("Unevictable").unwrap_or(0),
        ..HostContent::default()
    })
}

/// A holder of memory in a node.
struct Found {
    node: u32,
    /// The process's number; `None` for a control group.
    pid: Option<u32>,
    holder: Holder,
}

/// Who has memory in these nodes, as far as the time limit and the user's rights go.
fn holders(root: &FsRoot, wanted: Wanted, limit: Duration) -> (Vec<Found>, LookedAt) {
    let (send, receive) = mpsc::channel();
    let root = root.clone();
    if std::thread::Builder::new().spawn(move || look(&root, &wanted, &send)).is_err() {
        return (Vec::new(), LookedAt::InTime);
    }

    let until = Instant::now() + limit;
    let (mut found, mut was_refused) = (Vec::new(), false);
    loop {
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Some(one)) => found.push(one),
            Ok(None) => was_refused = true,
            Err(RecvTimeoutError::Disconnected) => {
                return (found, if was_refused { LookedAt::Permitted } else { LookedAt::All });
            }
            Err(RecvTimeoutError::Timeout) => return (found, LookedAt::InTime),
        }
    }
}

/// Sends each holder; nothing for a process that may not be looked at.
fn look(root: &FsRoot, wanted: &Wanted, send: &Sender<Option<Found>>) {
    for node in &wanted.cache {
        let found = cache_group(root, *node).map(|holder| Found { node: *node, pid: None, holder });
        if found.is_some() && send.send(found).is_err() {
            return;
        }
    }

    if wanted.processes.is_empty() {
        return;
    }
    for pid in processes(root) {
        let Ok(maps) = root.bytes(&format!("/proc/{pid}/numa_maps")) else {
            let _gone = send.send(None);
            continue;
        };
        let pages = node_pages(&String::from_utf8_lossy(&maps));
        for on_node in pages.into_iter().filter(|pages| wanted.processes.contains(&pages.node)) {
            let name = root.text(&format!("/proc/{pid}/comm")).unwrap_or_default();
            let holder = Holder { name: format!("{name} {pid}"), bytes: on_node.bytes };
            if send.send(Some(Found { node: on_node.node, pid: Some(pid), holder })).is_err() {
                return;
            }
        }
    }
}

/// The processes with memory of their own, the largest first.
fn processes(root: &FsRoot) -> Vec<u32> {
    let pages = |pid: u32| -> Option<u64> {
        let text = root.bytes(&format!("/proc/{pid}/statm")).ok()?;
        String::from_utf8_lossy(&text).split_whitespace().nth(1)?.parse().ok()
    };
    let numbers = root.names("/proc").into_iter().filter_map(|name| name.parse().ok());
    let mut sized: Vec<(u64, u32)> = numbers.filter_map(|pid| Some((pages(pid)?, pid))).collect();
    sized.retain(|(pages, _)| *pages >= LEAST_PAGES);
    sized.sort_unstable_by(|one, other| other.cmp(one));
    sized.into_iter().map(|(_, pid)| pid).collect()
}

/// The smallest control group that most of a node's file cache was charged to; from the top, each time into
/// the child with most of it.
fn cache_group(root: &FsRoot, node: u32) -> Option<Holder> {
    const TOP: &str = "/sys/fs/cgroup";
    const DEEPEST: usize = 16;
    let mut path = TOP.to_owned();
    let mut holder: Option<Holder> = None;

    for _ in 0..DEEPEST {
        let children = root.names(&path).into_iter().filter_map(|child| {
            let child = format!("{path}/{child}");
            Some((cached_bytes(root, &child, node)?, child))
        });
        let Some((bytes, child)) = children.max() else { break };
        let least = holder.as_ref().map_or(1, |holder| holder.bytes / 2);
        if bytes < least {
            break;
        }
        let name = child.strip_prefix(TOP).unwrap_or(&child).to_owned();
        (path, holder) = (child, Some(Holder { name, bytes }));
    }
    holder
}

/// The cached files of a group in a node; `file` has those in tmpfs in it, which `shmem` counts alone.
fn cached_bytes(root: &FsRoot, group: &str, node: u32) -> Option<u64> {
    let counts = root.bytes(&format!("{group}/memory.numa_stat")).ok()?;
    let counts = String::from_utf8_lossy(&counts);
    let count = |key: &str| -> Option<u64> {
        let line = counts.lines().find(|line| line.split(' ').next() == Some(key))?;
        line.split(' ').find_map(|word| word.strip_prefix(&format!("N{node}=")))?.parse().ok()
    };
    Some(count("file")?.saturating_sub(count("shmem")?))
}

/// Gives a node's content its holders, without this process.
fn take_holders(content: &mut HostContent, node: u32, found: &[Found]) {
    for one in found.iter().filter(|one| one.node == node) {
        match one.pid {
            None if one.holder.bytes >= content.cache_bytes / 2 => {
                content.cache_of = Some(one.holder.clone())
            }
            None => {}
            Some(pid) if pid == std::process::id() => {
                content.process_bytes = content.process_bytes.saturating_sub(one.holder.bytes);
            }
            Some(_) => content.processes.push(one.holder.clone()),
        }
    }
    content.processes.sort_by_key(|one| std::cmp::Reverse(one.bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::print_stdout, reason = "how long the look takes is a figure of this test")]
    fn on_this_machine_the_holders_of_a_node_are_looked_for_no_longer_than_the_limit() {
        let limit = Duration::from_millis(30);
        let began = Instant::now();
        let (found, looked_at) =
            holders(&FsRoot::default(), Wanted { cache: vec![0], processes: vec![0] }, limit);
        let took = began.elapsed();
        println!("{} holders of NUMA node 0 in {took:?}: {looked_at:?}", found.len());
        // A busy machine wakes this thread late.
        assert!(took < limit + Duration::from_secs(5), "{took:?}");
        assert!(found.iter().all(|one| one.node == 0));
    }
}
