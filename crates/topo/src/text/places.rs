//! Packages, their NUMA nodes and L3s, and the distances between nodes.

use stats::IdSet;
use stats::units::rounded_size;

use super::layout::{columns, count, ids, wrapped};
use crate::model::{Locality, NodeKind, NumaNode, Topology};
use crate::survey::Survey;

/// Packages with what they hold, then the nodes that are in no package.
pub(super) fn lines(survey: &Survey, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let mut lines = Vec::new();
    let mut shown = IdSet::default();
    for package in &topology.packages {
        let id = package.os_index.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let model = package.cpu_model.as_deref().unwrap_or("CPU model not known");
        lines.push(format!("package {id}   {model}"));
        for node in topology.nodes.iter().filter(|node| package.nodes.contains(node.os_index)) {
            lines.extend(node_lines(survey, node, width));
            shown.0.insert(node.os_index);
        }
        lines.extend(l3_line(topology, "  L3", width, |l3| l3.is_subset(&package.pus) && !in_one_node(topology, l3)));
        if package.nodes.is_empty() && !package.pus.is_empty() {
            lines.extend(wrapped("  PUs ", &pus(topology, &package.pus), width));
        }
    }
    let others: Vec<&NumaNode> = topology.nodes.iter().filter(|node| !shown.contains(node.os_index)).collect();
    if !others.is_empty() && !topology.packages.is_empty() {
        lines.push("in no package".to_owned());
    }
    for node in others {
        lines.extend(node_lines(survey, node, width));
    }
    lines
}

fn node_lines(survey: &Survey, node: &NumaNode, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let memory = match (node.total_bytes, node.free_bytes) {
        (0, _) if node.kind == NodeKind::Normal => "memory not known".to_owned(),
        (0, _) => "no memory".to_owned(),
        (total, Some(free)) => format!("{}, {} free", rounded_size(total), rounded_size(free)),
        (total, None) => rounded_size(total),
    };
    let subtype = node.subtype.as_ref().map_or_else(String::new, |subtype| format!(" ({subtype})"));
    let (what, pus) = match node.kind {
        NodeKind::Normal => (String::new(), pus(topology, &node.pus)),
        NodeKind::CpuOnly => ("CPUs without memory; ".to_owned(), pus(topology, &node.pus)),
        NodeKind::MemoryOnly => ("memory without CPUs; ".to_owned(), around(topology, node)),
        NodeKind::GpuMemory => ("the memory of a GPU, not for host buffers; ".to_owned(), around(topology, node)),
        NodeKind::Empty => ("neither memory nor CPUs".to_owned(), String::new()),
    };
    let allowed = if node.allowed || node.total_bytes == 0 { "" } else { "; not allowed here" };
    let lead = format!("  node {:<3}  {memory}{subtype}   ", node.os_index);
    let mut lines = wrapped(&lead, &format!("{what}{pus}{allowed}"), width);
    if matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly) {
        lines.extend(l3_line(topology, "    L3", width, |l3| l3.is_subset(&node.pus) && in_one_node(topology, l3)));
    }
    lines.extend(huge_pages(survey, node.os_index, width));
    lines.extend(devices(survey, node.os_index, width));
    lines
}

/// `huge pages 2 MiB: 512 (400 free)`; nothing where none is in reserve.
fn huge_pages(survey: &Survey, node: u32, width: usize) -> Vec<String> {
    let own = survey.huge_pages.iter().filter(|pages| pages.node == node && pages.total > 0);
    let each = own.map(|pages| {
        let free = pages.free.map_or_else(String::new, |free| format!(" ({free} free)"));
        format!("{} of {}{free}", pages.total, rounded_size(pages.page_bytes))
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() { Vec::new() } else { wrapped("    huge pages: ", &all.join(", "), width) }
}

/// `GPUs 4-5; NIC hsn2`; nothing where no device is known to be local.
fn devices(survey: &Survey, node: u32, width: usize) -> Vec<String> {
    let here = |locality: &Locality| locality.nodes.contains(node) || locality.outside_nodes.contains(node);
    let gpus: IdSet = survey.topology.gpus.iter().filter(|gpu| here(&gpu.locality)).map(|gpu| gpu.index).collect();
    let nics = survey.nics.iter().filter(|nic| here(&nic.locality) && !nic.os_devices.is_empty());
    let nics: Vec<String> = nics.map(|nic| nic.os_devices.join("/")).collect();
    let mut parts = Vec::new();
    if !gpus.is_empty() {
        parts.push(format!("{} {}", if gpus.len() == 1 { "GPU" } else { "GPUs" }, ids(&gpus)));
    }
    if !nics.is_empty() {
        parts.push(format!("{} {}", if nics.len() == 1 { "NIC" } else { "NICs" }, nics.join(", ")));
    }
    if parts.is_empty() { Vec::new() } else { wrapped("    ", &parts.join("; "), width) }
}

/// Where a node without CPUs is: hwloc attaches what it cannot place to the whole machine, which is near nothing.
fn around(topology: &Topology, node: &NumaNode) -> String {
    let online = topology.pus.len() - topology.allowed.offline_pus.len();
    if node.pus.is_empty() || (node.pus.len() == online && !topology.machine_has_one_node()) {
        "near no PU in particular".to_owned()
    } else {
        format!("near {}", pu_list(&node.pus))
    }
}

fn pu_list(pus: &IdSet) -> String {
    format!("{} {}", if pus.len() == 1 { "PU" } else { "PUs" }, ids(pus))
}

/// `PUs 0-15,64-79, 16 cores x 2 PUs; allowed 1-15`.
fn pus(topology: &Topology, pus: &IdSet) -> String {
    if pus.is_empty() {
        return "its PUs are not shown or offline".to_owned();
    }
    let cores: Vec<usize> =
        topology.cores.iter().map(|core| core.pus.and(pus).len()).filter(|threads| *threads > 0).collect();
    let threads = match (cores.iter().min(), cores.iter().max()) {
        (Some(1), Some(1)) => format!(", {}", count(cores.len(), "core")),
        (Some(least), Some(most)) if least == most => format!(", {} x {most} PUs", count(cores.len(), "core")),
        _ => format!(", {}, {}", count(cores.len(), "core"), count(pus.len(), "PU")),
    };
    let allowed = pus.and(&topology.allowed.pus);
    let allowed = if allowed == *pus { String::new() } else { format!("; allowed {}", ids(&allowed)) };
    format!("{}{threads}{allowed}", pu_list(pus))
}

/// Whether an L3 lies within one node that has CPUs, and is shown below it.
fn in_one_node(topology: &Topology, l3: &IdSet) -> bool {
    let owners = topology.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly));
    owners.filter(|node| l3.is_subset(&node.pus)).count() == 1
}

/// `L3 16 MiB: 0-7,64-71 | 8-15,72-79`; nothing where there is none.
fn l3_line(topology: &Topology, lead: &str, width: usize, wanted: impl Fn(&IdSet) -> bool) -> Vec<String> {
    let l3s: Vec<_> = topology.l3s.iter().filter(|l3| wanted(&l3.pus)).collect();
    let Some(first) = l3s.first() else { return Vec::new() };
    let same_size = l3s.iter().all(|l3| l3.size_bytes == first.size_bytes);
    let size =
        first.size_bytes.filter(|_| same_size).map_or_else(String::new, |bytes| format!(" {}", rounded_size(bytes)));
    let groups: Vec<String> = l3s.iter().map(|l3| ids(&l3.pus)).collect();
    wrapped(&format!("{lead}{size}: "), &groups.join(" | "), width)
}

/// The distance matrix, where it fits.
pub(super) fn distances(topology: &Topology, width: usize) -> Vec<String> {
    let Some(distances) = &topology.distances else { return Vec::new() };
    let mut rows = vec![vec!["node".to_owned()]];
    rows[0].extend(distances.nodes.iter().map(ToString::to_string));
    for (node, row) in distances.nodes.iter().zip(&distances.rows) {
        let mut cells = vec![node.to_string()];
        cells.extend(row.iter().map(ToString::to_string));
        rows.push(cells);
    }
    let mut lines = vec!["distances (10 is local)".to_owned()];
    let matrix = columns(&rows);
    if matrix.iter().all(|line| line.len() <= width) {
        lines.extend(matrix);
    } else {
        lines.push(format!(
            "  between {} nodes: too wide for {width} columns, see the JSON output",
            distances.nodes.len()
        ));
    }
    lines
}
