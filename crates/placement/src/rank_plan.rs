//! Ranks to requests: which PU and memory node each one gets once its device is known, who chose them, and
//! how close they are.
//!
//! Ranks that are threads of one process and ranks that are processes differ in one thing here: whether they
//! may use the same PUs and nodes. So a request carries its own allowed sets, and both kinds are given their
//! places by [`plan_ranks`].

use stats::IdSet;
use stats::memory_nodes::{MemoryNodes, NodeUse};
use topo::model::Topology;

use crate::check_node::{check_node, own_node};
use crate::check_pu::check_pu;
use crate::default_pu::default_pu;
use crate::member::Owner;
use crate::membind::spread_nodes;
use crate::{ChosenBy, ClosenessVerdict, Membind, NodeError, PuError, Remedies, Target, verdict};

/// One rank's placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlan {
    /// The rank, 0..
    pub rank: usize,
    /// The PU it is bound to, OS index.
    pub pu: u32,
    /// Who chose the PU.
    pub chosen_by: ChosenBy,
    /// The node its host memory is bound to, OS index.
    pub memory_node: u32,
    /// The nodes that its host memory is spread over instead; by weight, the kernel's are not known yet.
    pub spread: Option<MemoryNodes>,
    /// What it copies to and from.
    pub target: Target,
    /// How close PU and target are.
    pub verdict: ClosenessVerdict,
}

/// The placement of every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In rank order.
    pub ranks: Vec<RankPlan>,
    /// What the user should know of the plan beside its rows.
    pub notes: Vec<String>,
}

/// A rank cannot have its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankPlanError {
    /// Its process may use no PU.
    #[error("{owner} may use no PU at all: its affinity and its cpuset have nothing in common")]
    NoPu {
        /// The process.
        owner: String,
    },
    /// A PU that cannot be had.
    #[error(transparent)]
    Pu(#[from] PuError),
    /// Memory that is to be spread has one node to lie on.
    #[error(
        "memory cannot be spread over NUMA nodes {nodes} alone: name several nodes that have memory, or take \
         --membind NODE"
    )]
    OneNode {
        /// The nodes that it may be spread over.
        nodes: IdSet,
    },
    /// A node that cannot be had.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// A rank before it has its place.
pub(crate) struct RankRequest<'m> {
    /// Whose it is, and what that process may use.
    pub(crate) owner: Owner<'m>,
    /// The PU asked for.
    pub(crate) pu: Option<u32>,
    /// What it copies to and from.
    pub(crate) target: Target,
}

/// Gives every rank its place, in order. Nothing is given before everything asked for is known to be had.
pub(crate) fn plan_ranks(
    topology: &Topology,
    requests: Vec<RankRequest<'_>>,
    membind: &Membind,
    remedies: &Remedies,
) -> Result<Plan, RankPlanError> {
    for request in &requests {
        if let Some(pu) = request.pu {
            check_pu(topology, request.owner, pu, remedies)?;
        }
        if let Membind::Node(node) = membind {
            check_node(topology, request.owner, *node)?;
        }
    }

    let mut taken: Vec<u32> = Vec::new();
    let mut notes = Notes::default();
    let mut ranks = Vec::new();

    for (rank, RankRequest { owner, pu, target }) in requests.into_iter().enumerate() {
        let (pu, chosen_by) = match pu {
            Some(pu) => (pu, ChosenBy::Asked),
            None => default_pu(topology, &owner.allowed.pus, target.id, &taken)
                .ok_or_else(|| RankPlanError::NoPu { owner: owner.name.to_owned() })?,
        };
        let (memory_node, spread) = match membind {
            Membind::Node(node) => (*node, None),
            Membind::Local => {
                let own = own_node(topology, owner, pu)?;
                own.note.into_iter().for_each(|why| notes.add(why));
                (own.node, None)
            }
            Membind::Spread(node_use, nodes) => {
                let (first, nodes) = spread_over(topology, owner, *node_use, nodes.as_ref())?;
                (first, Some(nodes))
            }
        };
        if taken.contains(&pu) {
            notes.add(format!(
                "PU {pu} is oversubscribed (more than one rank runs on it): concurrent figures suffer from it"
            ));
        }
        taken.push(pu);
        let verdict = verdict(topology, pu, target.id);
        ranks.push(RankPlan { rank, pu, chosen_by, memory_node, spread, target, verdict });
    }
    Ok(Plan { ranks, notes: notes.0 })
}

/// Moves the memory of every rank of a plan to where it is asked for; local memory stays.
///
/// # Errors
/// It cannot lie there.
pub fn bind_memory(topology: &Topology, plan: &mut Plan, membind: &Membind) -> Result<(), RankPlanError> {
    let owner = Owner::this_process(topology);
    for rank in &mut plan.ranks {
        match membind {
            Membind::Local => {}
            Membind::Node(node) => {
                check_node(topology, owner, *node)?;
                rank.memory_node = *node;
            }
            Membind::Spread(node_use, nodes) => {
                let (first, nodes) = spread_over(topology, owner, *node_use, nodes.as_ref())?;
                (rank.memory_node, rank.spread) = (first, Some(nodes));
            }
        }
    }
    Ok(())
}

/// The nodes that memory is spread over, several, and the first of them.
fn spread_over(
    topology: &Topology,
    owner: Owner<'_>,
    node_use: NodeUse,
    asked: Option<&IdSet>,
) -> Result<(u32, MemoryNodes), RankPlanError> {
    let nodes = spread_nodes(topology, owner, asked)?;
    let first = nodes.first().filter(|_| nodes.len() > 1);
    let first = first.ok_or_else(|| RankPlanError::OneNode { nodes: nodes.clone() })?;
    Ok((first, MemoryNodes::even(&nodes, node_use)))
}

/// Notes, each said once.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}
