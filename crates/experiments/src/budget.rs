//! Whether the memory that a run asks for is there: compared before anything is allocated, because strictly
//! bound memory that cannot be had is a killed process and no error.

use std::collections::BTreeMap;

use pingpong::{BudgetError, RunConfig, check_budget, check_spread, device_bytes, limit_text};
use placement::{Plan, RankPlan, TargetId};
use stats::units::rounded_size;
use topo::Topology;

use crate::backends::FoundPlatform;
use crate::fault::Fault;

/// Whether the memory asked for by the ranks of this node is there.
///
/// # Errors
/// It is not.
pub fn budget(
    config: &RunConfig,
    plan: &Plan,
    topology: &Topology,
    found: &FoundPlatform,
) -> Result<(), Fault> {
    on_node(config, plan, topology, |target| device_bytes(&*found.platform, target))
}

/// The same where each rank is a process: a limit that each process has for itself is held against each rank
/// alone, and a group's against all of them.
///
/// # Errors
/// The memory is not there.
pub(crate) fn budget_of_processes(
    config: &RunConfig,
    plan: &Plan,
    topology: &Topology,
    found: &FoundPlatform,
) -> Result<(), Fault> {
    let mut shared = topology.clone();
    shared.allowed.memory_limits.retain(|limit| !limit.is_of_each_process());
    budget(config, plan, &shared, found)?;

    let alone = |rank: &RankPlan| Plan { ranks: vec![rank.clone()], notes: Vec::new() };
    plan.ranks.iter().try_for_each(|rank| budget(config, &alone(rank), topology, found))
}

/// Whether the memory of a place is enough. `words`: what needs it, with what is needed, and the way out.
///
/// # Errors
/// It is not.
pub(crate) fn fits(
    place: &str,
    has: Option<u64>,
    needs: u64,
    words: impl FnOnce(&str) -> String,
) -> Result<(), Fault> {
    let Some(has) = has.filter(|has| needs > *has) else { return Ok(()) };
    let [has, needs] = [has, needs].map(rounded_size);
    Err(Fault::usage(format!("{place} has {has}, and {}", words(&needs))))
}

/// Whether the memory of NUMA nodes is enough for what is needed of each, and the limit of this process for
/// all of it, as [`fits`].
///
/// # Errors
/// It is not.
pub(crate) fn fits_on(
    topology: &Topology,
    needs: impl IntoIterator<Item = (u32, u64)>,
    words: impl Fn(&str) -> String,
) -> Result<(), Fault> {
    let needs: BTreeMap<u32, u64> = needs.into_iter().collect();
    for (node, bytes) in &needs {
        fits(&format!("NUMA node {node}"), topology.memory_bytes(*node), *bytes, &words)?;
    }
    let Some(limit) = topology.allowed.memory_left() else { return Ok(()) };
    let all = needs.values().fold(0_u64, |all, bytes| all.saturating_add(*bytes));
    fits(&limit_text(limit), Some(limit.left_bytes()), all, words)
}

/// The same as far as it is known without a driver: the nodes' memory. A plan that is only shown refuses what
/// the run would.
pub fn budget_untouched(config: &RunConfig, plan: &Plan, topology: &Topology) -> Result<(), Fault> {
    on_node(config, plan, topology, |_| None)
}

/// What the ranks of a node need, by what its places have.
pub(crate) fn on_node(
    config: &RunConfig,
    plan: &Plan,
    topology: &Topology,
    device: impl Fn(TargetId) -> Option<u64>,
) -> Result<(), Fault> {
    check_spread(config, plan).map_err(Fault::usage)?;
    short_of(config, plan, topology, device).map_or(Ok(()), |error| Err(Fault::usage(error)))
}

/// The first place that has too little for the ranks of a node; none where the memory is there.
pub(crate) fn short_of(
    config: &RunConfig,
    plan: &Plan,
    topology: &Topology,
    device: impl Fn(TargetId) -> Option<u64>,
) -> Option<BudgetError> {
    let limit = topology.allowed.memory_left();
    check_budget(config, plan, |node| topology.memory_bytes(node), device, limit).err()
}
