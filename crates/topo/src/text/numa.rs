//! The NUMA view: what `numactl -H` and `numactl -s` say, and of each node what it is made of.
//!
//! Sizes in whole MiB, rounded down, as numactl prints them (its "MB" are MiB), so that the two can be
//! compared by eye.

use stats::IdSet;

use super::layout::{columns, count, cut, ids, wrapped};
use crate::model::{NodeKind, NumaNode, Topology, TopologySource};
use crate::process::{MemoryPolicy, PolicyMode, ProcessBinding};
use crate::survey::Survey;

/// The most of a node's PUs in the table; longer lists are below it.
const PUS_COLUMNS: usize = 22;

/// The nodes; the last column is wrapped where it has to be.
pub(super) fn nodes(topology: &Topology, width: usize) -> Vec<String> {
    let all: IdSet = topology.nodes.iter().map(|node| node.os_index).collect();
    let mut rows = vec![["node", "made of", "PUs", "size MiB", "free MiB"].map(str::to_owned).to_vec()];
    rows.extend(topology.nodes.iter().map(|node| row(node, topology.hides_cpus_of(node))));
    for column in [3, 4] {
        let widest = rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        rows.iter_mut().for_each(|row| row[column] = format!("{:>widest$}", row[column]));
    }

    let mut lines = vec![format!("{} ({})", count(topology.nodes.len(), "NUMA node"), ids(&all))];
    let head = ["allowed here".to_owned()];
    let allowed = head.into_iter().chain(topology.nodes.iter().map(|node| allowed(topology, node)));
    let table = columns(&rows);
    let cut_lists =
        topology.nodes.iter().map(|node| (node, pu_list(node))).filter(|(_, list)| list.len() > PUS_COLUMNS);
    let whole: Vec<String> = cut_lists
        .flat_map(|(node, list)| wrapped(&format!("  node {}: PUs ", node.os_index), &list, width))
        .collect();
    let lead = table.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    lines.extend(
        table
            .iter()
            .zip(allowed)
            .flat_map(|(line, allowed)| wrapped(&format!("{line:<lead$}  "), &allowed, width)),
    );
    lines.extend(whole);
    lines
}

/// The PUs in the node, `-` where there are none.
fn pu_list(node: &NumaNode) -> String {
    let own = node.own_pus();
    if own.is_empty() { "-".to_owned() } else { ids(&own) }
}

/// What of the node may be used here.
fn allowed(topology: &Topology, node: &NumaNode) -> String {
    let own = node.own_pus();
    let usable = own.and(&topology.allowed.pus);
    let memory = node.allowed && (node.total_bytes > 0 || node.kind == NodeKind::Normal);
    match (usable.is_empty(), memory) {
        _ if !own.is_empty() && usable == own && (memory || node.kind == NodeKind::CpuOnly) => {
            "all".to_owned()
        }
        (false, true) => format!("PUs {}, memory", ids(&usable)),
        (false, false) => format!("PUs {}", ids(&usable)),
        (true, true) if own.is_empty() => "all".to_owned(),
        (true, true) => "memory".to_owned(),
        (true, false) => "nothing".to_owned(),
    }
}

fn row(node: &NumaNode, hides_cpus: bool) -> Vec<String> {
    let mib = |bytes: u64| (bytes >> 20).to_string();
    vec![
        node.os_index.to_string(),
        made_of(node.kind, hides_cpus).to_owned(),
        cut(&pu_list(node), PUS_COLUMNS),
        // A file may hold no sizes: a node with CPUs that is said to have memory has some.
        if node.total_bytes == 0 && node.kind == NodeKind::Normal {
            "?".to_owned()
        } else {
            mib(node.total_bytes)
        },
        node.free_bytes.map_or_else(|| "-".to_owned(), mib),
    ]
}

/// What a node is made of; `hides_cpus`: the file may leave out its CPUs.
fn made_of(kind: NodeKind, hides_cpus: bool) -> &'static str {
    match kind {
        NodeKind::Normal => "CPUs and memory",
        NodeKind::CpuOnly => "CPUs without memory",
        NodeKind::MemoryOnly if hides_cpus => "memory; the file shows no CPUs",
        NodeKind::MemoryOnly => "memory without CPUs",
        NodeKind::GpuMemory => "a GPU's memory",
        NodeKind::Empty => "nothing",
    }
}

/// What the process is bound to, in numactl's order.
pub(super) fn process(survey: &Survey, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let Some(process) = &survey.process else {
        return vec![
            "no policy and no bindings: the file says nothing of the process that wrote it".to_owned(),
        ];
    };
    let whose = match topology.source {
        TopologySource::ThisSystem => "this process",
        TopologySource::XmlFile { .. } | TopologySource::Texts { .. } => "the process that wrote the file",
    };
    let mut lines = vec![whose.to_owned()];
    lines.extend(wrapped("  memory policy  ", &policy(&process.policy), width));
    let pus = &topology.allowed.pus;
    lines.extend(wrapped("  PUs            ", &ids(pus), width));
    let on: IdSet = topology
        .nodes
        .iter()
        .filter(|node| !node.own_pus().and(pus).is_empty())
        .map(|node| node.os_index)
        .collect();
    lines.extend(wrapped("  on nodes       ", &ids(&on), width));
    lines.extend(wrapped("  memory from    ", &memory_from(topology, process), width));

    lines
}

/// The policy as a sentence that names it by numactl's word.
fn policy(policy: &MemoryPolicy) -> String {
    let nodes = ids(&policy.nodes);
    let Some(mode) = policy.mode else {
        return format!("not known: {}", policy.reason.as_deref().unwrap_or("no reason is given"));
    };
    let meaning = match mode {
        PolicyMode::Default | PolicyMode::Local => "the node of the PU that touches a page first".to_owned(),
        PolicyMode::Preferred | PolicyMode::PreferredMany => format!("nodes {nodes} first, others when full"),
        PolicyMode::Bind => format!("nodes {nodes} only"),
        PolicyMode::Interleave => format!("page by page over nodes {nodes}"),
        PolicyMode::WeightedInterleave => format!("page by page over nodes {nodes}, by their weights"),
    };
    let flags = policy.flags.as_ref().map_or_else(String::new, |flags| format!(" ({flags})"));
    format!("{}{flags}: {meaning}", mode.word())
}

/// The nodes that memory can come from: a binding's, else all that are allowed.
fn memory_from(topology: &Topology, process: &ProcessBinding) -> String {
    match process.policy.mode {
        Some(PolicyMode::Bind) => {
            format!("nodes {}", ids(&process.policy.nodes.and(&topology.allowed.nodes)))
        }
        _ => format!("nodes {}", ids(&topology.allowed.nodes)),
    }
}
