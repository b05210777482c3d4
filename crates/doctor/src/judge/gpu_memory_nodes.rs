//! Whether the host keeps file cache or memory of processes in a GPU's memory.

use report::doctor::{Check, Part};
use stats::units::rounded_size;

use super::UNREADABLE;
use super::probe::{Probe, listed};
use crate::facts::SystemFacts;
use crate::facts::gpu_memory_nodes::{GpuMemoryNode, HostContent, LookedAt};

const HOST_USE: Probe = Probe {
    name: "memory.gpu-node-use",
    part: Part::Memory,
    why: "what the host keeps in a GPU's memory is missing to programs on that GPU, and the host's own \
        accesses to it go over the link",
    source: "kernel, filesystems/proc (meminfo), admin-guide/sysctl/vm (drop_caches); NVIDIA, driver release \
        notes 580.65.06 (CDMM), DGX Spark user guide (known issues)",
};

/// From this part of a memory that CPU and GPU share on, cached files cost: drivers count free memory only.
const COSTLY_PART: u64 = 4;

/// What was found in one node.
struct Finding {
    costs: bool,
    seen: String,
    changes: Vec<&'static str>,
}

pub(super) fn host_use(facts: &SystemFacts<'_>) -> Option<Check> {
    let nodes = &facts.gpu_memory_nodes;
    if nodes.is_empty() {
        return None;
    }
    let hidden: Vec<String> =
        nodes.iter().filter(|node| node.content.is_none()).map(|node| node.node.to_string()).collect();
    let findings: Vec<Finding> = nodes.iter().filter_map(finding).collect();
    let costs = findings.iter().any(|finding| finding.costs);
    if !hidden.is_empty() && !costs {
        return HOST_USE
            .open(format!("what is in GPU memory node {} is not shown", listed(&hidden)), UNREADABLE);
    }

    let not_shown = (!hidden.is_empty()).then(|| format!("what is in node {} is not shown", listed(&hidden)));
    let seen: Vec<String> = findings.iter().map(|finding| finding.seen.clone()).chain(not_shown).collect();
    let mut changes: Vec<&str> =
        findings.iter().flat_map(|finding| finding.changes.iter().copied()).collect();
    changes.sort_unstable();
    changes.dedup();
    let (seen, change) = (seen.join("; "), changes.join("; "));
    match (findings.is_empty(), costs) {
        (true, _) => {
            let names: Vec<String> = nodes.iter().map(name).collect();
            let names = listed(&names);
            HOST_USE.ok(match nodes.iter().any(|node| node.is_shared) {
                true => format!(
                    "no more than a tenth is file cache in {names}; what programs have there is not \
                     counted, for CPU and GPU share it"
                ),
                false => format!("next to nothing of the host's in {names}"),
            })
        }
        (false, true) => HOST_USE.costs(seen, change),
        (false, false) => HOST_USE.remark(seen, change),
    }
}

fn name(node: &GpuMemoryNode) -> String {
    match (node.gpu, node.is_shared) {
        (Some(gpu), false) => format!("NUMA node {} (memory of GPU {gpu})", node.node),
        (Some(gpu), true) => format!("NUMA node {} (memory of CPU and GPU {gpu})", node.node),
        (None, _) => format!("NUMA node {} (memory of a GPU)", node.node),
    }
}

fn finding(node: &GpuMemoryNode) -> Option<Finding> {
    let content = node.content.as_ref()?;
    let least = node.least_bytes();
    let mut parts = Vec::new();
    let mut changes = Vec::new();

    if content.cache_bytes > least {
        parts.push(cache(content));
        changes.push(match content.locked_bytes > content.cache_bytes / 2 {
            true => "delete the files of ramfs, or end who locked them: much of this cache is locked",
            false => "as root: sync; echo 1 >/proc/sys/vm/drop_caches",
        });
    }
    let has_processes = !node.is_shared && content.process_bytes > least;
    if !node.is_shared && content.shared_bytes > least {
        // Processes are named once: after their own memory where there is some.
        let of = if has_processes { String::new() } else { owners(content) };
        parts.push(format!(
            "{} of files in memory (tmpfs) and shared memory{of}",
            rounded_size(content.shared_bytes)
        ));
        changes.push("delete what nobody needs of tmpfs (/dev/shm, /tmp)");
    }
    if has_processes {
        parts.push(format!("{} of processes{}", rounded_size(content.process_bytes), owners(content)));
        changes.push("end these processes, or start them with `numactl --membind` of nodes with CPUs");
    }
    if parts.is_empty() {
        return None;
    }

    let costs = !node.is_shared || content.cache_bytes > content.total_bytes / COSTLY_PART;
    let seen =
        format!("{} holds {} of {}", name(node), parts.join(" and "), rounded_size(content.total_bytes));
    Some(Finding { costs, seen, changes })
}

fn cache(content: &HostContent) -> String {
    let of = match &content.cache_of {
        Some(group) => format!(" (most of it of control group {})", group.name),
        None => String::new(),
    };
    format!("{} of file cache{of}", rounded_size(content.cache_bytes))
}

/// The processes that have memory there, as far as they were seen.
fn owners(content: &HostContent) -> String {
    let named: Vec<String> =
        content.processes.iter().map(|one| format!("{}: {}", one.name, rounded_size(one.bytes))).collect();
    match (named.is_empty(), content.looked_at) {
        (false, LookedAt::All) => format!(" ({})", listed(&named)),
        (false, _) => format!(" ({}; not all processes could be looked at)", listed(&named)),
        (true, LookedAt::All) => " (of none that runs)".to_owned(),
        (true, LookedAt::Permitted) => " (whose is not shown to this user)".to_owned(),
        (true, LookedAt::InTime) => {
            " (whose was not found in time: numa_maps of the processes say it)".to_owned()
        }
    }
}
