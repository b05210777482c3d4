//! One rank's memory: where its policy sends it and where it lies, against what is local to its PUs.
//!
//! The node of its GPU counts as local too: where no PU near the GPU can be had, memory there is as good as
//! the placement gets; so does the node that a plan takes where the PUs' own has no memory. Nodes of GPUs'
//! memory hold what a program gave to its GPU and are not counted. A policy that interleaves spreads pages on
//! purpose.

use std::collections::BTreeMap;

use stats::IdSet;
use topo::model::{NodeKind, NumaNode, Topology};
use topo::process::PolicyMode;

use crate::check_node::own_node;
use crate::member::Owner;

use super::{FindingKind, Found, Observed, PlacementVerdict, nodes_in_words, pus_in_words};

/// Below this, pages say nothing: a program has some MiB before it is bound (its libraries' data, a runtime's
/// start).
const ENOUGH_BYTES: u64 = 16 << 20;

/// What was found.
pub(super) fn memory(topology: &Topology, rank: &Observed) -> Vec<Found> {
    let Ok(pus) = &rank.pus else { return Vec::new() };
    let host: Vec<&NumaNode> = topology.nodes.iter().filter(|node| node.kind.has_host_memory()).collect();
    let local: IdSet =
        host.iter().filter(|node| !node.pus.and(pus).is_empty()).map(|node| node.os_index).collect();
    // Where no node with memory is around the PUs, or there is one in all, nothing is elsewhere.
    if local.is_empty() || host.len() < 2 {
        return Vec::new();
    }

    let of_gpus = rank.gpus.iter().flatten().filter_map(|gpu| topology.gpu_at(gpu.pci?));
    let local = of_gpus.fold(local, |all, gpu| all.or(&topology.host_nodes(gpu)));
    let local = local.or(&planned(topology, pus));
    let found = |local: &IdSet| -> Vec<Found> {
        [policy(rank, pus, local), pages(topology, rank, pus, local)].into_iter().flatten().collect()
    };

    // Of memory without CPUs a list of CPUs does not say where it is.
    let lost = host.iter().filter(|node| node.kind == NodeKind::MemoryOnly && node.pus.is_empty());
    let lost: IdSet = lost.map(|node| node.os_index).collect();
    let sure = found(&local.or(&lost));
    if !sure.is_empty() || lost.is_empty() || found(&local).is_empty() {
        return sure;
    }
    let text = format!(
        "the memory of {} may be far from {}: this description of the machine does not say where {} is",
        rank.name,
        pus_in_words(pus),
        nodes_in_words(&lost)
    );
    vec![(FindingKind::MemoryElsewhere, PlacementVerdict::Unknown, text)]
}

/// The nodes that a plan may take for these PUs: the nearest with memory, where theirs has none.
fn planned(topology: &Topology, pus: &IdSet) -> IdSet {
    let first_node = |pu: u32| topology.pu(pu).and_then(|pu| pu.nodes.first().copied());
    // One PU of each node stands for all.
    let of_nodes: BTreeMap<Option<u32>, u32> = pus.iter().map(|pu| (first_node(pu), pu)).collect();
    let own =
        of_nodes.into_values().filter_map(|pu| own_node(topology, Owner::this_process(topology), pu).ok());
    own.flat_map(|own| own.equals.0).collect()
}

fn policy(rank: &Observed, pus: &IdSet, local: &IdSet) -> Option<Found> {
    let (name, may) = (&rank.name, rank.memory_nodes.as_ref());
    let asked = match &rank.policy {
        Err(reason) => {
            let text = format!("the memory policy of {name} is not known: {reason}");
            return Some((FindingKind::NotSeen, PlacementVerdict::Unknown, text));
        }
        Ok(PolicyMode::Default | PolicyMode::Local) => {
            let may = may.filter(|may| !may.is_empty() && may.and(local).is_empty())?;
            let text = format!(
                "{name} runs on {} and may allocate memory on {} only, which is not local to it",
                pus_in_words(pus),
                nodes_in_words(may)
            );
            return Some((FindingKind::MemoryElsewhere, PlacementVerdict::Unknown, text));
        }
        Ok(asked) => asked,
    };

    let nodes = &rank.policy_nodes;

    if matches!(asked, PolicyMode::Interleave | PolicyMode::WeightedInterleave)
        && !nodes.and(local).is_empty()
    {
        let far = nodes.minus(local);
        let text = format!(
            "{name} spreads its memory over {} ({}), of which {} {} not local to it",
            nodes_in_words(nodes),
            asked.word(),
            nodes_in_words(&far),
            if far.len() == 1 { "is" } else { "are" }
        );
        return (!far.is_empty()).then_some((FindingKind::MemoryElsewhere, PlacementVerdict::Well, text));
    }

    if nodes.is_empty() || !nodes.and(local).is_empty() {
        return None;
    }
    let text = format!(
        "{name} runs on {}, whose local memory is {}, but its memory policy is {} on {}",
        pus_in_words(pus),
        nodes_in_words(local),
        asked.word(),
        nodes_in_words(nodes)
    );
    Some((FindingKind::MemoryElsewhere, PlacementVerdict::Misplaced, text))
}

fn pages(topology: &Topology, rank: &Observed, pus: &IdSet, local: &IdSet) -> Option<Found> {
    if matches!(rank.policy, Ok(PolicyMode::Interleave | PolicyMode::WeightedInterleave)) {
        return None;
    }
    let Elsewhere { far, all, nodes } = mostly_elsewhere(topology, &rank.pages, local)?;
    let text = format!(
        "{} of the {} MiB of {} lie on {}, which is not local to {}",
        format_args!("{} MiB", far >> 20),
        all >> 20,
        rank.name,
        nodes_in_words(&nodes),
        pus_in_words(pus)
    );

    Some((FindingKind::PagesElsewhere, PlacementVerdict::Misplaced, text))
}

/// Memory of the host that lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Bytes of it.
    pub far: u64,
    /// Bytes in all.
    pub all: u64,
    /// The nodes where it lies.
    pub nodes: IdSet,
}

/// The memory that is on none of these nodes, where that is most of it and there is enough to tell.
pub fn mostly_elsewhere(topology: &Topology, pages: &BTreeMap<u32, u64>, near: &IdSet) -> Option<Elsewhere> {
    let is_host = |node: u32| topology.node(node).is_some_and(|node| node.kind.has_host_memory());
    let on = |wanted: &dyn Fn(u32) -> bool| -> u64 {
        pages.iter().filter(|(node, _)| wanted(**node)).map(|(_, bytes)| *bytes).sum()
    };
    let is_far = |node: u32| is_host(node) && !near.contains(node);
    let far = on(&is_far);
    let all = far + on(&|node| near.contains(node));
    let nodes = pages.keys().copied().filter(|node| is_far(*node)).collect();
    (all >= ENOUGH_BYTES && far > all / 2).then_some(Elsewhere { far, all, nodes })
}
