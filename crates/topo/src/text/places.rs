//! Packages, their NUMA nodes and L3s, and the distances between nodes.

use stats::IdSet;
use stats::units::rounded_size;

use super::layout::{count, cut, ids, named, wrapped};
use crate::model::{Locality, NodeKind, NumaNode, Topology};
use crate::survey::Survey;

/// The most of a node's subtype that is shown; hwloc's own are shorter.
const SUBTYPE_COLUMNS: usize = 20;

/// The most of a NIC's names.
const NIC_COLUMNS: usize = 40;

/// Packages with what they hold, then the nodes that are in no package.
pub(super) fn lines(survey: &Survey, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let mut lines = Vec::new();
    let mut shown = IdSet::default();
    for package in &topology.packages {
        let id = package.os_index.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let model = package.cpu_model.as_deref().unwrap_or("CPU model not known");
        let lead = format!("package {id}   ");
        lines.push(format!("{lead}{}", cut(model, width - lead.len())));
        // hwloc counts memory of the whole machine to each package.
        let within =
            |node: &&NumaNode| package.nodes.contains(node.os_index) && node.pus.is_subset(&package.pus);
        for node in topology.nodes.iter().filter(within) {
            if shown.0.insert(node.os_index) {
                lines.extend(node_lines(survey, node, width));
            }
        }
        lines.extend(l3_line(topology, "  L3", width, |l3| {
            l3.is_subset(&package.pus) && !in_one_node(topology, l3)
        }));
        if let Some(slow) = topology.slow.as_ref().filter(|slow| !slow.pus.and(&package.pus).is_empty()) {
            let text = format!("{} ({})", ids(&slow.pus.and(&package.pus)), slow.reason);
            lines.extend(wrapped("  slower cores: PUs ", &text, width));
        }
        if package.nodes.is_empty() && !package.pus.is_empty() {
            lines.extend(wrapped("  PUs ", &pus(topology, &package.pus), width));
        }
    }

    let others = topology.nodes.iter().filter(|node| !shown.contains(node.os_index));
    let (spare, others): (Vec<_>, Vec<_>) = others.partition(|node| node.kind == NodeKind::Empty);
    if !topology.packages.is_empty() && spare.len() + others.len() > 0 {
        lines.push("in no package".to_owned());
    }
    for node in others {
        lines.extend(node_lines(survey, node, width));
    }
    let spare: IdSet = spare.iter().map(|node| node.os_index).collect();
    if !spare.is_empty() {
        let lead = format!("  {} ", if spare.len() == 1 { "node" } else { "nodes" });
        lines.extend(wrapped(&lead, &format!("{}   neither memory nor CPUs", ids(&spare)), width));
    }
    lines
}

fn node_lines(survey: &Survey, node: &NumaNode, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let subtype = node
        .subtype
        .as_ref()
        .map_or_else(String::new, |subtype| format!(" ({})", cut(subtype, SUBTYPE_COLUMNS)));
    let (what, pus) = match node.kind {
        NodeKind::Normal => (String::new(), pus(topology, &node.pus)),
        NodeKind::CpuOnly => ("CPUs without memory; ".to_owned(), pus(topology, &node.pus)),
        NodeKind::MemoryOnly if topology.hides_cpus_of(node) && node.pus.is_empty() => {
            ("memory; the file shows no CPUs of it".to_owned(), String::new())
        }
        NodeKind::MemoryOnly if topology.hides_cpus_of(node) => {
            ("memory; the file shows no CPUs of it; ".to_owned(), around(topology, node))
        }
        NodeKind::MemoryOnly => ("memory without CPUs; ".to_owned(), around(topology, node)),
        NodeKind::GpuMemory => gpu_memory(topology, node),
        NodeKind::Empty => ("neither memory nor CPUs".to_owned(), String::new()),
    };

    let allowed = if node.allowed || node.total_bytes == 0 { "" } else { "; not allowed here" };
    let lead = format!("  node {:<3}  {}{subtype}   ", node.os_index, memory(node));
    let mut lines = wrapped(&lead, &format!("{what}{pus}{allowed}"), width);

    if node.kind.has_cpus() {
        lines.extend(l3_line(topology, "    L3", width, |l3| {
            l3.is_subset(&node.pus) && in_one_node(topology, l3)
        }));
    }

    lines.extend(huge_pages(survey, node.os_index, width));
    lines.extend(devices(survey, node, width));
    lines
}

/// How much memory a node has.
pub(crate) fn memory(node: &NumaNode) -> String {
    match (node.total_bytes, node.free_bytes) {
        (0, _) if node.kind.has_memory() => "memory not known".to_owned(),
        (0, _) => "no memory".to_owned(),
        (total, Some(free)) => format!("{}, {} free", rounded_size(total), rounded_size(free)),
        (total, None) => rounded_size(total),
    }
}

/// `512 of 2 MiB (400 free)` for each size of huge pages that a node has in reserve.
pub(crate) fn reserved(survey: &Survey, node: u32) -> impl Iterator<Item = String> {
    let own = survey.huge_pages.iter().filter(move |pages| pages.node == node && pages.total > 0);
    own.map(|pages| {
        let free = pages.free.map_or_else(String::new, |free| format!(" ({free} free)"));
        format!("{} of {}{free}", pages.total, rounded_size(pages.page_bytes))
    })
}

fn huge_pages(survey: &Survey, node: u32, width: usize) -> Vec<String> {
    let all: Vec<String> = reserved(survey, node).collect();
    if all.is_empty() { Vec::new() } else { wrapped("    huge pages: ", &all.join(", "), width) }
}

/// `GPUs 4-5; NIC hsn2`; nothing where no device is known to be local. Under a node without CPUs only what is
/// at no other, since all that is at the CPUs around it is at theirs.
fn devices(survey: &Survey, node: &NumaNode, width: usize) -> Vec<String> {
    let topology = &survey.topology;
    let own = node.kind.has_cpus();
    let alone = |nodes: &IdSet| {
        let mut others = topology.nodes.iter().filter(|other| nodes.contains(other.os_index));
        !others.any(|other| other.kind.has_cpus())
    };
    let here = |locality: &Locality| {
        let nodes = locality.all_nodes();
        nodes.contains(node.os_index) && (own || alone(&nodes))
    };
    let gpus: IdSet = topology.gpus.iter().filter(|gpu| here(&gpu.locality)).map(|gpu| gpu.index).collect();
    let nics = survey.nics.iter().filter(|nic| here(&nic.locality) && !nic.os_devices.is_empty());
    let nics: Vec<String> = nics.map(|nic| cut(&nic.os_devices.join("/"), NIC_COLUMNS)).collect();
    let mut parts = Vec::new();
    if !gpus.is_empty() {
        parts.push(named("GPU", &gpus));
    }
    if !nics.is_empty() {
        parts.push(format!("{} {}", if nics.len() == 1 { "NIC" } else { "NICs" }, nics.join(", ")));
    }

    if parts.is_empty() { Vec::new() } else { wrapped("    ", &parts.join("; "), width) }
}

/// Whose memory a node is, and what else is near to it where that is known.
fn gpu_memory(topology: &Topology, node: &NumaNode) -> (String, String) {
    let what = format!("the memory of {}, not for host buffers", owner(topology, node));
    if node.pus.is_empty() { (what, String::new()) } else { (what + "; ", around(topology, node)) }
}

/// The GPU whose memory a node is, where only one can be meant.
pub(crate) fn owner(topology: &Topology, node: &NumaNode) -> String {
    topology
        .gpu_of_memory(node.os_index)
        .map_or_else(|| "a GPU".to_owned(), |gpu| format!("GPU {}", gpu.index))
}

/// Where a node without CPUs is: hwloc attaches what it cannot place to the whole machine, which is near
/// nothing.
fn around(topology: &Topology, node: &NumaNode) -> String {
    let online = topology.pus.len() - topology.allowed.offline_pus.len();
    if node.pus.is_empty() || (node.pus.len() == online && !topology.machine_has_one_node()) {
        "near no PU in particular".to_owned()
    } else {
        format!("near {}", named("PU", &node.pus))
    }
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
        (Some(least), Some(most)) if least == most => {
            format!(", {} x {most} PUs", count(cores.len(), "core"))
        }
        (None, _) => format!(", {}", count(pus.len(), "PU")),
        _ => format!(", {}, {}", count(cores.len(), "core"), count(pus.len(), "PU")),
    };

    let allowed = pus.and(&topology.allowed.pus);
    let allowed = if allowed == *pus { String::new() } else { format!("; allowed {}", ids(&allowed)) };
    format!("{}{threads}{allowed}", named("PU", pus))
}

/// Whether an L3 lies within one node that has CPUs, and is shown below it.
fn in_one_node(topology: &Topology, l3: &IdSet) -> bool {
    let owners = topology.nodes.iter().filter(|node| node.kind.has_cpus());
    owners.filter(|node| l3.is_subset(&node.pus)).count() == 1
}

/// `L3 16 MiB: 0-7,64-71 | 8-15,72-79`; nothing where there is none.
fn l3_line(topology: &Topology, lead: &str, width: usize, wanted: impl Fn(&IdSet) -> bool) -> Vec<String> {
    let l3s: Vec<_> = topology.l3s.iter().filter(|l3| wanted(&l3.pus)).collect();
    let Some(first) = l3s.first() else { return Vec::new() };
    let same_size = l3s.iter().all(|l3| l3.size_bytes == first.size_bytes);
    let size = first
        .size_bytes
        .filter(|_| same_size)
        .map_or_else(String::new, |bytes| format!(" {}", rounded_size(bytes)));
    let groups: Vec<String> = l3s.iter().map(|l3| ids(&l3.pus)).collect();
    wrapped(&format!("{lead}{size}: "), &groups.join(" | "), width)
}

/// The distance matrix without the nodes that have nothing, where it fits.
pub(super) fn distances(topology: &Topology, width: usize) -> Vec<String> {
    let blocks = distance_blocks(topology, width);
    match blocks.len() {
        0 => Vec::new(),
        1 => [vec![DISTANCES.to_owned()], blocks.concat()].concat(),
        _ => {
            let nodes = topology.distances.as_ref().map_or(0, |distances| distances.nodes.len());
            vec![
                DISTANCES.to_owned(),
                format!("  between {nodes} nodes: too wide for {width} columns, see --numa"),
            ]
        }
    }
}

/// The same in as many blocks of columns as it takes.
pub(super) fn all_distances(topology: &Topology, width: usize) -> Vec<String> {
    match distance_blocks(topology, width) {
        blocks if blocks.is_empty() => Vec::new(),
        blocks => [vec![DISTANCES.to_owned()], blocks.join(&String::new())].concat(),
    }
}

const DISTANCES: &str = "distances (10 is local)";

fn distance_blocks(topology: &Topology, width: usize) -> Vec<Vec<String>> {
    let Some(distances) = &topology.distances else { return Vec::new() };
    let spare = |node: &u32| topology.node(*node).is_some_and(|node| node.kind == NodeKind::Empty);
    let shown: Vec<usize> = (0..distances.nodes.len()).filter(|at| !spare(&distances.nodes[*at])).collect();
    let cell = |row: usize, column: usize| distances.rows.get(row)?.get(column).map(u64::to_string);
    let cell = |row: &usize, column: &usize| cell(*row, *column).unwrap_or_default();
    let name = |at: &usize| distances.nodes[*at].to_string();
    let cells = shown.iter().flat_map(|row| shown.iter().map(move |column| cell(row, column).len()));
    let widest = cells.chain(shown.iter().map(|at| name(at).len())).max().unwrap_or(0);
    let label = shown.iter().map(|at| name(at).len()).max().unwrap_or(0).max("node".len());
    let fitting = |gap: usize| width.saturating_sub(2 + label) / (gap + widest);
    let gap = if fitting(2) < shown.len() { 1 } else { 2 };
    let line = |label_text: String, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{:gap$}{cell:<widest$}", "")).collect();
        format!("  {label_text:<label$}{cells}").trim_end().to_owned()
    };
    let block = |part: &[usize]| -> Vec<String> {
        let head = line("node".to_owned(), part.iter().map(name).collect());
        let rows =
            shown.iter().map(|row| line(name(row), part.iter().map(|column| cell(row, column)).collect()));
        [head].into_iter().chain(rows).collect()
    };

    shown.chunks(fitting(gap).max(1)).map(block).collect()
}
