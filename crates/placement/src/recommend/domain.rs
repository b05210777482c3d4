//! A target's domain: the cores its ranks are given from, and why those.
//!
//! The cores local to it; where none of them can be had, those of the nearest node. What nobody knows stays
//! unknown: it is not node 0.

use stats::IdSet;
use topo::model::Topology;

use super::pool::Pool;
use crate::check_node::distance;
use crate::default_pu::local_pus;
use crate::verdict::Surroundings;
use crate::{Closeness, TargetId};

/// Why these cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// They are local to the target.
    Local {
        /// All its local PUs.
        local: IdSet,
    },
    /// The pool has none of its local PUs: those of the nearest node.
    Taken {
        /// All its local PUs.
        local: IdSet,
        /// The nearest node.
        node: Option<u32>,
    },
    /// No PU at all is local to it: those of the nearest node.
    NoLocal {
        /// The nearest node.
        node: Option<u32>,
    },
    /// They are as far from it as there is.
    Farthest {
        /// The farthest node.
        node: Option<u32>,
    },
    /// Nobody knows where it is.
    Unknown,
    /// There is no target, or it does not matter: evenly over the NUMA nodes.
    Even,
    /// The target does not matter: the next cores in order.
    Next,
}

/// How far a core is from a target; the smaller, the nearer.
pub(super) type TargetDistance = (bool, Closeness, u64);

/// A target's domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    /// The cores, by their places in the pool; empty where the place is unknown.
    pub(super) cores: Vec<usize>,
    /// Why these.
    pub(super) basis: Basis,
}

/// The cores near a target.
pub(super) fn near(pool: &Pool<'_>, target: TargetId) -> Domain {
    let Some(local) = local_pus(pool.topology, target) else {
        return Domain { cores: Vec::new(), basis: Basis::Unknown };
    };
    let cores = pool.with(&local);
    if !cores.is_empty() {
        return Domain { cores, basis: Basis::Local { local } };
    }
    let origin = Origin::of(pool.topology, target);
    let node = pool.nodes().into_iter().min_by_key(|node| origin.distance_of_node(pool, *node)).flatten();
    let basis = if local.is_empty() { Basis::NoLocal { node } } else { Basis::Taken { local, node } };
    Domain { cores: pool.on(node), basis }
}

/// The cores of the node farthest from a target. Of several as far, the one half-way around from the nearest,
/// so that targets of different nodes are not all sent to one.
pub(super) fn far(pool: &Pool<'_>, target: TargetId) -> Domain {
    let near = near(pool, target);
    let nodes = pool.nodes();
    let own =
        near.cores.first().and_then(|core| nodes.iter().position(|node| *node == pool.cores[*core].node));
    let Some(own) = own else { return near };
    let origin = Origin::of(pool.topology, target);
    let farthest = nodes.iter().map(|node| origin.distance_of_node(pool, *node)).max();
    let half_way =
        |at: &usize| (at + nodes.len() - own).abs_diff(nodes.len() + nodes.len() / 2) % nodes.len();
    let candidates = (0..nodes.len())
        .filter(|at| *at != own && Some(origin.distance_of_node(pool, nodes[*at])) == farthest);
    match candidates.min_by_key(half_way) {
        Some(at) => Domain { cores: pool.on(nodes[at]), basis: Basis::Farthest { node: nodes[at] } },
        None => near,
    }
}

/// Where a target is, for the distances of many cores.
pub(super) struct Origin {
    local: IdSet,
    around: Option<Surroundings>,
    nodes: IdSet,
}

impl Origin {
    pub(super) fn of(topology: &Topology, target: TargetId) -> Self {
        let local = local_pus(topology, target).unwrap_or_default();
        Self { local, around: Surroundings::of(topology, target), nodes: nodes_of(topology, target) }
    }

    /// How far a core is: outside the target's local PUs or not, then what a verdict says of it, then the
    /// firmware's distance between their nodes.
    pub(super) fn distance_to(&self, pool: &Pool<'_>, core: usize) -> TargetDistance {
        let outside = !pool.core(core).iter().any(|pu| self.local.contains(pu));
        let closeness =
            self.around.as_ref().map_or(Closeness::Unknown, |around| around.closeness(pool.first(core)));
        let own = pool.cores[core].node;
        let between =
            own.and_then(|own| self.nodes.iter().filter_map(|from| distance(pool.topology, from, own)).min());
        (outside, closeness, between.unwrap_or(u64::MAX))
    }

    /// The same of a node's first core.
    fn distance_of_node(&self, pool: &Pool<'_>, node: Option<u32>) -> Option<TargetDistance> {
        let first = pool.cores.iter().position(|core| core.node == node)?;
        Some(self.distance_to(pool, first))
    }
}

/// The nodes a target is at.
fn nodes_of(topology: &Topology, target: TargetId) -> IdSet {
    match target {
        TargetId::Node(node) => [node].into_iter().collect(),
        TargetId::Gpu(pci) => topology
            .gpu_at(pci)
            .map(|gpu| gpu.locality.nodes.or(&gpu.locality.outside_nodes))
            .unwrap_or_default(),
    }
}
