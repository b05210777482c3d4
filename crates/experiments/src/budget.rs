//! Whether the memory that a run asks for is there: compared before anything is allocated, because strictly bound memory that cannot be had is a killed
//! process and no error.

use pingpong::{RunConfig, check_budget, device_bytes};
use placement::Plan;
use topo::Topology;

use crate::backends::FoundPlatform;
use crate::fault::Fault;

/// Whether the memory asked for by the ranks of this node is there.
///
/// # Errors
/// It is not.
pub fn budget(config: &RunConfig, plan: &Plan, topology: &Topology, found: &FoundPlatform) -> Result<(), Fault> {
    let host = |node| topology.memory_bytes(node);
    check_budget(config, plan, host, |target| device_bytes(&*found.platform, target)).map_err(Fault::usage)
}

/// The same as far as it is known without a driver: the nodes' memory. A plan that is only shown refuses what the run would.
pub fn budget_untouched(config: &RunConfig, plan: &Plan, topology: &Topology) -> Result<(), Fault> {
    check_budget(config, plan, |node| topology.memory_bytes(node), |_| None).map_err(Fault::usage)
}
