//! The rows of a matrix: the places on this machine that host memory and the threads that use it can be, each
//! NUMA node, L3 or core.
//!
//! Every node is a row or has the reason why it cannot be one: nodes without memory, of a GPU's memory,
//! outside the cpuset. Memory without CPUs (HBM, CXL), and memory whose CPUs this process may not use, is
//! measured from the nearest core that it may use, and says so.

use std::fmt;
use std::str::FromStr;

use stats::IdSet;
use topo::model::{NodeKind, NumaNode, Topology};

use crate::check_node::{can_hold_memory, distance, own_node};
use crate::member::Owner;

/// What a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowsBy {
    /// The memory of a NUMA node, from its own cores.
    #[default]
    Node,
    /// An L3's cores, with the memory of their node.
    L3,
    /// A core, with the memory of its node.
    Core,
}

impl fmt::Display for RowsBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "node",
            Self::L3 => "l3",
            Self::Core => "core",
        })
    }
}

/// The name of no kind of rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a kind of rows: write node, l3 or core")]
pub struct RowsByError(String);

impl FromStr for RowsBy {
    type Err = RowsByError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "node" => Ok(Self::Node),
            "l3" => Ok(Self::L3),
            "core" => Ok(Self::Core),
            other => Err(RowsByError(other.to_owned())),
        }
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is called: `node 0`, `L3 of PUs 0-7`, `core of PU 3`.
    pub name: String,
    /// The node of its memory, or what takes its place.
    pub place: Result<RowPlace, String>,
}

/// Where a row is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPlace {
    /// One PU of each of its cores, OS indices; never empty.
    pub pus: Vec<u32>,
    /// The node of its memory, OS index.
    pub node: u32,
    /// What is to be known of it: that its PUs are another node's.
    pub note: Option<String>,
}

impl RowPlace {
    /// The PU that measures what one thread does.
    pub fn pu(&self) -> u32 {
        self.pus.first().copied().unwrap_or(0)
    }
}

/// The rows of this machine.
pub fn rows(topology: &Topology, by: RowsBy) -> Vec<Row> {
    match by {
        RowsBy::Node => topology.nodes.iter().map(|node| node_row(topology, node)).collect(),
        RowsBy::L3 => topology
            .l3s
            .iter()
            .map(|l3| {
                own_memory(
                    topology,
                    format!("L3 of PUs {}", l3.pus),
                    &cores_in(topology, |pu| l3.pus.contains(pu)),
                )
            })
            .collect(),
        RowsBy::Core => topology
            .cores
            .iter()
            .map(|core| {
                let first = core.pus.first().unwrap_or(0);
                own_memory(
                    topology,
                    format!("core of PU {first}"),
                    &cores_in(topology, |pu| core.pus.contains(pu)),
                )
            })
            .collect(),
    }
}

/// The first PU that can be used of each core that has one here.
fn cores_in(topology: &Topology, here: impl Fn(u32) -> bool) -> Vec<u32> {
    let usable = |pu: &u32| here(*pu) && topology.allowed.pus.contains(*pu);
    let mut pus: Vec<u32> =
        topology.cores.iter().filter_map(|core| core.pus.iter().find(|pu| usable(pu))).collect();
    if topology.cores.is_empty() {
        // A machine whose firmware names no cores still has PUs.
        pus = topology.allowed.pus.iter().filter(|pu| usable(pu)).collect();
    }
    pus.sort_unstable();
    pus
}

fn own_memory(topology: &Topology, name: String, pus: &[u32]) -> Row {
    let Some(pu) = pus.first().copied() else {
        return Row { name, place: Err("none of its PUs can be used by this process".to_owned()) };
    };
    let row_place = own_node(topology, Owner::this_process(topology), pu).map_err(|error| error.to_string());
    let place = row_place.map(|own| {
        let notes = [own.note, of_other_nodes(topology, pus, own.node)];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        RowPlace { pus: pus.to_vec(), node: own.node, note }
    });
    Row { name, place }
}

/// That cores of a row are of other nodes than its memory: a cache may span several.
fn of_other_nodes(topology: &Topology, pus: &[u32], node: u32) -> Option<String> {
    let own = &topology.node(node)?.pus;
    let others: IdSet = pus.iter().copied().filter(|pu| !own.is_empty() && !own.contains(*pu)).collect();
    let nodes: IdSet = topology
        .nodes
        .iter()
        .filter(|one| one.kind.has_cpus() && !one.pus.and(&others).is_empty())
        .map(|one| one.os_index)
        .collect();
    (!nodes.is_empty())
        .then(|| format!("PUs {others} are of node {nodes}, and have the memory of node {node}"))
}

fn node_row(topology: &Topology, node: &NumaNode) -> Row {
    let id = node.os_index;
    let name = format!("node {id}");
    let why_not = match node.kind {
        NodeKind::GpuMemory => Some("the memory of a GPU, not of the host".to_owned()),
        NodeKind::CpuOnly => Some("it has CPUs and no memory".to_owned()),
        NodeKind::Empty => Some("it has neither memory nor CPUs".to_owned()),
        NodeKind::Normal | NodeKind::MemoryOnly => can_hold_memory(topology, id)
            .err()
            .map(|_| "its memory is outside this process's cpuset".to_owned()),
    };

    if let Some(why) = why_not {
        return Row { name, place: Err(why) };
    }
    let own = if node.kind == NodeKind::Normal {
        cores_in(topology, |pu| node.pus.contains(pu))
    } else {
        Vec::new()
    };
    if !own.is_empty() {
        return Row { name, place: Ok(RowPlace { pus: own, node: id, note: None }) };
    }
    let missing = if node.kind == NodeKind::Normal {
        "none of its PUs can be used by this process"
    } else {
        "it has memory and no CPUs"
    };
    let row_place = nearest(topology, node).map(|(pus, whose)| {
        let note = format!("{missing}: measured from PU {} of {whose}", pus.first().copied().unwrap_or(0));
        RowPlace { pus, node: id, note: Some(note) }
    });
    Row { name, place: row_place.ok_or_else(|| "this process may use no PU".to_owned()) }
}

/// The cores that can be used of the node that is nearest to this one, and which that is.
fn nearest(topology: &Topology, node: &NumaNode) -> Option<(Vec<u32>, String)> {
    let with_cores = topology.nodes.iter().filter(|other| other.kind.has_cpus());
    let candidates = with_cores.filter_map(|other| {
        let cores = cores_in(topology, |pu| other.pus.contains(pu));
        // From the CPU to the memory, as its loads go.
        (!cores.is_empty())
            .then(|| (distance(topology, other.os_index, node.os_index), other.os_index, cores))
    });
    let (away, other, cores) =
        candidates.min_by_key(|(away, other, _)| (away.unwrap_or(u64::MAX), *other))?;
    let whose = match away {
        Some(away) => format!("node {other}, the nearest with CPUs (distance {away})"),
        None => format!("node {other}, the first with CPUs: the firmware gives no distance"),
    };
    Some((cores, whose))
}

#[cfg(test)]
mod tests {
    use topo::model::PuStatus;

    use super::*;
    use crate::machine::{machine, without, without_nodes};

    /// A row's PUs and node, or why it is not measured.
    type Measured = Result<(Vec<u32>, u32), String>;

    fn row_places(topology: &Topology, by: RowsBy) -> Vec<(String, Measured)> {
        let row_place = |row: Row| (row.name, row.place.map(|row_place| (row_place.pus, row_place.node)));
        rows(topology, by).into_iter().map(row_place).collect()
    }

    #[test]
    fn every_node_is_a_row_or_says_why_not() {
        let found = row_places(&machine(), RowsBy::Node);
        let lines: Vec<String> = found.iter().map(|(name, place)| format!("{name}: {place:?}")).collect();
        // Distances from nodes 0, 1 and 4 to node 2 are 30 each: the first.
        insta::assert_snapshot!(lines.join("\n"), @r#"
        node 0: Ok(([0, 1, 2, 3], 0))
        node 1: Ok(([4, 5, 6, 7], 1))
        node 2: Ok(([0, 1, 2, 3], 2))
        node 3: Err("the memory of a GPU, not of the host")
        node 4: Err("it has CPUs and no memory")
        node 5: Err("it has neither memory nor CPUs")
        "#);
    }

    #[test]
    fn memory_without_cpus_or_without_usable_ones_is_measured_from_the_nearest_core_and_says_so() {
        let note = |topology: &Topology, node: usize| match &rows(topology, RowsBy::Node)[node].place {
            Ok(RowPlace { note: Some(note), .. }) => note.clone(),
            other => format!("{other:?}"),
        };
        let few = without(machine(), "4-7,12-15", PuStatus::NotInAffinity);
        let cores = rows(&without(machine(), "3,11", PuStatus::Offline), RowsBy::Core);
        let none = cores[3].place.as_ref().err().cloned().unwrap_or_default();
        let refused = "socket".parse::<RowsBy>().map_or_else(|error| error.to_string(), |by| by.to_string());
        insta::assert_snapshot!(
            "notes_on_rows",
            [note(&machine(), 2), note(&few, 1), none, refused].join("\n")
        );
    }

    #[test]
    fn cores_of_a_cache_that_spans_nodes_have_the_memory_of_one_and_the_row_says_so() {
        let mut topology = machine();
        let pus = topology.nodes[0].pus.or(&topology.nodes[1].pus);
        topology.l3s.truncate(1);
        topology.l3s[0].pus = pus;
        let note = rows(&topology, RowsBy::L3).remove(0).place.ok().and_then(|place| place.note);
        assert_eq!(note.as_deref(), Some("PUs 4-7 are of node 1, and have the memory of node 0"));
    }

    #[test]
    fn a_node_outside_the_cpuset_is_labelled() {
        let found = row_places(&without_nodes(machine(), "1"), RowsBy::Node);
        insta::assert_snapshot!(format!("{:?}", found[1].1), @r#"Err("its memory is outside this process's cpuset")"#);
    }

    #[test]
    fn l3s_and_cores_use_their_own_nodes_memory() {
        let found = row_places(&machine(), RowsBy::L3);
        assert_eq!(found.len(), 4);
        assert_eq!(found[3], ("L3 of PUs 6-7,14-15".to_owned(), Ok((vec![6, 7], 1))));
        let cores = row_places(&without(machine(), "3,11", PuStatus::Offline), RowsBy::Core);
        assert_eq!(cores[2], ("core of PU 2".to_owned(), Ok((vec![2], 0))));
        assert!(cores[3].1.is_err(), "{:?}", cores[3]);
    }

    #[test]
    fn what_is_no_kind_of_rows_is_refused() {
        for by in [RowsBy::Node, RowsBy::L3, RowsBy::Core] {
            assert_eq!(by.to_string().parse(), Ok(by));
        }
        assert!("socket".parse::<RowsBy>().is_err());
    }
}
