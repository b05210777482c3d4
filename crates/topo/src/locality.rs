//! Which PUs and NUMA nodes are local to a device, and how that is known: PLACEMENT's ladder, decided in one place.
//!
//! hwloc hangs each device from an object of the machine: from an L3 where it knows the board, from what covers the
//! kernel's PCI local CPUs otherwise, and from the whole machine where nobody said. "The whole machine" is an answer only
//! where there is one NUMA node to be near to, and even then not in a virtual machine, which often shows one node in front of
//! several. The kernel's `numa_node` of -1 means the same: not told. It is never node 0.

use stats::IdSet;

use crate::model::{Locality, NodeKind, NumaNode, Rung, Topology};

/// What hwloc hangs a device from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attachment {
    /// The object's type (`L3Cache`, `Package`, `Machine`, …).
    pub(crate) object: String,
    pub(crate) os_index: Option<u32>,
    pub(crate) pus: IdSet,
    pub(crate) nodes: IdSet,
}

/// What a device's attachment is judged by.
pub(crate) struct Surroundings<'t> {
    /// The machine; its GPUs are not listed yet.
    pub(crate) topology: &'t Topology,
    /// The board's name, where the firmware gives it.
    pub(crate) board: Option<String>,
    /// Whether the machine has nodes that are not shown (offline, or left out of the file).
    pub(crate) hidden_nodes: bool,
    /// What proves a virtual machine.
    pub(crate) virtual_machine: Option<String>,
}

/// Judges one device. `kernels_node` is sysfs `numa_node` (`None` in a file), `memory_node` the node of its own memory.
pub(crate) fn locality(
    attachment: &Attachment,
    kernels_node: Option<i64>,
    memory_node: Option<u32>,
    around: &Surroundings,
) -> Locality {
    let (rung, mut reason, pus, mut nodes) = judge(attachment, kernels_node, around);
    if rung != Rung::Unknown {
        nodes.0.extend(memory_node);
    }
    let machine = around.topology;
    let mut l3s = machine.l3s.iter().filter(|l3| !l3.pus.and(&pus).is_empty());
    let l3_pus = match (l3s.next(), l3s.next()) {
        (Some(only), None) => Some(only.pus.clone()),
        _ => None,
    };
    let outside_pus = pus.and(&machine.allowed.not_in_cgroup_pus);
    if !outside_pus.is_empty() && outside_pus == pus {
        reason = format!("{reason}; all of its local PUs ({pus}) are outside the cpuset");
    }
    let outside_nodes = nodes.and(&machine.allowed.missing_nodes);
    Locality {
        rung,
        reason,
        attached_to: attachment.object.clone(),
        pus: pus.minus(&outside_pus),
        nodes: nodes.minus(&outside_nodes),
        outside_pus,
        outside_nodes,
        l3_pus,
    }
}

type Judgement = (Rung, String, IdSet, IdSet);

fn judge(at: &Attachment, kernels_node: Option<i64>, around: &Surroundings) -> Judgement {
    let machine = around.topology;
    let unknown = |reason: String| (Rung::Unknown, reason, IdSet::default(), IdSet::default());
    let every: IdSet = machine.pus.iter().map(|pu| pu.os_index).collect::<IdSet>().minus(&machine.allowed.offline_pus);
    let whole = every.is_subset(&at.pus);
    let place =
        at.os_index.filter(|_| at.object != "Machine").map_or(at.object.clone(), |id| format!("{} {id}", at.object));

    if whole {
        // A node without CPUs has no local CPUs to attach by: the kernel's number is all there is, and it is enough.
        let named = kernels_node.and_then(|node| machine.node(u32::try_from(node).ok()?));
        if let Some(node) = named.filter(|_| !machine.machine_has_one_node()) {
            return (Rung::PciLocalCpus, numbered(node), own_pus(node), [node.os_index].into_iter().collect());
        }
        return match whole_machine(at, kernels_node, around) {
            Ok(reason) => (Rung::PciLocalCpus, reason, at.pus.clone(), at.nodes.clone()),
            Err(reason) => unknown(reason),
        };
    }
    if at.pus.is_empty() && at.nodes.is_empty() {
        return unknown(format!("hwloc attaches it to {place}, which has no PU and no NUMA node that this view shows"));
    }
    let below_node = machine.nodes.iter().any(|node| at.pus.is_subset(&node.pus) && at.pus.len() < node.pus.len());
    if at.object == "L3Cache" && below_node {
        let board = around.board.as_ref().map_or_else(String::new, |name| format!(" (the board is {name})"));
        let reason = format!("hwloc attaches it to one L3{board}");
        return (Rung::L3, reason, at.pus.clone(), at.nodes.clone());
    }
    let kernel = match kernels_node {
        Some(-1) => "; the kernel itself says numa_node -1".to_owned(),
        Some(node) => format!("; the kernel says numa_node {node}"),
        None => String::new(),
    };
    let reason = format!("PCI local CPUs: hwloc attaches it to {place}{kernel}");
    (Rung::PciLocalCpus, reason, at.pus.clone(), at.nodes.clone())
}

/// What follows where every PU is as near as any other: an answer, or why there is none.
fn whole_machine(at: &Attachment, kernels_node: Option<i64>, around: &Surroundings) -> Result<String, String> {
    let machine = around.topology;
    if !machine.machine_has_one_node() {
        let nodes =
            machine.nodes.iter().filter(|node| node.kind != NodeKind::GpuMemory && node.kind != NodeKind::Empty);
        let (nodes, packages) = (nodes.count(), machine.packages.len());
        let said = match kernels_node {
            Some(-1) => "the kernel says numa_node -1",
            _ if at.object == "Machine" => "hwloc attaches it to the whole machine",
            _ => "its local CPUs are those of the whole machine",
        };
        return Err(format!("{said}: nothing says which of {} is near", places(nodes, packages)));
    }
    if around.hidden_nodes && at.object == "Machine" {
        return Err("it is attached to the whole machine, of which this view shows one NUMA node of several".to_owned());
    }
    let told = matches!(kernels_node, Some(node) if node >= 0) || (kernels_node.is_none() && at.object != "Machine");
    match &around.virtual_machine {
        Some(proof) if !told => Err(format!(
            "a virtual machine ({proof}) that shows one NUMA node and {}: the platform does not tell what is near",
            if kernels_node == Some(-1) { "says numa_node -1" } else { "attaches its devices to the whole of it" }
        )),
        _ => Ok("the machine has one NUMA node, so all of it is local".to_owned()),
    }
}

fn places(nodes: usize, packages: usize) -> String {
    if nodes > 1 { format!("{nodes} NUMA nodes") } else { format!("{packages} packages") }
}

fn own_pus(node: &NumaNode) -> IdSet {
    if matches!(node.kind, NodeKind::Normal | NodeKind::CpuOnly) { node.pus.clone() } else { IdSet::default() }
}

fn numbered(node: &NumaNode) -> String {
    let without = match node.kind {
        NodeKind::Normal => "",
        NodeKind::CpuOnly => ", a node without memory",
        NodeKind::MemoryOnly | NodeKind::GpuMemory => ", a node without CPUs",
        NodeKind::Empty => ", a node without memory and CPUs",
    };
    format!("the kernel says numa_node {}{without}", node.os_index)
}
