//! Whether host memory can be bound to a node asked for, and which node is a PU's own.

use stats::IdSet;
use topo::model::{NodeKind, NumaNode, Topology};

use crate::member::Owner;

/// A node that host memory cannot be bound to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// No such node.
    #[error("NUMA node {node} does not exist on this machine: nodes with memory are {usable}")]
    Unknown {
        /// The node asked for.
        node: u32,
        /// Nodes that have memory and are allowed.
        usable: IdSet,
    },
    /// A node without memory.
    #[error("NUMA node {node} has no memory (it has {what}): nodes with memory are {usable}")]
    WithoutMemory {
        /// The node asked for.
        node: u32,
        /// What it has instead.
        what: &'static str,
        /// Nodes that have memory and are allowed.
        usable: IdSet,
    },
    /// A node outside the cpuset.
    #[error(
        "NUMA node {node} is outside {owner}'s cpuset (cpuset.mems, or not part of this job step): nodes \
         with memory that are allowed are {usable}"
    )]
    NotAllowed {
        /// The node asked for.
        node: u32,
        /// The process that was to use it.
        owner: String,
        /// Nodes that have memory and are allowed.
        usable: IdSet,
    },
    /// No node at all to put memory on.
    #[error("no NUMA node with memory is allowed for {owner}, so host memory cannot be placed for PU {pu}")]
    None {
        /// The process that was to use it.
        owner: String,
        /// The PU whose memory was to be placed.
        pu: u32,
    },
}

/// Nodes host memory can be bound to: with memory, allowed; GPU memory too, since a user may ask for it by
/// number.
fn usable(topology: &Topology, owner: Owner<'_>) -> IdSet {
    let may = |node: &&NumaNode| owner.allowed.nodes.contains(node.os_index) && node.kind.has_memory();
    topology.nodes.iter().filter(may).map(|n| n.os_index).collect()
}

/// Whether memory of the process that read the topology can be bound to `node`.
///
/// # Errors
/// [`NodeError`]: there is no such node, it has no memory, or the process's cpuset has not got it.
pub fn can_hold_memory(topology: &Topology, node: u32) -> Result<(), NodeError> {
    check_node(topology, Owner::this_process(topology), node)
}

/// Whether host memory of a rank of `owner` can be bound to `node`.
pub(crate) fn check_node(topology: &Topology, owner: Owner<'_>, node: u32) -> Result<(), NodeError> {
    let usable = usable(topology, owner);
    let Some(found) = topology.node(node) else {
        return Err(NodeError::Unknown { node, usable });
    };
    if !found.kind.has_memory() {
        let what = if found.kind == NodeKind::CpuOnly { "only CPUs" } else { "neither memory nor CPUs" };
        return Err(NodeError::WithoutMemory { node, what, usable });
    }
    if !owner.allowed.nodes.contains(node) {
        return Err(NodeError::NotAllowed { node, owner: owner.name.to_owned(), usable });
    }
    Ok(())
}

/// The memory of a PU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnNode {
    /// The node that a measurement takes.
    pub node: u32,
    /// The nodes that are as near as that one, itself included: one of several is no place to bind memory to.
    pub equals: IdSet,
    /// Why it is this one, where that is not plain.
    pub note: Option<String>,
}

impl OwnNode {
    /// The node, where no other is as near.
    pub fn only(&self) -> Option<u32> {
        (self.equals.len() == 1).then_some(self.node)
    }
}

/// How far a node is from a PU, the nearest first: a rung of the ladder, then the firmware's distance on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Away {
    Distance(u64),
    Around,
    /// In the PU's package.
    Package,
    Unknown,
}

/// The node whose memory is a PU's own, or the nearest to it.
///
/// A GPU's memory is never a PU's own, also where the platform lists it as local (GH200, POWER9).
pub(crate) fn own_node(topology: &Topology, owner: Owner<'_>, pu: u32) -> Result<OwnNode, NodeError> {
    let may = |node: &NumaNode| owner.allowed.nodes.contains(node.os_index);
    let good = |node: &&NumaNode| may(node) && node.kind.has_host_memory();
    let local = topology.pu(pu).map(|pu| pu.nodes.as_slice()).unwrap_or_default();
    // The first is the PU's own; those after it lie around it (memory-only nodes, GPUs' memory).
    let own = local.first().copied();
    if let Some(node) = own.and_then(|node| topology.node(node)).filter(good) {
        return Ok(OwnNode { node: node.os_index, equals: IdSet::from_iter([node.os_index]), note: None });
    }

    let package = topology.packages.iter().find(|package| package.pus.contains(pu));
    let away = |node: &NumaNode| match own.and_then(|own| distance(topology, own, node.os_index)) {
        Some(distance) => Away::Distance(distance),
        None if local.contains(&node.os_index) => Away::Around,
        None if package.is_some_and(|package| is_in(node, &package.pus)) => Away::Package,
        None => Away::Unknown,
    };
    let rank = |node: &NumaNode| (away(node), node.kind == NodeKind::MemoryOnly);
    let nearest = topology.nodes.iter().filter(good).min_by_key(|node| (rank(node), node.os_index));
    let nearest = nearest.ok_or_else(|| NodeError::None { owner: owner.name.to_owned(), pu })?;
    let equals = topology.nodes.iter().filter(good).filter(|node| rank(node) == rank(nearest));
    let equals: IdSet = equals.map(|node| node.os_index).collect();

    let note = note(topology, pu, away(nearest), nearest.os_index, &equals);
    Ok(OwnNode { node: nearest.os_index, equals, note: Some(note) })
}

/// Whether a node lies in a package and not around it.
fn is_in(node: &NumaNode, package: &IdSet) -> bool {
    !node.pus.is_empty() && node.pus.is_subset(package)
}

/// Where the memory of a PU without its own comes from, and why from there.
fn note(topology: &Topology, pu: u32, away: Away, node: u32, equals: &IdSet) -> String {
    let which = match away {
        Away::Distance(distance) => format!("the nearest node, {node} (distance {distance})"),
        Away::Around => format!("node {node}, which lies around it"),
        Away::Package => format!("node {node}, the one of its package"),
        Away::Unknown => {
            format!("node {node}, the first with memory: the firmware gives no distance from this PU")
        }
    };

    let others = equals.minus(&IdSet::from_iter([node]));
    let no_own = match topology.pu(pu).is_some_and(|pu| !pu.nodes.is_empty()) {
        true => format!("PU {pu} has no usable memory of its own"),
        false => format!("the NUMA node of PU {pu} is not known"),
    };

    match (others.len(), away) {
        (0, _) => format!("{no_own}; its memory is taken from {which}"),
        (_, Away::Unknown) => format!("{no_own}; its memory is taken from {which}"),
        (1, _) => format!("{no_own}; its memory is taken from {which}; node {others} is as near"),
        _ => format!("{no_own}; its memory is taken from {which}; nodes {others} are as near"),
    }
}

/// The firmware's distance between two nodes, where it gives one.
pub(crate) fn distance(topology: &Topology, from: u32, to: u32) -> Option<u64> {
    let distances = topology.distances.as_ref()?;
    let at = |node| distances.nodes.iter().position(|n| *n == node);
    distances.rows.get(at(from)?)?.get(at(to)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{machine, set, without_nodes};

    fn checked(topology: &Topology, node: u32) -> Result<(), NodeError> {
        check_node(topology, Owner::this_process(topology), node)
    }

    fn own(topology: &Topology, pu: u32) -> (u32, String) {
        own_node(topology, Owner::this_process(topology), pu)
            .map_or_else(|e| (u32::MAX, e.to_string()), |own| (own.node, own.note.unwrap_or_default()))
    }

    #[test]
    fn memory_can_be_asked_of_every_node_that_has_some_a_gpus_too() {
        for node in [0, 1, 2, 3] {
            assert_eq!(checked(&machine(), node), Ok(()), "node {node}");
        }
    }

    #[test]
    fn each_reason_a_node_cannot_be_had_is_told_apart_and_shows_what_can() {
        let topology = without_nodes(machine(), "1");
        let usable = set("0,2-3");
        assert_eq!(checked(&topology, 9), Err(NodeError::Unknown { node: 9, usable: usable.clone() }));
        assert_eq!(
            checked(&topology, 1),
            Err(NodeError::NotAllowed { node: 1, owner: "this process".to_owned(), usable: usable.clone() })
        );
        for (node, what) in [(4, "only CPUs"), (5, "neither memory nor CPUs")] {
            let usable = usable.clone();
            assert_eq!(checked(&topology, node), Err(NodeError::WithoutMemory { node, what, usable }));
        }
    }

    #[test]
    fn a_note_says_why_memory_is_on_another_node_and_why_on_that_one() {
        let mut undescribed = machine();
        undescribed.distances = None;
        let notes = [
            own(&without_nodes(machine(), "0"), 0),
            own(&machine(), 16),
            own(&undescribed, 16),
            own(&without_nodes(undescribed, "2"), 16),
        ];
        insta::assert_snapshot!("notes_on_nodes", notes.map(|(_, note)| note).join("\n"));
    }

    #[test]
    fn a_file_without_memory_sizes_has_memory_all_the_same() {
        let mut topology = machine();
        topology.nodes.iter_mut().for_each(|node| node.total_bytes = 0);
        assert_eq!(checked(&topology, 1), Ok(()));
        assert_eq!(own(&topology, 5), (1, String::new()));
    }

    #[test]
    fn the_node_of_the_pu_is_its_own_without_a_word() {
        assert_eq!(own(&machine(), 0), (0, String::new()));
        assert_eq!(own(&machine(), 12), (1, String::new()));
    }

    #[test]
    fn a_gpus_memory_is_never_a_pus_own() {
        let (node, note) = own(&without_nodes(machine(), "0"), 0);
        assert_eq!(node, 2, "node 3, a GPU's, is listed before it: {note}");

        let only_the_gpus = without_nodes(machine(), "0-2");
        let refused = own_node(&only_the_gpus, Owner::this_process(&only_the_gpus), 0);
        assert_eq!(refused, Err(NodeError::None { owner: "this process".to_owned(), pu: 0 }));
    }

    #[test]
    fn cpus_without_memory_take_the_nearest_by_distance_not_the_first() {
        let (node, note) = own(&machine(), 16);
        assert_eq!(node, 1, "{note}");
        assert!(note.contains("20"), "the distance: {note}");
        let (node, note) = own(&without_nodes(machine(), "1"), 16);
        assert_eq!(node, 2, "{note}");
    }

    #[test]
    fn without_distances_nothing_is_called_the_nearest() {
        let mut topology = machine();
        topology.distances = None;
        let (node, note) = own(&topology, 16);
        assert_eq!(node, 2, "what lies around the PU before what does not: {note}");
        let (node, note) = own(&without_nodes(topology, "2"), 16);
        assert_eq!(node, 0);
        assert!(!note.contains("nearest"), "{note}");
    }

    #[test]
    fn a_pu_whose_node_is_not_known_takes_the_memory_of_its_package() {
        let mut topology = machine();
        topology.pus.iter_mut().filter(|pu| pu.os_index == 12).for_each(|pu| pu.nodes.clear());
        let own = own_node(&topology, Owner::this_process(&topology), 12);
        let own = own.map(|own| (own.node, own.only(), own.note.unwrap_or_default()));
        let (node, only, note) = own.unwrap_or_default();
        assert_eq!((node, only), (1, Some(1)), "{note}");
        assert!(note.contains("the NUMA node of PU 12 is not known"), "{note}");
    }

    #[test]
    fn of_several_nodes_as_near_none_is_the_only_one() {
        let mut topology = machine();
        topology.distances.iter_mut().for_each(|distances| distances.rows[3] = vec![20, 20, 30, 10]);
        let own = own_node(&topology, Owner::this_process(&topology), 16);
        let own = own.map(|own| (own.node, own.only(), own.equals.to_string(), own.note.unwrap_or_default()));
        let (node, only, equals, note) = own.unwrap_or_default();
        assert_eq!((node, only, equals.as_str()), (0, None, "0-1"), "{note}");
        assert!(note.contains("node 1 is as near"), "{note}");
    }
}
