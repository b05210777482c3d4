//! Memory that is spread over several nodes: the kernel's weights of them, and whether copies are large
//! enough to lie on all.

use device::MemoryKind;
use engine::SpreadMemory;
use placement::Plan;
use stats::IdSet;

use crate::config::RunConfig;

/// Memory cannot be spread, or not to an effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpreadError {
    /// A copy that is too small to lie on all nodes.
    #[error(
        "a copy of {size} does not lie on all of nodes {nodes}: a turn of them is {turn}, so spreading it \
         would reach some of them only; ask for a --size of {turn} or more{hint}"
    )]
    Small {
        /// The smallest copy.
        size: String,
        /// The nodes.
        nodes: IdSet,
        /// The bytes after which it is the first node's turn again.
        turn: String,
        /// What makes a turn shorter.
        hint: &'static str,
    },
    /// Memory that the driver allocates is taken from the nodes by a counter of the thread, which other
    /// allocations move on.
    #[error(
        "--memory pinned-driver can't be spread over nodes {0}: the driver allocates it, and the kernel \
         begins at whichever node is next for the thread, so no page's node can be held to be \
         right; use --memory pinned"
    )]
    ByTheDriver(IdSet),
    /// The kernel has no weights of its nodes.
    #[error(
        "the kernel has no weights of NUMA nodes ({0}; Linux 6.9 and later have them in \
         /sys/kernel/mm/mempolicy/weighted_interleave): use interleave"
    )]
    NoWeights(String),
}

/// Reads the kernel's weights for memory that is to be taken by weight.
///
/// # Errors
/// It has none.
pub fn read_weights(plan: &mut Plan) -> Result<(), SpreadError> {
    for nodes in plan.ranks.iter_mut().filter_map(|rank| rank.spread.as_mut()) {
        let weighted = engine::with_weights(nodes.clone());
        *nodes = weighted.map_err(|error| SpreadError::NoWeights(error.to_string()))?;
    }
    Ok(())
}

/// Whether memory that is spread over nodes lies on all of them for every size of `config`.
///
/// # Errors
/// The smallest copy is shorter than one turn of the nodes.
pub fn check_spread(config: &RunConfig, plan: &Plan) -> Result<(), SpreadError> {
    let Some(smallest) = config.sizes.iter().min() else { return Ok(()) };
    let page = SpreadMemory::granule_bytes(config.engine.huge_pages) as u64;
    let size = stats::units::rounded_size;

    for nodes in plan.ranks.iter().filter_map(|rank| rank.spread.as_ref()) {
        if config.memory.contains(&MemoryKind::PinnedDriver) {
            return Err(SpreadError::ByTheDriver(nodes.nodes()));
        }
        let turn = nodes.cycle().saturating_mul(page);
        if (*smallest as u64) < turn {
            let hint = if config.engine.huge_pages { ", or for --huge-pages off" } else { "" };
            return Err(SpreadError::Small {
                size: size(*smallest as u64),
                nodes: nodes.nodes(),
                turn: size(turn),
                hint,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use device::Direction;
    use engine::{MemoryNodes, NodeUse};
    use placement::{ChosenBy, Closeness, ClosenessVerdict, RankPlan, Target, TargetId};

    use super::*;

    /// A rank whose memory has three pages in a row on node 0 and one on node 1.
    fn weighted() -> Plan {
        let in_turn = [(0, 3), (1, 1)].into();
        let rank = RankPlan {
            rank: 0,
            pu: 0,
            chosen_by: ChosenBy::Asked,
            memory_node: 0,
            spread: Some(MemoryNodes { node_use: NodeUse::WeightedInterleave, in_turn }),
            target: Target { index: 0, id: TargetId::Node(0), uuid: None },
            verdict: ClosenessVerdict { closeness: Closeness::Unknown, reason: String::new() },
        };
        Plan { ranks: vec![rank], notes: Vec::new() }
    }

    #[test]
    fn a_copy_shorter_than_a_turn_of_the_nodes_is_refused() {
        let mut config = RunConfig::short(&[Direction::H2d], &[MemoryKind::Pinned]);
        let mut ranks = weighted();

        let page = SpreadMemory::granule_bytes(false);
        config.sizes = vec![1 << 30, 4 * page];
        assert_eq!(check_spread(&config, &ranks), Ok(()));
        config.sizes = vec![1 << 30, 4 * page - 1];
        assert!(check_spread(&config, &ranks).is_err());
        config.sizes = vec![(8 << 20) - 1];
        config.engine.huge_pages = true;
        let said = check_spread(&config, &ranks).map_err(|error| error.to_string());
        let is_there = |text: &String| text.contains("8 MiB or more, or for --huge-pages off");
        assert!(said.as_ref().is_err_and(is_there), "{said:?}");
        config.memory = vec![MemoryKind::PinnedDriver];
        assert!(matches!(check_spread(&config, &ranks), Err(SpreadError::ByTheDriver(_))));
        ranks.ranks[0].spread = None;
        assert_eq!(check_spread(&config, &ranks), Ok(()), "memory on one node is not spread");
    }
}
