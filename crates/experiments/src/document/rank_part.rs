//! What the process of one rank contributes to the document before the run: its placement, its device, and of
//! each node's first rank the node. Filled where it is known and sent to rank 0 where the ranks are
//! processes.

use std::sync::Arc;

use pingpong::{CopySuite, PlacingRules, RunConfig, Workers};
use placement::{Plan, RankPlan};
use report::node::NodeFacts;
use report::rank::Rank;
use serde::{Deserialize, Serialize};
use stats::flag::TimerFacts;
use topo::Topology;

use crate::backends::FoundPlatform;

/// What one rank's process knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankPart {
    /// The rank and its placement.
    pub rank: Rank,
    /// Its device, the link as read before the run.
    pub device: report::device::Device,
    /// What the plan says to the user.
    pub notes: Vec<String>,
    /// What its node is compared by; of each node's first rank.
    pub node: Option<NodeFacts>,
}

/// What a process knows of its machine.
pub struct Local<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// The platform.
    pub found: &'a FoundPlatform,
    /// The machine's state.
    pub machine: &'a topo::environment::Environment,
    /// The node's clock.
    pub timer: TimerFacts,
    /// The placement of all ranks of this node.
    pub plan: &'a Plan,
    /// This node's number, and the host names of all nodes.
    pub node: usize,
    /// The host names of all nodes.
    pub hosts: &'a [String],
}

impl Local<'_> {
    /// The workers of these ranks as threads of this process.
    pub fn workers(&self) -> Workers {
        Workers::threads(pingpong::workers(&self.plan.ranks), self.timer)
    }

    /// The copies of `config` by the ranks of this node.
    pub fn suite(&self, config: &RunConfig) -> Arc<CopySuite> {
        let rules = PlacingRules::on(self.topology, config.engine.huge_pages);
        Arc::new(CopySuite::new(config, &self.plan.ranks, &self.found.platform, rules))
    }

    /// What a device of this node is called in the document.
    pub(super) fn device_id(&self, plan: &RankPlan) -> String {
        report::device::id(self.hosts, self.node, plan.target.id)
    }
}
