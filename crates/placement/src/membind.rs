//! Where a rank's memory is to lie, as `--membind` says it.

use std::fmt;
use std::str::FromStr;

use stats::IdSet;
use stats::memory_nodes::NodeUse;
use topo::model::Topology;

use crate::check_node::{NodeError, check_node};
use crate::member::Owner;

/// Where a rank's host memory is to lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Membind {
    /// On the node of the rank's own PU.
    #[default]
    Local,
    /// On this node, for every rank.
    Node(u32),
    /// Page by page over these nodes, or over all that are allowed; by weight where it says so.
    Spread(NodeUse, Option<IdSet>),
}

/// The text is no place of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is neither local, a NUMA node's number, interleave[:NODES] nor weighted[:NODES] (nodes as 0-1,3)"
)]
pub struct MembindError(pub String);

/// The words for memory over several nodes.
const SPREADS: [(&str, NodeUse); 2] =
    [("interleave", NodeUse::Interleave), ("weighted", NodeUse::WeightedInterleave)];

impl FromStr for Membind {
    type Err = MembindError;

    fn from_str(text: &str) -> Result<Self, MembindError> {
        let wrong = || MembindError(text.to_owned());
        let (word, nodes) = text.split_once(':').map_or((text, None), |(word, nodes)| (word, Some(nodes)));
        if let Some((_, spread)) = SPREADS.iter().find(|(known, _)| *known == word) {
            let nodes: Option<IdSet> = nodes.map(str::parse).transpose().map_err(|_| wrong())?;
            return if nodes.as_ref().is_some_and(IdSet::is_empty) {
                Err(wrong())
            } else {
                Ok(Self::Spread(*spread, nodes))
            };
        }
        match text {
            "local" => Ok(Self::Local),
            node => node.parse().map(Self::Node).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Membind {
    /// As the option takes it.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => to.write_str("local"),
            Self::Node(node) => write!(to, "{node}"),
            Self::Spread(spread, nodes) => {
                let word = SPREADS.iter().find(|(_, known)| known == spread).map_or("", |(word, _)| word);
                to.write_str(word)?;
                nodes.as_ref().map_or(Ok(()), |nodes| write!(to, ":{nodes}"))
            }
        }
    }
}

/// The nodes that memory of `owner` is spread over: those asked for, or all that have host memory; a GPU's
/// memory counts only where it is named.
///
/// # Errors
/// A node asked for cannot hold memory.
pub(crate) fn spread_nodes(
    topology: &Topology,
    owner: Owner<'_>,
    asked: Option<&IdSet>,
) -> Result<IdSet, NodeError> {
    if let Some(nodes) = asked {
        nodes.iter().try_for_each(|node| check_node(topology, owner, node))?;
        return Ok(nodes.clone());
    }
    let nodes = topology.nodes.iter().filter(|node| node.kind.has_host_memory()).map(|node| node.os_index);
    Ok(nodes.filter(|node| check_node(topology, owner, *node).is_ok()).collect())
}

/// The same of the process that read the topology.
///
/// # Errors
/// As [`spread_nodes`].
pub fn nodes_to_spread_over(topology: &Topology, asked: Option<&IdSet>) -> Result<IdSet, NodeError> {
    spread_nodes(topology, Owner::this_process(topology), asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{machine, set};

    #[test]
    fn what_the_option_takes_is_what_it_is_shown_as() -> Result<(), MembindError> {
        for text in ["local", "3", "interleave", "interleave:0-1", "weighted", "weighted:0,2-3"] {
            assert_eq!(text.parse::<Membind>()?.to_string(), text);
        }
        Ok(())
    }

    #[test]
    fn a_text_that_is_no_place_is_refused() {
        for text in ["", "near", "-1", "interleave:", "interleave:x", "weighted:1-0", "0-1", "local:0", "0:1"]
        {
            assert_eq!(text.parse::<Membind>(), Err(MembindError(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn all_nodes_are_those_with_host_memory_and_a_gpus_is_taken_where_it_is_named() {
        assert_eq!(nodes_to_spread_over(&machine(), None), Ok(set("0-2")));
        assert_eq!(nodes_to_spread_over(&machine(), Some(&set("0,3"))), Ok(set("0,3")));
        assert!(nodes_to_spread_over(&machine(), Some(&set("0,4"))).is_err(), "node 4 has only CPUs");
    }
}
