//! Whether the memory that a run asks for is there: compared before anything is allocated, because strictly bound memory that cannot be had is a killed
//! process and no error.

use pingpong::{RunConfig, check_budget, device_bytes};
use placement::Plan;
use stats::units::rounded_size;
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

/// Whether the memory of a place is enough. `words`: what needs it, with what is needed, and the way out.
///
/// # Errors
/// It is not.
pub(crate) fn fits(place: &str, has: Option<u64>, needs: u64, words: impl FnOnce(&str) -> String) -> Result<(), Fault> {
    let Some(has) = has.filter(|has| needs > *has) else { return Ok(()) };
    let [has, needs] = [has, needs].map(rounded_size);
    Err(Fault::usage(format!("{place} has {has}, and {}", words(&needs))))
}

/// Whether the memory of a NUMA node is enough, as [`fits`].
///
/// # Errors
/// It is not.
pub(crate) fn fits_on(
    topology: &Topology,
    node: u32,
    needs: u64,
    words: impl FnOnce(&str) -> String,
) -> Result<(), Fault> {
    fits(&format!("NUMA node {node}"), topology.memory_bytes(node), needs, words)
}

/// The same as far as it is known without a driver: the nodes' memory. A plan that is only shown refuses what the run would.
pub fn budget_untouched(config: &RunConfig, plan: &Plan, topology: &Topology) -> Result<(), Fault> {
    check_budget(config, plan, |node| topology.memory_bytes(node), |_| None).map_err(Fault::usage)
}
