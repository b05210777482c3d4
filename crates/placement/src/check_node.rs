//! Whether host memory can be bound to a node asked for, and which node is a PU's own.

use stats::IdSet;
use topo::model::{NodeKind, Topology};

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
        "NUMA node {node} is outside this process's cpuset (cpuset.mems, or not part of this job step): nodes with memory \
         that are allowed are {usable}"
    )]
    NotAllowed {
        /// The node asked for.
        node: u32,
        /// Nodes that have memory and are allowed.
        usable: IdSet,
    },
    /// No node at all to put memory on.
    #[error("no NUMA node with memory is allowed for this process, so host memory cannot be placed for PU {pu}")]
    None {
        /// The PU whose memory was to be placed.
        pu: u32,
    },
}

/// Nodes host memory can be bound to: with memory, allowed; GPU memory too, since a user may ask for it by number.
fn usable(topology: &Topology) -> IdSet {
    topology.nodes.iter().filter(|n| n.allowed && n.total_bytes > 0).map(|n| n.os_index).collect()
}

/// Whether host memory can be bound to `node`.
pub(crate) fn check_node(topology: &Topology, node: u32) -> Result<(), NodeError> {
    let usable = usable(topology);
    let Some(found) = topology.nodes.iter().find(|n| n.os_index == node) else {
        return Err(NodeError::Unknown { node, usable });
    };
    if found.total_bytes == 0 {
        let what = if found.kind == NodeKind::CpuOnly { "only CPUs" } else { "neither memory nor CPUs" };
        return Err(NodeError::WithoutMemory { node, what, usable });
    }
    if !found.allowed {
        return Err(NodeError::NotAllowed { node, usable });
    }
    Ok(())
}

/// The node whose memory is a PU's own, and a note where that is not plainly so.
///
/// A GPU's memory is never a PU's own, also where the platform lists it as local (GH200, POWER9).
pub(crate) fn own_node(topology: &Topology, pu: u32) -> Result<(u32, Option<String>), NodeError> {
    let good = |id: u32| {
        let node = topology.nodes.iter().find(|n| n.os_index == id);
        node.is_some_and(|n| n.allowed && n.total_bytes > 0 && n.kind != NodeKind::GpuMemory)
    };
    let local = topology.pus.iter().find(|p| p.os_index == pu).map(|p| p.nodes.clone()).unwrap_or_default();
    if let Some(node) = local.iter().copied().find(|id| good(*id)) {
        return Ok((node, None));
    }
    // No usable memory of its own: the nearest by the firmware's distances, else the first there is.
    let from = local.first().copied().or_else(|| {
        topology.nodes.iter().find(|n| n.kind == NodeKind::CpuOnly && n.pus.contains(pu)).map(|n| n.os_index)
    });
    let candidates = topology.nodes.iter().map(|n| n.os_index).filter(|id| good(*id));
    let nearest = candidates.min_by_key(|id| (from.and_then(|f| distance(topology, f, *id)).unwrap_or(u64::MAX), *id));
    let node = nearest.ok_or(NodeError::None { pu })?;
    Ok((
        node,
        Some(format!("PU {pu} has no usable memory of its own; its memory is taken from the nearest node, {node}")),
    ))
}

/// The firmware's distance between two nodes, where it gives one.
fn distance(topology: &Topology, from: u32, to: u32) -> Option<u64> {
    let distances = topology.distances.as_ref()?;
    let at = |node| distances.nodes.iter().position(|n| *n == node);
    distances.rows.get(at(from)?)?.get(at(to)?).copied()
}
