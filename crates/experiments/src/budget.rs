//! Whether the memory that a run asks for is there: compared before anything is allocated, because strictly
//! bound memory that cannot be had is a killed process and no error.

use std::collections::BTreeMap;

use pingpong::{BudgetError, RunConfig, check_budget, check_spread, device_bytes};
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
    of_processes(config, plan, topology, |target| device_bytes(&*found.platform, target))
}

fn of_processes(
    config: &RunConfig,
    plan: &Plan,
    topology: &Topology,
    device: impl Fn(TargetId) -> Option<u64>,
) -> Result<(), Fault> {
    let mut shared = topology.clone();
    shared.allowed.memory_limits.retain(|limit| !limit.is_of_each_process());
    on_node(config, plan, &shared, &device)?;

    let alone = |rank: &RankPlan| Plan { ranks: vec![rank.clone()], notes: Vec::new() };
    plan.ranks.iter().try_for_each(|rank| on_node(config, &alone(rank), topology, &device))
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
    fits(&limit.to_string(), Some(limit.left_bytes()), all, words)
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

#[cfg(test)]
mod tests {
    use device::{Direction, MemoryKind};
    use placement::Target;
    use topo::model::MemoryLimit;

    use super::*;
    use crate::experiment::place;

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_limit_of_each_process_is_held_against_each_rank_and_a_groups_against_all() {
        let mut topology = topo::read().expect("this machine");
        topology.nodes.iter_mut().for_each(|node| node.total_bytes = 64 * GIB);
        let node = topology.nodes[0].os_index;
        let target = Target { index: 0, id: TargetId::Node(node), uuid: None };
        let ranks = (0..2).map(|rank| place(&topology, rank, 0, node, target.clone())).collect();
        let plan = Plan { ranks, notes: Vec::new() };
        let (directions, memory) = (vec![Direction::H2d], vec![MemoryKind::Pageable]);
        let config = RunConfig { sizes: vec![GIB as usize], directions, memory, ..RunConfig::default() };

        // A copy between ranges of host memory: two a rank.
        for (source, gib, fits) in [
            ("ulimit -v", 2, true),
            ("ulimit -v", 1, false),
            ("/sys/fs/cgroup/memory.max", 4, true),
            ("/sys/fs/cgroup/memory.max", 2, false),
        ] {
            let limit = MemoryLimit { bytes: gib * GIB, used_bytes: None, source: source.to_owned() };
            topology.allowed.memory_limits = vec![limit];
            let found = of_processes(&config, &plan, &topology, |_| None);
            assert_eq!(found.is_ok(), fits, "{source}, {gib} GiB: {found:?}");
        }
    }
}
